//! Streams: one for each cluster and type, with the position and the fence of its writer.

use armadex_storage::{MemberPosition, Phase, StoreError};

use super::catalog::type_id;
use crate::backend::Row;
use crate::backend::error::broken;
use crate::sql::dialect::{Dialect, Upsert};
use crate::sql::statement::{Sql, Statement};

/// A stream, open or waiting for its purge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StreamRow {
    pub(crate) cluster: i64,
    pub(crate) resource: i32,
    pub(crate) is_open: bool,
    pub(crate) epoch: i64,
    /// `None`: never written since it was opened.
    pub(crate) position: Option<MemberPosition>,
}

const NEVER_WRITTEN: i64 = 0;
const LISTING: i64 = 1;
const LIVE: i64 = 2;

pub(crate) fn all() -> Statement {
    Statement::fixed(
        "stream.all",
        "SELECT cluster, type, is_open, epoch, phase, rv, member FROM stream \
         ORDER BY cluster, type",
        [],
    )
}

pub(crate) fn of_cluster(cluster: i64) -> Statement {
    Statement::fixed(
        "stream.of_cluster",
        "SELECT cluster, type, is_open, epoch, phase, rv, member FROM stream \
         WHERE cluster = ? ORDER BY type",
        [cluster.into()],
    )
}

pub(crate) fn one(cluster: i64, resource: i32) -> Statement {
    Statement::fixed(
        "stream.one",
        "SELECT cluster, type, is_open, epoch, phase, rv, member FROM stream \
         WHERE cluster = ? AND type = ?",
        [cluster.into(), resource.into()],
    )
}

/// The first stream that waits for its purge.
pub(crate) fn first_closed() -> Statement {
    Statement::fixed(
        "stream.first_closed",
        "SELECT cluster, type, is_open, epoch, phase, rv, member FROM stream \
         WHERE is_open = 0 ORDER BY cluster, type LIMIT 1",
        [],
    )
}

pub(crate) fn decode(row: &dyn Row) -> Result<StreamRow, StoreError> {
    let phase = match row.int(4)? {
        NEVER_WRITTEN => None,
        LISTING => Some(Phase::Listing),
        LIVE => Some(Phase::Live),
        other => return Err(broken(format!("{other} is no phase of a stream"))),
    };
    let (resource_version, member) = (row.text(5)?, row.text(6)?);
    Ok(StreamRow {
        cluster: row.int(0)?,
        resource: type_id(row.int(1)?)?,
        is_open: row.int(2)? != 0,
        epoch: row.int(3)?,
        position: phase.map(|phase| MemberPosition {
            resource_version,
            member,
            phase,
        }),
    })
}

/// Opens the stream for the writer of this epoch; a position that is there stays.
pub(crate) fn take_over(dialect: Dialect, cluster: i64, resource: i32, epoch: i64) -> Statement {
    Sql::new(
        "stream.take_over",
        "INSERT INTO stream (cluster, type, is_open, epoch, phase, rv, member, at) VALUES ",
    )
    .bound(
        "(?, ?, 1, ?, 0, '', '', 0)",
        [cluster.into(), resource.into(), epoch.into()],
    )
    .push(dialect.on_conflict(Upsert::Stream))
    .build()
}

/// Moves the position, if the stream still belongs to this epoch.
pub(crate) fn advance(
    (cluster, resource, epoch): (i64, i32, i64),
    position: &MemberPosition,
    now: i64,
) -> Statement {
    let MemberPosition {
        resource_version,
        member,
        phase,
    } = position;
    let phase = match phase {
        Phase::Listing => LISTING,
        Phase::Live => LIVE,
    };
    Statement::fixed(
        "stream.advance",
        "UPDATE stream SET phase = ?, rv = ?, member = ?, at = ? \
         WHERE cluster = ? AND type = ? AND epoch = ? AND is_open = 1",
        [
            phase.into(),
            resource_version.into(),
            member.into(),
            now.into(),
            cluster.into(),
            resource.into(),
            epoch.into(),
        ],
    )
}

/// Notes a write that moves no position, if the stream still belongs to this epoch.
pub(crate) fn touch((cluster, resource, epoch): (i64, i32, i64), now: i64) -> Statement {
    Statement::fixed(
        "stream.touch",
        "UPDATE stream SET at = ? WHERE cluster = ? AND type = ? AND epoch = ? AND is_open = 1",
        [now.into(), cluster.into(), resource.into(), epoch.into()],
    )
}

/// Hides a stream and forgets its position.
pub(crate) fn close(cluster: i64, resource: i32) -> Statement {
    Statement::fixed(
        "stream.close",
        "UPDATE stream SET is_open = 0, phase = 0, rv = '', member = '' \
         WHERE cluster = ? AND type = ? AND is_open = 1",
        [cluster.into(), resource.into()],
    )
}

/// Hides every stream of a cluster.
pub(crate) fn close_all(cluster: i64) -> Statement {
    Statement::fixed(
        "stream.close_all",
        "UPDATE stream SET is_open = 0, phase = 0, rv = '', member = '' WHERE cluster = ?",
        [cluster.into()],
    )
}

pub(crate) fn delete(cluster: i64, resource: i32) -> Statement {
    Statement::fixed(
        "stream.delete",
        "DELETE FROM stream WHERE cluster = ? AND type = ?",
        [cluster.into(), resource.into()],
    )
}
