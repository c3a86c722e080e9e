//! Writers that lost their stream to another: what they still try to write is not there afterwards.

use std::time::Duration;

use armadex_storage::conformance::fixture::{RULES, all_pods, live, name};
use armadex_storage::conformance::{object, resource};
use armadex_storage::{Change, Health, Search as _, Sink as _, StoreError, Written};

use super::place::{Home, execute, fixture_of, wait_until_so_many_wait, wait_until_somebody_waits};
use crate::backend::rows;
use crate::sql::catalog;
use crate::sql::head::{self, Numbered};
use crate::sql::statement::Statement;
use crate::sql::stream::{self, Fence};

fn is_fenced(done: &Result<Written, StoreError>) -> bool {
    matches!(done, Err(StoreError::Fenced { .. }))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_whose_stream_was_taken_over_writes_nothing_more() {
    for place in Home::on_each_server() {
        let (one, other) = (place.store().await, place.store().await);
        let (one, other) = (fixture_of(&one), fixture_of(&other));
        let former = one.pods_of("m").await;
        one.put(&former, [object("ns", "a")]).await;
        let latter = other.pods_of("m").await;
        other.put(&latter, [object("ns", "b")]).await;
        let changes = [Change::Put(object("ns", "late").build())];
        assert!(is_fenced(&one.write(&former, changes).await));
        let moved = former.batch([], Some(live("7")));
        assert!(is_fenced(&one.sink.write(moved).await));
        assert_eq!(other.list(&all_pods(), 10).await, ["m/ns/a", "m/ns/b"]);
        other.assert_sound().await;
    }
}

/// It has read its stream, which it knows, and found it its own, and is stopped before it writes; meanwhile the stream goes to another, who writes. The row of
/// which it waits for numbers stands for whatever stops a process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_that_was_stopped_in_the_middle_writes_nothing_more() {
    for place in Home::on_each_server() {
        let (one, other) = (place.store().await, place.store().await);
        let (former, latter) = (fixture_of(&one), fixture_of(&other));
        // Who has written once has numbers of objects for what comes.
        let elsewhere = latter.pods_of("elsewhere").await;
        latter.put(&elsewhere, [object("ns", "x")]).await;
        let late = former.pods_of("m").await;
        former.put(&late, [object("ns", "a")]).await;
        // The writer of `one` has its connection, so a third store is the one that is stopped. It has written once, and no object.
        let third = place.store().await;
        let stopped = fixture_of(&third);
        let moved = late.batch([], Some(live("7")));
        stopped.sink.write(moved).await.expect("written");
        let mut holder = one.database.write().await.expect("a transaction");
        let hold = crate::sql::head::take_numbers(Numbered::Object, 1);
        holder.execute(hold).await.expect("held");
        let changes = [Change::Put(object("ns", "late").build())];
        let stopped = tokio::spawn(async move { stopped.write(&late, changes).await });
        wait_until_somebody_waits(&place, &other).await;
        let taken = latter.pods_of("m").await;
        latter.put(&taken, [object("ns", "b")]).await;
        holder.rollback().await.expect("let go");
        let done = stopped.await.expect("no panic");
        assert!(is_fenced(&done), "{done:?}");
        assert_eq!(
            latter.list(&all_pods(), 10).await,
            ["elsewhere/ns/x", "m/ns/a", "m/ns/b"]
        );
        latter.assert_sound().await;
    }
}

/// It says only that what is hidden may be shown, which changes no object and moves nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_whose_stream_was_taken_over_shows_nothing_that_was_kept() {
    for place in Home::on_each_server() {
        let (one, other) = (place.store().await, place.store().await);
        let fixture = fixture_of(&one);
        let pods = fixture.pods_of("m").await;
        fixture.put(&pods, [object("ns", "a")]).await;
        let moved = pods.batch([], Some(live("7")));
        one.write(moved).await.expect("written");
        let key = (pods.cluster.0, pods.stream.resource.0);
        execute(&other, stream::keep_all(key.0)).await;
        let mut takes = other.database.write().await.expect("a transaction");
        let epoch = "UPDATE stream SET epoch = epoch + 1 WHERE cluster = ?";
        let epoch = Statement::fixed("test.epoch", epoch, [key.0.into()]);
        takes.execute(epoch).await.expect("taken over");
        let confirmed = pods.batch([], Some(live("7")));
        let confirming = tokio::spawn(async move { one.write(confirmed).await });
        wait_until_somebody_waits(&place, &other).await;
        takes.commit().await.expect("taken over");
        let done = confirming.await.expect("no panic");
        assert!(is_fenced(&done), "{done:?}");
        assert!(fixture_of(&other).list(&all_pods(), 10).await.is_empty());
    }
}

