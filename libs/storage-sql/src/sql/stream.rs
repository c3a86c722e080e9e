//! Streams: one for each cluster and type, with the position and the fence of its writer.

use armadex_storage::{MemberPosition, Phase, StoreError};

use super::catalog::type_id;
use crate::backend::Row;
use crate::backend::error::broken;
use crate::sql::dialect::{Dialect, Many, Upsert};
use crate::sql::lists::{Given, UpdateFrom};
use crate::sql::statement::{Param, Sql, Statement};

/// A stream: open, kept, beside another version or waiting for its purge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StreamRow {
    pub(crate) cluster: i64,
    pub(crate) resource: i32,
    pub(crate) is_open: bool,
    /// It is hidden, and keeps its rows and its position, until its writer writes.
    pub(crate) is_kept: bool,
    /// It is hidden until it is live: another version of the resource is shown meanwhile.
    pub(crate) is_beside: bool,
    pub(crate) epoch: i64,
    /// `None`: never written since it was opened.
    pub(crate) position: Option<MemberPosition>,
    /// What the rows were stored by when the stream last became live.
    pub(crate) rules: i64,
    pub(crate) objects: i64,
}

impl StreamRow {
    /// It was not closed.
    pub(crate) fn is_there(&self) -> bool {
        self.is_open || self.is_kept || self.is_beside
    }
}

const OPEN: i64 = 1;
const KEPT: i64 = 2;
const BESIDE: i64 = 3;

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
    Ok((row.int(0)?, type_id(row.int(1)?)?, row.int(2)? == OPEN))
}

pub(crate) fn decode_key(row: &dyn Row) -> Result<(i64, i32), StoreError> {
    Ok((row.int(0)?, type_id(row.int(1)?)?))
}

pub(crate) fn of_cluster(cluster: i64) -> Statement {
    Statement::fixed(
        "stream.of_cluster",
        "SELECT cluster, type, is_open, epoch, phase, rv, member, rules, objects FROM stream \
         WHERE cluster = ? ORDER BY type",
        [cluster.into()],
    )
}

/// The keys of all streams of these clusters.
pub(crate) fn keys_of(dialect: Dialect, clusters: &[i64]) -> Statement {
    Sql::new(
        dialect,
        "stream.keys_of",
        "SELECT cluster, type FROM stream WHERE ",
    )
    .within("cluster", clusters)
    .build()
}

/// Another cluster that has a type, be it shown or not. Those whose rows wait for their purge have it no more.
pub(crate) fn elsewhere(dialect: Dialect, resource: i32, cluster: i64) -> Statement {
    Sql::new(dialect, "stream.elsewhere", "SELECT cluster FROM stream")
        .bound(
            " WHERE type = ? AND is_open > 0 AND cluster + 0 <> ?",
            [resource.into(), cluster.into()],
        )
        .push(match dialect {
            Dialect::Sqlite | Dialect::MySql => "",
            // The order of the index by type alone: by another every stream might be read.
            Dialect::Postgres => " ORDER BY is_open DESC, cluster",
        })
        .push(" LIMIT 1")
        .build()
}

/// Those of these that there are: (cluster, type).
pub(crate) fn several(dialect: Dialect, keys: &[(i64, i32)]) -> Statement {
    by_keys(dialect, "stream.several", keys, "")
}

/// The same, which nobody else changes until the transaction ends. What one waits for is read as it is then.
pub(crate) fn hold(dialect: Dialect, keys: &[(i64, i32)]) -> Statement {
    by_keys(dialect, "stream.hold", keys, dialect.held())
}

fn by_keys(
    dialect: Dialect,
    name: &'static str,
    keys: &[(i64, i32)],
    held: &'static str,
) -> Statement {
    let columns = "SELECT s.cluster, s.type, s.is_open, s.epoch, s.phase, s.rv, s.member, s.rules, s.objects FROM ";
    let (sql, keys) = (
        Sql::new(dialect, name, columns),
        keys.iter().map(key_params),
    );
    match dialect.many() {
        Many::Arrays => sql
            .table("k (cluster, type)", keys)
            .push(
                " CROSS JOIN LATERAL (SELECT * FROM stream s \
                 WHERE s.cluster = k.cluster AND s.type = k.type LIMIT 1",
            )
            .push(held)
            .push(") s"),
        Many::Values | Many::Selects => sql
            .push("stream s")
            .push(dialect.by_key())
            .push(" WHERE ")
            .keys("(s.cluster, s.type)", keys)
            .push(held),
    }
    .build()
}

