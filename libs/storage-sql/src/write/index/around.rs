//! The blocks that edits need, as each database finds them best. Takes what is edited of each run, gives blocks in no order.

use armadex_storage::StoreError;

use crate::backend::{Connection, rows};
use crate::sql::dialect::Dialect;
use crate::sql::post::{self, BlockRow, RunKey, RunPart};

/// So many blocks of a run are read with less effort than it takes MySQL and MariaDB to find the few around a part of it: 1 µs each, and 60.
const SHORT: usize = 8;
/// The most parts that are looked for at once where each is written out: three places in an index, some 20 µs each.
const MOST_PARTS: usize = 64;

/// The blocks around each of these parts; others of its run may come as well.
pub(crate) async fn around(
    connection: &mut dyn Connection,
    parts: &[RunPart],
) -> Result<Vec<BlockRow>, StoreError> {
    let dialect = connection.dialect();
    match dialect {
        Dialect::Sqlite | Dialect::Postgres => {
            let statement = post::around(dialect, parts);
            rows(connection, statement, post::decode_block).await
        }
        Dialect::MySql => match short(connection, parts).await? {
            Some(found) => Ok(found),
            None => part_by_part(connection, parts).await,
        },
    }
}

/// The runs as they are, which most often are a block or two; `None` if they have more blocks than are worth reading.
async fn short(
    connection: &mut dyn Connection,
    parts: &[RunPart],
) -> Result<Option<Vec<BlockRow>>, StoreError> {
    let mut runs: Vec<RunKey> = parts.iter().map(|part| part.run).collect();
    runs.dedup();
    let most = SHORT * runs.len();
    let limit = i64::try_from(most + 1).unwrap_or(i64::MAX);
    let statement = post::runs(connection.dialect(), &runs, limit);
    let found = rows(connection, statement, post::decode_block).await?;
    Ok((found.len() <= most).then_some(found))
}

async fn part_by_part(
    connection: &mut dyn Connection,
    parts: &[RunPart],
) -> Result<Vec<BlockRow>, StoreError> {
    let mut found = Vec::new();
    for parts in parts.chunks(MOST_PARTS) {
        let statement = post::around(connection.dialect(), parts);
        found.extend(rows(connection, statement, post::decode_block).await?);
    }
    Ok(found)
}
