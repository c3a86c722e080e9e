//! Objects in the order of a column, in a total order of the database's own.

use armadex_model::query::SortValue;

use super::select::COLUMNS;
use crate::sql::dialect::{Dialect, ObjIndex};
use crate::sql::statement::{Param, Sql, Statement};

/// What objects are sorted by: the first two have an index, for the others the database looks at every object of the type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SortColumn {
    Created,
    Name,
    Uid,
    Version,
}

impl SortColumn {
    pub(crate) fn is_indexed(self) -> bool {
        matches!(self, Self::Created | Self::Name)
    }

    fn index(self) -> ObjIndex {
        match self {
            Self::Created => ObjIndex::Created,
            Self::Name => ObjIndex::Name,
            Self::Uid | Self::Version => ObjIndex::Key,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Created => "o.created",
            Self::Name => "o.name",
            Self::Uid => "o.uid",
            Self::Version => "o.rv",
        }
    }
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

/// The next objects in the order of a column.
pub(crate) fn along(
    dialect: Dialect,
    resource: i32,
    (column, descending): (SortColumn, bool),
    cursor: &Cursor,
    limit: i64,
) -> Statement {
    let sql = Sql::new(dialect, "sort.along", COLUMNS)
        .push(dialect.obj(column.index()))
        .bound(" WHERE o.type = ?", [resource.into()]);
    let direction = if descending { " DESC" } else { "" };
    beyond(sql, (column, descending), cursor)
        .push(" ORDER BY ")
        .push(column.name())
        .push(direction)
        .push(", o.nsid")
        .push(direction)
        .push(", o.id")
        .push(direction)
        .push(" LIMIT ")
        .bind(limit)
        .build()
}

fn beyond(sql: Sql, (column, descending): (SortColumn, bool), cursor: &Cursor) -> Sql {
    match cursor {
        Cursor::Start => sql,
        Cursor::At(value) => sql
            .push(" AND ")
            .push(column.name())
            .push(if descending { " <= " } else { " >= " })
            .bind(value.clone()),
        Cursor::After { value, nsid, id } if sql.dialect == Dialect::MySql => {
            after(sql, (column, descending), value, [*nsid, *id])
        }
        Cursor::After { value, nsid, id } => sql
            .push(" AND (")
            .push(column.name())
            .push(", o.nsid, o.id)")
            .push(if descending { " < " } else { " > " })
            .bound("(?, ?, ?)", [value.clone(), (*nsid).into(), (*id).into()]),
    }
}

/// What comes behind an object, for databases that go into an index by no comparison of rows:
/// <https://dev.mysql.com/doc/refman/8.0/en/row-constructor-optimization.html>.
fn after(
    sql: Sql,
    (column, descending): (SortColumn, bool),
    value: &Param,
    [nsid, id]: [i64; 2],
) -> Sql {
    let beyond = if descending { " < " } else { " > " };
    sql.push(" AND (")
        .push(column.name())
        .push(beyond)
        .bind(value.clone())
        .push(" OR (")
        .push(column.name())
        .bound(" = ? AND (o.nsid", [value.clone()])
        .push(beyond)
        .bound("? OR (o.nsid = ? AND o.id", [nsid.into(), nsid.into()])
        .push(beyond)
        .bind(id)
        .push("))))")
}

impl From<&SortValue> for Param {
    fn from(value: &SortValue) -> Self {
        match value {
            SortValue::Number(number) => Self::Int(*number),
            SortValue::Text(text) => text.into(),
        }
    }
}
