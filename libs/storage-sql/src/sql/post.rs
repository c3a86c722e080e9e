//! Posting blocks: the ids of one term of a type in one namespace, in blocks. Terms come in lists that the caller cuts to
//! [`crate::sql::statement::MAX_LIST`].

use armadex_postings::Block;
use armadex_storage::StoreError;

use crate::backend::Row;
use crate::backend::error::broken;
use crate::sql::catalog::type_id;
use crate::sql::dialect::{Dialect, Upsert};
use crate::sql::statement::{Param, Sql, Statement};

/// A run of blocks: the ids of one term of a type in one namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RunKey {
    pub(crate) term: i64,
    pub(crate) resource: i32,
    pub(crate) nsid: i64,
}

/// Which blocks of a run an edit needs: those around the ids from `low` to `high`, and one more before them if some are removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RunPart {
    pub(crate) run: RunKey,
    pub(crate) low: i64,
    pub(crate) high: i64,
    pub(crate) shrinks: bool,
}

/// A block and the run it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BlockRow {
    pub(crate) run: RunKey,
    pub(crate) block: Block,
}

/// The blocks from the one at or before the least id of each part to the one after its greatest; the block that two parts need comes
/// twice.
///
/// `shrinks` is 0 or 1: one less than the first id of the block that holds `low` leads to the block before it. Where there is none, the part
/// begins with the run, and ids are positive.
pub(crate) fn around(parts: &[RunPart]) -> Statement {
    let tuples = parts.iter().map(|part| {
        [
            part.run.term,
            part.run.resource.into(),
            part.run.nsid,
            part.low,
            part.high,
            part.shrinks.into(),
        ]
        .map(Param::from)
    });
    Sql::new("post.around", "WITH k (term, type, nsid, low, high, shrinks) AS (VALUES ")
        .tuples(6, tuples)
        .push(
            ") SELECT p.term, p.type, p.nsid, p.first_id, p.n, p.ids FROM k CROSS JOIN post p \
             WHERE p.term = k.term AND p.type = k.type AND p.nsid = k.nsid \
             AND p.first_id >= COALESCE((SELECT MAX(q.first_id) FROM post q \
             WHERE q.term = k.term AND q.type = k.type AND q.nsid = k.nsid AND q.first_id <= (SELECT MAX(r.first_id) FROM post r \
             WHERE r.term = k.term AND r.type = k.type AND r.nsid = k.nsid AND r.first_id <= k.low) - k.shrinks), 0) \
             AND p.first_id <= COALESCE((SELECT MIN(q.first_id) FROM post q \
             WHERE q.term = k.term AND q.type = k.type AND q.nsid = k.nsid AND q.first_id > k.high), k.high)",
        )
        .build()
}

pub(crate) fn decode_block(row: &dyn Row) -> Result<BlockRow, StoreError> {
    let count = row.int(4)?;
    Ok(BlockRow {
        run: RunKey {
            term: row.int(0)?,
            resource: type_id(row.int(1)?)?,
            nsid: row.int(2)?,
        },
        block: Block {
            first: row.int(3)?,
            count: u32::try_from(count).map_err(|_| broken(format!("{count} ids in a block")))?,
            bytes: row.blob(5)?,
        },
    })
}

/// Writes blocks, new ones and those with other content under the same key.
pub(crate) fn put(dialect: Dialect, blocks: &[BlockRow]) -> Statement {
    Sql::new(
        "post.put",
        "INSERT INTO post (term, type, nsid, first_id, n, ids) VALUES ",
    )
    .tuples(6, blocks.iter().map(block_params))
    .push(dialect.on_conflict(Upsert::Block))
    .build()
}

/// Writes blocks of runs that are not there yet.
pub(crate) fn insert(dialect: Dialect, blocks: &[BlockRow]) -> Statement {
    Sql::new("post.insert", dialect.insert_into())
        .push("post (term, type, nsid, first_id, n, ids) VALUES ")
        .tuples(6, blocks.iter().map(block_params))
        .build()
}

fn block_params(BlockRow { run, block }: &BlockRow) -> [Param; 6] {
    let [term, resource, nsid] = run_key(run);
    [
        term,
        resource,
        nsid,
        block.first.into(),
        block.count.into(),
        block.bytes.clone().into(),
    ]
}