/// It has looked whose the cluster is, or is about to; meanwhile somebody else joins it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_lost_a_cluster_meanwhile_opens_and_hides_nothing_of_it_and_says_nothing_of_its_health()
{
    for place in Home::on_each_server() {
        let other = place.store().await;
        let fixture = fixture_of(&other);
        let pods = fixture.pods_of("m").await;
        fixture.put(&pods, [object("ns", "a")]).await;
        let kind = resource("", "pods", "Pod", true);
        let (cluster, resource) = (pods.cluster, pods.stream.resource);
        let (closes, tells) = (place.store().await, place.store().await);
        let opens = place.store().await;
        let mut takes = other.database.write().await.expect("a transaction");
        let claim = catalog::claim_clusters(takes.dialect(), "another", &[cluster.0]);
        takes.execute(claim).await.expect("taken over");
        let closing = tokio::spawn(async move { closes.close(cluster, "", resource).await });
        let telling = tokio::spawn(async move {
            let health = Health {
                healthy: false,
                reason: "NotReachable".to_owned(),
            };
            tells.set_health(cluster, "", &health, None).await
        });
        let opening =
            tokio::spawn(async move { opens.open(cluster, "", &kind, RULES).await.map(drop) });
        wait_until_so_many_wait(&place, &other, 3).await;
        takes.commit().await.expect("taken over");
        for done in [closing.await, telling.await, opening.await] {
            let done = done.expect("no panic");
            assert!(
                matches!(done, Err(StoreError::TakenOver { .. })),
                "{done:?}"
            );
        }
        assert_eq!(fixture.list(&all_pods(), 10).await, ["m/ns/a"]);
        let catalog = other.catalog().await.expect("a catalogue");
        assert!(catalog.clusters[&name("m")].health.is_none());
    }
}

/// It is about to open a stream of it, in another process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_of_a_cluster_that_leaves_meanwhile_is_not_opened() {
    for place in Home::on_each_server() {
        let (one, other) = (place.store().await, place.store().await);
        let pods = fixture_of(&one).pods_of("m").await;
        let cluster = pods.cluster;
        let mut leaves = one.database.write().await.expect("a transaction");
        let leave = catalog::leave_clusters(leaves.dialect(), &[cluster.0], 1_800_000_000);
        leaves.execute(leave).await.expect("left");
        let opening = tokio::spawn(async move {
            let services = resource("", "services", "Service", true);
            other.open(cluster, "", &services, RULES).await
        });
        wait_until_somebody_waits(&place, &one).await;
        leaves.commit().await.expect("left");
        let refused = opening.await.expect("no panic");
        assert!(
            matches!(refused, Err(StoreError::Left { .. })),
            "{refused:?}"
        );
    }
}

/// It has found that the cluster is its own, and waits for a stream that somebody has.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_is_not_taken_over_while_a_stream_of_it_is_opened() {
    for place in Home::on_each_server() {
        let (one, other, third) = (
            place.store().await,
            place.store().await,
            place.store().await,
        );
        let pods = fixture_of(&one).pods_of("m").await;
        let (cluster, key) = (pods.cluster, (pods.cluster.0, pods.stream.resource.0));
        let mut holder = third.database.write().await.expect("a transaction");
        let hold = stream::hold(holder.dialect(), &[key]);
        rows(&mut *holder, hold, stream::decode)
            .await
            .expect("held");
        let opening = tokio::spawn(async move {
            let pods = resource("", "pods", "Pod", true);
            one.open(cluster, "", &pods, RULES).await
        });
        wait_until_somebody_waits(&place, &third).await;
        let taking =
            tokio::spawn(async move { other.join(&name("m"), "incarnation-1", "another").await });
        wait_until_so_many_wait(&place, &third, 2).await;
        holder.rollback().await.expect("let go");
        opening.await.expect("no panic").expect("opened before");
        taking.await.expect("no panic").expect("joined behind it");
    }
}

/// Who closes its stream comes behind it in the same process: what was given first is there when the stream is opened again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_that_is_under_way_when_its_stream_is_closed_is_stored() {
    for place in Home::on_each_server() {
        let (one, other) = (place.store().await, place.store().await);
        let fixture = fixture_of(&other);
        let pods = fixture.pods_of("m").await;
        fixture.put(&pods, [object("ns", "a")]).await;
        let mut holder = one.database.write().await.expect("a transaction");
        let hold = crate::sql::head::take_numbers(Numbered::Object, 1);
        holder.execute(hold).await.expect("held");
        let third = place.store().await;
        let writes = fixture_of(&third);
        let changes = [Change::Put(object("ns", "late").build())];
        let late = pods.clone();
        let late = tokio::spawn(async move { writes.write(&late, changes).await });
        wait_until_somebody_waits(&place, &other).await;
        let mut closes = third.close(pods.cluster, "", pods.stream.resource);
        // It is given, and waits in the same line.
        assert!(futures::poll!(closes.as_mut()).is_pending());
        holder.rollback().await.expect("let go");
        let written = late.await.expect("no panic").expect("written");
        assert_eq!(written.added, 1);
        closes.await.expect("closed");
        assert!(fixture.list(&all_pods(), 10).await.is_empty());
        fixture.pods_of("m").await;
        assert_eq!(fixture.list(&all_pods(), 10).await, ["m/ns/a", "m/ns/late"]);
        fixture.assert_sound().await;
    }
}

