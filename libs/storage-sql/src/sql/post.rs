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
        Dialect::Postgres => sql
            .push("SELECT p.term, p.type, p.nsid, p.first_id, p.n, p.ids FROM ")
            .table("k (term, type, nsid, low, high, shrinks)", tuples)
            .push(AROUND_POSTGRES),
        Dialect::MySql => sql.for_each(" UNION ALL ", parts, walks),
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

/// The same three walks for what finds no way into an index by bounds of another table: it would read each run to its end.
fn walks(sql: Sql, part: &RunPart) -> Sql {
    let RunPart {
        run,
        low,
        high,
        shrinks,
    } = *part;
    let before = 1 + i64::from(shrinks);
    let sql = walk(sql, &run).bound(
        "first_id <= ? ORDER BY first_id DESC LIMIT ?) UNION ALL ",
        [low.into(), before.into()],
    );
    let sql = walk(sql, &run).bound(
        "first_id > ? AND first_id <= ?) UNION ALL ",
        [low.into(), high.into()],
    );
    walk(sql, &run).bound("first_id > ? ORDER BY first_id LIMIT 1)", [high.into()])
}

fn walk(sql: Sql, run: &RunKey) -> Sql {
    let by_key = sql.dialect.by_key();
    sql.push("(").push(BLOCKS).push(by_key).bound(
        " WHERE term = ? AND type = ? AND nsid = ? AND ",
        run_key(run),
    )
}

/// Begins what gives blocks to [`decode_block`].
const BLOCKS: &str = "SELECT term, type, nsid, first_id, n, ids FROM post";

/// Whole runs, at most `limit` blocks of them, in no order.
pub(crate) fn runs(dialect: Dialect, runs: &[RunKey], limit: i64) -> Statement {
    Sql::new(dialect, "post.runs", BLOCKS)
        .push(dialect.by_key())
        .push(" WHERE ")
        .keys("(term, type, nsid)", runs.iter().map(run_key))
        .push(" LIMIT ")
        .bind(limit)
        .build()
}

/// The blocks of a run that begin after an id, at most `limit`, in order.
pub(crate) fn following(dialect: Dialect, run: &RunKey, after: i64, limit: i64) -> Statement {
    Sql::new(dialect, "post.following", BLOCKS)
        .push(dialect.by_key())
        .bound(" WHERE term = ? AND type = ? AND nsid = ?", run_key(run))
        .bound(
            " AND first_id > ? ORDER BY first_id LIMIT ?",
            [after.into(), limit.into()],
        )
        .build()
}

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
    match dialect.many() {
        Many::Arrays => {
            // Who asks for a term twice means it once.
            let terms = BTreeSet::from_iter(terms);
            // Each run by itself.
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
            .push(dialect.by_key())
            .push(" WHERE ")
            .within("p.term", terms)
            .bound(" AND p.type = ? AND ", [resource.into()])
            .within("p.nsid", nsids),
    }
    .push(" LIMIT ")
    .bind(limit)
    .build()
}

/// How many objects of a namespace have a term: the sum of its blocks, none of which is unpacked.
pub(crate) fn total(dialect: Dialect, term: i64, resource: i32, nsid: i64) -> Statement {
    Sql::new(dialect, "post.total", "SELECT ")
        .push(dialect.sum_of_n())
        .push(" FROM post")
        .push(dialect.by_key())
        .bound(
            " WHERE term = ? AND type = ? AND nsid = ?",
            [term.into(), resource.into(), nsid.into()],
        )
        .build()
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

/// The first namespace, if any, within each of these ranges of namespace ids in which an object has a term.
pub(crate) fn first_in(
    dialect: Dialect,
    term: i64,
    resource: i32,
    ranges: &[(i64, i64)],
) -> Statement {
    let sql = Sql::new(dialect, "post.first_in", "");
    let first = |sql: Sql| {
        sql.push("(SELECT nsid FROM post")
            .push(dialect.by_key())
            .bound(
                " WHERE term = ? AND type = ?",
                [term.into(), resource.into()],
            )
    };
    match dialect.many() {
        Many::Arrays => {
            let sql = sql.given(&RANGES, given(ranges));
            first(sql.push("SELECT s.nsid FROM k CROSS JOIN LATERAL "))
                .push(" AND nsid >= k.low AND nsid < k.high ORDER BY nsid LIMIT 1) s")
        }
        Many::Values | Many::Selects => sql.for_each(" UNION ALL ", ranges, |sql, &(low, high)| {
            first(sql.push("SELECT nsid FROM ")).bound(
                " AND nsid >= ? AND nsid < ? ORDER BY nsid LIMIT 1) s",
                [low.into(), high.into()],
            )
        }),
    }
    .build()
}

/// The same as [`sizes`] within each of these ranges of namespace ids.
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
        Many::Values => sql.for_each(" UNION ALL ", ranges, |sql, &(low, high)| {
            let sql = sql.push("SELECT nsid, n FROM post").push(dialect.by_key());
            within(sql.push(" WHERE "))
                .bound(" AND nsid >= ? AND nsid < ?", [low.into(), high.into()])
        }),
        Many::Selects => {
            let sql = sql.push("SELECT nsid, n FROM post").push(dialect.by_key());
            within(sql.push(" WHERE "))
                .push(" AND ")
                .within_ranges("nsid >= ? AND nsid < ?", ranges)
        }
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