/// Deletes blocks by run and first id.
pub(crate) fn delete(dialect: Dialect, blocks: &[(RunKey, i64)]) -> Statement {
    let keys = blocks.iter().map(|(run, first)| {
        let [term, resource, nsid] = run_key(run);
        [term, resource, nsid, (*first).into()]
    });
    Sql::new(
        "post.delete",
        "DELETE FROM post WHERE (term, type, nsid, first_id) IN ",
    )
    .keys(dialect, keys)
    .build()
}

/// Deletes whole runs, whatever is in them.
pub(crate) fn delete_runs(dialect: Dialect, runs: &[RunKey]) -> Statement {
    Sql::new(
        "post.delete_runs",
        "DELETE FROM post WHERE (term, type, nsid) IN ",
    )
    .keys(dialect, runs.iter().map(run_key))
    .build()
}

fn run_key(run: &RunKey) -> [Param; 3] {
    let RunKey {
        term,
        resource,
        nsid,
    } = *run;
    [term.into(), resource.into(), nsid.into()]
}

/// A block's namespace, and the block.
pub(crate) fn decode(row: &dyn Row) -> Result<(i64, Block), StoreError> {
    let row = decode_block(row)?;
    Ok((row.run.nsid, row.block))
}

/// Blocks of any of the terms in some namespaces, at most `limit`, in no order.
pub(crate) fn within(terms: &[i64], resource: i32, nsids: &[i64], limit: i64) -> Statement {
    Sql::new(
        "post.within",
        "SELECT term, type, nsid, first_id, n, ids FROM post WHERE term IN ",
    )
    .list(terms)
    .bound(" AND type = ?", [resource.into()])
    .push(" AND nsid IN ")
    .list(nsids)
    .push(" LIMIT ")
    .bind(limit)
    .build()
}

/// How many objects of a namespace have a term, and in how many blocks they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TermSum {
    pub(crate) nsid: i64,
    pub(crate) objects: i64,
    pub(crate) blocks: u64,
}

pub(crate) fn decode_sum(row: &dyn Row) -> Result<TermSum, StoreError> {
    Ok(TermSum {
        nsid: row.int(0)?,
        objects: row.int(1)?,
        blocks: u64::try_from(row.int(2)?).unwrap_or(0),
    })
}

/// How many objects have any of the terms, by namespace: [`decode_sum`].
pub(crate) fn sums(dialect: Dialect, terms: &[i64], resource: i32, nsids: &[i64]) -> Statement {
    Sql::new("post.sums", "SELECT nsid, ")
        .push(dialect.sum_of_n())
        .push(", COUNT(*) FROM post WHERE term IN ")
        .list(terms)
        .bound(" AND type = ?", [resource.into()])
        .push(" AND nsid IN ")
        .list(nsids)
        .push(" GROUP BY nsid")
        .build()
}

/// The sizes of blocks of any of the terms, at most `limit`, in no order: (nsid, n).
pub(crate) fn sizes(terms: &[i64], resource: i32, limit: i64) -> Statement {
    Sql::new("post.sizes", "SELECT nsid, n FROM post WHERE term IN ")
        .list(terms)
        .bound(" AND type = ? LIMIT ?", [resource.into(), limit.into()])
        .build()
}

/// How many objects have one of the terms within each of these ranges of namespace ids, and in how many blocks they are: (n, blocks).
pub(crate) fn sum(
    dialect: Dialect,
    terms: &[i64],
    resource: i32,
    ranges: &[(i64, i64)],
) -> Statement {
    let mut sql = Sql::new("post.sum", "");
    for (index, &(from, until)) in ranges.iter().enumerate() {
        sql = sql
            .push(if index == 0 {
                "SELECT "
            } else {
                " UNION ALL SELECT "
            })
            .push(dialect.sum_of_n())
            .push(", COUNT(*) FROM post WHERE term IN ")
            .list(terms)
            .bound(
                " AND type = ? AND nsid >= ? AND nsid < ?",
                [resource.into(), from.into(), until.into()],
            );
    }
    sql.build()
}
