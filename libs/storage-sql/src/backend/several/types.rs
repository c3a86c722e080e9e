//! A type that goes while somebody opens a stream of it.

use armadex_storage::Sink as _;
use armadex_storage::conformance::{RULES, resource};

use super::place::{Home, fixture_of, wait_until_somebody_waits};
use crate::sql::catalog;
use crate::sql::head::Numbered;
use crate::write::numbers::take;

/// Whoever drops types has the row of epochs, for which whoever opens a stream waits before it looks for its type.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_is_opened_while_its_type_is_dropped_is_of_a_new_type() {
    for place in Home::on_each_server() {
        let (one, other) = (place.store().await, place.store().await);
        let pods = fixture_of(&one).pods_of("m").await;
        let (cluster, former) = (pods.cluster, pods.stream.resource);
        one.close(cluster, "", former).await.expect("closed");
        fixture_of(&one).purge(10).await;
        let mut drops = one.database.write().await.expect("a transaction");
        take(&mut *drops, Numbered::Epoch, 1).await.expect("held");
        let drop_type = catalog::delete_types(drops.dialect(), &[former.0.into()]);
        drops.execute(drop_type).await.expect("dropped");
        let opening = tokio::spawn(async move {
            let pods = resource("", "pods", "Pod", true);
            let opened = other.open(cluster, "", &pods, RULES).await;
            opened.expect("opened").resource
        });
        wait_until_somebody_waits(&place, &one).await;
        drops.commit().await.expect("dropped");
        let latter = opening.await.expect("no panic");
        assert_ne!(latter, former);
        let states = one.streams(cluster).await.expect("streams");
        let known: Vec<_> = states.iter().map(|state| state.id).collect();
        assert_eq!(known, [latter]);
    }
}
