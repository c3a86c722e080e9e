//! A store that an earlier release filled, and what a later one has to answer from it.
//!
//! [`fill`] is what that release ran, on its own store: it needs nothing of the write side that was not there from the beginning. What it leaves is kept
//! as a fixture; [`a_store_of_an_earlier_release_is_answered_as_before`] knows without it what is in there.

pub mod unposted;

use armadex_model::Query;
use rand::SeedableRng;
use rand::rngs::StdRng;

use super::compare::compare;
use super::dice::{Dice, SEED, seed};
use super::draw::query;
use super::fleet::Fleet;
use super::map::{
    CLUSTERS, Changed, ID, KEYS, KINDS, Key, Known, Model, PHASES, VALUES, change, described,
};
use crate::conformance::fixture::{Fixture, RULES, Writer, live, name, path};
use crate::{Change, Health, Sink};

/// The names of what was kept: the place of each among them says what it was.
const NAMESPACES: [&str; 5] = ["", "a", "b", "default", "kube-system"];
const NAMES: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
/// The incarnation of each cluster.
const INCARNATION: &str = "incarnation-1";
/// Who looks after them.
const OWNER: &str = "owner";
/// What the members run.
const VERSION: &str = "v1.30.0";
/// It has left, and may come back.
const LEFT: &str = "gamma";
/// A type of a cluster that was closed.
const CLOSED: (&str, usize) = ("beta", 1);
/// Where the streams stood.
const POSITION: &str = "4711";
const QUERIES: usize = 500;
const QUERIES_LATER: usize = 50;

/// Three clusters with two types each: objects come in two batches a stream, and a third changes some and deletes others. One stream is closed then, and a
/// cluster leaves.
pub async fn fill(sink: &dyn Sink) {
    for cluster in CLUSTERS {
        let id = sink.join(&name(cluster), INCARNATION, OWNER).await;
        let id = id.expect("joined");
        for number in 0..KINDS.len() {
            let stream = sink.open(id, OWNER, &described(number), RULES).await;
            let writer = Writer {
                cluster: id,
                stream: stream.expect("opened"),
            };
            let (first, then) = written(cluster, number);
            for part in first.chunks(first.len().div_ceil(2)).chain([&then[..]]) {
                let batch = writer.batch(part.iter().map(change), Some(live(POSITION)));
                sink.write(batch).await.expect("written");
            }
            if (cluster, number) == CLOSED {
                let closed = sink.close(id, OWNER, writer.stream.resource).await;
                closed.expect("closed");
            }
        }
        let told = sink
            .set_health(id, OWNER, &refused(cluster), Some(VERSION))
            .await;
        told.expect("told");
    }
    let left = sink.leave(&name(LEFT), INCARNATION).await;
    left.expect("left");
}

/// How a cluster is.
fn refused(cluster: &str) -> Health {
    Health {
        healthy: false,
        reason: format!("{cluster} was refused"),
    }
}

/// What is in the batches of a stream: all that comes, and what is changed and deleted of it.
fn written(cluster: &'static str, number: usize) -> (Vec<Changed>, Vec<Changed>) {
    let keys = keys(cluster, number);
    let first = keys.iter().map(|&(key, lot)| (key, Some(known(lot))));
    let then = keys.iter().filter_map(|&(key, lot)| match lot % 5 {
        0 => Some((key, None)),
        1 | 2 => Some((key, Some(changed(lot)))),
        _ => None,
    });
    (first.collect(), then.collect())
}

/// Two of three keys that there may be, each with a number that says what is there.
fn keys(cluster: &'static str, number: usize) -> Vec<(Key, u64)> {
    let place = CLUSTERS.iter().position(|one| *one == cluster);
    let place = place.expect("a cluster") * KINDS.len() + number;
    let paths = NAMESPACES
        .iter()
        .flat_map(|namespace| NAMES.iter().map(move |name| (cluster, *namespace, *name)));
    let keys = paths.zip(1000 * place as u64..);
    let keys = keys.map(|(path, at)| ((number, path), lot(at)));
    keys.filter(|(_, lot)| lot % 3 != 0).collect()
}

