//! Clusters that left while no synchro ran: they are in the store, and their PediaClusters are not on the control plane.
//!
//! Only what this synchro looked after itself is touched: several may share a store, each with a `shardingName` or a control plane of its own.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use armadex_storage::StoreError;
use tracing::{info, warn};

use crate::backoff::Backoff;
use crate::config::Shared;

const FIRST_RETRY: Duration = Duration::from_millis(500);
const LAST_RETRY: Duration = Duration::from_secs(30);

/// Lets all clusters leave that are not in `listed`, the names of every PediaCluster that there is. Tries until the store has answered.
pub(crate) async fn leave(shared: Arc<Shared>, listed: BTreeSet<String>) {
    let mut backoff = Backoff::new(FIRST_RETRY, LAST_RETRY);
    while let Err(error) = try_to_leave(&shared, &listed).await {
        warn!(error = %error, "clusters that left meanwhile were not looked for, retrying");
        tokio::time::sleep(backoff.next(rand::random())).await;
    }
}

async fn try_to_leave(shared: &Shared, listed: &BTreeSet<String>) -> Result<(), StoreError> {
    let owner = &shared.config.sharding_name;
    for (name, incarnation) in shared.sink.clusters(owner).await? {
        if listed.contains(name.as_str()) {
            continue;
        }
        shared.sink.leave(&name, &incarnation).await?;
        info!(cluster = %name, "left while nobody looked");
        shared.purge.notify_one();
    }
    Ok(())
}
