//! Posting blocks: the ids of one term of a type in one namespace, in blocks. Terms come in lists that the caller cuts to
//! [`crate::sql::pieces::MAX_LIST`].

use std::collections::BTreeSet;

use armadex_postings::Block;
use armadex_storage::StoreError;

use crate::backend::Row;
use crate::backend::error::broken;
use crate::sql::catalog::type_id;
use crate::sql::dialect::{Dialect, Many, Upsert};
use crate::sql::lists::Given;
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
pub(crate) fn around(dialect: Dialect, parts: &[RunPart]) -> Statement {
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
    let sql = Sql::new(dialect, "post.around", "");
    match dialect {
        Dialect::Sqlite => sql.given(&PARTS, tuples).push(AROUND),
        Dialect::MySql => sql.given(&PARTS, tuples).push(AROUND_MYSQL),
        Dialect::Postgres => sql
            .push("SELECT p.term, p.type, p.nsid, p.first_id, p.n, p.ids FROM ")
            .table("k (term, type, nsid, low, high, shrinks)", tuples)
            .push(AROUND_POSTGRES),
    }
    .build()
}

/// The same in three walks of the index, each as short as what it gives: those up to `low`, backwards; those between; the one behind.
const AROUND_POSTGRES: &str = " CROSS JOIN LATERAL (\
     (SELECT * FROM post WHERE term = k.term AND type = k.type AND nsid = k.nsid AND first_id <= k.low \
     ORDER BY first_id DESC LIMIT 1 + k.shrinks) UNION ALL \
     (SELECT * FROM post WHERE term = k.term AND type = k.type AND nsid = k.nsid AND first_id > k.low AND first_id <= k.high) UNION ALL \
     (SELECT * FROM post WHERE term = k.term AND type = k.type AND nsid = k.nsid AND first_id > k.high \
     ORDER BY first_id LIMIT 1)) p";

const AROUND: &str = "SELECT p.term, p.type, p.nsid, p.first_id, p.n, p.ids FROM k CROSS JOIN post p \
             WHERE p.term = k.term AND p.type = k.type AND p.nsid = k.nsid \
             AND p.first_id >= COALESCE((SELECT MAX(q.first_id) FROM post q \
             WHERE q.term = k.term AND q.type = k.type AND q.nsid = k.nsid AND q.first_id <= (SELECT MAX(r.first_id) FROM post r \
             WHERE r.term = k.term AND r.type = k.type AND r.nsid = k.nsid AND r.first_id <= k.low) - k.shrinks), 0) \
             AND p.first_id <= COALESCE((SELECT MIN(q.first_id) FROM post q \
             WHERE q.term = k.term AND q.type = k.type AND q.nsid = k.nsid AND q.first_id > k.high), k.high)";

/// The same for what would work out the bounds again for each block of the run: with a limit they are a table. A run is read to its end, for
/// bounds that are not constants lead into no index; it has few blocks but in the largest namespaces.
const AROUND_MYSQL: &str = "SELECT p.term, p.type, p.nsid, p.first_id, p.n, p.ids FROM (SELECT k.term, k.type, k.nsid, \
     COALESCE((SELECT q.first_id FROM post q FORCE INDEX (PRIMARY) \
     WHERE q.term = k.term AND q.type = k.type AND q.nsid = k.nsid AND q.first_id <= (SELECT r.first_id FROM post r FORCE INDEX (PRIMARY) \
     WHERE r.term = k.term AND r.type = k.type AND r.nsid = k.nsid AND r.first_id <= k.low ORDER BY r.first_id DESC LIMIT 1) - k.shrinks \
     ORDER BY q.first_id DESC LIMIT 1), 0) AS low, \
     COALESCE((SELECT q.first_id FROM post q FORCE INDEX (PRIMARY) \
     WHERE q.term = k.term AND q.type = k.type AND q.nsid = k.nsid AND q.first_id > k.high ORDER BY q.first_id LIMIT 1), k.high) AS high \
     FROM k LIMIT 1000000) b STRAIGHT_JOIN post p FORCE INDEX (PRIMARY) \
     WHERE p.term = b.term AND p.type = b.type AND p.nsid = b.nsid AND p.first_id >= b.low AND p.first_id <= b.high";

const PARTS: Given = Given {
    alias: "k",
    columns: &["term", "type", "nsid", "low", "high", "shrinks"],
};

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
        dialect,
        "post.put",
        "INSERT INTO post (term, type, nsid, first_id, n, ids) ",
    )
    .rows(blocks.iter().map(block_params))
    .push(dialect.on_conflict(Upsert::Block))
    .build()
}

/// Writes blocks of runs that are not there yet.
pub(crate) fn insert(dialect: Dialect, blocks: &[BlockRow]) -> Statement {
    Sql::new(dialect, "post.insert", dialect.insert_into())
        .push("post (term, type, nsid, first_id, n, ids) ")
        .rows(blocks.iter().map(block_params))
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
    Sql::new(dialect, "post.delete", "DELETE FROM post WHERE ")
        .keys("(term, type, nsid, first_id)", keys)
        .build()
}

