//! Objects of closed streams: which ones go in one step, and how. They go without a trace, without tombstones, for their type or cluster is
//! gone as a whole. Where all objects of a namespace go their index entries are dropped unread.

use std::collections::HashMap;

use armadex_storage::StoreError;

use super::prune;
use crate::backend::rows;
use crate::form::term::TermSet;
use crate::sql::counter::{self, CounterKey, Keyed};
use crate::sql::object::{self, PurgedRow};
use crate::sql::post::{self, RunKey};
use crate::sql::stream::{Loss, StreamRow};
use crate::write::counters::{self, CounterDelta};
use crate::write::index::IndexChange;
use crate::write::session::Session;
use crate::write::stage::terms_of;

/// What goes in one step.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    /// Namespaces that lose all objects of a type.
    whole: Vec<Keyed>,
    /// One that is too large for a step, and how many objects it loses.
    part: Option<(Keyed, i64)>,
}

impl Chosen {
    /// How many objects each of these streams loses.
    pub(super) fn by_stream(&self, streams: &[StreamRow]) -> Vec<Loss> {
        let mut gone: HashMap<(i64, i32), i64> = HashMap::new();
        for CounterDelta { key, delta, .. } in self.deltas() {
            *gone.entry((key.cluster, key.resource)).or_default() -= delta;
        }
        let gone = streams.iter().map(|stream| {
            let gone = gone.get(&(stream.cluster, stream.resource));
            Loss {
                cluster: stream.cluster,
                resource: stream.resource,
                had: stream.objects,
                gone: gone.copied().unwrap_or(0),
            }
        });
        gone.collect()
    }

    fn deltas(&self) -> impl Iterator<Item = CounterDelta> {
        let whole = self.whole.iter().map(|place| (place, place.2));
        let part = self.part.iter().map(|(place, gone)| (place, *gone));
        whole
            .chain(part)
            .map(|((key, nsid, objects), gone)| CounterDelta {
                key: key.clone(),
                nsid: *nsid,
                before: *objects,
                delta: -gone,
            })
    }
}

/// Chooses at most `limit` objects.
pub(super) async fn choose(
    session: &mut Session<'_>,
    streams: &[StreamRow],
    limit: u32,
) -> Result<Chosen, StoreError> {
    let limit = i64::from(limit);
    let mut sum = 0;
    let enough = streams.iter().take_while(|stream| {
        let wanted = sum < limit;
        sum += stream.objects;
        wanted
    });
    let keys: Vec<(i64, i32)> = enough
        .filter(|stream| stream.objects > 0)
        .map(|stream| (stream.cluster, stream.resource))
        .collect();
    if keys.is_empty() {
        return Ok(Chosen::default());
    }
    // Each has an object at least.
    let statement = counter::of_streams(session.dialect, &keys, limit);
    let found = rows(session.connection, statement, counter::decode_keyed).await?;
    Ok(fill(found, limit))
}

/// Takes whole namespaces as long as they fit, and a part of one only where none does.
fn fill(places: Vec<Keyed>, limit: i64) -> Chosen {
    let mut room = limit;
    let (whole, large): (Vec<Keyed>, Vec<Keyed>) = places.into_iter().partition(|place| {
        let fits = place.2 <= room;
        room -= if fits { place.2 } else { 0 };
        fits
    });
    let part = match whole.is_empty() {
        true => large.into_iter().next().map(|place| (place, limit)),
        false => None,
    };
    Chosen { whole, part }
}

/// Removes them; gives how many objects that were.
pub(super) async fn remove(session: &mut Session<'_>, chosen: Chosen) -> Result<u64, StoreError> {
    let deltas: Vec<CounterDelta> = chosen.deltas().collect();
    let Chosen { whole, part } = chosen;
    let mut removed = remove_whole(session, &whole).await?;
    if let Some((place, gone)) = part {
        removed += remove_part(session, &place, gone).await?;
    }
    counters::write(session.connection, session.dialect, deltas, vec![]).await?;
    Ok(removed)
}

async fn remove_whole(session: &mut Session<'_>, whole: &[Keyed]) -> Result<u64, StoreError> {
    let places: Vec<(i32, i64)> = whole
        .iter()
        .map(|(CounterKey { resource, .. }, nsid, _)| (*resource, *nsid))
        .collect();
    let mut found = Vec::new();
    for part in places.chunks(session.dialect.most_values()) {
        let statement = object::of_places(session.dialect, part);
        found.extend(rows(session.connection, statement, object::decode_purged).await?);
    }
    let terms = remove_rows(session, &found).await?;
    let runs = found.iter().flat_map(|row| {
        let run = |&term: &i64| RunKey {
            term,
            resource: row.resource,
            nsid: row.nsid,
        };
        terms[&row.rev].posted().iter().map(run)
    });
    // In the order of the index, each once.
    let mut runs: Vec<RunKey> = runs.collect();
    runs.sort_unstable();
    runs.dedup();
    for part in runs.chunks(session.dialect.most_values()) {
        let statement = post::delete_runs(session.dialect, part);
        session.connection.execute(statement).await?;
    }
    Ok(found.len() as u64)
}

async fn remove_part(
    session: &mut Session<'_>,
    (key, nsid, _): &Keyed,
    gone: i64,
) -> Result<u64, StoreError> {
    let place = (key.resource, *nsid);
    let statement = object::some(session.dialect, place, gone);
    let found = rows(session.connection, statement, object::decode_purged).await?;
    let terms = remove_rows(session, &found).await?;
    let mut change = IndexChange::default();
    for row in &found {
        change.remove(place, row.id, &terms[&row.rev]);
    }
    let capacity = session.capacity();
    change
        .write(session.connection, session.dialect, capacity)
        .await?;
    Ok(found.len() as u64)
}

/// Deletes objects and their versions; gives what those were indexed by.
async fn remove_rows(
    session: &mut Session<'_>,
    found: &[PurgedRow],
) -> Result<HashMap<i64, TermSet>, StoreError> {
    let (dialect, connection) = (session.dialect, &mut *session.connection);
    let revs: Vec<i64> = found.iter().map(|row| row.rev).collect();
    let ids: Vec<i64> = found.iter().map(|row| row.id).collect();
    let terms = terms_of(connection, &revs).await?;
    for part in ids.chunks(dialect.most_values()) {
        connection.execute(object::delete(dialect, part)).await?;
    }
    prune::delete_newest(connection, &revs).await?;
    Ok(terms)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(namespace: &str, objects: i64) -> Keyed {
        let key = CounterKey {
            resource: 3,
            cluster: 1,
            namespace: namespace.into(),
        };
        (key, 1000, objects)
    }

    #[track_caller]
    fn check(places: &[(&str, i64)], whole: &[&str], part: Option<(&str, i64)>) {
        let places = places.iter().map(|&(name, objects)| place(name, objects));
        let chosen = fill(places.collect(), 10);
        let name = |place: &Keyed| place.0.namespace.clone();
        assert_eq!(chosen.whole.iter().map(name).collect::<Vec<_>>(), whole);
        let found = chosen.part.as_ref();
        let found = found.map(|(place, gone)| (place.0.namespace.as_str(), *gone));
        assert_eq!(found, part);
    }

    #[test]
    fn whole_namespaces_go_as_long_as_they_fit_and_parts_of_those_that_never_do() {
        check(&[("a", 4), ("b", 7), ("c", 6)], &["a", "c"], None);
        check(&[("a", 11), ("b", 10)], &["b"], None);
        check(&[("a", 11), ("b", 12)], &[], Some(("a", 10)));
        check(&[], &[], None);
    }
}
