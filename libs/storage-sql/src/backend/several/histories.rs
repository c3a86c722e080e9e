//! Types whose superseded versions are kept beyond the watch window, and what becomes of these in the end.

use std::sync::Arc;
use std::time::Duration;

use armadex_model::ResourceType;
use armadex_storage::Sink as _;
use armadex_storage::conformance::fixture::{ObjectBuilder, Writer, resource, words};
use armadex_storage::conformance::{Fixture, object};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

use super::place::{Place, execute, fixture_of};
use crate::backend::{Lane, head_row, rows, schema};
use crate::options::{History, Options, Training};
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
        history: Some(History {
            of: of
                .iter()
                .map(|name| (String::new(), (*name).to_owned()))
                .collect(),
            window: DAY,
            bytes: 0,
        }),
        // A second look takes the periodic work from another store.
        patience: Duration::ZERO,
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
        let kept = store.history().expect("it counts");
        assert_eq!(kept.bytes, of_pods.bytes);
        assert!(kept.age >= HOUR && kept.age < 2 * HOUR, "{kept:?}");
        assert_eq!(store.past().expect("it counts").bytes, 0);
        let stats = store.stats().await.expect("stats");
        assert_eq!((stats.pruned, stats.history), (9, 0));
        assert_eq!((stats.past.bytes, stats.past.age), (0, Duration::ZERO));
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

/// A process that keeps nothing of what it supersedes leaves to a history what that has.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_without_a_watch_window_leaves_the_histories_of_others() {
    for place in Place::of_each_kind() {
        let store = place.store_with(&options(&["pods"])).await;
        fixture_of(&store).pods_of("m").await;
        fixture_of(&store).purge(10).await;
        let windowless = Options {
            watch_window: Duration::ZERO,
            ..Options::default()
        };
        let other = place.store_with(&windowless).await;
        let fixture = fixture_of(&other);
        let pods = fixture.pods_of("m").await;
        for version in 1..=3 {
            put(&fixture, &pods, "a", version).await;
        }
        assert_eq!(versions(&store).await, [1, 2, 3]);
        other.shutdown().await;
        store.shutdown().await;
    }
}

/// What it supersedes goes at once again, as it does where there never was one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_without_a_watch_window_removes_at_once_when_the_last_history_is_over() {
    for place in Place::of_each_kind() {
        let store = place.store_with(&options(&["pods"])).await;
        fill(&fixture_of(&store)).await;
        fixture_of(&store).purge(10).await;
        store.shutdown().await;
        let windowless = Options {
            watch_window: Duration::ZERO,
            ..options(&[])
        };
        let store = place.store_with(&windowless).await;
        let fixture = fixture_of(&store);
        fixture.purge(10).await;
        let head = head(&store).await;
        assert!(head.serves >= schema::serves_with_history(store.database.dialect()));
        assert_eq!(versions(&store).await, [9]);
        let pods = fixture.pods_of("m").await;
        for version in 2..=3 {
            put(&fixture, &pods, "b", version).await;
            assert_eq!(versions(&store).await, [8 + i64::from(version)]);
        }
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
        pass(&store, HOUR + HOUR / 60).await;
        fixture.purge(10).await;
        let names = texts(&store, "SELECT namespace FROM ns").await;
        assert_eq!(names, ["ns"], "of what the history has");
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
        let mut options = options(&["pods"]);
        if let Some(history) = &mut options.history {
            history.bytes = 20_000;
        }
        let store = place.store_with(&options).await;
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
        assert!(kept > 10_000 && kept <= 20_000, "{kept}");
        let stats = store.stats().await.expect("stats");
        let past: u64 = stats.shares.iter().map(|share| share.past_bytes).sum();
        assert_eq!((past, stats.kept.bytes), (kept, kept));
        assert!(
            stats.history > 60 && stats.history < stats.pruned,
            "{stats:?}"
        );
        fixture.assert_sound().await;
        store.shutdown().await;
    }
}

