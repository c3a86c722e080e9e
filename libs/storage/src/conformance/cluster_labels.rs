//! Labels of clusters, by which queries choose them.

use armadex_model::{ClusterLabels, NameFilter, Query, label};

use super::fixture::{Fixture, Writer, all_pods, live, name, object};
use crate::{ClusterId, StoreError};

/// The pods of the clusters of which the selector holds.
fn pods_of(selector: &str) -> Query {
    Query {
        cluster_labels: label::parse(selector).expect("a selector"),
        ..all_pods()
    }
}

async fn label(fixture: &Fixture, cluster: ClusterId, labels: &str) {
    let labels = ClusterLabels::parse(labels);
    let labelled = fixture.sink.set_labels(cluster, "", &labels).await;
    labelled.expect("labelled");
}

async fn revision(fixture: &Fixture) -> i64 {
    fixture.search.head().await.expect("a head").revision
}

/// Three clusters of two pods each, the last one without labels.
async fn fleet(fixture: &Fixture) -> [Writer; 3] {
    let mut writers = Vec::new();
    for cluster in ["a", "b", "c"] {
        let pods = fixture.pods_of(cluster).await;
        fixture
            .put(&pods, [object("ns", "x"), object("other", "y")])
            .await;
        writers.push(pods);
    }
    label(
        fixture,
        writers[0].cluster,
        "env=prod,example.com/region=eu-1",
    )
    .await;
    label(
        fixture,
        writers[1].cluster,
        "env=test,example.com/region=eu-1,old=",
    )
    .await;
    writers.try_into().expect("three")
}

/// Each operator, together with names of clusters and namespaces, in lists of any page, orders and counts.
pub async fn clusters_are_chosen_by_their_labels(fixture: &Fixture) {
    fleet(fixture).await;
    for (selector, expected) in [
        ("env=prod", "a"),
        ("env in (prod,test)", "ab"),
        ("example.com/region=eu-1,env!=prod", "b"),
        ("env notin (prod)", "bc"),
        ("env", "ab"),
        ("!env", "c"),
        ("old=", "b"),
        ("!old,example.com/region", "a"),
        ("env=prod,env=test", ""),
        ("nobody=has", ""),
    ] {
        let rows = |cluster| [format!("{cluster}/ns/x"), format!("{cluster}/other/y")];
        let expected = Vec::from_iter(expected.chars().flat_map(rows));
        let query = pods_of(selector);
        for page in [1, 100] {
            assert_eq!(fixture.list(&query, page).await, expected, "{selector}");
        }
        assert_eq!(
            fixture.count(&query).await,
            expected.len() as u64,
            "{selector}"
        );
    }
    let narrowed = Query {
        clusters: NameFilter::only("b"),
        namespaces: NameFilter::only("ns"),
        ..pods_of("env")
    };
    assert_eq!(fixture.list(&narrowed, 10).await, ["b/ns/x"]);
    let compared = fixture.search.count(&pods_of("env>1")).await;
    assert!(
        matches!(compared, Err(StoreError::Unsupported { .. })),
        "{compared:?}"
    );
}

/// What lists show is told by their revision: other labels take one, and the same ones none.
pub async fn other_labels_take_a_revision(fixture: &Fixture) {
    let [a, ..] = fleet(fixture).await;
    let before = revision(fixture).await;
    label(fixture, a.cluster, "example.com/region=eu-1,env=prod").await;
    assert_eq!(revision(fixture).await, before, "the same labels");
    label(fixture, a.cluster, "env=test").await;
    assert_eq!(revision(fixture).await, before + 1, "other labels");
    assert!(fixture.list(&pods_of("env=prod"), 10).await.is_empty());
    assert_eq!(
        fixture.list(&pods_of("env=test,!old"), 1).await,
        ["a/ns/x", "a/other/y"]
    );
    let catalog = fixture.search.catalog().await.expect("a catalogue");
    assert_eq!(catalog.clusters[&name("a")].labels.as_str(), "env=test");
    label(fixture, a.cluster, "").await;
    assert_eq!(fixture.count(&pods_of("!env")).await, 4);
    fixture.assert_sound().await;
    fixture.purge(100).await;
    fixture.assert_sound().await;
}

/// Only its owner says what the labels of a cluster are, and it keeps them while it is away.
pub async fn labels_stay_with_their_cluster(fixture: &Fixture) {
    let [a, ..] = fleet(fixture).await;
    let labels = ClusterLabels::parse("env=stolen");
    let refused = fixture
        .sink
        .set_labels(a.cluster, "somebody", &labels)
        .await;
    assert!(
        matches!(refused, Err(StoreError::TakenOver { .. })),
        "{refused:?}"
    );
    let moved = fixture.sink.write(a.batch([], Some(live("7")))).await;
    moved.expect("written");
    let leave = async |incarnation| {
        let left = fixture.sink.leave(&name("a"), incarnation).await;
        left.expect("left");
    };
    leave("incarnation-1").await;
    assert!(fixture.list(&pods_of("env=prod"), 10).await.is_empty());
    let refused = fixture.sink.set_labels(a.cluster, "", &labels).await;
    assert!(
        matches!(refused, Err(StoreError::Left { .. })),
        "{refused:?}"
    );
    fixture.pods_of("a").await;
    assert_eq!(fixture.count(&pods_of("env=prod")).await, 2);
    // Another PediaCluster says others, and goes on with the rows.
    leave("incarnation-1").await;
    let new = fixture.sink.join(&name("a"), "incarnation-2", "").await;
    label(fixture, new.expect("joined"), "env=new").await;
    let (name, member) = (name("a"), live("7").member);
    let adopted = fixture.sink.adopt(&name, "incarnation-2", &member);
    assert_eq!(adopted.await.expect("adopted"), a.cluster);
    let catalog = fixture.search.catalog().await.expect("a catalogue");
    assert_eq!(catalog.clusters[&name].labels.as_str(), "env=new");
    fixture.assert_sound().await;
}
