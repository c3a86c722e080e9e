//! Incarnations: what makes revisions comparable. A database that was rewound hands out the same revisions twice, so whoever sees it
//! behind what was committed gives it another incarnation, and positions of the former one are refused.

use armadex_storage::StoreError;
use rand::Rng;

use crate::backend::error::broken;
use crate::backend::{Connection, row};
use crate::sql::head;

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

/// Gives the store another incarnation, and says which.
pub(crate) async fn renew(connection: &mut dyn Connection) -> Result<String, StoreError> {
    tracing::warn!(
        "the database is behind what was committed to it: it was restored or lost writes, and positions of clients expire"
    );
    let incarnation = draw();
    connection
        .execute(head::set_incarnation(&incarnation))
        .await?;
    Ok(incarnation)
}

/// Gives the store another incarnation if it is behind a revision at which it was seen.
pub(crate) async fn renew_if_behind(
    connection: &mut dyn Connection,
    seen: i64,
) -> Result<Option<Committed>, StoreError> {
    let head = row(connection, head::select(), head::decode).await?;
    let head = head.ok_or_else(|| broken("it has no head row"))?;
    if head.revision >= seen {
        return Ok(None);
    }
    Ok(Some(Committed {
        incarnation: renew(connection).await?,
        revision: head.revision,
    }))
}