/// Deletes whole runs, whatever is in them.
pub(crate) fn delete_runs(dialect: Dialect, runs: &[RunKey]) -> Statement {
    Sql::new(dialect, "post.delete_runs", "DELETE FROM post WHERE ")
        .keys("(term, type, nsid)", runs.iter().map(run_key))
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
pub(crate) fn within(
    dialect: Dialect,
    terms: &[i64],
    resource: i32,
    nsids: &[i64],
    limit: i64,
) -> Statement {
    let columns = "SELECT p.term, p.type, p.nsid, p.first_id, p.n, p.ids FROM ";
    let sql = Sql::new(dialect, "post.within", columns);
    of_runs(sql, terms, resource, nsids)
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
    let sql = Sql::new(dialect, "post.sums", "SELECT p.nsid, ")
        .push(dialect.sum_of_n())
        .push(", COUNT(*) FROM ");
    of_runs(sql, terms, resource, nsids)
        .push(" GROUP BY p.nsid")
        .build()
}

/// The blocks `p` of these terms in these namespaces, each run by itself.
fn of_runs(sql: Sql, terms: &[i64], resource: i32, nsids: &[i64]) -> Sql {
    let by_key = sql.dialect.by_key();
    match sql.dialect.many() {
        Many::Arrays => {
            // Who asks for a term twice means it once.
            let terms = BTreeSet::from_iter(terms);
            sql.table("t (term)", terms.into_iter().map(|&term| [term.into()]))
                .push(" CROSS JOIN ")
                .table("k (nsid)", nsids.iter().map(|&nsid| [nsid.into()]))
                .bound(
                    " CROSS JOIN LATERAL (SELECT * FROM post \
                     WHERE term = t.term AND type = ? AND nsid = k.nsid ORDER BY first_id) p",
                    [resource.into()],
                )
        }
        Many::Values | Many::Selects => sql
            .push("post p")
            .push(by_key)
            .push(" WHERE ")
            .within("p.term", terms)
            .bound(" AND p.type = ? AND ", [resource.into()])
            .within("p.nsid", nsids),
    }
}

/// The sizes of blocks of any of the terms, at most `limit`, in no order: (nsid, n).
pub(crate) fn sizes(dialect: Dialect, terms: &[i64], resource: i32, limit: i64) -> Statement {
    Sql::new(dialect, "post.sizes", "SELECT nsid, n FROM post")
        .push(dialect.by_key())
        .push(" WHERE ")
        .within("term", terms)
        .bound(" AND type = ? LIMIT ?", [resource.into(), limit.into()])
        .build()
}

/// The same within each of these ranges of namespace ids.
pub(crate) fn sizes_in(
    dialect: Dialect,
    terms: &[i64],
    resource: i32,
    ranges: &[(i64, i64)],
    limit: i64,
) -> Statement {
    let sql = Sql::new(dialect, "post.sizes_in", "");
    let within = |sql: Sql| {
        sql.within("term", terms)
            .bound(" AND type = ?", [resource.into()])
    };
    match dialect.many() {
        Many::Arrays => {
            let sql = sql.given(&RANGES, given(ranges)).push(
                "SELECT s.nsid, s.n FROM k CROSS JOIN LATERAL (SELECT nsid, n FROM post WHERE ",
            );
            // A limit of its own, or the ranges would be compared with all blocks of the terms.
            within(sql)
                .push(" AND nsid >= k.low AND nsid < k.high LIMIT ")
                .bind(limit)
                .push(") s")
        }
        Many::Values | Many::Selects => sql.for_each(" UNION ALL ", ranges, |sql, &(low, high)| {
            let sql = sql.push("SELECT nsid, n FROM post").push(dialect.by_key());
            within(sql.push(" WHERE "))
                .bound(" AND nsid >= ? AND nsid < ?", [low.into(), high.into()])
        }),
    }
    .push(" LIMIT ")
    .bind(limit)
    .build()
}

/// How many objects have one of the terms within each of these ranges of namespace ids, and in how many blocks they are: (n, blocks).
pub(crate) fn sum(
    dialect: Dialect,
    terms: &[i64],
    resource: i32,
    ranges: &[(i64, i64)],
) -> Statement {
    let sql = Sql::new(dialect, "post.sum", "");
    match dialect.many() {
        Many::Arrays => sum_of_given(sql, terms, resource, ranges),
        Many::Values | Many::Selects => sum_of_each(sql, terms, resource, ranges),
    }
    .build()
}

fn sum_of_given(sql: Sql, terms: &[i64], resource: i32, ranges: &[(i64, i64)]) -> Sql {
    let sum = sql.dialect.sum_of_n();
    sql.given(&RANGES, given(ranges))
        .push("SELECT s.n, s.blocks FROM k CROSS JOIN LATERAL (SELECT ")
        .push(sum)
        .push(" AS n, COUNT(*) AS blocks FROM post WHERE ")
        .within("term", terms)
        .bound(
            " AND type = ? AND nsid >= k.low AND nsid < k.high) s",
            [resource.into()],
        )
}

pub(super) const RANGES: Given = Given {
    alias: "k",
    columns: &["low", "high"],
};

/// Ranges of namespace ids: the first, and the one after the last.
pub(super) fn given(ranges: &[(i64, i64)]) -> impl ExactSizeIterator<Item = [Param; 2]> {
    let rows = ranges.iter();
    rows.map(|&(low, high)| [low, high].map(Param::from))
}

fn sum_of_each(sql: Sql, terms: &[i64], resource: i32, ranges: &[(i64, i64)]) -> Sql {
    let (sum, by_key) = (sql.dialect.sum_of_n(), sql.dialect.by_key());
    sql.for_each(" UNION ALL ", ranges, |sql, &(low, high)| {
        sql.push("SELECT ")
            .push(sum)
            .push(", COUNT(*) FROM post")
            .push(by_key)
            .push(" WHERE ")
            .within("term", terms)
            .bound(
                " AND type = ? AND nsid >= ? AND nsid < ?",
                [resource.into(), low.into(), high.into()],
            )
    })
}