/// A number that looks drawn by lot, and is the same for ever: splitmix64.
fn lot(at: u64) -> u64 {
    let mut lot = at.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    lot = (lot ^ (lot >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    lot = (lot ^ (lot >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    lot ^ (lot >> 31)
}

fn known(lot: u64) -> Known {
    let uid = format!("{lot:016x}");
    let pick = |values: &[&'static str], by: u64| values[(lot / by) as usize % values.len()];
    let mut labels = std::collections::BTreeMap::from([(ID, uid.clone())]);
    labels.insert(pick(&KEYS, 7), pick(&VALUES, 11).to_owned());
    labels.insert(pick(&KEYS, 13), pick(&VALUES, 17).to_owned());
    Known {
        version: 100 + (lot / 19 % 50) as i64,
        created: 1_700_000_000 + (lot / 23 % 6) as i64,
        phase: pick(&PHASES, 29),
        labels,
        uid,
    }
}

/// What became of an object later, one of another uid where the number says so.
fn changed(was: u64) -> Known {
    let later = known(lot(was));
    match was % 2 {
        0 => later,
        _ => Known {
            uid: known(was).uid,
            version: known(was).version + 1,
            ..later
        },
    }
}

fn left_in(cluster: &'static str, number: usize) -> Model {
    let (first, then) = written(cluster, number);
    let all = first.into_iter().chain(then);
    let all: std::collections::BTreeMap<_, _> = all.collect();
    let there = all
        .into_iter()
        .filter_map(|(key, known)| Some((key, known?)));
    there.collect()
}

/// Whatever is asked, the answer is what was written: clusters that are there, one that comes back, streams that go on from where they stood, and all of it
/// changed and purged.
#[allow(clippy::print_stdout, reason = "the seed is shown when the test fails")]
pub async fn a_store_of_an_earlier_release_is_answered_as_before(fixture: &Fixture) {
    let seed = seed();
    println!("run again with {SEED}={seed}");
    let mut dice = Dice(StdRng::seed_from_u64(seed));
    let present = CLUSTERS.into_iter().filter(|cluster| *cluster != LEFT);
    let streams = present.flat_map(|cluster| (0..KINDS.len()).map(move |kind| (cluster, kind)));
    let open = streams.filter(|at| *at != CLOSED);
    let mut model: Model = open
        .flat_map(|(cluster, kind)| left_in(cluster, kind))
        .collect();
    fixture.assert_sound().await;
    assert_same_catalog(fixture).await;
    assert_same_objects(fixture, &model).await;
    ask(fixture, &model, &mut dice, QUERIES).await;
    for kind in 0..KINDS.len() {
        model.append(&mut left_in(LEFT, kind));
    }
    goes_on(fixture, &mut model).await;
    assert_same_objects(fixture, &model).await;
    fixture.assert_sound().await;
    ask(fixture, &model, &mut dice, QUERIES_LATER).await;
    fixture.purge(100).await;
    fixture.assert_sound().await;
    ask(fixture, &model, &mut dice, QUERIES_LATER).await;
}

/// Which clusters are shown and whose they are, with their types, and how they were.
async fn assert_same_catalog(fixture: &Fixture) {
    let catalog = fixture.search.catalog().await.expect("a catalogue");
    let found: Vec<_> = catalog
        .clusters
        .iter()
        .map(|(name, entry)| {
            let resources: Vec<_> = entry.resources.iter().map(|gvr| (**gvr).clone()).collect();
            let told = (entry.health.clone(), entry.version.clone());
            (name.to_string(), resources, told)
        })
        .collect();
    let present = CLUSTERS.into_iter().filter(|cluster| *cluster != LEFT);
    let expected = present.map(|cluster| {
        let open = (0..KINDS.len()).filter(|kind| (cluster, *kind) != CLOSED);
        let mut resources: Vec<_> = open.map(|kind| described(kind).gvr).collect();
        resources.sort();
        let told = (Some(refused(cluster)), Some(VERSION.to_owned()));
        (cluster.to_owned(), resources, told)
    });
    assert_eq!(found, Vec::from_iter(expected));
    let joined = fixture.sink.clusters().await.expect("clusters");
    let joined = joined.into_iter();
    let mut joined: Vec<_> = joined
        .map(|joined| (joined.name.to_string(), joined.incarnation, joined.owner))
        .collect();
    joined.sort();
    let present = CLUSTERS.into_iter().filter(|cluster| *cluster != LEFT);
    let expected =
        present.map(|cluster| (cluster.to_owned(), INCARNATION.to_owned(), OWNER.to_owned()));
    assert_eq!(joined, Vec::from_iter(expected));
}

/// With their bodies, versions and times.
async fn assert_same_objects(fixture: &Fixture, model: &Model) {
    for kind in 0..KINDS.len() {
        let query = Query::all(described(kind).gvr);
        let found = fixture.rows(&query, 100).await;
        let found: Vec<_> = found
            .into_iter()
            .map(|row| (path(&row), row.resource_version, row.created, row.body))
            .collect();
        let there = model.iter().filter(|((number, _), _)| *number == kind);
        let expected = there.map(|(key, known)| {
            let (cluster, namespace, name) = key.1;
            let Change::Put(object) = change(&(*key, Some(known.clone()))) else {
                unreachable!("it is there");
            };
            let path = format!("{cluster}/{namespace}/{name}");
            (path, object.resource_version, object.created, object.body)
        });
        assert_eq!(found, Vec::from_iter(expected));
    }
}

async fn ask(fixture: &Fixture, model: &Model, dice: &mut Dice, queries: usize) {
    for _ in 0..queries {
        let query = query(dice, model);
        compare(fixture, (model, &Fleet::new()), &query, dice).await;
    }
}

/// Every cluster joins again, and its streams are opened and written.
async fn goes_on(fixture: &Fixture, model: &mut Model) {
    for cluster in CLUSTERS {
        let id = fixture.sink.join(&name(cluster), INCARNATION, OWNER).await;
        let id = id.expect("joined");
        for number in (0..KINDS.len()).filter(|number| (cluster, *number) != CLOSED) {
            let stream = fixture
                .sink
                .open(id, OWNER, &described(number), RULES)
                .await;
            let stream = stream.expect("opened");
            assert_eq!(stream.position, Some(live(POSITION)), "{cluster} {number}");
            let writer = Writer {
                cluster: id,
                stream,
            };
            let there = model
                .iter()
                .filter(|((kind, path), _)| *kind == number && path.0 == cluster);
            let changes = there.map(|(key, known)| change(&(*key, Some(known.clone()))));
            assert_nothing_is_written(fixture, &writer, changes.collect()).await;
            let next = next(model, (cluster, number));
            fixture
                .write(&writer, next.iter().map(change))
                .await
                .expect("written");
            for (key, known) in next {
                match known {
                    Some(known) => drop(model.insert(key, known)),
                    None => drop(model.remove(&key)),
                }
            }
        }
    }
}

/// What is there already, as to uids, versions and all that it is found by.
async fn assert_nothing_is_written(fixture: &Fixture, writer: &Writer, changes: Vec<Change>) {
    let before = fixture.search.head().await.expect("a head").revision;
    let written = fixture.write(writer, changes).await;
    written.expect("written");
    let after = fixture.search.head().await.expect("a head").revision;
    assert_eq!(after, before);
}

/// Some of what is there goes, some changes, and what once was deleted comes again.
fn next(model: &Model, (cluster, number): (&'static str, usize)) -> Vec<Changed> {
    let keys = keys(cluster, number).into_iter();
    let next = keys.filter_map(|(key, was)| match (was / 5 % 4, model.get(&key)) {
        (0, Some(_)) => Some((key, None)),
        (1, _) | (_, None) => Some((key, Some(known(lot(lot(was)))))),
        _ => None,
    });
    next.collect()
}
