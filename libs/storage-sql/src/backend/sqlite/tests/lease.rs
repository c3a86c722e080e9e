//! Periodic work: done by one process at a time, whatever becomes of it.

use super::*;
use crate::backend::row;
use crate::sql::lease::{self, LeaseRow};

async fn held(store: &SqlStore) -> LeaseRow {
    let reader = store.database.read(Lane::Short).await;
    let mut reader = reader.expect("a reader");
    let found = row(&mut *reader, lease::select(), lease::decode).await;
    found.expect("an answer").expect("a row")
}

async fn open_with(place: &Place, patience: Duration) -> Arc<SqlStore> {
    let options = Options {
        patience,
        ..Options::default()
    };
    let store = SqlStore::sqlite(&place.path(), &options).await;
    Arc::new(store.expect("a store"))
}

const LONG: Duration = Duration::from_secs(60 * 60);

async fn step(store: &SqlStore) -> armadex_storage::Purged {
    store.purge(10, Duration::ZERO).await.expect("a step")
}

/// Two pods that wait for their purge.
async fn leave_two(store: &Arc<SqlStore>) {
    let fixture = fixture_of(store);
    let pods = fixture.pods_of("member1").await;
    fixture
        .put(&pods, [object("ns", "a"), object("ns", "b")])
        .await;
    let closed = store.close(pods.cluster, pods.stream.resource);
    closed.await.expect("closed");
}

#[tokio::test]
async fn one_process_purges_and_others_have_nothing_to_do() {
    let place = Place::new();
    let (one, other) = (open_with(&place, LONG).await, open_with(&place, LONG).await);
    step(&one).await;
    let holder = held(&one).await.holder;
    leave_two(&other).await;
    for _ in 0..2 {
        let purged = step(&other).await;
        assert_eq!((purged.objects, purged.finished), (0, true));
    }
    assert_eq!(held(&one).await.holder, holder);
    assert_eq!(step(&one).await.objects, 2);
}

#[tokio::test]
async fn a_process_that_ends_lets_the_next_one_work_at_once() {
    let place = Place::new();
    let (one, other) = (open_with(&place, LONG).await, open_with(&place, LONG).await);
    leave_two(&one).await;
    assert_eq!(step(&one).await.objects, 2);
    one.shutdown().await;
    assert_eq!(held(&other).await.holder, "");
    leave_two(&other).await;
    assert_eq!(step(&other).await.objects, 2);
    assert_ne!(held(&other).await.holder, "");
}

/// As one that is stopped and goes on: it finds that its work is another's, and does nothing.
#[tokio::test]
async fn a_process_that_pauses_loses_the_work_and_does_no_harm_when_it_comes_back() {
    let place = Place::new();
    let (paused, other) = (
        open_with(&place, LONG).await,
        open_with(&place, Duration::ZERO).await,
    );
    step(&paused).await;
    let before = held(&paused).await;
    // Seen once, then seen unchanged for as long as is waited.
    step(&other).await;
    assert_eq!(held(&paused).await, before);
    step(&other).await;
    let taken = held(&paused).await;
    assert_ne!(taken.holder, before.holder);
    leave_two(&paused).await;
    let purged = step(&paused).await;
    assert_eq!((purged.objects, purged.finished), (0, true));
    assert_eq!(held(&paused).await, taken);
    // It gives nothing back that is not its own.
    paused.shutdown().await;
    assert_eq!(held(&other).await, taken);
    assert_eq!(step(&other).await.objects, 2);
}

/// A step that fails is done again; the time before it may have been counted, and is not counted twice.
#[tokio::test]
async fn the_clock_of_the_work_never_goes_back() {
    let place = Place::new();
    let store = open_store(&place).await;
    let mut last = 0;
    while last == 0 {
        step(&store).await;
        let clock = held(&store).await.clock;
        assert!(clock >= last);
        last = clock;
    }
    store.shutdown().await;
    let store = open_store(&place).await;
    step(&store).await;
    assert_eq!(held(&store).await.clock, last, "nobody held it meanwhile");
}
