//! Which class a driver's error belongs to. Its text is kept for operators: in the source of an error that may pass, in the log
//! of one that will not.

use armadex_storage::StoreError;
use tracing::error;

/// Sorts a driver's error; `doing` names the statement or the action.
pub(crate) fn classify(doing: &str, err: sqlx::Error) -> StoreError {
    if is_passing(&err) {
        return StoreError::Unavailable {
            reason: format!("{doing} did not succeed"),
            source: Box::new(err),
        };
    }
    let code = err
        .as_database_error()
        .and_then(|e| e.code().map(String::from));
    error!(statement = doing, error = %err, "the database refused a statement");
    broken(match code {
        Some(code) => format!("{doing} failed with database code {code}"),
        None => format!("{doing} failed"),
    })
}

/// Two writers met, and the same work succeeds when it is done anew.
pub(crate) fn collided(reason: &str) -> StoreError {
    StoreError::Unavailable {
        reason: reason.to_owned(),
        source: Box::new(std::io::Error::from(std::io::ErrorKind::ResourceBusy)),
    }
}

/// The store's content is not what it must be.
pub(crate) fn broken(reason: impl Into<String>) -> StoreError {
    StoreError::Broken {
        reason: reason.into(),
    }
}

/// Outside trouble: busy, locked, full, no memory, no file, read-only, or no connection.
fn is_passing(err: &sqlx::Error) -> bool {
    match err {
        sqlx::Error::Database(err) => err
            .try_downcast_ref::<sqlx::sqlite::SqliteError>()
            .and_then(|_| err.code()?.parse::<u32>().ok())
            .is_some_and(is_passing_sqlite),
        sqlx::Error::Io(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed => true,
        _ => false,
    }
}

/// SQLite's primary result codes: BUSY, LOCKED, NOMEM, READONLY, IOERR, FULL, CANTOPEN, PROTOCOL.
fn is_passing_sqlite(extended: u32) -> bool {
    matches!(extended & 0xff, 5..=8 | 10 | 13..=15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_or_busy_database_may_recover_and_a_damaged_one_does_not() {
        let (busy_snapshot, full, damaged, no_database) = (517, 13, 11, 26);
        assert!(is_passing_sqlite(busy_snapshot) && is_passing_sqlite(full));
        assert!(!is_passing_sqlite(damaged) && !is_passing_sqlite(no_database));
        assert!(classify("a read", sqlx::Error::PoolTimedOut).is_transient());
        assert!(!classify("a read", sqlx::Error::RowNotFound).is_transient());
    }
}
