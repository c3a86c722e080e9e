//! Sees to it that the types that are asked for have a history, and no others. Whoever does the periodic work decides that, and notes it with the type: from which revision
//! on its history is whole.

use armadex_storage::StoreError;
use tracing::info;

use crate::backend::{rows, schema};
use crate::sql::head::{self, HeadRow};
use crate::sql::{history, milestone};
use crate::write::history::Histories;
use crate::write::session::Session;

/// Whether some types had to be noted: that is a step of its own.
pub(super) async fn settle(session: &mut Session<'_>, head: &HeadRow) -> Result<bool, StoreError> {
    if session.past.history.is_settled(head.catalog) {
        return Ok(false);
    }
    let had = rows(session.connection, history::types(), history::decode).await?;
    let asked = session.past.history.asked();
    let asked = match asked.is_empty() {
        true => vec![],
        false => {
            let asked = history::types_of(session.dialect, &asked);
            rows(session.connection, asked, history::decode).await?
        }
    };
    let begin: Vec<i64> = asked
        .iter()
        .filter(|(_, since)| *since < 0)
        .map(|(id, _)| i64::from(*id))
        .collect();
    let wanted = Histories::of(asked.iter().map(|(id, _)| *id));
    let had = had.into_iter().map(|(id, _)| i64::from(id));
    let end: Vec<i64> = had.filter(|id| !wanted.has(*id)).collect();
    if begin.is_empty() && end.is_empty() {
        session.past.history.settle(head.catalog, wanted);
        return Ok(false);
    }
    info!(
        begin = begin.len(),
        end = end.len(),
        revision = head.pruned,
        "types begin or cease to have a history"
    );
    // What there is of it is another part of what was noted.
    let uncounted = milestone::uncount(head.pruned);
    session.connection.execute(uncounted).await?;
    note(session, head.pruned, &begin).await?;
    note(session, -1, &end).await?;
    if !begin.is_empty() {
        // Who does not know of it would remove it.
        let serves = schema::serves_with_history(session.dialect);
        session
            .connection
            .execute(head::raise_serves(serves))
            .await?;
    }
    Ok(true)
}

async fn note(session: &mut Session<'_>, since: i64, types: &[i64]) -> Result<(), StoreError> {
    for part in types.chunks(session.dialect.most_values()) {
        let noted = history::note(session.dialect, since, part);
        session.connection.execute(noted).await?;
    }
    Ok(())
}
