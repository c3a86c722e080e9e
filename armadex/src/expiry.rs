//! Says in the log that the token is about to end by which the control plane is asked. Somebody else renews it, and whether that fails nobody else here sees.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::sleep;
use tracing::warn;

use crate::service::Parts;
use crate::token::{Claims, now};

/// Between two looks.
const PERIOD: Duration = Duration::from_secs(3600);
/// With more than this, in seconds, there is time, however long it was good for.
const WEEK: i64 = 604_800;

/// Adds the part that looks at the file of the token, if it is in one.
pub(crate) fn start(parts: &mut Parts, file: Option<PathBuf>) {
    let Some(file) = file else {
        return;
    };
    let cancel = parts.cancel();
    parts.start("look at the token", async move {
        cancel.run_until_cancelled(look(&file)).await;
        Ok::<(), Infallible>(())
    });
}

/// Again and again, for as long as the process runs. The file is another one's to write: one that can't be read is told where the control plane is asked by it.
async fn look(file: &Path) -> Infallible {
    loop {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        if let Some(left) = Claims::of(&text).and_then(|claims| ending(&claims, now())) {
            warn!(
                file = %file.display(),
                "the token by which the control plane is asked {left}, and nobody has renewed it: docs/alerts.md says under ArmadexTokenEnds what to look at"
            );
        }
        sleep(PERIOD).await;
    }
}

/// When a token ends that should have been renewed, as the alert has it: a quarter of its time is left, and no more than a week.
fn ending(claims: &Claims, now: i64) -> Option<String> {
    let left = claims.expires.saturating_sub(now);
    if left >= WEEK.min(claims.life() / 4) {
        return None;
    }
    let minutes = left.unsigned_abs() / 60;
    Some(match left {
        0.. => format!("ends in {minutes} minutes"),
        _ => format!("ended {minutes} minutes ago"),
    })
}

#[cfg(test)]
mod tests {
    use armadex_control_plane::testing::Log;
    use serde_json::json;

    use super::*;
    use crate::token::token;

    #[test]
    fn a_token_is_told_of_when_a_quarter_of_its_time_is_left_or_a_week() {
        let at = |life: i64, left: i64| {
            let claims = Claims {
                issued: 0,
                expires: life,
                account: None,
            };
            ending(&claims, life - left)
        };
        assert_eq!(at(4000, 1000), None);
        assert_eq!(at(4000, 999), Some("ends in 16 minutes".to_owned()));
        assert_eq!(at(4000, 0), Some("ends in 0 minutes".to_owned()));
        assert_eq!(at(4000, -120), Some("ended 2 minutes ago".to_owned()));
        assert_eq!(at(52 * WEEK, WEEK), None);
        assert!(at(52 * WEEK, WEEK - 1).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_told_once_an_hour_until_somebody_has_renewed_it() {
        let log = Log::lines_of("armadex::expiry");
        let file = tempfile::NamedTempFile::new().expect("a file");
        let put = |expires: i64| {
            let claims = json!({"iat": now() - 10_000, "exp": expires});
            std::fs::write(file.path(), token(&claims)).expect("written");
        };
        let three_looks = async || {
            let _ = tokio::time::timeout(PERIOD * 5 / 2, look(file.path())).await;
        };
        put(now() + 100);
        three_looks().await;
        let told = log.told();
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(told[0].contains("ends in 1 minutes"), "{told:?}");
        put(now() + 100_000);
        three_looks().await;
        assert_eq!(log.told().len(), 3, "it is another one");
    }
}
