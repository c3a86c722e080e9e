//! Every table as a value, read and written whole in the order of its primary key: what a copy of a store is made by.

use armadex_storage::StoreError;

use crate::backend::Row;
use crate::sql::dialect::{Dialect, Many};
use crate::sql::head::HeadRow;
use crate::sql::statement::{Param, Sql, Statement};

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Int,
    Text,
    OptionalText,
    Blob,
}

use Kind::{Blob, Int, OptionalText, Text};

/// A table whose rows are copied as they are.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    /// Those of the primary key come first, in its order.
    pub(crate) columns: &'static [(&'static str, Kind)],
    /// How many of the columns are the primary key.
    pub(crate) key: usize,
    /// How many bytes a row takes beside some that are bounded, where they are not.
    pub(crate) bytes: Option<&'static str>,
}

/// All that a store has, but for the head and what the store has one of. Streams are read before what they are the positions of: a position that is
/// older than its rows does no harm.
pub(crate) static TABLES: [Table; 18] = [
    table(
        "stream",
        2,
        &[
            ("cluster", Int),
            ("type", Int),
            ("is_open", Int),
            ("epoch", Int),
            ("phase", Int),
            ("rv", Text),
            ("member", Text),
            ("at", Int),
            ("rules", Int),
            ("objects", Int),
            ("seq", Int),
        ],
    ),
    table("allocation", 1, &[("name", Text), ("next", Int)]),
    table(
        "lease",
        1,
        &[
            ("name", Text),
            ("holder", Text),
            ("beat", Int),
            ("clock", Int),
        ],
    ),
    table(
        "milestone",
        1,
        &[("rev", Int), ("at", Int), ("bytes", Int), ("history", Int)],
    ),
    table(
        "history",
        2,
        &[
            ("api_group", Text),
            ("resource", Text),
            ("period", Int),
            ("bytes", Int),
        ],
    ),
    table("owner", 1, &[("name", Text), ("seen", Int)]),
    table("tenure", 1, &[("owner", Text), ("number", Int)]),
    Table {
        name: "dict",
        columns: &[("id", Int), ("objects", Int), ("bytes", Blob)],
        key: 1,
        bytes: Some("LENGTH(bytes)"),
    },
    table(
        "type",
        1,
        &[
            ("id", Int),
            ("api_group", Text),
            ("version", Text),
            ("resource", Text),
            ("kind", Text),
            ("namespaced", Int),
            ("singular", Text),
            ("short_names", Text),
            ("categories", Text),
            ("seq", Int),
            ("unused", Int),
            ("history", Int),
        ],
    ),
    table(
        "cluster",
        1,
        &[
            ("id", Int),
            ("name", Text),
            ("incarnation", Text),
            ("active", Int),
            ("next_namespace", Int),
            ("seq", Int),
            ("owner", Text),
            ("left_at", Int),
            ("labels", OptionalText),
        ],
    ),
    table(
        "health",
        1,
        &[
            ("cluster", Int),
            ("healthy", Int),
            ("reason", Text),
            ("version", OptionalText),
            ("seq", Int),
        ],
    ),
    table(
        "ns",
        1,
        &[
            ("nsid", Int),
            ("cluster", Int),
            ("namespace", Text),
            ("types", Int),
            ("emptied", Int),
            ("kept", Int),
        ],
    ),
    table("gone", 3, &[("seq", Int), ("cluster", Int), ("type", Int)]),
    table(
        "unposted",
        2,
        &[("type", Int), ("term", Int), ("rev", Int), ("seq", Int)],
    ),
    table(
        "counter",
        3,
        &[
            ("type", Int),
            ("cluster", Int),
            ("namespace", Text),
            ("nsid", Int),
            ("n", Int),
        ],
    ),
    table(
        "obj",
        1,
        &[
            ("id", Int),
            ("type", Int),
            ("nsid", Int),
            ("name", Text),
            ("uid", Text),
            ("created", Int),
            ("rv", Int),
            ("rv_text", OptionalText),
            ("size", Int),
            ("rev", Int),
            ("form", Int),
        ],
    ),
    Table {
        name: "ver",
        columns: &[
            ("rev", Int),
            ("prev_rev", Int),
            ("obj", Int),
            ("op", Int),
            ("type", Int),
            ("nsid", Int),
            ("name", Text),
            ("dict", Int),
            ("terms", Blob),
            ("body", Blob),
        ],
        key: 1,
        bytes: Some("LENGTH(terms) + LENGTH(body)"),
    },
    table(
        "post",
        4,
        &[
            ("term", Int),
            ("type", Int),
            ("nsid", Int),
            ("first_id", Int),
            ("n", Int),
            ("ids", Blob),
        ],
    ),
];

/// Those that have rows in a store that was just made.
pub(crate) const PREFILLED: [&str; 2] = ["allocation", "lease"];

