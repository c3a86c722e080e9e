//! The codes of MySQL and MariaDB. Where one of them gives a number another meaning, it is one that the other does not give here.

use armadex_storage::StoreError;
use sqlx::error::DatabaseError;
use sqlx::mysql::MySqlDatabaseError;

use crate::backend::error::{Class, classified};

/// Sorts an error; `doing` names the statement or the action.
pub(super) fn classify(doing: &str, err: sqlx::Error) -> StoreError {
    let class = class(&err);
    classified(doing, err, class)
}

/// Whether a connection that was sound has been closed by the other side.
pub(super) fn is_lost(err: &sqlx::Error) -> bool {
    class(err) == Class::Passing
}

/// The number that the server gave an error.
pub(super) fn number(err: &dyn DatabaseError) -> Option<u16> {
    let err = err.try_downcast_ref::<MySqlDatabaseError>();
    err.map(MySqlDatabaseError::number)
}

pub(super) fn class(err: &sqlx::Error) -> Class {
    match err {
        sqlx::Error::Database(err) => number(&**err).map_or(Class::Fault, class_of),
        // A handshake that a server broke off, or that a proxy answered for it.
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::Configuration(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::BeginFailed => Class::Passing,
        _ => Class::Fault,
    }
}

/// The numbers of errors: <https://dev.mysql.com/doc/mysql-errors/8.0/en/server-error-reference.html> and
/// <https://mariadb.com/docs/server/reference/error-codes/mariadb-error-code-reference>.
fn class_of(number: u16) -> Class {
    match number {
        // A row that has changed since it was read; a deadlock, which is also how a cluster tells of a transaction that another node
        // was faster with; the commit of one; a table or an index that was made after the snapshot that is to be read, as by a migration.
        1020 | 1180 | 1213 | 1412 => Class::Collision,
        // A unique key.
        1062 | 1586 => Class::Duplicate,
        // The user may not: in the database, to a table, to a column, or what only few may.
        1044 | 1142 | 1143 | 1227 => Class::Denied,
        // Another transaction holds a row for longer than is waited for it: four writers in a first sync are enough.
        1205 => Class::Waited,
        // Too many connections: all, or those of one user.
        1040 | 1203 | 1226 => Class::Full,
        // No memory, no disk, no place: tables, threads, prepared statements, locks.
        1021 | 1026 | 1030 | 1037 | 1038 | 1041 | 1114 | 1135 | 1206 | 1461 => Class::Passing,
        // A node that is not part of its cluster; a server that starts, ends or was told to end this connection or statement.
        1047
        | 1053
        | 1077
        | 1079
        | 1094
        | 1129
        | 1152
        | 1154..=1161
        | 1184
        | 1189
        | 1190
        | 1317
        | 1927
        | 3169
        | 4031 => Class::Passing,
        // Read-only, for a moment or for good: another server may have taken over.
        1223 | 1290 | 1792 | 1836 => Class::Passing,
        // A statement took longer than is allowed (MariaDB's number, MySQL's).
        1969 | 3024 => Class::Passing,
        _ => Class::Fault,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_anew_what_may_pass_and_what_does_not() {
        let (deadlock, duplicate, waited) = (1213, 1062, 1205);
        assert_eq!(class_of(deadlock), Class::Collision);
        assert_eq!(class_of(duplicate), Class::Duplicate);
        assert_eq!(class_of(waited), Class::Waited);
        let (database, table) = (1044, 1142);
        assert_eq!([database, table].map(class_of), [Class::Denied; 2]);
        let (full, read_only, long) = (1114, 1290, 1969);
        assert_eq!([full, read_only, long].map(class_of), [Class::Passing; 3]);
        let (no_table, too_long, syntax) = (1146, 1406, 1064);
        assert_eq!(
            [no_table, too_long, syntax].map(class_of),
            [Class::Fault; 3]
        );
        assert!(is_lost(&sqlx::Error::Io(
            std::io::ErrorKind::BrokenPipe.into()
        )));
        assert!(!classify("a read", sqlx::Error::RowNotFound).is_transient());
    }
}