/// Who is told nothing goes by what was said last; who says something else, once others have had the work, has looked anew.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_that_were_told_different_things_agree_on_what_is_whole() {
    for place in Place::of_each_kind() {
        let maps_only = place.store_with(&options(&["configmaps"])).await;
        let fixture = fixture_of(&maps_only);
        fixture.purge(10).await;
        let pods_only = place.store_with(&options(&["pods"])).await;
        fill(&fixture).await;
        while pods_only.history().is_none() {
            pods_only.purge(10, Duration::ZERO).await.expect("a step");
        }
        fixture_of(&pods_only).purge(10).await;
        pods_only.shutdown().await;
        let untold = place
            .store_with(&Options {
                history: None,
                ..options(&[])
            })
            .await;
        pass(&untold, HOUR + HOUR / 60).await;
        fixture_of(&untold).purge(2).await;
        assert_eq!(
            versions(&untold).await,
            [1, 2, 3, 7, 9],
            "pods were said last"
        );
        fixture_of(&untold).assert_sound().await;
        untold.shutdown().await;
        // It has not looked since, and nothing of the catalogue has changed.
        fixture.purge(2).await;
        fixture.assert_sound().await;
        let stats = maps_only.stats().await.expect("stats");
        let [share] = &stats.histories[..] else {
            panic!("{stats:?}")
        };
        assert_eq!((share.resource.as_str(), share.since), ("configmaps", 9));
        pass(&maps_only, DAY).await;
        fixture.purge(2).await;
        assert_eq!(versions(&maps_only).await, [9]);
        maps_only.shutdown().await;
    }
}

/// The step that walks past a version for the last time may be the one that takes it away for another reason.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_that_goes_for_two_reasons_at_once_leaves_no_tombstone() {
    for place in Place::of_each_kind() {
        let store = place.store_with(&options(&["pods"])).await;
        let fixture = fixture_of(&store);
        let pods = fixture.pods_of("m").await;
        for (name, version) in [("a", 1), ("a", 2), ("b", 1), ("c", 1), ("d", 1), ("e", 1)] {
            put(&fixture, &pods, name, version).await;
        }
        fixture.purge(10).await;
        pass(&store, HOUR + HOUR / 60).await;
        fixture.purge(10).await;
        for (name, version) in [("a", 3), ("f", 1), ("a", 4), ("g", 1)] {
            put(&fixture, &pods, name, version).await;
        }
        fixture.purge(10).await;
        pass(&store, HOUR + HOUR / 60).await;
        store.shutdown().await;
        let store = place.store_with(&options(&[])).await;
        let fixture = fixture_of(&store);
        for _ in 0..6 {
            store.purge(2, Duration::ZERO).await.expect("a step");
            fixture.assert_sound().await;
        }
        fixture.purge(2).await;
        assert_eq!(versions(&store).await, [3, 4, 5, 6, 8, 9, 10]);
        fixture.assert_sound().await;
        store.shutdown().await;
    }
}

/// An earlier release that goes on beside this one knows one end of the log.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_earlier_release_pruned_is_no_history() {
    for place in Place::of_each_kind() {
        let store = place.store_with(&options(&[])).await;
        let fixture = fixture_of(&store);
        fill(&fixture).await;
        for sql in [
            "DELETE FROM ver WHERE rev < 8",
            "DELETE FROM milestone",
            "INSERT INTO milestone (rev, at, bytes) VALUES (9, 0, 7)",
            "UPDATE head SET pruned = 7",
        ] {
            execute(&store, Statement::fixed("test.prune", sql, [])).await;
        }
        execute(
            &store,
            Statement::fixed("test.prune", "DELETE FROM ver WHERE rev = 6", []),
        )
        .await;
        fixture.purge(2).await;
        let HeadRow {
            pruned, history, ..
        } = head(&store).await;
        assert_eq!((pruned, history), (7, 7));
        pass(&store, HOUR + HOUR / 60).await;
        fixture.purge(2).await;
        assert_eq!(versions(&store).await, [9]);
        fixture.assert_sound().await;
        store.shutdown().await;
    }
}

