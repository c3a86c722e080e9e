//! A server that acknowledges what a standby has got, while that is away: what it commits by itself is not taken for acknowledged, and is stored once.

#[path = "fixture/pods.rs"]
mod pods;

use std::time::{Duration, Instant};

use armadex_databases::{Engine, Server, Setup, administer};
use armadex_storage::conformance::fixture::name;
use armadex_storage::{Search as _, Sink as _, StoreError};
use armadex_storage_sql::SqlStore;

use pods::{OBJECTS, location, open_pods, write};

/// Until the server knows of its standby.
const MOST: u64 = 1000;
/// Until it is tried again, and written.
const LIMIT: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_no_standby_has_got_is_not_taken_for_one() {
    let setup = Setup {
        durable: true,
        ..Setup::default()
    };
    let server = Server::for_test(Engine::Postgres, &setup).expect("no trouble");
    let Some(server) = server else { return };
    let url = server.create("fleet").expect("a database");
    let place = location(&format!("{url}?statement_timeout=2s"));
    let store = armadex_storage_sql::open(&place).await.expect("a store");
    let writer = open_pods(&store).await;
    follow(&server, "nobody");
    let mut batch = 0;
    let refused = loop {
        batch += 1;
        assert!(batch < MOST, "each was taken for acknowledged");
        let before = store.head().await.expect("a head").revision;
        if let Err(refused) = write(&store, &writer, batch).await {
            break (before, refused);
        }
    };
    let (before, refused) = refused;
    assert!(
        matches!(refused, StoreError::Unavailable { .. }),
        "{refused}"
    );
    // The server waits for nobody where nothing is written.
    until_joined(&store).await;
    assert!(!store.availability().writes, "that said nothing of writing");
    is_tried_in_vain(&store, &server).await;
    follow(&server, "");
    let end = Instant::now() + LIMIT;
    while let Err(error) = write(&store, &writer, batch).await {
        assert!(error.is_transient() && Instant::now() < end, "{error}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let after = store.head().await.expect("a head").revision;
    assert_eq!(after, before + OBJECTS as i64, "each object once");
    write(&store, &writer, batch + 1).await.expect("it works");
    assert!(store.availability().writes);
    store.shutdown().await;
}

/// The member joins once more, as it is already, as soon as it is tried whether the store can be written to.
async fn until_joined(store: &SqlStore) {
    let end = Instant::now() + LIMIT;
    while let Err(error) = store.join(&name("member1"), "incarnation-1", "").await {
        assert!(error.is_transient() && Instant::now() < end, "{error}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Nobody has anything to write, so it is tried with a number, which the server would commit by itself as well. The next try waits for the row that the first one holds,
/// which has failed by then.
async fn is_tried_in_vain(store: &SqlStore, server: &Server) {
    let waiting = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = 'fleet' AND wait_event_type = 'Lock'";
    let end = Instant::now() + LIMIT;
    loop {
        assert!(!store.availability().writes, "no standby has got it");
        let waiting = administer(server.address(), waiting).expect("a number");
        if waiting.trim() != "0" {
            return;
        }
        assert!(Instant::now() < end, "it is not tried anew");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// By which names the server waits for standbys.
fn follow(server: &Server, names: &str) {
    for order in [
        &*format!("ALTER SYSTEM SET synchronous_standby_names = '{names}'"),
        "SELECT pg_reload_conf()",
    ] {
        administer(server.address(), order).expect("a superuser may");
    }
}
