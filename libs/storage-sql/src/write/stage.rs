//! Batches in a transaction: read the old rows, compare, write index, counters and streams.
//!
//! All batches of a transaction are staged together, so that a hundred small ones take as many statements as one large one: each statement
//! is for all of them. Their keys have nothing in common, because no two are of the same stream. Rows are locked in the order that
//! [`crate::write`] tells: here all but clusters' health, and the head, objects and versions, which publishing comes to.

use std::collections::{BTreeSet, HashMap};

use armadex_storage::{Phase, StoreError, Written};

use crate::backend::error::{collided, too_much};
use crate::backend::{incarnation, rows};
use crate::form::dictionaries::Mark;
use crate::form::namespace_id::cluster_of;
use crate::form::term::{Label, TermSet};
use crate::sql::counter::CounterKey;
use crate::sql::dictionary;
use crate::sql::object::{self, OldRow};
use crate::sql::stream::{self, Fence, Moved, StreamRow};
use crate::write::beside::is_live;
use crate::write::counters::{self, CounterDelta};
use crate::write::diff::{Diff, Effect, diff};
use crate::write::index::IndexChange;
use crate::write::label_keys::{LabelKeys, Unposted};
use crate::write::left_off::LeftOff;
use crate::write::places::{self, FoundNamespace, Places};
use crate::write::prepare::{NewObject, Prepared, PreparedChange};
use crate::write::session::Session;
use crate::write::terms::{posted, terms_up_to};

/// A batch whose index, counters and stream are written, and whose objects are not.
pub(crate) struct Staged<'a> {
    pub(crate) resource: i32,
    pub(crate) effects: Vec<Effect<'a>>,
    /// One for each object that is added, in the order of the effects.
    pub(crate) object_ids: Vec<i64>,
    pub(crate) written: Written,
}

/// Stages batches of different streams, which are these; on an error the transaction must be rolled back. Who takes a stream over that is not held may write between two
/// statements, and what the first found does not go with the second: it is told from damage by a second try.
pub(crate) async fn stage<'a>(
    session: &mut Session<'_>,
    batches: &[&'a Prepared],
    streams: &[StreamRow],
) -> Result<Vec<Staged<'a>>, StoreError> {
    match stage_all(session, batches, streams).await {
        Err(StoreError::Broken { .. }) if session.left_off.dispute(streams) => Err(collided(
            "a stream seems to be damaged, or was taken over while it was written to",
        )),
        staged => staged,
    }
}

async fn stage_all<'a>(
    session: &mut Session<'_>,
    batches: &[&'a Prepared],
    streams: &[StreamRow],
) -> Result<Vec<Staged<'a>>, StoreError> {
    if batches.is_empty() {
        return Ok(vec![]);
    }
    check_dictionaries(session, batches).await?;
    show_hidden(session, streams, batches).await?;
    let (places, new) = places::resolve(session.connection, batches).await?;
    let old = old_rows(session, batches, &places).await?;
    let diffs = batches.iter().zip(&places).zip(old);
    let diffs: Vec<Diff<'a>> = diffs
        .map(|((batch, places), old)| diff(&batch.changes, places, old))
        .collect();
    let terms = old_terms(session, batches, &diffs).await?;
    let staged = number(session, batches, diffs).await?;
    let (change, deltas) = index_change(session, &staged, batches, &places, &terms);
    check_room(session, batches, change.edits())?;
    for (staged, batch) in staged.iter().zip(batches) {
        forget_removed(session.labels, staged, batch.cluster, &terms);
    }
    let capacity = session.capacity();
    change
        .write(session.connection, session.dialect, capacity)
        .await?;
    let moved = moved(batches, streams, &staged, &deltas);
    counters::write(session.connection, session.dialect, deltas, new).await?;
    // Before they are: if one is not, all of them are held the next time.
    note_moved(session.left_off, streams, &moved);
    move_streams(session, &moved).await?;
    Ok(staged)
}

/// Whether the database has what the batches are packed with. Where one is lost, or its number given again, by the next body nobody could tell what it is.
async fn check_dictionaries(
    session: &mut Session<'_>,
    batches: &[&Prepared],
) -> Result<(), StoreError> {
    let needed: BTreeSet<Mark> = batches.iter().filter_map(|batch| batch.trained).collect();
    let numbers = Vec::from_iter(needed.iter().map(|mark| mark.number));
    let mut there = BTreeSet::new();
    for part in numbers.chunks(session.dialect.most_values()) {
        let statement = dictionary::marks(session.dialect, part);
        there.extend(rows(session.connection, statement, dictionary::decode_mark).await?);
    }
    match needed.is_subset(&there) {
        true => Ok(()),
        false => Err(incarnation::rewound()),
    }
}

