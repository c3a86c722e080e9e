//! Where databases differ in the text of a statement. What is not here is the same for all.

mod part;
mod sqlite;

pub(crate) use part::{ObjIndex, Upsert};

/// The SQL that a database speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
}

impl Dialect {
    /// `obj o`, read along `index`.
    pub(crate) fn obj(self, index: ObjIndex) -> &'static str {
        match self {
            Self::Sqlite => sqlite::obj(index),
        }
    }

    /// What stands before and after the tuples of `(a, b) IN ((?, ?), (?, ?))`.
    pub(crate) fn tuple_list(self) -> (&'static str, &'static str) {
        match self {
            Self::Sqlite => sqlite::TUPLE_LIST,
        }
    }

    /// A sum of whole numbers as one of 64 bits, 0 where there is nothing to add. Some databases widen it to a decimal.
    pub(crate) fn sum_of_n(self) -> &'static str {
        match self {
            Self::Sqlite => sqlite::SUM_OF_N,
        }
    }

    /// What inserts new rows. An error ends the whole transaction, so a database that can does not remember how to undo the statement alone.
    pub(crate) fn insert_into(self) -> &'static str {
        match self {
            Self::Sqlite => sqlite::INSERT_INTO,
        }
    }

    /// The clause that turns an insert into an update when the key is there.
    pub(crate) fn on_conflict(self, target: Upsert) -> &'static str {
        match self {
            Self::Sqlite => sqlite::on_conflict(target),
        }
    }
}
