//! Types that are stored and not asked for any more: hidden at once, whether the member answers or not, for that takes nothing from it.

use armadex_model::ClusterName;
use armadex_storage::{ClusterId, StoreError, StreamState};
use tracing::{info, warn};

use crate::config::Shared;
use crate::session::plan::Scope;
use crate::told::outages;

/// Hides what is stored of a cluster and asked for in no version; whether all of it is hidden, or that the cluster is another synchro's. Of what is asked for
/// in another version than the stored one the member has a say.
pub(crate) async fn hide_all(
    shared: &Shared,
    (name, cluster): (&ClusterName, ClusterId),
    asked: &Scope,
) -> Result<bool, StoreError> {
    let stored = match shared.sink.streams(cluster).await {
        Ok(stored) => stored,
        Err(error) => {
            failed(shared, name, &error);
            return Ok(false);
        }
    };
    let is_unwanted = |stored: &&StreamState| !asked.asks_for(&stored.resource);
    hide(shared, (name, cluster), stored.iter().filter(is_unwanted)).await
}

/// Hides types; whether all of them are hidden, or that the cluster is another synchro's. A member may have hundreds that come and go all the time, so they are one line of the log.
pub(crate) async fn hide<'a>(
    shared: &Shared,
    (name, cluster): (&ClusterName, ClusterId),
    unwanted: impl Iterator<Item = &'a StreamState>,
) -> Result<bool, StoreError> {
    let (mut hidden, mut all) = (Vec::new(), true);
    let owner = shared.owner.text();
    for StreamState { id, resource, .. } in unwanted {
        match shared.sink.close(cluster, &owner, *id).await {
            Ok(()) => hidden.push(&resource.gvr),
            Err(taken @ StoreError::TakenOver { .. }) => return Err(taken),
            Err(error) => {
                failed(shared, name, &error);
                all = false;
            }
        }
    }
    if !hidden.is_empty() {
        let resources = outages::named(hidden);
        info!(cluster = %name, resources, "types that are no longer synced are hidden");
        shared.purge.notify_one();
    }
    if all {
        shared.store_works(name.as_str());
    }
    Ok(all)
}

fn failed(shared: &Shared, name: &ClusterName, error: &StoreError) {
    if let Some(words) = shared.store_fails(name.as_str(), error) {
        warn!(cluster = %name, error = words, "types that are no longer asked for were not hidden, retrying; others that fail alike are not told of");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use armadex_storage::conformance::fixture::name;

    use super::*;
    use crate::config::Config;
    use crate::testing::{Stage, warnings};

    #[tokio::test]
    async fn a_store_that_is_away_is_one_line_for_all_clusters_and_attempts() {
        let told = warnings();
        let stage = Stage::new().await;
        let shared = Shared::new(Arc::clone(&stage.breaking) as _, "one", Config::default());
        stage.breaking.refuse("streams", 100);
        for attempt in 0..100 {
            let name = name(&format!("m{}", attempt % 10));
            let hidden = hide_all(&shared, (&name, ClusterId(1)), &Scope::default()).await;
            assert!(!hidden.expect("it is nobody else's"));
        }
        assert_eq!(told.told().len(), 1);
    }
}