/// Whoever writes to a stream that is kept has found that the member still has what it had; what is beside another version has been listed when it is live.
async fn show_hidden(
    session: &mut Session<'_>,
    streams: &[StreamRow],
    batches: &[&Prepared],
) -> Result<(), StoreError> {
    let shown = streams.iter().zip(batches);
    let keys: Vec<(i64, i32)> = shown
        .filter(|(stream, batch)| shows(stream, batch))
        .map(|(stream, _)| (stream.cluster, stream.resource))
        .collect();
    for part in keys.chunks(session.dialect.most_values()) {
        let statement = stream::show(session.dialect, part);
        session.connection.execute(statement).await?;
    }
    for &(cluster, resource) in &keys {
        session.shown.stream(cluster, resource);
    }
    session.catalog.streams.extend(keys);
    Ok(())
}

fn shows(stream: &StreamRow, batch: &Prepared) -> bool {
    let is_listed = batch.position.as_ref().is_some_and(is_live);
    stream.is_kept || stream.is_beside && is_listed
}

/// The stored rows of each batch's keys. Where a namespace has no objects of the type none is looked for.
async fn old_rows(
    session: &mut Session<'_>,
    batches: &[&Prepared],
    places: &[Places],
) -> Result<Vec<Vec<OldRow>>, StoreError> {
    let mut keys: Vec<(i32, i64, &str)> = Vec::new();
    for (batch, places) in batches.iter().zip(places) {
        let asked = batch.changes.iter().map(PreparedChange::key);
        keys.extend(asked.filter_map(|key| {
            let place = places.get(&key.namespace)?;
            (place.objects > 0).then_some((batch.resource, place.nsid, key.name.as_str()))
        }));
    }
    keys.sort_unstable();
    let index: HashMap<(i64, i32), usize> = batches
        .iter()
        .enumerate()
        .map(|(index, batch)| (batch.stream(), index))
        .collect();
    let mut old = vec![Vec::new(); batches.len()];
    for part in keys.chunks(session.dialect.most_values()) {
        let statement = object::old(session.dialect, part);
        for row in rows(session.connection, statement, object::decode_old).await? {
            old[index[&(cluster_of(row.nsid), row.resource)]].push(row);
        }
    }
    Ok(old)
}

/// The terms of the versions whose index entries go away, by revision.
async fn old_terms(
    session: &mut Session<'_>,
    batches: &[&Prepared],
    diffs: &[Diff<'_>],
) -> Result<HashMap<i64, TermSet>, StoreError> {
    let mut needed = Vec::new();
    for (batch, diff) in batches.iter().zip(diffs) {
        let unposted = session.labels.unposted(batch.resource);
        needed.extend(diff.effects.iter().filter_map(|effect| match effect {
            // Other rules alone change the form too; then the terms turn out to be the same.
            Effect::Change { old, new } => {
                (old.form != new.form || is_posted_anew(old, new, unposted)).then_some(old.rev)
            }
            Effect::Remove { old } => Some(old.rev),
            Effect::Add { .. } => None,
        }));
    }
    // What is read beyond what is put goes for certain.
    let put = diffs.iter().flat_map(|diff| &diff.effects);
    let put = put.filter_map(|effect| match effect {
        Effect::Add { new, .. } | Effect::Change { new, .. } => Some(&new.terms),
        Effect::Remove { .. } => None,
    });
    let most = session.portions.edits.saturating_add(posted(put));
    let terms = terms_up_to(session.connection, &needed, most).await?;
    let read = posted(terms.values());
    if read > most {
        check_room(session, batches, read - most + session.portions.edits)?;
    }
    Ok(terms)
}

/// Whether an object that keeps its terms may have been posted under one that it is posted under no more.
fn is_posted_anew(old: &OldRow, new: &NewObject, unposted: &Unposted) -> bool {
    let since = |label: &Label| unposted.get(&label.key);
    new.labels
        .iter()
        .filter_map(since)
        .any(|&since| old.rev <= since)
}

/// Gives each object that is added its id.
async fn number<'a>(
    session: &mut Session<'_>,
    batches: &[&'a Prepared],
    diffs: Vec<Diff<'a>>,
) -> Result<Vec<Staged<'a>>, StoreError> {
    let added = |diff: &Diff<'_>| {
        let adds = |effect: &&Effect<'_>| matches!(effect, Effect::Add { .. });
        diff.effects.iter().filter(adds).count()
    };
    let count = diffs.iter().map(added).sum();
    let ids = session.object_ids.next(session.connection, count).await?;
    let mut ids = ids.into_iter();
    let staged = batches.iter().zip(diffs).map(|(batch, diff)| Staged {
        resource: batch.resource,
        object_ids: ids.by_ref().take(added(&diff)).collect(),
        effects: diff.effects,
        written: diff.written,
    });
    Ok(staged.collect())
}