/// The first streams that wait for their purge.
pub(crate) fn closed(dialect: Dialect, limit: u32) -> Statement {
    let columns =
        "SELECT cluster, type, is_open, epoch, phase, rv, member, rules, objects FROM stream ";
    Sql::new(dialect, "stream.closed", columns)
        .push(match dialect {
            Dialect::Sqlite | Dialect::MySql => "WHERE is_open = 0 ORDER BY cluster, type",
            // The order of the index of `is_open` alone: by another every stream would be read.
            Dialect::Postgres => "WHERE is_open <= 0 ORDER BY is_open, cluster, type",
        })
        .bound(" LIMIT ?", [limit.into()])
        .build()
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
        is_open: row.int(2)? == OPEN,
        is_kept: row.int(2)? == KEPT,
        is_beside: row.int(2)? == BESIDE,
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

/// Opens streams, each for the writer of its epoch, those that are marked beside another version; a position that is there stays, and so does one that is
/// kept, and one that is open.
pub(crate) fn take_over(dialect: Dialect, fences: &[(Fence, bool)]) -> Statement {
    let tuples = fences.iter().map(|(fence, is_beside)| {
        let Fence {
            cluster,
            resource,
            epoch,
        } = *fence;
        let state = if *is_beside { BESIDE } else { OPEN };
        let nothing = || Param::Text(String::new());
        [
            cluster.into(),
            resource.into(),
            state.into(),
            epoch.into(),
            NEVER_WRITTEN.into(),
            nothing(),
            nothing(),
            0_i64.into(),
            0_i64.into(),
            0_i64.into(),
            0_i64.into(),
        ]
    });
    Sql::new(
        dialect,
        "stream.take_over",
        "INSERT INTO stream (cluster, type, is_open, epoch, phase, rv, member, at, rules, objects, seq) ",
    )
    .rows(tuples)
    .push(dialect.on_conflict(Upsert::Stream))
    .build()
}

/// Hides the open streams of a cluster, which keep what they have.
pub(crate) fn keep_all(cluster: i64) -> Statement {
    Statement::fixed(
        "stream.keep_all",
        "UPDATE stream SET is_open = ? WHERE cluster = ? AND is_open = ?",
        [KEPT.into(), cluster.into(), OPEN.into()],
    )
}

/// Shows those of these streams that were kept, or beside another version. Found by their keys: by the index of `is_open` every one would be read.
pub(crate) fn show(dialect: Dialect, keys: &[(i64, i32)]) -> Statement {
    Sql::update(dialect, "stream.show", "stream")
        .bound(
            "is_open = ? WHERE is_open + 0 >= ? AND ",
            [OPEN.into(), KEPT.into()],
        )
        .keys("(cluster, type)", keys.iter().map(key_params))
        .build()
}

/// The stream that a writer means, as long as it is the writer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fence {
    pub(crate) cluster: i64,
    pub(crate) resource: i32,
    pub(crate) epoch: i64,
}

/// What a batch makes of its stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Moved {
    pub(crate) fence: Fence,
    /// The position that it has from now on.
    pub(crate) position: Option<MemberPosition>,
    /// What its rows are stored by, since it was last live.
    pub(crate) rules: i64,
    /// How many objects come, or go, if negative.
    pub(crate) added: i64,
}

/// Moves streams and counts their objects, where they still belong to the epoch.
pub(crate) fn advance(dialect: Dialect, moved: &[Moved], now: i64) -> Statement {
    let tuples = moved.iter().map(|moved| {
        let Moved {
            fence,
            position,
            rules,
            added,
        } = moved;
        let phase = match position.as_ref().map(|position| position.phase) {
            None => NEVER_WRITTEN,
            Some(Phase::Listing) => LISTING,
            Some(Phase::Live) => LIVE,
        };
        let (version, member) = match position {
            None => ("", ""),
            Some(position) => (position.resource_version.as_str(), position.member.as_str()),
        };
        [
            Param::from(fence.cluster),
            fence.resource.into(),
            fence.epoch.into(),
            phase.into(),
            version.into(),
            member.into(),
            (*rules).into(),
            (*added).into(),
        ]
    });
    Sql::new(dialect, "stream.advance", "")
        .update_from(&ADVANCE, tuples, [now.into()])
        .build()
}

