//! Types that no cluster has any more. What types there are is for members to say, each row is known to every process, and numbers of types are not
//! without end.

use armadex_storage::StoreError;

use crate::backend::{Connection, head_row, rows};
use crate::form::dictionaries::numbers_of;
use crate::sql::head::Numbered;
use crate::sql::statement::Statement;
use crate::sql::{catalog, unposted};
use crate::write::dictionaries;
use crate::write::numbers::take;
use crate::write::session::Session;

/// Types that one step drops.
const MOST: u32 = 128;

/// Drops types that none has, once no version that is kept names them; whether none is left for now. Their numbers are not given to others, so whoever still
/// knows one finds nothing by it.
pub(super) async fn sweep(session: &mut Session<'_>) -> Result<bool, StoreError> {
    let head = head_row::read(session.connection).await?;
    let dialect = session.dialect;
    let look = [
        catalog::types_unused(dialect, MOST),
        catalog::types_used_again(dialect, MOST),
        catalog::types_unused_since(dialect, (head.pruned.max(1), head.history.max(1)), MOST),
    ];
    let mut found = 0;
    for statement in look.clone() {
        found += ids(session.connection, statement).await?.len();
    }
    if found == 0 {
        return Ok(true);
    }
    // Who opens a stream has this row before looking for its type, so from here on no type comes to be had.
    take(session.connection, Numbered::Epoch, 1).await?;
    let [unused, again, past] = look;
    let unused = ids(session.connection, unused).await?;
    note(session, head.revision.max(1), &unused).await?;
    let again = ids(session.connection, again).await?;
    note(session, 0, &again).await?;
    let past = ids(session.connection, past).await?;
    drop_types(session, &past).await?;
    Ok(found < MOST as usize)
}

async fn ids(
    connection: &mut dyn Connection,
    statement: Statement,
) -> Result<Vec<i64>, StoreError> {
    rows(connection, statement, |row| row.int(0)).await
}

async fn note(session: &mut Session<'_>, revision: i64, ids: &[i64]) -> Result<(), StoreError> {
    for part in ids.chunks(session.dialect.most_values()) {
        let statement = catalog::note_types_unused(session.dialect, revision, part);
        session.connection.execute(statement).await?;
    }
    Ok(())
}

async fn drop_types(session: &mut Session<'_>, ids: &[i64]) -> Result<(), StoreError> {
    for part in ids.chunks(session.dialect.most_values()) {
        for statement in [
            catalog::delete_types(session.dialect, part),
            unposted::delete(session.dialect, part),
        ] {
            session.connection.execute(statement).await?;
        }
    }
    let of_type = |id: &i64| numbers_of(i32::try_from(*id).ok()?);
    let numbers: Vec<i64> = ids.iter().filter_map(of_type).flatten().collect();
    dictionaries::remove(session, &numbers).await?;
    session.catalog.dropped_types.extend(ids);
    Ok(())
}
