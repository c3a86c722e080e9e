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
    /// What the rows were stored by when the stream last became live.
    pub(crate) rules: i64,
    pub(crate) objects: i64,
}

const NEVER_WRITTEN: i64 = 0;
const LISTING: i64 = 1;
const LIVE: i64 = 2;

/// The streams that were opened or closed after a count of the catalogue: (cluster, type, is_open).
pub(crate) fn since(seq: i64) -> Statement {
    Statement::fixed(
        "stream.since",
        "SELECT cluster, type, is_open FROM stream WHERE seq > ?",
        [seq.into()],
    )
}

pub(crate) fn decode_since(row: &dyn Row) -> Result<(i64, i32, bool), StoreError> {
    Ok((row.int(0)?, type_id(row.int(1)?)?, row.int(2)? != 0))
}

pub(crate) fn of_cluster(cluster: i64) -> Statement {
    Statement::fixed(
        "stream.of_cluster",
        "SELECT cluster, type, is_open, epoch, phase, rv, member, rules, objects FROM stream \
         WHERE cluster = ? ORDER BY type",
        [cluster.into()],
    )
}

pub(crate) fn one(cluster: i64, resource: i32) -> Statement {
    Statement::fixed(
        "stream.one",
        "SELECT cluster, type, is_open, epoch, phase, rv, member, rules, objects FROM stream \
         WHERE cluster = ? AND type = ?",
        [cluster.into(), resource.into()],
    )
}

/// The first stream that waits for its purge.
pub(crate) fn first_closed() -> Statement {
    Statement::fixed(
        "stream.first_closed",
        "SELECT cluster, type, is_open, epoch, phase, rv, member, rules, objects FROM stream \
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
        rules: row.int(7)?,
        objects: row.int(8)?,
    })
}

/// Opens the stream for the writer of this epoch; a position that is there stays.
pub(crate) fn take_over(dialect: Dialect, cluster: i64, resource: i32, epoch: i64) -> Statement {
    Sql::new(
        "stream.take_over",
        "INSERT INTO stream (cluster, type, is_open, epoch, phase, rv, member, at, rules, objects, seq) VALUES ",
    )
    .bound(
        "(?, ?, 1, ?, 0, '', '', 0, 0, 0, 0)",
        [cluster.into(), resource.into(), epoch.into()],
    )
    .push(dialect.on_conflict(Upsert::Stream))
    .build()
}

/// The stream that a writer means, as long as it is the writer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fence {
    pub(crate) cluster: i64,
    pub(crate) resource: i32,
    pub(crate) epoch: i64,
}

/// Moves the position and counts objects, if the stream still belongs to this epoch. From the moment it is live its rows are those
/// of the rules.
pub(crate) fn advance(
    fence: Fence,
    position: &MemberPosition,
    rules: i64,
    added: i64,
    now: i64,
) -> Statement {
    let MemberPosition {
        resource_version,
        member,
        phase,
    } = position;
    let sql = Sql::new("stream.advance", "UPDATE stream SET ").bound(
        "phase = ?, rv = ?, member = ?, at = ?, objects = objects + ?",
        [
            match phase {
                Phase::Listing => LISTING,
                Phase::Live => LIVE,
            }
            .into(),
            resource_version.into(),
            member.into(),
            now.into(),
            added.into(),
        ],
    );
    let sql = match phase {
        Phase::Listing => sql,
        Phase::Live => sql.bound(", rules = ?", [rules.into()]),
    };
    fenced(sql, fence)
}

/// Notes a write that moves no position, if the stream still belongs to this epoch.
pub(crate) fn touch(fence: Fence, added: i64, now: i64) -> Statement {
    let sql = Sql::new("stream.touch", "UPDATE stream SET ")
        .bound("at = ?, objects = objects + ?", [now.into(), added.into()]);
    fenced(sql, fence)
}

fn fenced(sql: Sql, fence: Fence) -> Statement {
    let Fence {
        cluster,
        resource,
        epoch,
    } = fence;
    sql.bound(
        " WHERE cluster = ? AND type = ? AND epoch = ? AND is_open = 1",
        [cluster.into(), resource.into(), epoch.into()],
    )
    .build()
}

/// Takes objects off a stream that is closed, and holds it: zero rows mean that it was opened again.
pub(crate) fn purged(cluster: i64, resource: i32, gone: i64) -> Statement {
    Statement::fixed(
        "stream.purged",
        "UPDATE stream SET objects = objects - ? WHERE cluster = ? AND type = ? AND is_open = 0",
        [gone.into(), cluster.into(), resource.into()],
    )
}

/// How many objects of a type each of these clusters has: (cluster, objects).
pub(crate) fn objects(resource: i32, clusters: &[i64]) -> Statement {
    Sql::new(
        "stream.objects",
        "SELECT cluster, objects FROM stream WHERE type = ",
    )
    .bind(resource)
    .push(" AND cluster IN ")
    .list(clusters)
    .build()
}

/// Stamps a stream with the count of its change.
pub(crate) fn stamp(seq: i64, cluster: i64, resource: i32) -> Statement {
    Statement::fixed(
        "stream.stamp",
        "UPDATE stream SET seq = ? WHERE cluster = ? AND type = ?",
        [seq.into(), cluster.into(), resource.into()],
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
