//! Which batches of a transaction are of their streams' writers: a stream's epoch is the fence. Whoever was refused hears why, and the others are written all the same: a
//! cluster that changed hands has a batch of each of its streams on the way.

use std::collections::HashMap;

use armadex_storage::{ClusterId, StoreError};

use crate::backend::{incarnation, rows};
use crate::sql::stream::{self, StreamRow};
use crate::write::owners::{Owners, left};
use crate::write::prepare::Prepared;
use crate::write::session::Session;

/// Batches with their streams, and why others are not among them.
#[derive(Default)]
pub(crate) struct Admitted<'a> {
    pub(crate) batches: Vec<&'a Prepared>,
    /// One for each of them.
    pub(crate) streams: Vec<StreamRow>,
    /// One for each batch that was looked at, in their order.
    pub(crate) refusals: Vec<Option<StoreError>>,
}

/// Admits batches whose streams are open and still belong to their epochs.
pub(crate) async fn admit<'a>(
    session: &mut Session<'_>,
    batches: &[&'a Prepared],
) -> Result<Admitted<'a>, StoreError> {
    let mut found = streams_of(session, batches).await?;
    let mut admitted = Admitted::default();
    let mut is_own = Vec::with_capacity(batches.len());
    for batch in batches {
        let stream = found.remove(&batch.stream());
        let own = stream.filter(|stream| stream.is_there() && stream.epoch == batch.epoch);
        is_own.push(own.is_some());
        if let Some(stream) = own {
            if !session.left_off.agrees(&stream) {
                return Err(incarnation::rewound());
            }
            admitted.batches.push(batch);
            admitted.streams.push(stream);
        }
    }
    admitted.refusals = refusals(session, batches, &is_own).await?;
    Ok(admitted)
}

/// Nobody but this process writes to them, and where each one's last commit was answered what is read of them stays as it is. Of one whose last commit was not,
/// that may still be under way: it is waited for, or all that is read from here on would be what was there before it. So is one that was moved in vain the last time:
/// whoever takes over one stream after the other would come between again and again, and what is held stays as it is found.
async fn streams_of(
    session: &mut Session<'_>,
    batches: &[&Prepared],
) -> Result<HashMap<(i64, i32), StreamRow>, StoreError> {
    let asked = batches.iter().map(|batch| (batch.stream(), batch.epoch));
    let mut asked: Vec<((i64, i32), i64)> = asked.collect();
    // Whoever waits for one has those before it.
    asked.sort_unstable();
    let mut found = HashMap::with_capacity(asked.len());
    let (held, known): (Vec<_>, Vec<_>) = asked
        .into_iter()
        .partition(|(stream, epoch)| session.left_off.is_to_be_held(*stream, *epoch));
    for (asked, are_held) in [(held, true), (known, false)] {
        let keys = Vec::from_iter(asked.iter().map(|(stream, _)| *stream));
        for part in keys.chunks(session.dialect.most_values()) {
            let statement = match are_held {
                true => stream::hold(session.dialect, part),
                false => stream::several(session.dialect, part),
            };
            let streams = rows(session.connection, statement, stream::decode).await?;
            let keyed = streams.into_iter();
            found.extend(keyed.map(|row| ((row.cluster, row.resource), row)));
        }
    }
    Ok(found)
}

/// Why batches are not of their streams' writers.
async fn refusals(
    session: &mut Session<'_>,
    batches: &[&Prepared],
    is_own: &[bool],
) -> Result<Vec<Option<StoreError>>, StoreError> {
    let refused = batches.iter().zip(is_own).filter(|(_, is_own)| !**is_own);
    let clusters = refused.map(|(batch, _)| ClusterId(batch.cluster));
    let owners = Owners::look(session.connection, clusters).await?;
    let refusal = |batch: &Prepared| match owners.is_there(ClusterId(batch.cluster)) {
        true => StoreError::Fenced {
            what: format!("type {} in cluster {}", batch.resource, batch.cluster),
        },
        false => left(ClusterId(batch.cluster)),
    };
    let refusals = batches.iter().zip(is_own);
    let refusals = refusals.map(|(batch, is_own)| (!is_own).then(|| refusal(batch)));
    Ok(refusals.collect())
}
