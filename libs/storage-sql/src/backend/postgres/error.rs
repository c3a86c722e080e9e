//! PostgreSQL's codes.

use armadex_storage::StoreError;

use crate::backend::error::{Class, classified};

/// What is between us and the server gives another connection to each statement.
const NO_TRANSACTIONS: &str = "a pooler between here and the database knows no transactions: it is to be told `pool_mode = transaction`";
/// Or to each transaction, and knows nothing of what was prepared.
const MIXED_UP: &str = "a pooler between here and the database mixes up prepared statements: say prepared=off in the store's URL";

/// Sorts an error; `doing` names the statement or the action.
pub(super) fn classify(doing: &str, err: sqlx::Error) -> StoreError {
    if let Some(what) = of_pooler(&err) {
        tracing::error!(statement = doing, error = %err, "{what}");
        return StoreError::Unsupported { what: what.into() };
    }
    let class = class(&err);
    classified(doing, err, class)
}

/// Whether the connection is of no use any more, though what was to be done may well be.
pub(super) fn is_lost(err: &sqlx::Error) -> bool {
    match err {
        sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_) => true,
        // Connection exceptions, and what a server says that ends us: a restart, or that we said nothing for long.
        _ => code_of(err).is_some_and(|code| {
            code.starts_with("08") || code.starts_with("57P") || code == "25P03"
        }),
    }
}

/// Whether the connection can go on after a rollback.
pub(super) fn is_usable_after(err: &sqlx::Error) -> bool {
    let is_left_alone = matches!(
        class(err),
        Class::Collision | Class::Waited | Class::Denied | Class::Fault
    );
    matches!(err, sqlx::Error::Database(_)) && is_left_alone
}

pub(super) fn class(err: &sqlx::Error) -> Class {
    match err {
        sqlx::Error::Database(err) => err.code().map_or(Class::Fault, |code| class_of(&code)),
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::Configuration(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed => Class::Passing,
        _ => Class::Fault,
    }
}

fn code_of(err: &sqlx::Error) -> Option<String> {
    let code = err.as_database_error()?.code()?;
    Some(code.into_owned())
}

fn of_pooler(err: &sqlx::Error) -> Option<&'static str> {
    let err = err.as_database_error()?;
    match &*err.code()? {
        // A statement that is not there, or is there twice.
        "26000" | "42P05" => Some(MIXED_UP),
        // Whatever else a pooler has to say of a client that it ends.
        "08P01" if err.message().contains("statement pooling mode") => Some(NO_TRANSACTIONS),
        _ => None,
    }
}

fn class_of(code: &str) -> Class {
    match code {
        // Rollbacks by serialization (a replica that has to overwrite what is read; under READ COMMITTED only engines that are not PostgreSQL) and
        // deadlock, a table that another process made.
        "40000" | "40001" | "40P01" | "42P07" => Class::Collision,
        // A unique key.
        "23505" => Class::Duplicate,
        // Too many connections: all, or those of one user or database.
        "53300" => Class::Full,
        // The user may not: a table that is another's, a schema in which it may make none.
        "42501" => Class::Denied,
        // Another transaction holds a row for longer than is waited for it: four writers in a first sync are enough.
        "55P03" => Class::Waited,
        // A transaction that may not write, here or at all: a replica, or a primary that was told not to. We said
        // nothing for too long; a replica had to overwrite what was read; who knows whether it was committed.
        "25006" | "25P03" | "40003" => Class::Passing,
        // A replica cancels what stands in its way; a database that is not there yet, or no longer; passwords that are being changed.
        _ => match code.get(..2) {
            // Connections, resources (disk, memory), intervention (shutdown, timeouts), trouble of the system.
            Some("08" | "53" | "57" | "58" | "28" | "3D") => Class::Passing,
            _ => Class::Fault,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_sorted_by_what_helps() {
        for (class, codes) in [
            (Class::Collision, ["40001", "40P01", "42P07"].as_slice()),
            (Class::Duplicate, &["23505"]),
            (Class::Waited, &["55P03"]),
            (Class::Full, &["53300"]),
            (Class::Denied, &["42501"]),
            (
                Class::Passing,
                &[
                    "08006", "08P01", "25006", "53100", "57014", "57P01", "57P03", "58030",
                    "28P01", "3D000",
                ],
            ),
            (
                Class::Fault,
                &[
                    "22021", "23502", "42601", "42P01", "54000", "XX000", "XX001", "26000",
                ],
            ),
        ] {
            for code in codes {
                assert_eq!(class_of(code), class, "{code}");
            }
        }
    }

    #[test]
    fn a_connection_that_broke_is_lost_and_is_tried_again() {
        let broken = || sqlx::Error::Io(std::io::ErrorKind::BrokenPipe.into());
        assert!(is_lost(&broken()) && !is_usable_after(&broken()));
        assert!(classify("a read", broken()).is_transient());
        assert!(!is_lost(&sqlx::Error::RowNotFound));
        assert!(!classify("a read", sqlx::Error::RowNotFound).is_transient());
    }
}