/// How the index and the counters change.
fn index_change(
    session: &Session<'_>,
    staged: &[Staged<'_>],
    batches: &[&Prepared],
    places: &[Places],
    terms: &HashMap<i64, TermSet>,
) -> (IndexChange, Vec<CounterDelta>) {
    let mut change = IndexChange::default();
    let mut deltas = Vec::new();
    for ((staged, batch), places) in staged.iter().zip(batches).zip(places) {
        index_effects(
            &mut change,
            staged,
            terms,
            session.labels.unposted(batch.resource),
        );
        for (namespace, place) in places {
            let delta = change.delta(batch.resource, place.nsid);
            if place.objects == 0 {
                change.begins(batch.resource, place.nsid);
            }
            if delta != 0 {
                deltas.push(counter_delta(batch, namespace, *place, delta));
            }
        }
    }
    (change, deltas)
}

/// Refuses what is to be tried in smaller transactions. A single change is as large as it is.
fn check_room(
    session: &Session<'_>,
    batches: &[&Prepared],
    edits: usize,
) -> Result<(), StoreError> {
    let changes: usize = batches.iter().map(|batch| batch.changes.len()).sum();
    match changes > 1 && edits > session.portions.edits {
        true => Err(too_much(edits)),
        false => Ok(()),
    }
}

fn index_effects(
    change: &mut IndexChange,
    staged: &Staged<'_>,
    terms: &HashMap<i64, TermSet>,
    unposted: &Unposted,
) {
    let (resource, mut ids) = (staged.resource, staged.object_ids.iter());
    for effect in &staged.effects {
        match effect {
            Effect::Add { nsid, new } => {
                let id = *ids.next().expect("one for each add");
                change.add((resource, *nsid), id, &new.stored_terms(unposted));
            }
            Effect::Change { old, new } => {
                if let Some(before) = terms.get(&old.rev) {
                    let terms = new.stored_terms(unposted);
                    change.change((resource, old.nsid), old.id, before, &terms);
                }
            }
            Effect::Remove { old } => {
                change.remove((resource, old.nsid), old.id, &terms[&old.rev]);
            }
        }
    }
}

/// Labels of what goes away tell nothing any more, whether the transaction succeeds or not: too little is noted then, which is no harm.
fn forget_removed(
    labels: &mut LabelKeys,
    staged: &Staged<'_>,
    cluster: i64,
    terms: &HashMap<i64, TermSet>,
) {
    for effect in &staged.effects {
        if let Effect::Remove { old } = effect {
            labels.forget(staged.resource, cluster, terms[&old.rev].posted());
        }
    }
}

fn counter_delta(
    batch: &Prepared,
    namespace: &str,
    place: FoundNamespace,
    delta: i64,
) -> CounterDelta {
    CounterDelta {
        key: CounterKey {
            resource: batch.resource,
            cluster: batch.cluster,
            namespace: namespace.to_owned(),
        },
        nsid: place.nsid,
        before: place.objects,
        delta,
    }
}

/// What the batches make of their streams. One that changes nothing, moves nothing and shows nothing writes nothing: to show something is for the stream's writer, too.
fn moved(
    batches: &[&Prepared],
    streams: &[StreamRow],
    staged: &[Staged<'_>],
    deltas: &[CounterDelta],
) -> Vec<Moved> {
    let mut added: HashMap<(i64, i32), i64> = HashMap::new();
    for CounterDelta { key, delta, .. } in deltas {
        *added.entry((key.cluster, key.resource)).or_default() += delta;
    }
    let moved = batches.iter().zip(streams).zip(staged);
    let moved = moved.filter_map(|((batch, stream), staged)| {
        let position = batch.position.as_ref();
        let moves = position.is_some() && position != stream.position.as_ref();
        // From the moment that a stream is live its rows are those of the rules.
        let settles = position.is_some_and(|position| position.phase == Phase::Live);
        let renews = settles && batch.rules != stream.rules;
        if staged.effects.is_empty() && !moves && !renews && !shows(stream, batch) {
            return None;
        }
        Some(Moved {
            fence: Fence {
                cluster: batch.cluster,
                resource: batch.resource,
                epoch: batch.epoch,
            },
            position: position.or(stream.position.as_ref()).cloned(),
            rules: if settles { batch.rules } else { stream.rules },
            added: added.get(&batch.stream()).copied().unwrap_or(0),
        })
    });
    moved.collect()
}

/// Notes where the streams are left, if that is committed.
fn note_moved(left_off: &mut LeftOff, streams: &[StreamRow], moved: &[Moved]) {
    let before: HashMap<(i64, i32), i64> = streams
        .iter()
        .map(|stream| ((stream.cluster, stream.resource), stream.objects))
        .collect();
    for Moved {
        fence,
        position,
        added,
        ..
    } in moved
    {
        let key = (fence.cluster, fence.resource);
        left_off.moves(key, fence.epoch, position.as_ref(), before[&key] + added);
    }
}

async fn move_streams(session: &mut Session<'_>, moved: &[Moved]) -> Result<(), StoreError> {
    for piece in session.dialect.pieces(moved) {
        let statement = stream::advance(session.dialect, piece, session.now);
        if session.connection.execute(statement).await? != piece.len() as u64 {
            // It is refused when it is looked at anew, with the others held, and spoils none of them.
            return Err(collided("a stream was taken over while it was written to"));
        }
    }
    Ok(())
}