/// Names and dictionaries are there for as long as a history has something that needs them, and for no longer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_history_keeps_the_names_that_it_needs() {
    for place in Place::of_each_kind() {
        let store = place.store_with(&options(&["pods"])).await;
        let fixture = fixture_of(&store);
        let (pods, maps) = (
            fixture.pods_of("m").await,
            fixture.writer("m", &maps()).await,
        );
        for (writer, namespace) in [(&maps, "of-maps"), (&pods, "of-pods")] {
            fixture.put(writer, [object(namespace, "a")]).await;
            fixture.delete(writer, namespace, &["a"]).await;
        }
        fixture.purge(10).await;
        for writer in [&pods, &maps] {
            let closed = store.close(writer.cluster, "", writer.stream.resource);
            closed.await.expect("closed");
        }
        fixture.purge(10).await;
        let mut names = Vec::new();
        for time in [HOUR + HOUR / 60, DAY] {
            pass(&store, time).await;
            fixture.purge(10).await;
            names.push((
                texts(&store, "SELECT namespace FROM ns").await,
                texts(&store, "SELECT resource FROM type").await,
            ));
        }
        let of_pods = (vec!["of-pods".to_owned()], vec!["pods".to_owned()]);
        assert_eq!(names, [of_pods, (vec![], vec![])]);
        assert!(versions(&store).await.is_empty());
        fixture.assert_sound().await;
        store.shutdown().await;
    }
}

async fn texts(store: &SqlStore, sql: &'static str) -> Vec<String> {
    let mut reader = store.database.read(Lane::Short).await.expect("a reader");
    let found = rows(
        &mut *reader,
        Statement::fixed("test.texts", sql, []),
        |row| row.text(0),
    )
    .await;
    reader.rollback().await.expect("ended");
    found.expect("texts")
}

/// Words that no dictionary knows and each object has, in an order of its own.
fn wordy(number: usize, version: &str) -> ObjectBuilder {
    object("ns", &format!("w-{number:03}"))
        .version(version)
        .body(format!(r#""name":"w-{number}"}},"spec":"{}"}}"#, words(number, 60)).into_bytes())
}

/// What was packed by a dictionary is there with it, also when the type has left, nobody else needs it, and its history has ended beside that of others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_history_keeps_the_dictionaries_that_it_needs() {
    const OBJECTS: usize = 300;
    for place in Place::of_each_kind() {
        let of = |of: &[&str]| Options {
            training: Training {
                least: OBJECTS as u32,
                most: 1,
                samples: OBJECTS,
                period: Duration::ZERO,
            },
            ..options(of)
        };
        let store = place.store_with(&of(&["widgets", "pods"])).await;
        let fixture = fixture_of(&store);
        let pods = fixture.pods_of("m").await;
        put(&fixture, &pods, "b", 1).await;
        let widgets = resource("", "widgets", "Widget", true);
        let writer = fixture.writer("m", &widgets).await;
        for version in ["1", "2", "3"] {
            fixture
                .put(&writer, (0..OBJECTS).map(|number| wordy(number, version)))
                .await;
            for _ in 0..3 {
                fixture.purge(100).await;
            }
        }
        let closed = store.close(writer.cluster, "", writer.stream.resource);
        closed.await.expect("closed");
        pass(&store, HOUR + HOUR / 60).await;
        fixture.purge(100).await;
        store.shutdown().await;
        // Widgets are to have none any more: what they have goes with that of pods.
        let store = place.store_with(&of(&["pods"])).await;
        let fixture = fixture_of(&store);
        let mut left = Vec::new();
        for time in [HOUR, DAY] {
            pass(&store, time).await;
            fixture.purge(100).await;
            let packed = "SELECT v.name FROM ver v JOIN dict d ON d.id = v.dict";
            let orphans = "SELECT v.name FROM ver v LEFT JOIN dict d ON d.id = v.dict WHERE v.dict >= 16 AND d.id IS NULL";
            let types = "SELECT resource FROM type";
            let mut counts = Vec::new();
            for sql in [packed, orphans, types] {
                counts.push(texts(&store, sql).await.len());
            }
            left.push(counts);
        }
        // The second version of each was packed by what was learnt from the first.
        assert_eq!(left, [[OBJECTS, 0, 2], [0, 0, 1]]);
        store.shutdown().await;
    }
}

/// A copy has the history of what it was made of, goes by the same that was asked for, and serves nobody who would remove it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_has_the_histories_of_its_store() {
    for place in Place::of_each_kind() {
        let store = place.store_with(&options(&["pods"])).await;
        let fixture = fixture_of(&store);
        fill(&fixture).await;
        fixture.purge(10).await;
        pass(&store, HOUR + HOUR / 60).await;
        fixture.purge(10).await;
        store.shutdown().await;
        let to = Place::File(tempfile::tempdir().expect("a temporary directory"));
        let [from, into] = [place.location(), to.location()];
        let copied = crate::copy(&from, &into, &crate::Pace::default(), &mut |_| {}).await;
        copied.expect("copied");
        let untold = Options {
            history: None,
            ..options(&[])
        };
        let copy = to.store_with(&untold).await;
        let fixture = fixture_of(&copy);
        assert_eq!(
            head(&copy).await.serves,
            schema::serves_with_history(copy.database.dialect())
        );
        fixture.purge(10).await;
        assert_eq!(versions(&copy).await, [1, 2, 3, 7, 9]);
        assert_eq!(copy.stats().await.expect("stats").histories[0].since, 0);
        fixture.assert_sound().await;
        pass(&copy, DAY).await;
        fixture.purge(10).await;
        assert_eq!(versions(&copy).await, [9]);
        copy.shutdown().await;
    }
}

