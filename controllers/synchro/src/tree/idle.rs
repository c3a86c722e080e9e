//! A cluster that no session can be begun for, as its conditions say: what is stored of it is not kept up to date. Searches are told, whoever
//! stored it, and what is not asked for any more is hidden.

use armadex_crds::{GroupResources, PediaCluster};
use armadex_storage::{ClusterId, Health, StoreError};
use tracing::warn;

use super::entry::{Entrant, Entry};
use super::{Branches, Tree, Turn};
use crate::{plan, unwanted};

/// For whoever searches; names of Secrets are for whoever may read the PediaCluster.
const REASON: &str = "its member may not be read now, the conditions of its PediaCluster say why";

/// What the store has been told of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Idle {
    cluster: ClusterId,
    /// `None` where it cannot be said: nothing is hidden.
    asked: Option<Vec<GroupResources>>,
}

impl Tree {
    /// Tells the store once what it has to know; tries again until that succeeded.
    pub(super) async fn idle(
        &self,
        branches: &mut Branches,
        entry: &mut Entry,
        entrant: &Entrant<'_>,
        object: &PediaCluster,
    ) -> Turn {
        let cluster = match entry.number(entrant).await {
            Ok(cluster) => cluster,
            Err(words) => {
                warn!(cluster = %self.name, error = words, "the store was not told that a cluster is not kept up to date, retrying");
                return Turn::Retry;
            }
        };
        let spec = &object.spec;
        let is_valid = plan::check(spec, self.shared.config.gates).is_ok();
        let idle = Idle {
            cluster,
            asked: is_valid.then(|| spec.sync_resources.clone()),
        };
        if branches.idle.as_ref() == Some(&idle) {
            return Turn::Wait;
        }
        match self.tell_of(&idle).await {
            Ok(true) => {
                branches.idle = Some(idle);
                Turn::Wait
            }
            Ok(false) => Turn::Retry,
            Err(error) => {
                warn!(cluster = %self.name, error = %error, "the store was not told that a cluster is not kept up to date, retrying");
                if let StoreError::Left { .. } = error {
                    *entry = Entry::Left;
                }
                Turn::Retry
            }
        }
    }

    /// Whether all is hidden that has to be.
    async fn tell_of(&self, idle: &Idle) -> Result<bool, StoreError> {
        let health = Health {
            healthy: false,
            reason: REASON.to_owned(),
        };
        let Idle { cluster, asked } = idle;
        self.shared.sink.set_health(*cluster, &health, None).await?;
        Ok(match asked {
            Some(asked) => unwanted::hide_all(&self.shared, (&self.name, *cluster), asked).await,
            None => true,
        })
    }
}
