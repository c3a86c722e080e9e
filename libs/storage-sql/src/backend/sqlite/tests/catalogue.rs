//! What readers learn of clusters, types and streams, and what that costs.

use armadex_model::ClusterName;

use super::*;
use crate::catalog::delta::Delta;

/// One stream more is one row more to learn, whatever is there already.
#[tokio::test]
async fn a_reader_learns_of_a_stream_by_one_row() {
    let place = Home::new();
    let store = open_store(&place).await;
    let pods = resource("", "pods", "Pod", true);
    for number in 0..20 {
        let name = format!("member{number}").parse().expect("a name");
        let cluster = store.join(&name, "incarnation", "").await.expect("joined");
        store.open(cluster, "", &pods, RULES).await.expect("opened");
    }
    let catalog_version = async || {
        let mut transaction = store
            .database
            .read(Lane::Short)
            .await
            .expect("a transaction");
        let head = head_row::read(&mut *transaction).await;
        head.expect("a head").catalog
    };
    let known = catalog_version().await;
    let name = "member7".parse().expect("a name");
    let cluster = store.join(&name, "incarnation", "").await.expect("joined");
    store.open(cluster, "", &pods, RULES).await.expect("opened");
    assert_eq!(
        catalog_version().await,
        known,
        "nothing that a reader knows has changed"
    );
    let nodes = resource("", "nodes", "Node", false);
    store
        .open(cluster, "", &nodes, RULES)
        .await
        .expect("opened");
    let mut transaction = store
        .database
        .read(Lane::Short)
        .await
        .expect("a transaction");
    let head = head_row::read(&mut *transaction).await.expect("a head");
    assert_eq!(head.catalog, known + 1);
    let delta = Delta::read(&mut *transaction, known, &head)
        .await
        .expect("read");
    let Delta {
        clusters,
        health,
        types,
        streams,
        ..
    } = &delta;
    assert_eq!(
        (clusters.len(), health.len(), types.len(), streams.len()),
        (0, 0, 1, 1)
    );
}

/// Nobody asked between a cluster's leaving and the end of its purge.
#[tokio::test]
async fn what_was_purged_unseen_is_gone_from_the_catalogue() {
    let place = Home::new();
    let store = open_store(&place).await;
    let kinds = [("pods", "Pod"), ("secrets", "Secret")];
    for name in ["member1", "member2"] {
        let name = name.parse().expect("a name");
        let cluster = store.join(&name, "incarnation", "").await.expect("joined");
        for (plural, kind) in kinds {
            let kind = resource("", plural, kind, true);
            store.open(cluster, "", &kind, RULES).await.expect("opened");
        }
    }
    let before = store.catalog().await.expect("a catalog");
    assert_eq!((before.clusters.len(), before.types.len()), (2, 2));
    let (first, second) = (
        "member1".parse().expect("a name"),
        "member2".parse().expect("a name"),
    );
    store.leave(&first, "incarnation").await.expect("left");
    let cluster = store
        .join(&second, "incarnation", "")
        .await
        .expect("joined");
    let streams = store.streams(cluster).await.expect("streams");
    store
        .close(cluster, "", streams[0].id)
        .await
        .expect("closed");
    while !store
        .purge(10, std::time::Duration::ZERO)
        .await
        .expect("purged")
        .finished
    {}
    let after = store.catalog().await.expect("a catalog");
    assert_eq!((after.clusters.len(), after.types.len()), (1, 1));
    store.shutdown().await;
}

/// Departures are not remembered for ever: a reader that was away for longer reads everything anew.
#[tokio::test]
async fn a_reader_that_was_away_for_long_shows_nothing_that_has_left() {
    let place = Home::new();
    let (reader, writer) = (open_store(&place).await, open_store(&place).await);
    let fixture = fixture_of(&writer);
    for name in ["member1", "member2"] {
        fixture.pods_of(name).await;
    }
    assert_eq!(reader.catalog().await.expect("a catalog").clusters.len(), 2);
    let gone = "member1".parse().expect("a name");
    writer.leave(&gone, "incarnation-1").await.expect("left");
    fixture.purge(10).await;
    place
        .run("UPDATE head SET catalog = catalog + 20000 WHERE id = 1")
        .await;
    fixture.purge(10).await;
    let mut transaction = writer.database.read(Lane::Short).await.expect("a reader");
    let forgotten = rows(&mut *transaction, crate::sql::gone::since(0), |row| {
        row.int(0)
    })
    .await;
    assert_eq!(forgotten.expect("an answer"), [0; 0]);
    transaction.rollback().await.expect("ended");
    let catalog = reader.catalog().await.expect("a catalog");
    let shown: Vec<&str> = catalog.clusters.keys().map(ClusterName::as_str).collect();
    assert_eq!(shown, ["member2"]);
}

