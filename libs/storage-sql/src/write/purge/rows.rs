//! Objects of closed streams: which ones go in one step, and how. They go without a trace, without tombstones, for their type or cluster is
//! gone as a whole. Where all objects of a namespace go their index entries are dropped unread.

use std::collections::{HashMap, HashSet};

use armadex_storage::StoreError;
use tracing::warn;

use super::dense;
use crate::backend::rows;
use crate::form::term::TermSet;
use crate::sql::counter::{self, CounterKey, Keyed};
use crate::sql::object::{self, PurgedRow};
use crate::sql::post::{self, RunKey};
use crate::sql::stream::{Loss, StreamRow};
use crate::write::counters::{self, CounterDelta};
use crate::write::index::IndexChange;
use crate::write::session::Session;
use crate::write::terms::terms_up_to;
use crate::write::versions::{self, Unseen};

/// How many times as many terms are read of whole namespaces: most lead to several of their objects, and a run is dropped once.
const READ: usize = 4;

/// What goes in one step.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    /// Namespaces that lose all objects of a type.
    whole: Vec<Keyed>,
    /// One that is too large for a step, and how many objects it loses.
    part: Option<(Keyed, i64)>,
    /// How many counters streams have, by (cluster, type): of those all of whose counters were found. Where there is none nothing is found any more, whatever the
    /// stream says.
    counters: HashMap<(i64, i32), usize>,
    rows: Vec<PurgedRow>,
    /// What these are indexed by, by revision.
    terms: HashMap<i64, TermSet>,
}

/// Streams that lose nothing.
pub(super) fn nothing_of(streams: &[StreamRow]) -> Vec<Loss> {
    Chosen::default().by_stream(streams)
}

impl Chosen {
    /// How many objects each of these streams loses.
    pub(super) fn by_stream(&self, streams: &[StreamRow]) -> Vec<Loss> {
        let mut gone: HashMap<(i64, i32), i64> = HashMap::new();
        for CounterDelta { key, delta, .. } in self.deltas() {
            *gone.entry((key.cluster, key.resource)).or_default() -= delta;
        }
        let gone = streams.iter().map(|stream| {
            let key = (stream.cluster, stream.resource);
            let gone = match self.is_uncounted(key) {
                true => stream.objects,
                false => gone.get(&key).copied().unwrap_or(0),
            };
            Loss {
                cluster: stream.cluster,
                resource: stream.resource,
                had: stream.objects,
                gone,
            }
        });
        gone.collect()
    }

    /// The streams that have nothing left: all of their counters go. Their sums are not believed.
    pub(super) fn emptied(&self) -> Vec<(i64, i32)> {
        let mut going: HashMap<(i64, i32), usize> = HashMap::new();
        for CounterDelta {
            key, before, delta, ..
        } in self.deltas()
        {
            *going.entry((key.cluster, key.resource)).or_default() += usize::from(before == -delta);
        }
        let is_emptied = |key, counters| going.get(key).copied().unwrap_or(0) == counters;
        let counters = self.counters.iter();
        let emptied = counters.filter(|(key, counters)| is_emptied(*key, **counters));
        let mut emptied: Vec<(i64, i32)> = emptied.map(|(key, _)| *key).collect();
        emptied.sort_unstable();
        emptied
    }

    fn is_uncounted(&self, stream: (i64, i32)) -> bool {
        self.counters.get(&stream) == Some(&0)
    }

