//! Reading posting blocks. Terms come in lists that the caller cuts to [`crate::sql::statement::MAX_LIST`].

use armadex_postings::Block;
use armadex_storage::StoreError;

use crate::backend::Row;
use crate::sql::dialect::Dialect;
use crate::sql::index::decode_block;
use crate::sql::statement::{Sql, Statement};

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

/// How many objects have one of the terms within a range of namespace ids, and in how many blocks they are: (n, blocks).
pub(crate) fn sum(
    dialect: Dialect,
    terms: &[i64],
    resource: i32,
    (from, until): (i64, i64),
) -> Statement {
    Sql::new("post.sum", "SELECT ")
        .push(dialect.sum_of_n())
        .push(", COUNT(*) FROM post WHERE term IN ")
        .list(terms)
        .bound(
            " AND type = ? AND nsid >= ? AND nsid < ?",
            [resource.into(), from.into(), until.into()],
        )
        .build()
}
