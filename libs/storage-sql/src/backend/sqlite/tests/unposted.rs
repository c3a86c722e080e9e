//! Which labels are not indexed, where the transaction that says so fails, or the database forgets it.

use armadex_model::Query;
use armadex_model::label::Requirement;
use armadex_storage::Rules;
use armadex_storage::conformance::fixture::{all_pods, live};

use super::*;

/// A store in which the next transaction decides not to index the label `id`.
async fn about_to_decide(place: &Home) -> (Arc<SqlStore>, [Writer; 2]) {
    let options = Options {
        label_sample: 4,
        ..Options::default()
    };
    let store = SqlStore::sqlite(&place.path(), &options).await;
    let store = Arc::new(store.expect("a store"));
    let fixture = fixture_of(&store);
    let (a, b) = (fixture.pods_of("a").await, fixture.pods_of("b").await);
    for (pods, names) in [(&a, ["1", "2"]), (&b, ["3", "4"])] {
        fixture.put(pods, names.map(identified)).await;
    }
    (store, [a, b])
}

fn identified(name: &str) -> ObjectBuilder {
    object("ns", name).label("id", name)
}

/// Whoever opens the store anew finds an object by its own label.
async fn assert_found(place: &Home, path: &str) {
    let store = open_store(place).await;
    let (_, name) = path.rsplit_once('/').expect("a path");
    let query = Query {
        labels: vec![Requirement::is_in("id", [name])],
        ..all_pods()
    };
    assert_eq!(fixture_of(&store).list(&query, 10).await, [path]);
}

#[tokio::test]
async fn what_a_failed_transaction_decided_is_not_relied_on() {
    let place = Home::new();
    place.run(REFUSE).await;
    let (store, [a, _]) = about_to_decide(&place).await;
    let fixture = fixture_of(&store);
    let refused = [Change::Put(identified("refused").build())];
    assert!(fixture.write(&a, refused).await.is_err());
    fixture.put(&a, [identified("5")]).await;
    assert_found(&place, "a/ns/5").await;
    fixture.assert_sound().await;
}

#[tokio::test]
async fn a_database_that_has_forgotten_what_is_not_indexed_has_it_indexed_again() {
    let place = Home::new();
    let (store, [a, b]) = about_to_decide(&place).await;
    let fixture = fixture_of(&store);
    fixture.put(&a, [identified("5")]).await;
    assert_found(&place, "a/ns/5").await;
    // As restored from before the decision.
    place.run("DELETE FROM unposted").await;
    place.run("UPDATE head SET rev = 2 WHERE id = 1").await;
    place.run("DELETE FROM ver WHERE rev > 2").await;
    place.run("DELETE FROM obj WHERE rev > 2").await;
    let refused = [Change::Put(identified("6").build())];
    assert!(fixture.write(&b, refused).await.is_err());
    store.shutdown().await;
    let fixture = fixture_of(&open_store(&place).await);
    let pods = fixture.pods_of("b").await;
    fixture.put(&pods, [identified("6")]).await;
    assert_found(&place, "b/ns/6").await;
}

/// By other rules what was indexed is so no more: each object, and all at once in a check.
#[tokio::test]
async fn a_field_that_is_not_indexed_any_more_leaves_the_index_with_the_next_list() {
    const UID: &str = "involvedObject.uid";
    let place = Home::new();
    let store = Arc::new(open_store(&place).await);
    let fixture = fixture_of(&store);
    let events = resource("", "events", "Event", true);
    let mut writer = fixture.writer("m", &events).await;
    let former = ["1", "2", "3"].map(|name| object("ns", name).field(UID, name));
    fixture.put(&writer, former).await;
    assert_eq!(store.check().await.expect("a check").entries, 3);
    let newer = Rules::of_all(RULES.form + 1);
    let opened = store.open(writer.cluster, "", &events, newer).await;
    writer.stream = opened.expect("opened");
    let own = ["1", "2", "3"].map(|name| object("ns", name).own_field(UID, name).build());
    let mut batch = writer.batch(own.map(Change::Put), Some(live("7")));
    batch.rules = newer;
    store.write(batch).await.expect("written");
    let report = store.check().await.expect("a check");
    assert_eq!((report.entries, report.faults), (0, vec![]));
    place.run("UPDATE counter SET n = 2").await;
    let mended = store.mend().await.expect("mended");
    assert_eq!(mended.removed, 0);
    fixture.assert_sound().await;
}
