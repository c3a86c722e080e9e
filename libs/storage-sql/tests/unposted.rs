//! Labels that tell each object from every other: not in the index, and found all the same. SQLite.

#[path = "fixture/audited.rs"]
mod audited;

use std::path::Path;
use std::sync::Arc;

use armadex_model::label::{Operator, Requirement};
use armadex_model::{NameFilter, Query};
use armadex_storage::Change;
use armadex_storage::conformance::fixture::{ObjectBuilder, all_pods};
use armadex_storage::conformance::{Fixture, Writer, object};
use armadex_storage_sql::{Options, SqlStore};
use audited::audited;

/// Objects whose labels are compared: fewer than the values that are followed, so that chance, by which their hashes are drawn, decides nothing.
const SAMPLE: u32 = 40;
/// Pods of a cluster that are written before it is decided.
const BEFORE: usize = SAMPLE as usize / 2;

async fn open(path: &Path) -> Arc<SqlStore> {
    let options = Options {
        label_sample: SAMPLE,
        ..Options::default()
    };
    Arc::new(SqlStore::sqlite(path, &options).await.expect("a store"))
}

/// A pod of a cluster, with a label that no other has.
fn pod(cluster: &str, number: usize) -> ObjectBuilder {
    let app = if number.is_multiple_of(2) {
        "web"
    } else {
        "db"
    };
    object("ns", &format!("p-{number:04}"))
        .label("app", app)
        .label("id", &format!("{cluster}-{number}"))
}

async fn put(fixture: &Fixture, pods: &Writer, cluster: &str, numbers: std::ops::Range<usize>) {
    let objects = numbers.map(|number| pod(cluster, number));
    fixture.put(pods, objects).await;
}

async fn entries(store: &SqlStore) -> u64 {
    let report = store.check().await.expect("a report");
    assert_eq!(report.faults, [""; 0]);
    report.entries
}

fn labelled(operator: Operator) -> Query {
    Query {
        labels: vec![Requirement {
            key: "id".into(),
            operator,
        }],
        ..all_pods()
    }
}

fn is_in(values: &[&str]) -> Operator {
    Operator::In(values.iter().map(|value| (*value).to_owned()).collect())
}

/// Two clusters with 200 pods each, of which the first were written before it was known that each has a label of its own.
async fn fleet(fixture: &Fixture) -> Writer {
    let (a, b) = (fixture.pods_of("a").await, fixture.pods_of("b").await);
    for (cluster, pods) in [("a", &a), ("b", &b)] {
        put(fixture, pods, cluster, 0..BEFORE).await;
    }
    for (cluster, pods) in [("a", &a), ("b", &b)] {
        put(fixture, pods, cluster, BEFORE..200).await;
    }
    a
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_label_of_its_own_for_each_object_is_not_indexed_once_that_is_known() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = open(&directory.path().join("store.db")).await;
    let fixture = audited(&store);
    let pods = fleet(&fixture).await;
    // Two labels and their keys for the first, one label less for the others.
    assert_eq!(entries(&store).await, 40 * 4 + 360 * 3);
    // What was indexed before leaves the index when it changes, whether its labels do or not.
    let changed = (0..100).map(|number| pod("a", number).version("101"));
    fixture.put(&pods, changed).await;
    assert_eq!(entries(&store).await, 20 * 4 + 380 * 3);
    let deleted = (0..150).map(|number| Change::Delete(pod("a", number).build().key));
    fixture.write(&pods, deleted).await.expect("written");
    assert_eq!(entries(&store).await, 20 * 4 + 230 * 3);
    fixture
        .sink
        .leave(&"b".parse().expect("a name"), "incarnation-1")
        .await
        .expect("left");
    while !fixture
        .sink
        .purge(70, std::time::Duration::ZERO)
        .await
        .expect("purged")
        .finished
    {}
    assert_eq!(entries(&store).await, 50 * 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_indexed_is_found_by_every_operator() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("store.db");
    let store = open(&path).await;
    let before = open(&path).await;
    let fixtures = [audited(&store), audited(&before)];
    // The second store has read a catalogue that says nothing of it.
    assert_eq!(fixtures[1].list(&all_pods(), 10).await, [""; 0]);
    fleet(&fixtures[0]).await;
    let nobody = fixtures[0].pods_of("c").await;
    fixtures[0].put(&nobody, [object("ns", "unlabelled")]).await;
    let after = open(&path).await;
    for fixture in fixtures.iter().chain([&audited(&after)]) {
        check_searches(fixture, 0).await;
    }
}

/// `more` objects with a label of their own have come to the fleet.
async fn check_searches(fixture: &Fixture, more: u64) {
    // Indexed before, not indexed, and of nobody.
    let few = labelled(is_in(&["a-7", "b-150", "c-99"]));
    assert_eq!(fixture.list(&few, 1).await, ["a/ns/p-0007", "b/ns/p-0150"]);
    assert_eq!(fixture.count(&few).await, 2);
    let Operator::In(values) = is_in(&["a-7", "b-150"]) else {
        unreachable!("made so")
    };
    let others = labelled(Operator::NotIn(values));
    let listed = fixture.list(&others, 90).await;
    assert_eq!(listed.len() as u64, 399 + more);
    assert_eq!(fixture.count(&others).await, 399 + more);
    assert_eq!(fixture.count(&labelled(Operator::Exists)).await, 400 + more);
    let without = labelled(Operator::DoesNotExist);
    assert_eq!(fixture.list(&without, 10).await, ["c/ns/unlabelled"]);
    let mut both = few.clone();
    both.labels
        .push(Requirement::is_in("app", ["web".to_owned()]));
    assert_eq!(fixture.list(&both, 10).await, ["b/ns/p-0150"]);
    let named = Query {
        names: NameFilter::only("p-0150"),
        ..few
    };
    assert_eq!(fixture.list(&named, 10).await, ["b/ns/p-0150"]);
}

/// Two processes may write to one file: what one of them has learnt binds the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_follows_what_another_has_learnt() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("store.db");
    let (one, other) = (open(&path).await, open(&path).await);
    let fixture = audited(&one);
    fleet(&fixture).await;
    let nobody = fixture.pods_of("c").await;
    fixture.put(&nobody, [object("ns", "unlabelled")]).await;
    let indexed = entries(&one).await;
    let elsewhere = audited(&other);
    let pods = elsewhere.pods_of("c").await;
    put(&elsewhere, &pods, "c", 0..10).await;
    assert_eq!(entries(&one).await, indexed + 10 * 3);
    check_searches(&fixture, 10).await;
    check_searches(&elsewhere, 10).await;
}
