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

/// The last revision that was committed, and what it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Committed {
    pub(crate) incarnation: String,
    pub(crate) revision: i64,
}

impl Committed {
    pub(crate) fn at(head: &HeadRow) -> Self {
        Self {
            incarnation: head.incarnation.clone(),
            revision: head.revision,
        }
    }

    /// Whether a head that is read later is one of the same database that has lost nothing.
    pub(crate) fn is_before(&self, head: &HeadRow) -> bool {
        self.incarnation == head.incarnation && self.revision <= head.revision
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
#[error("revision {reached} is reached there, and {read} was read before")]
struct Behind {
    reached: i64,
    read: i64,
}

/// What everybody is told who meets such a server.
pub(crate) fn behind(reached: i64, read: i64) -> StoreError {
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
