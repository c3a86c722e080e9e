//! Incarnations: what makes revisions comparable. A database that was rewound hands out the same revisions twice, so whoever sees it
//! behind what was committed gives it another incarnation, and positions of the former one are refused.

use armadex_storage::StoreError;
use rand::Rng;

use crate::backend::Connection;
use crate::sql::head::{self, HeadRow};

/// A name that no other incarnation has.
pub(crate) fn draw() -> String {
    format!("{:032x}", rand::rng().random::<u128>())
}

/// How far a database was committed, and what that belongs to. Not all that is committed takes a revision: clusters that join, their health, and streams that are
/// opened for the first time are counted by the catalogue alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Committed {
    pub(crate) incarnation: String,
    pub(crate) revision: i64,
    pub(crate) catalog: i64,
}

impl Committed {
    pub(crate) fn at(head: &HeadRow) -> Self {
        Self {
            incarnation: head.incarnation.clone(),
            revision: head.revision,
            catalog: head.catalog,
        }
    }

    /// Whether a head that is read later is one of the same database that has lost nothing.
    pub(crate) fn is_before(&self, head: &HeadRow) -> bool {
        self.incarnation == head.incarnation && !self.is_beyond(head)
    }

    /// Whether a head of the same incarnation lacks some of it.
    pub(crate) fn is_beyond(&self, head: &HeadRow) -> bool {
        self.revision > head.revision || self.catalog > head.catalog
    }

    /// Goes on to what else was committed in the same incarnation.
    pub(crate) fn reach(&mut self, revision: i64, catalog: i64) {
        self.revision = self.revision.max(revision);
        self.catalog = self.catalog.max(catalog);
    }
}

/// What everybody is told who knew the database before it was rewound: trying again leads nowhere.
pub(crate) fn rewound() -> StoreError {
    StoreError::Gone {
        reason: "the database was restored or has lost writes".into(),
    }
}

/// A server is behind another one that was read before, or behind what it was itself: it catches up.
#[derive(Debug, thiserror::Error)]
#[error(
    "revision {} and change {} of the catalogue are reached there, and {} and {} were read before",
    reached.revision, reached.catalog, read.revision, read.catalog
)]
struct Behind {
    reached: Committed,
    read: Committed,
}

/// What everybody is told who meets such a server.
pub(crate) fn behind(head: &HeadRow, read: Committed) -> StoreError {
    let reached = Committed::at(head);
    StoreError::Unavailable {
        reason: "the server that answers is behind what was read before".into(),
        source: Box::new(Behind { reached, read }),
    }
}

/// Gives the store another incarnation than this one, and says which; `None` if somebody else has meanwhile.
pub(crate) async fn renew(
    connection: &mut dyn Connection,
    former: &str,
) -> Result<Option<String>, StoreError> {
    let incarnation = draw();
    let renewed = head::set_incarnation(&incarnation, former);
    if connection.execute(renewed).await? == 0 {
        return Ok(None);
    }
    tracing::warn!(
        "the database is behind what was committed to it: it was restored or lost writes, and positions of clients expire"
    );
    Ok(Some(incarnation))
}
