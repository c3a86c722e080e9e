//! What a store keeps of the past, who removes it, and what it says of itself: the same on each database.

#[path = "fixture/each_database.rs"]
mod each_database;
#[path = "fixture/home.rs"]
mod home;

use std::sync::Arc;
use std::time::Duration;

use armadex_storage::conformance::fixture::{all_pods, live};
use armadex_storage::conformance::{Fixture, ObjectBuilder, Writer, object};
use armadex_storage::{Change, Purged, Search as _, Sink as _, StoreError};
use armadex_storage_sql::{Mended, Options, SqlStore, renew};
use each_database::on_each_database;
use home::Home;

on_each_database! {
    one_process_purges_and_others_have_nothing_to_do,
    a_process_that_ends_lets_the_next_one_work_at_once,
    a_process_that_pauses_loses_the_work_and_does_no_harm_when_it_comes_back,
    what_is_past_is_kept_for_the_window_and_no_longer,
    what_is_past_is_kept_as_far_as_its_bytes_fit,
    stats_add_up_what_is_stored,
    a_store_that_is_renewed_is_another_one_to_whoever_knew_it,
    processes_that_purge_and_write_at_once_leave_a_sound_store,
}

const HOUR: Duration = Duration::from_secs(60 * 60);

/// A store of its own on the same database.
async fn open(home: &Home, patience: Duration, watch_window: Duration) -> Arc<SqlStore> {
    home.open_with(Options {
        patience,
        watch_window,
        ..Options::default()
    })
    .await
}

/// One, whatever time it took.
async fn step(store: &SqlStore) -> Purged {
    let purged = store.purge(10, Duration::ZERO).await.expect("a step");
    Purged {
        took: Duration::ZERO,
        ..purged
    }
}

const NOTHING: Purged = Purged {
    objects: 0,
    finished: true,
    is_behind: false,
    took: Duration::ZERO,
};

/// Two pods that wait for their purge.
async fn close_two(store: &Arc<SqlStore>) {
    let fixture = Fixture::of(store);
    let pods = fixture.pods_of("member1").await;
    let two = [object("ns", "a"), object("ns", "b")];
    fixture.put(&pods, two).await;
    let closed = store.close(pods.cluster, "", pods.stream.resource);
    closed.await.expect("closed");
}

async fn one_process_purges_and_others_have_nothing_to_do(home: Home) {
    let (one, other) = (open(&home, HOUR, HOUR).await, open(&home, HOUR, HOUR).await);
    step(&one).await;
    close_two(&other).await;
    for _ in 0..2 {
        assert_eq!(step(&other).await, NOTHING);
    }
    assert_eq!(step(&one).await.objects, 2);
}

async fn a_process_that_ends_lets_the_next_one_work_at_once(home: Home) {
    let (one, other) = (open(&home, HOUR, HOUR).await, open(&home, HOUR, HOUR).await);
    step(&one).await;
    close_two(&other).await;
    assert_eq!(step(&other).await, NOTHING);
    one.shutdown().await;
    assert_eq!(step(&other).await.objects, 2);
}

async fn a_process_that_pauses_loses_the_work_and_does_no_harm_when_it_comes_back(home: Home) {
    let paused = open(&home, HOUR, HOUR).await;
    let other = open(&home, Duration::ZERO, HOUR).await;
    step(&paused).await;
    // Seen once, then seen unchanged for as long as is waited.
    step(&other).await;
    step(&other).await;
    close_two(&paused).await;
    assert_eq!(step(&paused).await, NOTHING);
    // It gives nothing back that is not its own.
    paused.shutdown().await;
    let third = open(&home, HOUR, HOUR).await;
    assert_eq!(step(&third).await, NOTHING);
    assert_eq!(step(&other).await.objects, 2);
}

async fn past(store: &SqlStore) -> u64 {
    let stats = store.stats().await.expect("stats");
    stats.shares.iter().map(|share| share.past).sum()
}

