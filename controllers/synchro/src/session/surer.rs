//! A right that comes: a member that is known by something less sure says by something surer who it is. It is asked now and then, and connected anew by that.

use std::time::Duration;

use armadex_backoff::jittered;
use armadex_crds::IdentitySource;
use armadex_member::Member;

/// Each time up to three small questions are refused, and nothing is missing meanwhile.
const PERIOD: Duration = Duration::from_secs(300);

/// Waits until a member says more surely who it is than by this. For ever where it does not, or cannot.
pub(super) async fn is_told(member: &Member, known_by: IdentitySource) {
    if known_by == IdentitySource::KubeSystemNamespace {
        return std::future::pending().await;
    }
    loop {
        tokio::time::sleep(jittered(PERIOD, rand::random())).await;
        // One that fails to answer is asked again, and told of by whoever needs the answer.
        let told = member.identity().await;
        if told.is_ok_and(|identity| identity.source() < known_by) {
            return;
        }
    }
}
