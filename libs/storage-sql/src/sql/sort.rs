//! Reading objects in another order than that of pages.

use std::ops::Range;

use armadex_model::NameFilter;
use armadex_model::query::{OrderBy, OrderField, SortValue};
use armadex_storage::StoreError;

use super::select::{self, Candidate, named};
use crate::backend::Row;
use crate::read::plan::Rank;
use crate::sql::dialect::{Dialect, ObjIndex};
use crate::sql::statement::{Param, Sql, Statement};

/// An object with the namespace it may be sorted by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    pub(crate) row: Candidate,
    pub(crate) namespace: String,
}

const COLUMNS: &str = "SELECT o.oid, o.nsid, o.name, o.uid, o.created, o.rv, o.rv_text, o.size, \
                       o.rev, n.namespace FROM ";
/// The tables are joined in this order and no other: the objects along their index, then what their ids stand for.
const JOINED: &str =
    " CROSS JOIN ns n CROSS JOIN cluster c WHERE n.nsid = o.nsid AND c.id = n.cluster";

pub(crate) fn decode(row: &dyn Row) -> Result<Placed, StoreError> {
    Ok(Placed {
        row: select::decode(row)?,
        namespace: row.text(9)?,
    })
}

/// Which objects are sorted.
pub(crate) struct Sorting<'a> {
    pub(crate) resource: i32,
    pub(crate) index: ObjIndex,
    pub(crate) names: &'a NameFilter,
    pub(crate) order: &'a [OrderBy],
    pub(crate) after: Option<&'a Rank>,
    pub(crate) limit: i64,
}

/// The first objects of a range of namespace ids.
pub(crate) fn range(dialect: Dialect, sorting: &Sorting<'_>, range: &Range<i64>) -> Statement {
    let sql = Sql::new("sort.range", COLUMNS)
        .push(dialect.obj(sorting.index))
        .push(JOINED)
        .bound(
            " AND o.type = ? AND o.nsid >= ? AND o.nsid < ?",
            [
                sorting.resource.into(),
                range.start.into(),
                range.end.into(),
            ],
        );
    finish(sql, sorting)
}

/// The first objects of some namespaces.
pub(crate) fn within(dialect: Dialect, sorting: &Sorting<'_>, nsids: &[i64]) -> Statement {
    let sql = Sql::new("sort.within", COLUMNS)
        .push(dialect.obj(sorting.index))
        .push(JOINED)
        .bound(" AND o.type = ?", [sorting.resource.into()])
        .push(" AND o.nsid IN ")
        .list(nsids);
    finish(sql, sorting)
}

fn finish(sql: Sql, sorting: &Sorting<'_>) -> Statement {
    let mut sql = named(sql, sorting.names);
    if let Some(rank) = sorting.after {
        sql = after(sql, sorting.order, rank);
    }
    sql = sql.push(" ORDER BY ");
    for key in sorting.order {
        sql = sql
            .push(column(key.field))
            .push(if key.descending { " DESC, " } else { ", " });
    }
    sql.push("o.nsid, o.name LIMIT ")
        .bind(sorting.limit)
        .build()
}

/// What lies after a rank. The first condition is implied by the second; an index can seek by it.
fn after(sql: Sql, order: &[OrderBy], rank: &Rank) -> Sql {
    let mut sql = sql;
    let mut open = 0;
    for (index, (key, value)) in order.iter().zip(&rank.keys).enumerate() {
        let column = column(key.field);
        if index == 0 {
            let or_equal = if key.descending { " <= " } else { " >= " };
            sql = sql.push(" AND ").push(column).push(or_equal).bind(value);
        }
        let beyond = if key.descending { " < " } else { " > " };
        sql = sql.push(if index == 0 { " AND (" } else { "(" });
        sql = sql.push(column).push(beyond).bind(value);
        sql = sql
            .push(" OR (")
            .push(column)
            .push(" = ")
            .bind(value)
            .push(" AND ");
        open += 2;
    }
    if open == 0 {
        sql = sql.push(" AND ");
    }
    sql = sql.bound(
        "(o.nsid > ? OR (o.nsid = ? AND o.name > ?))",
        [rank.nsid.into(), rank.nsid.into(), (&rank.name).into()],
    );
    (0..open).fold(sql, |sql, _| sql.push(")"))
}

fn column(field: OrderField) -> &'static str {
    match field {
        OrderField::Cluster => "c.name",
        OrderField::Namespace => "n.namespace",
        OrderField::Name => "o.name",
        OrderField::CreatedAt => "o.created",
        OrderField::ResourceVersion => "o.rv",
        OrderField::Uid => "o.uid",
    }
}

impl From<&SortValue> for Param {
    fn from(value: &SortValue) -> Self {
        match value {
            SortValue::Number(number) => Self::Int(*number),
            SortValue::Text(text) => text.into(),
        }
    }
}