/// One whose rows are bounded.
const fn table(name: &'static str, key: usize, columns: &'static [(&'static str, Kind)]) -> Table {
    Table {
        name,
        columns,
        key,
        bytes: None,
    }
}

/// An end of a table, in the order of its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    First,
    Last,
}

/// A row, as it is written.
pub(crate) type Cells = Vec<Param>;

impl Table {
    /// Rows behind a key, or the first ones, in the order of keys.
    pub(crate) fn page(&self, dialect: Dialect, after: Option<&[Param]>, limit: i64) -> Statement {
        let columns = self.columns.iter().map(|(name, _)| *name);
        let sql = Sql::new(dialect, "copy.page", "SELECT ").names(columns);
        self.in_order(sql, after, "")
            .push(" LIMIT ")
            .bind(limit)
            .build()
    }

    /// (the key, how many bytes the row takes) of rows behind a key, where those are not bounded; the key is one number.
    pub(crate) fn sizes(
        &self,
        dialect: Dialect,
        after: Option<&[Param]>,
        limit: i64,
    ) -> Option<Statement> {
        let bytes = self.bytes?;
        debug_assert_eq!(self.key, 1, "{}", self.name);
        let sql = Sql::new(dialect, "copy.sizes", "SELECT ")
            .names([self.columns[0].0, bytes].into_iter());
        let sql = self.in_order(sql, after, "").push(" LIMIT ").bind(limit);
        Some(sql.build())
    }

    /// The first key or the last one, if there is any.
    pub(crate) fn end(&self, dialect: Dialect, end: End) -> Statement {
        let (name, direction) = match end {
            End::First => ("copy.first", ""),
            End::Last => ("copy.last", " DESC"),
        };
        let sql = Sql::new(dialect, name, "SELECT ").names(self.keys());
        self.in_order(sql, None, direction).push(" LIMIT 1").build()
    }

    /// How many rows there are.
    pub(crate) fn count(&self, dialect: Dialect) -> Statement {
        let sql = Sql::new(dialect, "copy.count", "SELECT COUNT(*) FROM ");
        sql.push(self.name).build()
    }

    /// New rows.
    pub(crate) fn insert(&self, dialect: Dialect, rows: &[Cells]) -> Statement {
        let columns = self.columns.iter().map(|(name, _)| *name);
        Sql::new(dialect, "copy.insert", dialect.insert_into())
            .push(self.name)
            .push(" (")
            .names(columns)
            .push(") ")
            .rows(rows.iter().cloned())
            .build()
    }

    /// Removes all rows, where a store that was just made has a few.
    pub(crate) fn clear(&self, dialect: Dialect) -> Statement {
        let sql = Sql::new(dialect, "copy.clear", "DELETE FROM ");
        sql.push(self.name).build()
    }

    /// What a row of [`Table::page`] has.
    pub(crate) fn decode(&self, row: &dyn Row) -> Result<Cells, StoreError> {
        decode(row, self.columns)
    }

    /// What a row of [`Table::end`] has.
    pub(crate) fn decode_key(&self, row: &dyn Row) -> Result<Cells, StoreError> {
        decode(row, &self.columns[..self.key])
    }

    fn keys(&self) -> impl Iterator<Item = &'static str> {
        self.columns[..self.key].iter().map(|(name, _)| *name)
    }

    fn in_order(&self, sql: Sql, after: Option<&[Param]>, direction: &'static str) -> Sql {
        let by_key = sql.dialect.by_key();
        let sql = sql.push(" FROM ").push(self.name).push(by_key);
        let sql = match after {
            Some(key) => self.behind(sql.push(" WHERE "), key),
            None => sql,
        };
        let keys: Vec<&'static str> = self.keys().collect();
        sql.push(" ORDER BY ")
            .for_each(", ", &keys, |sql, key| sql.push(key).push(direction))
    }

    /// A comparison of tuples leads MySQL no further into an index than their beginning.
    fn behind(&self, sql: Sql, key: &[Param]) -> Sql {
        match sql.dialect.many() {
            Many::Selects => self.behind_one_by_one(sql, key),
            Many::Arrays | Many::Values => sql
                .push("(")
                .names(self.keys())
                .push(") > (")
                .for_each(", ", key, |sql, value| sql.bind(value.clone()))
                .push(")"),
        }
    }

    /// `a > ? OR (a = ? AND (b > ?))`.
    fn behind_one_by_one(&self, sql: Sql, key: &[Param]) -> Sql {
        let last = self.key - 1;
        let mut sql = sql;
        for (index, (name, value)) in self.keys().zip(key).enumerate() {
            sql = sql.push("(").push(name).push(" > ").bind(value.clone());
            if index < last {
                sql = sql.push(" OR (").push(name).push(" = ");
                sql = sql.bind(value.clone()).push(" AND ");
            }
        }
        sql = sql.push(")");
        (0..last).fold(sql, |sql, _| sql.push("))"))
    }
}

fn decode(row: &dyn Row, columns: &[(&str, Kind)]) -> Result<Cells, StoreError> {
    let cells = columns.iter().enumerate().map(|(at, (_, kind))| {
        Ok(match kind {
            Int => row.int(at)?.into(),
            Text => row.text(at)?.into(),
            OptionalText => row.optional_text(at)?.as_deref().into(),
            Blob => row.blob(at)?.into(),
        })
    });
    cells.collect()
}

/// What moves with everything that is written to a store, but for positions of streams, which may be older in a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) head: HeadRow,
    /// How many numbers were handed out.
    pub(crate) numbers: i64,
    /// How many steps of the periodic work were done.
    pub(crate) beat: i64,
}

pub(crate) fn standing(dialect: Dialect) -> Statement {
    let sql = Sql::new(dialect, "copy.standing", HEAD);
    sql.push(", CAST((SELECT SUM(next) FROM allocation)")
        .push(dialect.as_int())
        .push(", CAST((SELECT SUM(beat) FROM lease)")
        .push(dialect.as_int())
        .push(" FROM head WHERE id = 1")
        .build()
}

const HEAD: &str = "SELECT rev, pruned, catalog, floor, incarnation, serves, history";

pub(crate) fn decode_standing(row: &dyn Row) -> Result<Standing, StoreError> {
    Ok(Standing {
        head: crate::sql::head::decode(row)?,
        numbers: row.int(7)?,
        beat: row.int(8)?,
    })
}