async fn what_is_past_is_kept_for_the_window_and_no_longer(home: Home) {
    let store = open(&home, HOUR, HOUR).await;
    let fixture = Fixture::of(&store);
    let pods = fixture.pods_of("member1").await;
    for version in ["1", "2", "3"] {
        let both = ["a", "b"].map(|name| object("ns", name).version(version));
        fixture.put(&pods, both).await;
    }
    fixture.delete(&pods, "ns", &["b"]).await;
    fixture.purge(10).await;
    assert_eq!(past(&store).await, 6);
    store.shutdown().await;
    let store = open(&home, HOUR, Duration::from_millis(20)).await;
    let until_gone = async {
        while past(&store).await > 0 {
            step(&store).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), until_gone)
        .await
        .expect("pruned");
    assert_eq!(faults(&store).await, [""; 0]);
    store.shutdown().await;
}

async fn past_bytes(store: &SqlStore) -> u64 {
    let stats = store.stats().await.expect("stats");
    stats.shares.iter().map(|share| share.past_bytes).sum()
}

/// One that hardly packs, with other digits in each version.
fn large(version: u64) -> ObjectBuilder {
    let digits = |n: u64| (version * 1000 + n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let noise: String = (0..60).map(|n| format!("{:016x}", digits(n))).collect();
    let body = format!(r#""name":"greedy","namespace":"ns"}},"data":{{"noise":"{noise}"}}}}"#);
    object("ns", "greedy")
        .version(&version.to_string())
        .body(body)
}

/// Whoever changes one large object without end takes what may be kept, and no more.
async fn what_is_past_is_kept_as_far_as_its_bytes_fit(home: Home) {
    const MOST: u64 = 20_000;
    let bounded = |watch_window_bytes| Options {
        watch_window_bytes,
        ..Options::default()
    };
    let mut store = home.open_with(bounded(MOST)).await;
    for version in 1..=100 {
        let fixture = Fixture::of(&store);
        let pods = fixture.pods_of("member1").await;
        fixture.put(&pods, [large(version)]).await;
        if version % 20 == 0 {
            // It ends in the middle, and another one goes on.
            store.purge(3, Duration::ZERO).await.expect("a step");
            assert_eq!(faults(&store).await, [""; 0]);
            store.shutdown().await;
            store = home.open_with(bounded(MOST)).await;
        }
        if version % 30 == 0 {
            while !store
                .purge(3, Duration::ZERO)
                .await
                .expect("a step")
                .finished
            {}
            let kept = past_bytes(&store).await;
            assert!(kept <= MOST && kept > MOST / 2, "{kept}");
            let counted = store.past().expect("this process counts");
            assert_eq!(counted.bytes, kept);
            assert_eq!(store.stats().await.expect("stats").past.bytes, kept);
            assert_eq!(faults(&store).await, [""; 0]);
        }
    }
    let stats = store.stats().await.expect("stats");
    assert!(stats.pruned > 30, "{}", stats.pruned);
    store.shutdown().await;
    let store = home.open_with(bounded(0)).await;
    while !store
        .purge(3, Duration::ZERO)
        .await
        .expect("a step")
        .finished
    {}
    assert_eq!(
        store.stats().await.expect("stats").pruned,
        stats.pruned,
        "there is no bound"
    );
    store.shutdown().await;
}

async fn faults(store: &SqlStore) -> Vec<String> {
    store.check().await.expect("a report").faults
}

async fn stats_add_up_what_is_stored(home: Home) {
    let store = open(&home, HOUR, HOUR).await;
    let fixture = Fixture::of(&store);
    let pods = fixture.pods_of("member1").await;
    let labelled = |name| object("ns", name).label("app", "web").version("1");
    fixture.put(&pods, ["a", "b", "c"].map(labelled)).await;
    fixture.put(&pods, [labelled("a").version("2")]).await;
    fixture.delete(&pods, "ns", &["b"]).await;
    let stats = store.stats().await.expect("stats");
    assert_eq!((stats.revision, stats.pruned), (5, 0));
    let [share] = &stats.shares[..] else {
        panic!("{stats:?}")
    };
    let named = (share.cluster.as_str(), share.resource.as_str());
    assert_eq!(named, ("member1", "pods"));
    assert_eq!((share.objects, share.past), (2, 3));
    assert_eq!((share.blocks, share.entries), (2, 4));
    // Two that were superseded, with their names and rows.
    let rows = 2 * (128 + 1);
    assert!(share.past_bytes > rows && share.past_bytes < share.stored_bytes + rows);
    let size = object("ns", "a").build().body.len() as u64;
    assert_eq!(share.served_bytes, 2 * size);
    let takes = |table: &str| {
        stats
            .disk
            .tables
            .iter()
            .any(|(name, bytes)| name == table && *bytes > 0)
    };
    assert!(takes("ver") && stats.disk.total > 0, "{:?}", stats.disk);
    // A sound store has nothing to mend.
    assert_eq!(store.mend().await.expect("mended"), Mended::default());
    store.shutdown().await;
}

/// Its rows and positions stay.
async fn a_store_that_is_renewed_is_another_one_to_whoever_knew_it(home: Home) {
    let store = open(&home, HOUR, HOUR).await;
    let fixture = Fixture::of(&store);
    let pods = fixture.pods_of("member1").await;
    let listed = [Change::Put(object("ns", "a").build())];
    let written = store.write(pods.batch(listed, Some(live("7")))).await;
    written.expect("written");
    let before = store.head().await.expect("a head");
    renew(&home.location()).await.expect("renewed");
    let after = store.head().await.expect("a head");
    assert_eq!(after.revision, before.revision);
    assert_ne!(after.incarnation, before.incarnation);
    let refused = store.write(pods.batch([], Some(live("8")))).await;
    assert!(
        matches!(refused, Err(StoreError::Gone { .. })),
        "{refused:?}"
    );
    store.ended().await;
    store.shutdown().await;
    let anew = open(&home, HOUR, HOUR).await;
    assert_eq!(anew.head().await.expect("a head"), after);
    let pods = Fixture::of(&anew).pods_of("member1").await;
    assert_eq!(pods.stream.position, Some(live("7")));
    anew.shutdown().await;
}

const ROUNDS: usize = 15;

/// Writes, deletes, closes and opens again, and takes the periodic work away from the other whenever it can.
async fn churn(store: Arc<SqlStore>, cluster: &str) {
    let fixture = Fixture::of(&store);
    for round in 0..ROUNDS {
        let pods: Writer = fixture.pods_of(cluster).await;
        for version in 0..3 {
            let version = (10 * round + version).to_string();
            let labelled = |n| {
                object("ns", &format!("p-{n}"))
                    .label("round", &version)
                    .version(&version)
            };
            fixture.put(&pods, (0..20).map(labelled)).await;
            step(&store).await;
        }
        fixture.delete(&pods, "ns", &["p-1", "p-2"]).await;
        if round % 3 == 0 {
            let closed = store.close(pods.cluster, "", pods.stream.resource);
            closed.await.expect("closed");
        }
        step(&store).await;
    }
}

async fn processes_that_purge_and_write_at_once_leave_a_sound_store(home: Home) {
    let window = Duration::from_millis(1);
    let one = open(&home, Duration::ZERO, window).await;
    let other = open(&home, Duration::ZERO, window).await;
    tokio::join!(
        churn(Arc::clone(&one), "member1"),
        churn(Arc::clone(&other), "member2")
    );
    assert_eq!(faults(&one).await, [""; 0]);
    let left = ["member1", "member2"].map(|cluster| {
        let mut names: Vec<String> = (0..20)
            .filter(|n| ![1, 2].contains(n))
            .map(|n| format!("{cluster}/ns/p-{n}"))
            .collect();
        names.sort();
        names
    });
    let found = Fixture::of(&one).list(&all_pods(), 100).await;
    assert_eq!(found, left.concat(), "neither was closed in the last round");
    one.shutdown().await;
    other.shutdown().await;
}
