//! Waiting for a condition, never for a time.

use std::future::Future;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use tokio::time::{Instant, timeout_at};

/// Short enough not to be felt, long enough not to load two cores.
const POLL: Duration = Duration::from_millis(150);
/// A look that began in time may end later: one at 40,000 objects takes some 10 s on a busy machine.
const LAST_LOOK: Duration = Duration::from_secs(60);

/// Asks `check` until it gives a value. An error counts as "not yet"; the last one is told when `limit` is over. A `check` that hangs is given
/// up a minute later.
pub async fn wait_for<T, F>(what: &str, limit: Duration, check: impl FnMut() -> F) -> Result<T>
where
    F: Future<Output = Result<Option<T>>>,
{
    wait_within(what, limit, LAST_LOOK, check).await
}

/// Asks `check` until it says yes.
pub async fn wait_until<F>(what: &str, limit: Duration, mut check: impl FnMut() -> F) -> Result<()>
where
    F: Future<Output = Result<bool>>,
{
    wait_for(what, limit, || {
        let answer = check();
        async { Ok(answer.await?.then_some(())) }
    })
    .await
}

async fn wait_within<T, F>(
    what: &str,
    limit: Duration,
    last_look: Duration,
    mut check: impl FnMut() -> F,
) -> Result<T>
where
    F: Future<Output = Result<Option<T>>>,
{
    let end = Instant::now() + limit;
    let mut last = None;
    loop {
        match timeout_at(end + last_look, check()).await {
            Ok(Ok(Some(value))) => return Ok(value),
            Ok(Ok(None)) => last = None,
            Ok(Err(error)) => last = Some(error),
            Err(_) => last = last.or_else(|| Some(anyhow!("a look at it does not end"))),
        }
        if Instant::now() >= end {
            let Some(error) = last else {
                bail!("{what}: not seen within {} s", limit.as_secs())
            };
            return Err(error.context(format!("{what}: not seen within {} s", limit.as_secs())));
        }
        tokio::time::sleep(POLL).await;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    async fn said<F>(check: impl FnMut() -> F) -> String
    where
        F: Future<Output = Result<Option<()>>>,
    {
        let (limit, last_look) = (Duration::from_secs(1), Duration::from_millis(1));
        let waited = wait_within("it", limit, last_look, check).await;
        waited.map_or_else(|error| format!("{error:#}"), |()| "seen".to_owned())
    }

    #[tokio::test]
    async fn what_comes_is_seen_whatever_was_wrong_before() {
        let asked = Cell::new(0);
        let check = || async {
            asked.set(asked.get() + 1);
            match asked.get() {
                1 => bail!("not served yet"),
                number => Ok((number == 3).then_some(())),
            }
        };
        assert_eq!(said(check).await, "seen");
    }

    #[tokio::test]
    async fn every_wait_ends_and_says_why() {
        let not_seen = "it: not seen within 1 s";
        assert_eq!(said(|| async { Ok(None) }).await, not_seen);
        let why = format!("{not_seen}: because");
        assert_eq!(said(|| async { bail!("because") }).await, why);
        let hangs = format!("{not_seen}: a look at it does not end");
        assert_eq!(said(std::future::pending).await, hangs);
    }
}
