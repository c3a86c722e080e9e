//! Reading posting blocks.

use std::ops::Range;

use armadex_postings::Block;
use armadex_storage::StoreError;

use crate::backend::Row;
use crate::sql::index::decode_block;
use crate::sql::statement::{Sql, Statement};

const COLUMNS: &str = "SELECT term, nsid, first_oid, n, oids FROM post WHERE term IN ";

/// A block's namespace, and the block.
pub(crate) fn decode(row: &dyn Row) -> Result<(i64, Block), StoreError> {
    let row = decode_block(row)?;
    Ok((row.run.nsid, row.block))
}

/// Blocks of any of the terms in a range of namespace ids, in page order.
pub(crate) fn from(terms: &[i64], resource: i32, range: &Range<i64>, limit: i64) -> Statement {
    Sql::new("post.from", COLUMNS)
        .list(terms)
        .bound(
            " AND type = ? AND nsid >= ? AND nsid < ? ORDER BY nsid, first_oid LIMIT ?",
            [
                resource.into(),
                range.start.into(),
                range.end.into(),
                limit.into(),
            ],
        )
        .build()
}

/// All blocks of any of the terms in some namespaces.
pub(crate) fn within(terms: &[i64], resource: i32, nsids: &[i64]) -> Statement {
    Sql::new("post.within", COLUMNS)
        .list(terms)
        .bound(" AND type = ?", [resource.into()])
        .push(" AND nsid IN ")
        .list(nsids)
        .build()
}

/// How many objects have any of the terms, by namespace.
pub(crate) fn sums(terms: &[i64], resource: i32, nsids: &[i64]) -> Statement {
    Sql::new("post.sums", "SELECT nsid, SUM(n) FROM post WHERE term IN ")
        .list(terms)
        .bound(" AND type = ?", [resource.into()])
        .push(" AND nsid IN ")
        .list(nsids)
        .push(" GROUP BY nsid")
        .build()
}

/// How many objects have any of the terms in a range of namespace ids.
pub(crate) fn sum(terms: &[i64], resource: i32, range: &Range<i64>) -> Statement {
    Sql::new(
        "post.sum",
        "SELECT COALESCE(SUM(n), 0) FROM post WHERE term IN ",
    )
    .list(terms)
    .bound(
        " AND type = ? AND nsid >= ? AND nsid < ?",
        [resource.into(), range.start.into(), range.end.into()],
    )
    .build()
}

/// How many objects the first blocks of the terms hold: cheap, and exact for terms with few blocks.
pub(crate) fn estimate(terms: &[i64], resource: i32, blocks: i64) -> Statement {
    Sql::new(
        "post.estimate",
        "SELECT COALESCE(SUM(n), 0) FROM (SELECT n FROM post WHERE term IN ",
    )
    .list(terms)
    .bound(
        " AND type = ? LIMIT ?) first_blocks",
        [resource.into(), blocks.into()],
    )
    .build()
}
