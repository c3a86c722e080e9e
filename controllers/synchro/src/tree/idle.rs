//! A cluster that no session can be begun for, as its conditions say: what is stored of it is not kept up to date. Searches are told, whoever
//! stored it, and what is not asked for any more is hidden.

use armadex_storage::{ClusterId, Health, StoreError};
use tracing::warn;

use crate::session::plan::Scope;
use crate::session::unwanted;
use crate::tree::entry::{Entrant, Entry, Unentered};

/// For whoever searches; names of Secrets are for whoever may read the PediaCluster.
const REASON: &str = "its member may not be read now, the conditions of its PediaCluster say why";

/// What the store has been told of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Idle {
    cluster: ClusterId,
    /// `None` where it cannot be said: nothing is hidden.
    asked: Option<Scope>,
}

/// Tells the store what it has to know, unless it is `known` to it; whether it has been told all of it.
pub(super) async fn tell(
    known: &mut Option<Idle>,
    entry: &mut Entry,
    entrant: &Entrant<'_>,
    asked: Option<Scope>,
) -> bool {
    let told = tell_anew(known, entry, entrant, asked).await;
    told.unwrap_or_else(|error| {
        if let Some(words) = error.news(entrant) {
            warn!(cluster = %entrant.name, error = words, "the store was not told that a cluster is not kept up to date, retrying; others that fail alike are not told of");
        }
        false
    })
}

async fn tell_anew(
    known: &mut Option<Idle>,
    entry: &mut Entry,
    entrant: &Entrant<'_>,
    asked: Option<Scope>,
) -> Result<bool, Unentered> {
    let cluster = entry.number(entrant).await?;
    let idle = Idle { cluster, asked };
    if known.as_ref() == Some(&idle) {
        return Ok(true);
    }
    // What the store does not answer is taken for unknown.
    *known = None;
    let told = idle.tell(entrant).await.inspect_err(|error| {
        if entrant.shared.has_lost(error) {
            *entry = Entry::lost();
        }
    })?;
    *known = told.then_some(idle);
    Ok(told)
}

impl Idle {
    /// Whether all is hidden that has to be.
    async fn tell(&self, entrant: &Entrant<'_>) -> Result<bool, StoreError> {
        let Entrant { shared, name, .. } = entrant;
        let health = Health {
            healthy: false,
            reason: REASON.to_owned(),
        };
        let owner = shared.owner.text();
        let told = shared.sink.set_health(self.cluster, &owner, &health, None);
        told.await?;
        match &self.asked {
            Some(asked) => unwanted::hide_all(shared, (name, self.cluster), asked).await,
            None => Ok(true),
        }
    }
}