/// It is about to open a stream that somebody closes meanwhile: readers that have heard so have to hear of it again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_is_closed_while_it_is_opened_is_shown_by_a_revision() {
    for place in Home::on_each_server() {
        let (one, other) = (place.store().await, place.store().await);
        let fixture = fixture_of(&one);
        let pods = fixture.pods_of("m").await;
        fixture.put(&pods, [object("ns", "a")]).await;
        let before = one.head().await.expect("a head").revision;
        let mut closes = one.database.write().await.expect("a transaction");
        let close = stream::close(pods.cluster.0, pods.stream.resource.0);
        closes.execute(close).await.expect("closed");
        let opening = tokio::spawn(async move { fixture_of(&other).pods_of("m").await });
        wait_until_somebody_waits(&place, &one).await;
        closes.commit().await.expect("closed");
        opening.await.expect("opened");
        assert_eq!(one.head().await.expect("a head").revision, before + 1);
        assert_eq!(fixture.list(&all_pods(), 10).await, ["m/ns/a"]);
        fixture.assert_sound().await;
    }
}

/// Before anybody hears of it, another synchro opens a stream of the cluster that was made to begin with. A purge would delete that with a stream open.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_of_a_cluster_is_not_opened_while_a_former_one_comes_into_its_place() {
    for place in Home::on_each_server() {
        let (one, other, third) = (
            place.store().await,
            place.store().await,
            place.store().await,
        );
        let fixture = fixture_of(&one);
        let pods = fixture.pods_of("m").await;
        fixture.put(&pods, [object("ns", "a")]).await;
        let moved = pods.batch([], Some(live("7")));
        one.write(moved).await.expect("written");
        let made = one.join(&name("m"), "incarnation-2", "").await;
        let made = made.expect("joined");
        // All that is shown waits for the head in the end.
        let mut holder = third.database.write().await.expect("a transaction");
        holder.execute(head::advance(0)).await.expect("held");
        let adopting = tokio::spawn(async move {
            let member = live("7").member;
            one.adopt(&name("m"), "incarnation-2", &member).await
        });
        wait_until_somebody_waits(&place, &third).await;
        let opening = tokio::spawn(async move {
            let kind = resource("", "pods", "Pod", true);
            other.open(made, "", &kind, RULES).await
        });
        wait_until_so_many_wait(&place, &third, 2).await;
        holder.rollback().await.expect("let go");
        let adopted = adopting.await.expect("no panic").expect("adopted");
        assert_eq!(adopted, pods.cluster);
        let refused = opening.await.expect("no panic");
        assert!(
            matches!(refused, Err(StoreError::Left { .. })),
            "{refused:?}"
        );
    }
}

/// It waits for the row of the stream, which somebody opens meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_purge_takes_nothing_from_a_stream_that_was_opened_again() {
    for place in Home::on_each_server() {
        let (one, other) = (place.store().await, place.store().await);
        let fixture = fixture_of(&one);
        let pods = fixture.pods_of("m").await;
        let both = [object("ns", "a"), object("ns", "b")];
        fixture.put(&pods, both).await;
        let (cluster, resource) = (pods.cluster, pods.stream.resource);
        one.close(cluster, "", resource).await.expect("closed");
        let mut holder = one.database.write().await.expect("a transaction");
        let fence = Fence {
            cluster: cluster.0,
            resource: resource.0,
            epoch: pods.stream.epoch + 1,
        };
        let opens = stream::take_over(holder.dialect(), &[(fence, false)]);
        holder.execute(opens).await.expect("opened");
        let purging = tokio::spawn(async move { other.purge(100, Duration::ZERO).await });
        wait_until_somebody_waits(&place, &one).await;
        holder.commit().await.expect("opened");
        let purged = purging.await.expect("no panic").expect("purged");
        assert_eq!(purged.objects, 0);
        assert_eq!(fixture.list(&all_pods(), 10).await, ["m/ns/a", "m/ns/b"]);
        fixture.assert_sound().await;
    }
}