/// What is missing of a history makes it shorter, and no watch of anybody begins anew for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_history_is_told_and_begins_where_the_log_does() {
    for place in Place::of_each_kind() {
        let store = place.store_with(&options(&["pods"])).await;
        let fixture = fixture_of(&store);
        fill(&fixture).await;
        fixture.purge(10).await;
        pass(&store, HOUR + HOUR / 60).await;
        fixture.purge(10).await;
        let damages = [
            ("DELETE FROM ver WHERE rev = 1", "1 versions are missing"),
            ("UPDATE milestone SET history = 0", "bytes of histories"),
        ];
        for (damage, said) in damages {
            execute(&store, Statement::fixed("test.damage", damage, [])).await;
            let faults = store.check().await.expect("a report").faults;
            assert!(
                faults.iter().any(|fault| fault.contains(said)),
                "{faults:?}"
            );
            store.mend().await.expect("mended");
            fixture.purge(2).await;
            fixture.assert_sound().await;
        }
        assert_eq!(versions(&store).await, [2, 3, 7, 9]);
        let stats = store.stats().await.expect("stats");
        assert_eq!((stats.pruned, stats.history), (9, 0));
        assert_eq!(stats.histories[0].since, 9);
        pass(&store, DAY).await;
        fixture.purge(2).await;
        assert_eq!(versions(&store).await, [9]);
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
            let store = place.store_with(&any(&mut random)).await;
            let other = place.store_with(&any(&mut random)).await;
            live([&store, &other], &mut random, &mut version).await;
            store.shutdown().await;
            other.shutdown().await;
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

/// What some process may have been told, or nothing.
fn any(random: &mut StdRng) -> Options {
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
    if let Some(history) = &mut options.history {
        history.bytes = [0, 5_000][random.random_range(0..2)];
    }
    if random.random_bool(0.3) {
        options.history = None;
    }
    options
}

/// Of two processes either does something.
async fn live(stores: [&Arc<SqlStore>; 2], random: &mut StdRng, version: &mut u32) {
    for _ in 0..15 {
        let store = stores[random.random_range(0..2)];
        let fixture = fixture_of(store);
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
