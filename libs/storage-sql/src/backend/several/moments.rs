//! What takes a moment, beside what may take long. On every dialect.

use std::sync::Arc;

use armadex_storage::conformance::{Fixture, object, resource};
use armadex_storage::{Search as _, Sink as _};
use tokio::task::yield_now;

use super::place::{Home, fixture_of};
use crate::backend::Lane;
use crate::options::Options;
use crate::store::SqlStore;

#[tokio::test]
async fn what_takes_a_moment_waits_behind_no_searches_and_no_sweeps_of_a_server() {
    for place in Home::on_each_server() {
        for connections in [7, 13] {
            let options = Options::default().with_connections(connections);
            let store = place.store_with(&options).await;
            let upkeep = options.short_readers / 2;
            wait_for_nobody(&store, &fixture_of(&store), [options.readers, upkeep]).await;
            store.shutdown().await;
        }
    }
}

/// So many connections that search are taken, and so many that compare, which are all; more want to compare. In a runtime of one thread, where whoever came first stands
/// first in line.
pub(crate) async fn wait_for_nobody(
    store: &Arc<SqlStore>,
    fixture: &Fixture,
    [searches, upkeep]: [u32; 2],
) {
    let pods = fixture.pods_of("m").await;
    fixture.put(&pods, [object("ns", "a")]).await;
    let mut long = Vec::new();
    for (lane, connections) in [(Lane::Search, searches), (Lane::Upkeep, upkeep)] {
        for _ in 0..connections {
            let begun = store.database.read(lane).await;
            long.push(begun.expect("a transaction"));
        }
    }
    let sweeps = (0..4).map(|_| {
        let (sink, pods) = (Arc::clone(store), pods.clone());
        tokio::spawn(async move { sink.keys(pods.cluster, pods.stream.resource, None, 1).await })
    });
    let sweeps = Vec::from_iter(sweeps);
    yield_now().await;
    store.head().await.expect("a head");
    store.catalog().await.expect("a catalogue");
    let (cluster, key) = ("m".parse().expect("a name"), object("ns", "a").build().key);
    let gvr = resource("", "pods", "Pod", true).gvr;
    let found = store.get(&cluster, &gvr, &key).await;
    assert!(found.expect("an answer").is_some());
    let known = store.has_namespace(&cluster, "ns").await;
    assert!(known.expect("an answer"));
    assert!(sweeps.iter().all(|sweep| !sweep.is_finished()));
    for transaction in long {
        transaction.rollback().await.expect("ended");
    }
    for sweep in sweeps {
        let keys = sweep.await.expect("no panic").expect("keys");
        assert_eq!(keys.len(), 1);
    }
}
