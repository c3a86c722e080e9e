//! Where databases differ in the text of a statement. What is not here is the same for all, or stands beside the other texts of its
//! statement.

mod mysql;
mod part;
mod postgres;
mod spelling;
mod sqlite;

pub(crate) use part::{Many, ObjIndex, Upsert};
use spelling::Spelling;

/// The SQL that a database speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
    /// MySQL and MariaDB: nothing that only one of them knows.
    MySql,
}

impl Dialect {
    fn spelling(self) -> &'static Spelling {
        match self {
            Self::Sqlite => &sqlite::SPELLING,
            Self::Postgres => &postgres::SPELLING,
            Self::MySql => &mysql::SPELLING,
        }
    }

    /// How what there are many of is written.
    pub(crate) fn many(self) -> Many {
        self.spelling().many
    }

    /// `obj o`, read along `index`.
    pub(crate) fn obj(self, index: ObjIndex) -> &'static str {
        (self.spelling().obj)(index)
    }

    /// What stands behind a table whose rows are to be found by its primary key, whatever is thought of how many it has.
    pub(crate) fn by_key(self) -> &'static str {
        self.spelling().by_key
    }

    /// What keeps the rows that are read from everybody else until the transaction ends. In a SQLite file nobody else writes anyway.
    pub(crate) fn held(self) -> &'static str {
        match self {
            Self::Sqlite => "",
            Self::Postgres | Self::MySql => " FOR UPDATE",
        }
    }

    /// Whether a value is read whole to tell how long it is. The others have its length beside it.
    pub(crate) fn reads_to_measure(self) -> bool {
        match self {
            Self::Sqlite | Self::Postgres => false,
            Self::MySql => true,
        }
    }

    /// What joins a table to one that is read first.
    pub(crate) fn then_join(self) -> &'static str {
        self.spelling().then_join
    }

    /// A sum of whole numbers as one of 64 bits, 0 where there is nothing to add. Some databases widen it to a decimal.
    pub(crate) fn sum_of_n(self) -> &'static str {
        self.spelling().sum_of_n
    }

    /// What begins the count of the rows for which something is there.
    pub(crate) fn count(self) -> &'static str {
        self.spelling().count
    }

    /// What ends a `CAST(` to a whole number of 64 bits.
    pub(crate) fn as_int(self) -> &'static str {
        self.spelling().as_int
    }

    /// What inserts new rows. An error ends the whole transaction, so a database that can does not remember how to undo the statement alone.
    pub(crate) fn insert_into(self) -> &'static str {
        self.spelling().insert_into
    }

    /// The clause that turns an insert into an update when the key is there.
    pub(crate) fn on_conflict(self, target: Upsert) -> &'static str {
        (self.spelling().on_conflict)(target)
    }
}
