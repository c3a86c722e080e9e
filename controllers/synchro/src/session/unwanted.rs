//! Types that are stored and not asked for any more: hidden at once, whether the member answers or not, for that takes nothing from it.

use armadex_crds::GroupResources;
use armadex_model::ClusterName;
use armadex_storage::{ClusterId, StreamState};
use tracing::{info, warn};

use crate::config::Shared;
use crate::session::plan;

/// Hides what is stored of a cluster and asked for in no version; whether all of it is hidden. Of what is asked for in another version than
/// the stored one the member has a say.
pub(crate) async fn hide_all(
    shared: &Shared,
    (name, cluster): (&ClusterName, ClusterId),
    asked: &[GroupResources],
) -> bool {
    let stored = match shared.sink.streams(cluster).await {
        Ok(stored) => stored,
        Err(error) => {
            warn!(cluster = %name, error = %error, "types that are no longer asked for were not looked for");
            return false;
        }
    };
    let unwanted = stored
        .iter()
        .filter(|stored| !plan::is_wanted(asked, &stored.resource));
    let mut all = true;
    for stored in unwanted {
        all &= hide(shared, (name, cluster), stored).await;
    }
    all
}

/// Hides a type; whether it is hidden.
pub(crate) async fn hide(
    shared: &Shared,
    (name, cluster): (&ClusterName, ClusterId),
    stored: &StreamState,
) -> bool {
    let StreamState { id, resource, .. } = stored;
    info!(cluster = %name, resource = %resource.gvr, "hiding a type that is no longer synced");
    let closed = shared.sink.close(cluster, *id).await;
    if let Err(error) = &closed {
        warn!(cluster = %name, resource = %resource.gvr, error = %error, "a type was not hidden, retrying");
    }
    shared.purge.notify_one();
    closed.is_ok()
}