/// Found by its key, as all that name theirs: `is_open + 0` has no index.
const ADVANCE: UpdateFrom = UpdateFrom {
    table: "stream",
    given: Given {
        alias: "m",
        columns: &[
            "cluster", "type", "epoch", "phase", "rv", "member", "rules", "added",
        ],
    },
    set: &[
        ("phase", "m.phase"),
        ("rv", "m.rv"),
        ("member", "m.member"),
        ("rules", "m.rules"),
        ("objects", "stream.objects + m.added"),
        ("at", "?"),
    ],
    on: "stream.cluster = m.cluster AND stream.type = m.type AND stream.epoch = m.epoch AND stream.is_open + 0 > 0",
};

/// Objects that a closed stream loses, of those that it was found to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Loss {
    pub(crate) cluster: i64,
    pub(crate) resource: i32,
    pub(crate) had: i64,
    pub(crate) gone: i64,
}

/// Takes objects off streams that are closed, and holds them; one that is not touched was opened again, or is purged by somebody else.
pub(crate) fn purged(dialect: Dialect, losses: &[Loss]) -> Statement {
    let tuples = losses.iter().map(|loss| {
        [
            loss.cluster.into(),
            loss.resource.into(),
            loss.had.into(),
            loss.gone.into(),
        ]
    });
    Sql::new(dialect, "stream.purged", "")
        .update_from(&PURGED, tuples, [])
        .build()
}

const PURGED: UpdateFrom = UpdateFrom {
    table: "stream",
    given: Given {
        alias: "g",
        columns: &["cluster", "type", "had", "gone"],
    },
    set: &[("objects", "stream.objects - g.gone")],
    on: "stream.cluster = g.cluster AND stream.type = g.type AND stream.is_open + 0 = 0 AND stream.objects = g.had",
};

/// How many objects of a type each of these clusters has: (cluster, objects).
pub(crate) fn objects(dialect: Dialect, resource: i32, clusters: &[i64]) -> Statement {
    Sql::new(
        dialect,
        "stream.objects",
        "SELECT cluster, objects FROM stream",
    )
    .push(dialect.by_key())
    .bound(" WHERE type = ? AND ", [resource.into()])
    .within("cluster", clusters)
    .build()
}

/// How many objects of a type there are, be they shown or not, and how many streams say so.
pub(crate) fn all_objects(dialect: Dialect, resource: i32) -> Statement {
    Sql::new(
        dialect,
        "stream.all_objects",
        "SELECT CAST(COALESCE(SUM(objects), 0)",
    )
    .push(dialect.as_int())
    .push(", COUNT(*) FROM stream")
    .bound(" WHERE type = ?", [resource.into()])
    .build()
}

/// Stamps streams with the count of their change.
pub(crate) fn stamp(dialect: Dialect, seq: i64, keys: &[(i64, i32)]) -> Statement {
    Sql::update(dialect, "stream.stamp", "stream")
        .bound("seq = ? WHERE ", [seq.into()])
        .keys("(cluster, type)", keys.iter().map(key_params))
        .build()
}

/// Hides a stream and forgets its position.
pub(crate) fn close(cluster: i64, resource: i32) -> Statement {
    Statement::fixed(
        "stream.close",
        "UPDATE stream SET is_open = 0, phase = 0, rv = '', member = '' \
         WHERE cluster = ? AND type = ? AND is_open <> 0",
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

/// Takes every stream of a cluster away from its writer. Epochs begin with 1.
pub(crate) fn fence_all(dialect: Dialect, clusters: &[i64]) -> Statement {
    Sql::update(dialect, "stream.fence_all", "stream")
        .push("epoch = 0 WHERE ")
        .within("cluster", clusters)
        .build()
}

/// Takes a stream from whoever writes it.
pub(crate) fn fence(cluster: i64, resource: i32) -> Statement {
    Statement::fixed(
        "stream.fence",
        "UPDATE stream SET epoch = 0 WHERE cluster = ? AND type = ?",
        [cluster.into(), resource.into()],
    )
}

pub(crate) fn delete(dialect: Dialect, keys: &[(i64, i32)]) -> Statement {
    Sql::new(dialect, "stream.delete", "DELETE FROM stream WHERE ")
        .keys("(cluster, type)", keys.iter().map(key_params))
        .build()
}

pub(super) fn key_params(&(cluster, resource): &(i64, i32)) -> [Param; 2] {
    [cluster.into(), resource.into()]
}