#[tokio::test]
async fn a_reader_that_has_heard_of_a_departure_reads_nothing_anew_when_it_is_purged() {
    let place = Home::new();
    let store = open_store(&place).await;
    let fixture = fixture_of(&store);
    for name in ["member1", "member2"] {
        let pods = fixture.pods_of(name).await;
        fixture.put(&pods, [object("ns", "a")]).await;
    }
    let gone = "member1".parse().expect("a name");
    store.leave(&gone, "incarnation-1").await.expect("left");
    let before = store.catalog().await.expect("a catalog");
    fixture.purge(10).await;
    let after = store.catalog().await.expect("a catalog");
    assert!(Arc::ptr_eq(&before, &after));
    let mut transaction = store.database.read(Lane::Short).await.expect("a reader");
    let head = head_row::read(&mut *transaction).await.expect("a head");
    assert_eq!(head.floor, 0);
    transaction.rollback().await.expect("ended");
    store.shutdown().await;
}

#[tokio::test]
async fn many_empty_streams_do_not_keep_the_purge_from_what_lies_behind_them() {
    let place = Home::new();
    let store = open_store(&place).await;
    let fixture = fixture_of(&store);
    let unused = fixture.pods_of("member1").await;
    for number in 0..40 {
        let kind = resource("example.com", &format!("kind{number}s"), "Kind", true);
        let stream = store
            .open(unused.cluster, "", &kind, RULES)
            .await
            .expect("opened");
        store
            .close(unused.cluster, "", stream.resource)
            .await
            .expect("closed");
    }
    let leaving = fixture.pods_of("member2").await;
    fixture
        .put(&leaving, (0..5).map(|n| object("ns", &format!("p-{n}"))))
        .await;
    let name = "member2".parse().expect("a name");
    store.leave(&name, "incarnation-1").await.expect("left");
    assert_eq!(fixture.purge(100).await, 5);
    assert!(store.check().await.expect("a report").faults.is_empty());
    store.shutdown().await;
}

#[tokio::test]
async fn health_that_stays_as_it_was_changes_no_catalogue() {
    let place = Home::new();
    let store = open_store(&place).await;
    let fixture = fixture_of(&store);
    let pods = fixture.pods_of("m").await;
    let say = async |healthy: bool| {
        let health = armadex_storage::Health {
            healthy,
            reason: String::new(),
        };
        let said = store.set_health(pods.cluster, "", &health, Some("v1.34.0"));
        said.await.expect("noted");
        store.catalog().await.expect("a catalogue")
    };
    let well = say(true).await;
    assert!(Arc::ptr_eq(&well, &say(true).await));
    let ill = say(false).await;
    assert!(!Arc::ptr_eq(&well, &ill));
    assert!(Arc::ptr_eq(&well.types, &ill.types));
}

/// A store with a cluster that has an object and left.
async fn with_one_that_left(place: &Home) -> (Arc<SqlStore>, Fixture) {
    let store = open_store(place).await;
    let fixture = fixture_of(&store);
    let pods = fixture.pods_of("member1").await;
    fixture.put(&pods, [object("ns", "a")]).await;
    let gone = "member1".parse().expect("a name");
    store.leave(&gone, "incarnation-1").await.expect("left");
    (store, fixture)
}

/// It joins again, and has what it had.
async fn assert_comes_back(fixture: &Fixture) {
    fixture.pods_of("member1").await;
    let all = armadex_model::Query::all(pods_type());
    assert_eq!(fixture.list(&all, 10).await, ["member1/ns/a"]);
}

/// Its time begins when the clock is right again; otherwise it would be kept for as long as the clock was ahead.
#[tokio::test]
async fn a_cluster_that_left_while_the_clock_was_ahead_does_not_stay_for_ever() {
    let place = Home::new();
    let (store, fixture) = with_one_that_left(&place).await;
    place.run("UPDATE cluster SET left_at = 4070908800").await;
    let grace = std::time::Duration::from_secs(900);
    store.purge(10, grace).await.expect("purged");
    assert_eq!(fixture.purge(10).await, 1);
    store.shutdown().await;
}

/// A clock that was behind when it left, or was set forward since.
#[tokio::test]
async fn a_cluster_that_left_comes_back_whatever_the_clock_of_the_host_says() {
    let place = Home::new();
    let (store, fixture) = with_one_that_left(&place).await;
    place
        .run("UPDATE cluster SET left_at = left_at / 1000 + 1")
        .await;
    let grace = std::time::Duration::from_secs(900);
    for _ in 0..2 {
        let purged = store.purge(10, grace).await.expect("purged");
        assert_eq!(purged.objects, 0);
    }
    assert_comes_back(&fixture).await;
    store.shutdown().await;
}

