//! Walking a sort index: objects by name or by the time they were created, in a total order of the index's own.

use armadex_model::query::SortValue;

use super::select::COLUMNS;
use crate::sql::dialect::{Dialect, ObjIndex};
use crate::sql::statement::{Param, Sql, Statement};

/// An index that sorts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SortIndex {
    Created,
    Name,
}

/// How far a walk along a sort index has come.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cursor {
    /// At the index's beginning.
    Start,
    /// At the first object with this value.
    At(Param),
    /// Right after this object.
    After { value: Param, nsid: i64, id: i64 },
}

/// The next objects along an index.
pub(crate) fn along(
    dialect: Dialect,
    resource: i32,
    (index, descending): (SortIndex, bool),
    cursor: &Cursor,
    limit: i64,
) -> Statement {
    let index_of = match index {
        SortIndex::Created => ObjIndex::Created,
        SortIndex::Name => ObjIndex::Name,
    };
    let sql = Sql::new("sort.along", COLUMNS)
        .push(dialect.obj(index_of))
        .bound(" WHERE o.type = ?", [resource.into()]);
    let sql = beyond(sql, (index, descending), cursor);
    sql.push(match (index, descending) {
        (SortIndex::Created, false) => " ORDER BY o.created, o.nsid, o.id LIMIT ",
        (SortIndex::Created, true) => " ORDER BY o.created DESC, o.nsid DESC, o.id DESC LIMIT ",
        (SortIndex::Name, false) => " ORDER BY o.name, o.nsid, o.id LIMIT ",
        (SortIndex::Name, true) => " ORDER BY o.name DESC, o.nsid DESC, o.id DESC LIMIT ",
    })
    .bind(limit)
    .build()
}

fn beyond(sql: Sql, (index, descending): (SortIndex, bool), cursor: &Cursor) -> Sql {
    match cursor {
        Cursor::Start => sql,
        Cursor::At(value) => sql
            .push(match (index, descending) {
                (SortIndex::Created, false) => " AND o.created >= ",
                (SortIndex::Created, true) => " AND o.created <= ",
                (SortIndex::Name, false) => " AND o.name >= ",
                (SortIndex::Name, true) => " AND o.name <= ",
            })
            .bind(value.clone()),
        Cursor::After { value, nsid, id } => sql.bound(
            match (index, descending) {
                (SortIndex::Created, false) => " AND (o.created, o.nsid, o.id) > (?, ?, ?)",
                (SortIndex::Created, true) => " AND (o.created, o.nsid, o.id) < (?, ?, ?)",
                (SortIndex::Name, false) => " AND (o.name, o.nsid, o.id) > (?, ?, ?)",
                (SortIndex::Name, true) => " AND (o.name, o.nsid, o.id) < (?, ?, ?)",
            },
            [value.clone(), (*nsid).into(), (*id).into()],
        ),
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