    /// Says what a purge goes on without: where counters were lost their objects stay behind.
    pub(super) fn tell_of_damage(&self, streams: &[StreamRow]) {
        let is_damaged = |stream: &&StreamRow| {
            stream.objects != 0 && self.is_uncounted((stream.cluster, stream.resource))
        };
        let mut damaged = streams.iter().filter(is_damaged);
        let Some(first) = damaged.next() else {
            return;
        };
        let (cluster, resource, objects) = (first.cluster, first.resource, first.objects);
        let others = damaged.count();
        warn!(
            cluster,
            resource,
            objects,
            others,
            "type {resource} of cluster {cluster} is purged: {objects} objects are left of it by its sum, and none by its namespaces. `armadex store check` \
             says whether there are any, and `--mend` makes their counters anew"
        );
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
    let mut sum: i64 = 0;
    let enough = streams.iter().take_while(|stream| {
        let wanted = sum < limit;
        sum = sum.saturating_add(stream.objects);
        wanted
    });
    let keys: Vec<(i64, i32)> = enough
        .map(|stream| (stream.cluster, stream.resource))
        .collect();
    if keys.is_empty() {
        return Ok(Chosen::default());
    }
    // Each has an object at least.
    let statement = counter::of_streams(session.dialect, &keys, limit);
    let found = rows(session.connection, statement, counter::decode_keyed).await?;
    let counters = counters_of(keys, &found, limit);
    let chosen = match fill(found, limit) {
        Filled::Whole(places) => choose_whole(session, places, limit).await?,
        Filled::Part(place) => choose_part(session, place, limit).await?,
        Filled::Nothing => Chosen::default(),
    };
    Ok(Chosen { counters, ..chosen })
}

/// How many counters some streams have; nothing is known where there may be more than were found.
fn counters_of(
    streams: Vec<(i64, i32)>,
    found: &[Keyed],
    limit: i64,
) -> HashMap<(i64, i32), usize> {
    if i64::try_from(found.len()).is_ok_and(|found| found >= limit) {
        return HashMap::new();
    }
    let mut counters: HashMap<_, _> = streams.into_iter().map(|stream| (stream, 0)).collect();
    for (key, ..) in found {
        *counters.entry((key.cluster, key.resource)).or_default() += 1;
    }
    counters
}

/// What has room in a step by the number of objects.
#[derive(Debug, PartialEq, Eq)]
enum Filled {
    Whole(Vec<Keyed>),
    /// No namespace fits.
    Part(Keyed),
    Nothing,
}

/// Takes whole namespaces as long as they fit, and a part of one only where none does.
fn fill(places: Vec<Keyed>, limit: i64) -> Filled {
    let mut room = limit;
    let (whole, large): (Vec<Keyed>, Vec<Keyed>) = places.into_iter().partition(|place| {
        let fits = place.2 <= room;
        room -= if fits { place.2 } else { 0 };
        fits
    });
    match (whole.is_empty(), large.into_iter().next()) {
        (false, _) => Filled::Whole(whole),
        (true, Some(place)) => Filled::Part(place),
        (true, None) => Filled::Nothing,
    }
}

/// As many of these namespaces as have room by their terms; a part of the first if that has none.
async fn choose_whole(
    session: &mut Session<'_>,
    mut places: Vec<Keyed>,
    limit: i64,
) -> Result<Chosen, StoreError> {
    places.sort_by_key(place_of);
    let first = places[0].clone();
    let keys: Vec<(i32, i64)> = places.iter().map(place_of).collect();
    let mut found = Vec::new();
    for part in keys.chunks(session.dialect.most_values()) {
        let statement = object::of_places(session.dialect, part);
        found.extend(rows(session.connection, statement, object::decode_purged).await?);
    }
    found.sort_unstable_by_key(|row| (row.resource, row.nsid, row.id));
    let most = session.portions.terms;
    let terms = read_terms(session, &found, most.saturating_mul(READ)).await?;
    // A run is dropped once, whoever is in it.
    let mut runs: HashSet<RunKey> = HashSet::new();
    let room = room(&found, &terms, most, |row, terms| {
        let before = runs.len();
        runs.extend(runs_of(row, terms));
        runs.len() - before
    });
    if let Some(next) = found.get(room) {
        let end = (next.resource, next.nsid);
        places.retain(|place| place_of(place) < end);
        found.retain(|row| (row.resource, row.nsid) < end);
    }
    if places.is_empty() {
        return choose_part(session, first, limit).await;
    }
    Ok(Chosen {
        whole: places,
        part: None,
        counters: HashMap::new(),
        rows: found,
        terms,
    })
}

/// Objects of one namespace, as many as have room.
async fn choose_part(
    session: &mut Session<'_>,
    place: Keyed,
    limit: i64,
) -> Result<Chosen, StoreError> {
    let wanted = limit.min(place.2);
    let mut found = dense::choose(session, place_of(&place), wanted).await?;
    let most = session.portions.terms;
    let terms = read_terms(session, &found, most).await?;
    let room = room(&found, &terms, most, |_, terms| terms.posted().len());
    // Where there are fewer than were counted they are all that there is.
    let count = |rows: usize| i64::try_from(rows).expect("at most the limit");
    let gone = match count(found.len()) < wanted && room == found.len() {
        true => place.2,
        false => count(room),
    };
    found.truncate(room);
    Ok(Chosen {
        whole: vec![],
        part: Some((place, gone)),
        counters: HashMap::new(),
        rows: found,
        terms,
    })
}

/// Of these objects in their order, how many have room by what each edits: one at least. No more have than have been read.
fn room(
    found: &[PurgedRow],
    terms: &HashMap<i64, TermSet>,
    most: usize,
    mut edits: impl FnMut(&PurgedRow, &TermSet) -> usize,
) -> usize {
    let mut sum = 0;
    let fits = |row: &&PurgedRow| {
        terms.get(&row.rev).is_some_and(|terms| {
            sum += edits(row, terms);
            sum <= most
        })
    };
    let room = found.iter().take_while(fits).count();
    room.max(1).min(found.len())
}

/// What the first of these are indexed by, as far as so many terms.
async fn read_terms(
    session: &mut Session<'_>,
    found: &[PurgedRow],
    most: usize,
) -> Result<HashMap<i64, TermSet>, StoreError> {
    let revs: Vec<i64> = found.iter().map(|row| row.rev).collect();
    terms_up_to(session.connection, &revs, most).await
}

fn place_of((CounterKey { resource, .. }, nsid, _): &Keyed) -> (i32, i64) {
    (*resource, *nsid)
}

/// Removes them; gives how many objects that were.
pub(super) async fn remove(session: &mut Session<'_>, chosen: Chosen) -> Result<u64, StoreError> {
    let deltas: Vec<CounterDelta> = chosen.deltas().collect();
    let unseen = remove_rows(session, &chosen.rows).await?;
    match chosen.part {
        Some(_) => unpost(session, &chosen).await?,
        None => drop_runs(session, &chosen).await?,
    }
    counters::take_off(session.connection, session.dialect, deltas).await?;
    unseen.keep_names(session.connection).await?;
    Ok(chosen.rows.len() as u64)
}

/// Deletes objects and their versions.
async fn remove_rows(session: &mut Session<'_>, found: &[PurgedRow]) -> Result<Unseen, StoreError> {
    let (dialect, connection) = (session.dialect, &mut *session.connection);
    let newest: Vec<_> = found.iter().map(|row| (row.rev, row.nsid)).collect();
    let ids: Vec<i64> = found.iter().map(|row| row.id).collect();
    for part in ids.chunks(dialect.most_values()) {
        connection.execute(object::delete(dialect, part)).await?;
    }
    versions::delete_newest(connection, &newest).await
}

/// Drops all that leads to objects of whole namespaces.
async fn drop_runs(session: &mut Session<'_>, chosen: &Chosen) -> Result<(), StoreError> {
    let rows = chosen.rows.iter();
    let runs = rows.flat_map(|row| runs_of(row, &chosen.terms[&row.rev]));
    // In the order of the index, each once.
    let mut runs: Vec<RunKey> = runs.collect();
    runs.sort_unstable();
    runs.dedup();
    for part in runs.chunks(session.dialect.most_values()) {
        let statement = post::delete_runs(session.dialect, part);
        session.connection.execute(statement).await?;
    }
    Ok(())
}

/// The runs that lead to an object.
fn runs_of(row: &PurgedRow, terms: &TermSet) -> impl Iterator<Item = RunKey> {
    let &PurgedRow { resource, nsid, .. } = row;
    let run = move |&term: &i64| RunKey {
        term,
        resource,
        nsid,
    };
    terms.posted().iter().map(run)
}

/// Takes some objects of a namespace out of its runs.
async fn unpost(session: &mut Session<'_>, chosen: &Chosen) -> Result<(), StoreError> {
    let mut change = IndexChange::default();
    for row in &chosen.rows {
        change.remove((row.resource, row.nsid), row.id, &chosen.terms[&row.rev]);
    }
    let capacity = session.capacity();
    change
        .write(session.connection, session.dialect, capacity)
        .await
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
    fn check(places: &[(&str, i64)], whole: &[&str], part: Option<&str>) {
        let places = places.iter().map(|&(name, objects)| place(name, objects));
        let name = |place: &Keyed| place.0.namespace.clone();
        let (found_whole, found_part) = match fill(places.collect(), 10) {
            Filled::Whole(places) => (places.iter().map(name).collect(), None),
            Filled::Part(place) => (vec![], Some(name(&place))),
            Filled::Nothing => (vec![], None),
        };
        assert_eq!(found_whole, whole);
        assert_eq!(found_part.as_deref(), part);
    }

    /// Where there are as many counters as are asked for there may be more.
    #[test]
    fn a_stream_has_no_counter_only_where_all_were_found() {
        let of = |limit| counters_of(vec![(1, 3), (2, 3)], &[place("a", 4)], limit);
        assert_eq!(of(2), HashMap::from([((1, 3), 1), ((2, 3), 0)]));
        assert_eq!(of(1), HashMap::new());
    }

    #[test]
    fn a_stream_is_empty_when_its_counters_go_whatever_its_sum_says() {
        let places = [place("a", 4), place("b", 7)];
        let chosen = |whole: &[Keyed], part: Option<(Keyed, i64)>| Chosen {
            whole: whole.to_vec(),
            part,
            counters: counters_of(vec![(1, 3)], &places, 10),
            ..Chosen::default()
        };
        assert_eq!(chosen(&places, None).emptied(), [(1, 3)]);
        assert_eq!(chosen(&places[..1], None).emptied(), []);
        let part = (places[1].clone(), 3);
        assert_eq!(chosen(&places[..1], Some(part)).emptied(), []);
        let rest = (places[1].clone(), 7);
        assert_eq!(chosen(&places[..1], Some(rest)).emptied(), [(1, 3)]);
    }

    #[test]
    fn whole_namespaces_go_as_long_as_they_fit_and_parts_of_those_that_never_do() {
        check(&[("a", 4), ("b", 7), ("c", 6)], &["a", "c"], None);
        check(&[("a", 11), ("b", 10)], &["b"], None);
        check(&[("a", 11), ("b", 12)], &[], Some("a"));
        check(&[], &[], None);
    }
}