/// While one release takes the place of another, a process of the earlier one may be who purges. This is how it finds what left long ago.
#[tokio::test]
async fn a_cluster_that_left_has_its_grace_by_the_rules_of_an_earlier_release_too() {
    let place = Home::new();
    let (store, fixture) = with_one_that_left(&place).await;
    place
        .run("UPDATE cluster SET active = 0 WHERE active <> 1 AND left_at <= CAST(strftime('%s', 'now') AS INTEGER) - 900")
        .await;
    assert_comes_back(&fixture).await;
    store.shutdown().await;
}

/// Nothing of what it has can be written to while its members do not answer.
#[tokio::test]
async fn an_owner_that_says_that_it_lives_is_heard_of_all_its_clusters() {
    let place = Home::new();
    let heard = async |store: &SqlStore| {
        let clusters = store.clusters().await.expect("clusters");
        let heard = clusters.iter().map(|cluster| cluster.heard.owner);
        heard.collect::<Vec<_>>()
    };
    let store = open_store(&place).await;
    for (name, owner) in [("a", "one/x"), ("b", "one/x"), ("c", "two/x")] {
        let name = name.parse().expect("a name");
        store.join(&name, "uid", owner).await.expect("joined");
    }
    let gone = store.begin("gone/x").await.expect("begun");
    let one = store.begin("one/x").await.expect("begun");
    assert!(store.keep_alive("gone/x", gone).await.expect("told"));
    let joined = heard(&store).await;
    assert!(
        joined.len() == 3 && joined.iter().all(|at| *at > 0),
        "{joined:?}"
    );
    store.shutdown().await;

    place.run("UPDATE owner SET seen = seen - 5 * 3600").await;
    place
        .run("UPDATE owner SET seen = 1 WHERE name = 'gone/x'")
        .await;
    let store = open_store(&place).await;
    let before: Vec<_> = joined.iter().map(|at| at - 5 * 3600).collect();
    assert_eq!(heard(&store).await, before);
    assert!(store.keep_alive("one/x", one).await.expect("told"));
    let now = heard(&store).await;
    let again: Vec<_> = now
        .iter()
        .zip(&joined)
        .map(|(now, joined)| now >= joined)
        .collect();
    assert_eq!((again, now[2]), (vec![true, true, false], before[2]));
    store.shutdown().await;
    let database = place.database().await.expect("a database");
    let mut transaction = database.write().await.expect("a transaction");
    let statement = Statement {
        name: "test",
        sql: "SELECT name FROM owner ORDER BY name".into(),
        params: vec![],
    };
    let owners = rows(&mut *transaction, statement, |row| row.text(0)).await;
    assert_eq!(owners.expect("owners"), ["one/x", "two/x"]);
}

/// A process of an earlier release may open a stream of a type that another drops meanwhile.
#[tokio::test]
async fn a_stream_of_a_type_that_is_not_there_is_closed_and_keeps_nothing_from_its_cluster() {
    let place = Home::new();
    let store = open_store(&place).await;
    let fixture = fixture_of(&store);
    let pods = fixture.pods_of("m").await;
    fixture.put(&pods, [object("ns", "a")]).await;
    let nodes = resource("", "nodes", "Node", false);
    store
        .open(pods.cluster, "", &nodes, RULES)
        .await
        .expect("opened");
    store.shutdown().await;
    place.run("DELETE FROM type WHERE resource = 'pods'").await;
    let store = open_store(&place).await;
    let states = store.streams(pods.cluster).await.expect("streams");
    let known: Vec<_> = states.iter().map(|state| &state.resource).collect();
    assert_eq!(known, [&nodes]);
    let purged = store.purge(10, std::time::Duration::ZERO).await;
    assert_eq!(purged.expect("purged").objects, 1);
    let report = store.check().await.expect("a report");
    assert!(report.faults.is_empty(), "{:?}", report.faults);
    store.shutdown().await;
}

#[tokio::test]
async fn a_type_that_is_had_again_is_not_taken_for_one_that_went_before() {
    let place = Home::new();
    let store = open_store(&place).await;
    let fixture = fixture_of(&store);
    let pods = fixture.pods_of("m").await;
    for name in ["a", "b"] {
        fixture.put(&pods, [object("ns", name)]).await;
    }
    let (cluster, number) = (pods.cluster, pods.stream.resource);
    store.close(cluster, "", number).await.expect("closed");
    fixture.purge(10).await;
    let noted = async || {
        let unused = "SELECT unused FROM type WHERE resource = 'pods'";
        let mut transaction = store.database.read(Lane::Short).await.expect("a reader");
        let statement = Statement::fixed("test", unused, []);
        let found = crate::backend::row(&mut *transaction, statement, |row| row.int(0)).await;
        transaction.rollback().await.expect("ended");
        found.expect("an answer").expect("a row")
    };
    assert!(noted().await > 0);
    let again = fixture.pods_of("m").await;
    assert_eq!(again.stream.resource, number);
    assert_eq!(noted().await, 0);
    store.shutdown().await;
}
