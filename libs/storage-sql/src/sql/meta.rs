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

/// Gives it another value.
pub(crate) fn update(name: &str, value: &[u8]) -> Statement {
    Statement::fixed(
        "meta.update",
        "UPDATE meta SET value = ? WHERE name = ?",
        [value.to_vec().into(), name.into()],
    )
}

/// Gives it another value if it has this one: no row is touched otherwise.
pub(crate) fn swap(name: &str, known: &[u8], value: &[u8]) -> Statement {
    Statement::fixed(
        "meta.swap",
        "UPDATE meta SET value = ? WHERE name = ? AND value = ?",
        [value.to_vec().into(), name.into(), known.to_vec().into()],
    )
}
