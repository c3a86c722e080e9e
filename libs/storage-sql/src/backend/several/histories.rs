//! Types whose superseded versions are kept beyond the watch window, and what becomes of these in the end.

use std::sync::Arc;
use std::time::Duration;

use armadex_model::ResourceType;
use armadex_storage::Sink as _;
use armadex_storage::conformance::fixture::{Writer, resource};
use armadex_storage::conformance::{Fixture, object};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

use super::place::{Place, execute, fixture_of};
use crate::backend::{Lane, head_row, rows, schema};
use crate::options::{History, Options};
use crate::sql::head::HeadRow;
use crate::sql::object::{decode_log, log};
use crate::sql::statement::Statement;
use crate::store::SqlStore;
use crate::write::Portions;

const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Of resources of the core, for a day.
fn options(of: &[&str]) -> Options {
    Options {
        watch_window: HOUR,
        history: History {
            of: of
                .iter()
                .map(|name| (String::new(), (*name).to_owned()))
                .collect(),
            window: DAY,
            bytes: 0,
        },
        ..Options::default()
    }
}

fn maps() -> ResourceType {
    resource("", "configmaps", "ConfigMap", true)
}

/// As if the periodic work had been done for so long since its last step.
async fn pass(store: &SqlStore, time: Duration) {
    let milliseconds = i64::try_from(time.as_millis()).expect("not so long");
    let clock = Statement::fixed(
        "test.clock",
        "UPDATE lease SET clock = clock + ?",
        [milliseconds.into()],
    );
    execute(store, clock).await;
}

/// Revisions of all versions, oldest first.
async fn versions(store: &SqlStore) -> Vec<i64> {
    let mut reader = store.database.read(Lane::Short).await.expect("a reader");
    let all = rows(&mut *reader, log(0, i64::MAX, 10_000), decode_log).await;
    reader.rollback().await.expect("ended");
    all.expect("a log").iter().map(|row| row.rev).collect()
}

async fn head(store: &SqlStore) -> HeadRow {
    let mut reader = store.database.read(Lane::Short).await.expect("a reader");
    let head = head_row::read(&mut *reader).await.expect("a head");
    reader.rollback().await.expect("ended");
    head
}

async fn put(fixture: &Fixture, writer: &Writer, name: &str, version: u32) {
    let object = object("ns", name).version(&version.to_string());
    fixture.put(writer, [object]).await;
}

