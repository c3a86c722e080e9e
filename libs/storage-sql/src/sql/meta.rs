//! Values that a store has one of: drawn when it is made.

use crate::sql::statement::Statement;

pub(crate) fn select(name: &str) -> Statement {
    Statement::fixed(
        "meta.select",
        "SELECT value FROM meta WHERE name = ?",
        [name.into()],
    )
}

pub(crate) fn insert(name: &str, value: &[u8]) -> Statement {
    Statement::fixed(
        "meta.insert",
        "INSERT INTO meta (name, value) VALUES (?, ?)",
        [name.into(), value.to_vec().into()],
    )
}
