//! SQLite's codes.

use armadex_storage::StoreError;

use crate::backend::error::{Class, classified};

/// A read transaction that wants to write after another has written.
const BUSY_SNAPSHOT: u32 = 517;

/// Sorts an error; `doing` names the statement or the action.
pub(super) fn classify(doing: &str, err: sqlx::Error) -> StoreError {
    let class = class(&err);
    classified(doing, err, class)
}

fn class(err: &sqlx::Error) -> Class {
    match err {
        sqlx::Error::Database(err) => {
            let code = err.code().and_then(|code| code.parse().ok());
            code.map_or(Class::Fault, class_of)
        }
        sqlx::Error::Io(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::BeginFailed
        | sqlx::Error::InvalidSavePointStatement
        | sqlx::Error::WorkerCrashed => Class::Passing,
        _ => Class::Fault,
    }
}

/// Of an extended result code. What may pass are the primary codes BUSY, LOCKED, NOMEM, READONLY, IOERR, FULL, CANTOPEN and PROTOCOL.
fn class_of(extended: u32) -> Class {
    match extended {
        BUSY_SNAPSHOT => Class::Collision,
        other if matches!(other & 0xff, 5..=8 | 10 | 13..=15) => Class::Passing,
        _ => Class::Fault,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_or_busy_database_may_recover_and_a_damaged_one_does_not() {
        let (busy, full, damaged, no_database, constraint) = (5, 13, 11, 26, 2067);
        assert_eq!([busy, full].map(class_of), [Class::Passing; 2]);
        assert_eq!(
            [damaged, no_database, constraint].map(class_of),
            [Class::Fault; 3]
        );
        assert_eq!(class_of(BUSY_SNAPSHOT), Class::Collision);
        assert!(classify("a read", sqlx::Error::PoolTimedOut).is_transient());
        assert!(!classify("a read", sqlx::Error::RowNotFound).is_transient());
    }
}