/// Versions 1 to 3 of a pod, 4 to 6 of a ConfigMap, both of which are deleted at 7 and 8; 9 is a pod that stays.
async fn fill(fixture: &Fixture) {
    let (pods, maps) = (
        fixture.pods_of("m").await,
        fixture.writer("m", &maps()).await,
    );
    for writer in [&pods, &maps] {
        for version in 1..=3 {
            put(fixture, writer, "a", version).await;
        }
    }
    for writer in [&pods, &maps] {
        fixture.delete(writer, "ns", &["a"]).await;
    }
    put(fixture, &pods, "b", 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_type_with_a_history_superseded_is_kept_for_longer_and_goes_then() {
    for place in Place::of_each_kind() {
        let store = place.store_with(&options(&["pods"])).await;
        let fixture = fixture_of(&store);
        fill(&fixture).await;
        fixture.purge(10).await;
        assert_eq!(versions(&store).await, Vec::from_iter(1..=9));
        assert_eq!(
            head(&store).await.serves,
            schema::serves_with_history(store.database.dialect())
        );
        let of_pods = store.history().expect("it counts");
        assert!(of_pods.bytes > 0 && of_pods.bytes < store.past().expect("it counts").bytes);
        pass(&store, HOUR + HOUR / 60).await;
        // In small steps.
        fixture.purge(2).await;
        assert_eq!(versions(&store).await, [1, 2, 3, 7, 9]);
        fixture.assert_sound().await;
        assert_eq!(
            store.history(),
            Some(crate::Past {
                age: store.history().expect("some").age,
                ..of_pods
            })
        );
        assert_eq!(store.past().expect("it counts").bytes, 0);
        let stats = store.stats().await.expect("stats");
        assert_eq!((stats.pruned, stats.history), (9, 0));
        let [share] = &stats.histories[..] else {
            panic!("{stats:?}")
        };
        assert_eq!((share.resource.as_str(), share.since), ("pods", 0));
        assert_eq!(stats.kept.bytes, of_pods.bytes);
        pass(&store, DAY - 2 * HOUR).await;
        fixture.purge(2).await;
        assert_eq!(versions(&store).await, [1, 2, 3, 7, 9], "a day is not over");
        pass(&store, HOUR).await;
        fixture.purge(2).await;
        assert_eq!(versions(&store).await, [9]);
        assert_eq!(head(&store).await.history, 9);
        fixture.assert_sound().await;
        store.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_history_that_is_not_asked_for_any_more_goes_at_once() {
    for place in Place::of_each_kind() {
        let store = place.store_with(&options(&["pods"])).await;
        fill(&fixture_of(&store)).await;
        fixture_of(&store).purge(10).await;
        pass(&store, HOUR + HOUR / 60).await;
        fixture_of(&store).purge(10).await;
        assert_eq!(versions(&store).await, [1, 2, 3, 7, 9]);
        store.shutdown().await;
        let store = place.store_with(&options(&[])).await;
        fixture_of(&store).purge(2).await;
        assert_eq!(versions(&store).await, [9]);
        assert!(store.stats().await.expect("stats").histories.is_empty());
        assert_eq!(store.history(), None);
        fixture_of(&store).assert_sound().await;
        store.shutdown().await;
    }
}

/// One history is begun while another one ends; what the pod superseded last leads to what its history still has.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_history_ends_beside_another_and_leaves_nothing() {
    for place in Place::of_each_kind() {
        let store = place.store_with(&options(&["pods"])).await;
        let fixture = fixture_of(&store);
        let pods = fixture.pods_of("m").await;
        for version in 1..=3 {
            put(&fixture, &pods, "a", version).await;
        }
        fixture.purge(10).await;
        pass(&store, HOUR + HOUR / 60).await;
        fixture.purge(10).await;
        assert_eq!(versions(&store).await, [1, 2, 3]);
        store.shutdown().await;
        let store = place.store_with(&options(&["configmaps"])).await;
        let fixture = fixture_of(&store);
        let (pods, maps) = (
            fixture.pods_of("m").await,
            fixture.writer("m", &maps()).await,
        );
        put(&fixture, &pods, "a", 4).await;
        put(&fixture, &maps, "a", 1).await;
        put(&fixture, &maps, "a", 2).await;
        fixture.purge(10).await;
        pass(&store, HOUR + HOUR / 60).await;
        fixture.purge(10).await;
        // Of 3 there is a tombstone, which leads to 2.
        assert_eq!(versions(&store).await, [1, 2, 3, 4, 5, 6]);
        fixture.assert_sound().await;
        pass(&store, DAY).await;
        fixture.purge(10).await;
        assert_eq!(versions(&store).await, [4, 6]);
        fixture.assert_sound().await;
        store.shutdown().await;
    }
}

/// What left was not deleted in the member: there is no history of that, and nothing is left behind.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_history_of_what_left_goes_with_its_window() {
    for place in Place::of_each_kind() {
        let store = place.store_with(&options(&["pods"])).await;
        let fixture = fixture_of(&store);
        let pods = fixture.pods_of("m").await;
        put(&fixture, &pods, "a", 1).await;
        put(&fixture, &pods, "a", 2).await;
        put(&fixture, &pods, "b", 1).await;
        fixture.purge(10).await;
        pass(&store, HOUR + HOUR / 60).await;
        fixture.purge(10).await;
        let closed = store.close(pods.cluster, "", pods.stream.resource);
        closed.await.expect("closed");
        fixture.purge(10).await;
        // 4 says that it was closed; the pod that was never changed needs no tombstone.
        assert_eq!(versions(&store).await, [1, 2, 4]);
        fixture.assert_sound().await;
        pass(&store, DAY).await;
        fixture.purge(10).await;
        assert_eq!(versions(&store).await, [0_i64; 0]);
        let left = store.check().await.expect("a report");
        assert_eq!((left.namespaces, left.faults), (0, vec![]));
        store.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_history_takes_no_more_bytes_than_it_may() {
    for place in Place::of_each_kind() {
        let mut bounded = options(&["pods"]);
        bounded.history.bytes = 2_000;
        let store = place.store_with(&bounded).await;
        let fixture = fixture_of(&store);
        let pods = fixture.pods_of("m").await;
        for version in 1..=200 {
            put(&fixture, &pods, "a", version).await;
            if version % 20 == 0 {
                fixture.purge(7).await;
                pass(&store, HOUR).await;
            }
        }
        pass(&store, HOUR).await;
        fixture.purge(7).await;
        let kept = store.history().expect("it counts").bytes;
        assert!(kept > 1_000 && kept <= 2_000, "{kept}");
        let stats = store.stats().await.expect("stats");
        let past: u64 = stats.shares.iter().map(|share| share.past_bytes).sum();
        assert_eq!((past, stats.kept.bytes), (kept, kept));
        assert!(
            stats.history > 100 && stats.history < stats.pruned,
            "{stats:?}"
        );
        fixture.assert_sound().await;
        store.shutdown().await;
    }
}

/// However long it is kept, what is noted of it is bounded.
#[tokio::test]
async fn a_long_history_has_few_notes() {
    let place = Place::File(tempfile::tempdir().expect("a temporary directory"));
    let store = place.store_with(&options(&["pods"])).await;
    let fixture = fixture_of(&store);
    let pods = fixture.pods_of("m").await;
    let mut version = 0;
    for _ in 0..24 * 20 {
        version += 1;
        put(&fixture, &pods, "a", version).await;
        pass(&store, HOUR / 20).await;
        fixture.purge(100).await;
    }
    let mut reader = store.database.read(Lane::Short).await.expect("a reader");
    let count = Statement::fixed("test.notes", "SELECT COUNT(*) FROM milestone", []);
    let count = rows(&mut *reader, count, |row| row.int(0)).await;
    reader.rollback().await.expect("ended");
    // Twenty in the watch window, and two in each twenty-four minutes of the day.
    let count = count.expect("a count")[0];
    assert!((60..160).contains(&count), "{count}");
    assert!(versions(&store).await.len() > 470);
    fixture.assert_sound().await;
    pass(&store, DAY).await;
    fixture.purge(100).await;
    assert_eq!(versions(&store).await, [i64::from(version)]);
    store.shutdown().await;
}

/// Lives of a store whose histories begin and end, with next to nothing done in a step: after each there is what there should be, and in the end nothing of the past.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn histories_that_begin_and_end_anyhow_leave_what_they_should() {
    let seed: u64 = rand::random();
    println!("seed {seed}");
    for place in Place::of_each_kind() {
        let mut random = StdRng::seed_from_u64(seed);
        let mut version = 0;
        for _ in 0..6 {
            let of: Vec<&str> = ["pods", "configmaps"]
                .into_iter()
                .filter(|_| random.random_bool(0.5))
                .collect();
            let mut options = options(&of);
            options.portions = Portions {
                look: 2,
                bytes: 500,
                ..Portions::default()
            };
            options.history.bytes = [0, 5_000][random.random_range(0..2)];
            let store = place.store_with(&options).await;
            live(&store, &mut random, &mut version).await;
            store.shutdown().await;
        }
        let store = place.store_with(&options(&[])).await;
        let fixture = fixture_of(&store);
        fixture.purge(10).await;
        pass(&store, 2 * HOUR).await;
        fixture.purge(10).await;
        fixture.assert_sound().await;
        let objects = store.check().await.expect("a report").objects;
        assert_eq!(versions(&store).await.len() as u64, objects);
        store.shutdown().await;
    }
}

async fn live(store: &Arc<SqlStore>, random: &mut StdRng, version: &mut u32) {
    let fixture = fixture_of(store);
    for _ in 0..15 {
        let kind = match random.random_bool(0.5) {
            true => resource("", "pods", "Pod", true),
            false => maps(),
        };
        let writer = fixture.writer("m", &kind).await;
        for _ in 0..random.random_range(0..6) {
            *version += 1;
            let name = ["a", "b", "c"][random.random_range(0..3)];
            match random.random_range(0..4) {
                0 => drop(fixture.delete(&writer, "ns", &[name]).await),
                _ => put(&fixture, &writer, name, *version).await,
            }
        }
        if random.random_bool(0.1) {
            let closed = store.close(writer.cluster, "", writer.stream.resource);
            closed.await.expect("closed");
        }
        pass(store, HOUR * random.random_range(0..6) / 4).await;
        let limit = random.random_range(1..5);
        match random.random_bool(0.5) {
            true => drop(store.purge(limit, Duration::ZERO).await.expect("a step")),
            false => drop(fixture.purge(limit).await),
        }
        fixture.assert_sound().await;
    }
}
