//! What a page costs, in rows and index blocks that are looked at: a figure that no machine changes. SQLite, with the budgets of every day.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use armadex_model::label::{Operator, Requirement};
use armadex_model::query::{OrderBy, OrderField, Start};
use armadex_model::{NameFilter, Query};
use armadex_storage::conformance::fixture::all_pods;
use armadex_storage::conformance::{Fixture, Writer, object};
use armadex_storage::{Change, Page, PageBudget, StoreError};
use armadex_storage_sql::{Options, SqlStore};

async fn empty() -> Fixture {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = open(&directory.path().join("store.db")).await;
    Fixture {
        sink: Arc::clone(&store) as _,
        search: store,
        audit: Box::new(|| Box::pin(async { vec![] })),
        tiny: false,
        guard: Box::new(directory),
    }
}

async fn open(path: &Path) -> Arc<SqlStore> {
    let store = SqlStore::sqlite(path, &Options::default()).await;
    Arc::new(store.expect("a store"))
}

async fn page(
    fixture: &Fixture,
    query: &Query,
    start: &Start,
    rows: u32,
) -> Result<Page, StoreError> {
    let budget = PageBudget {
        rows,
        bytes: usize::MAX,
    };
    fixture.search.page(query, start, budget).await
}

/// What it costs to walk all pages, after making sure that they come in order.
async fn cost_of_walk(fixture: &Fixture, rows: u32) -> (Vec<String>, u64) {
    let (mut all, mut cost, mut start) = (Vec::new(), 0, Start::Beginning);
    loop {
        let page = page(fixture, &all_pods(), &start, rows)
            .await
            .expect("a page");
        cost += page.looked_at;
        let paths = page
            .rows
            .iter()
            .map(armadex_storage::conformance::fixture::path);
        all.extend(paths);
        match page.next {
            Some(next) => start = Start::After(next),
            None => return (all, cost),
        }
    }
}

/// The same numbers, arriving in four ways.
fn arrivals(count: usize) -> [Vec<usize>; 4] {
    let ascending: Vec<usize> = (0..count).collect();
    let descending = ascending.iter().rev().copied().collect();
    // A step that shares no factor with the count meets every number once.
    let scattered = ascending.iter().map(|n| n * 7919 % count).collect();
    let ends = ascending
        .iter()
        .map(|n| if n % 2 == 0 { n / 2 } else { count - 1 - n / 2 });
    let interleaved = ends.collect();
    [ascending, descending, scattered, interleaved]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clusters_come_by_name_at_the_same_cost_in_whatever_order_they_joined() {
    let mut costs = Vec::new();
    for arrival in arrivals(200) {
        let fixture = empty().await;
        for number in arrival {
            let name = format!("c-{number:03}");
            let pods = fixture.pods_of(&name).await;
            let pods_of_it = (0..3).map(|pod| object("ns", &format!("p-{pod}")));
            fixture.put(&pods, pods_of_it).await;
            if number % 10 == 3 {
                let name = name.parse().expect("a name");
                fixture
                    .sink
                    .leave(&name, "incarnation-1")
                    .await
                    .expect("left");
            }
        }
        let (rows, cost) = cost_of_walk(&fixture, 50).await;
        assert_eq!(rows.len(), 540);
        assert!(rows.is_sorted());
        costs.push(cost);
    }
    assert!(costs.iter().all(|cost| *cost == costs[0]), "{costs:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn namespaces_come_by_name_at_the_same_cost_in_whatever_order_they_arrived() {
    let mut costs = Vec::new();
    for arrival in arrivals(2000) {
        let fixture = empty().await;
        let pods = fixture.pods_of("m").await;
        for part in arrival.chunks(100) {
            let objects = part.iter().map(|n| object(&format!("ns-{n:04}"), "p"));
            fixture.put(&pods, objects).await;
            let gone = part.iter().filter(|n| *n % 4 == 1);
            let gone = gone
                .map(|n| Change::Delete(armadex_model::ObjectKey::new(format!("ns-{n:04}"), "p")));
            fixture.write(&pods, gone).await.expect("written");
        }
        let (rows, cost) = cost_of_walk(&fixture, 100).await;
        assert_eq!(rows.len(), 1500);
        assert!(rows.is_sorted());
        costs.push(cost);
    }
    assert!(costs.iter().all(|cost| *cost == costs[0]), "{costs:?}");
}

/// 40,000 pods: 400 namespaces in 4 clusters, a label on one in 5,000, another on half of them.
async fn fleet() -> (Fixture, Vec<Writer>) {
    let fixture = empty().await;
    let mut writers = Vec::new();
    for cluster in 0..4 {
        let pods = fixture.pods_of(&format!("m{cluster}")).await;
        for namespace in 0..100 {
            let pod = |n: usize| {
                let at = (cluster * 100 + namespace) * 100 + n;
                let pod = object(&format!("ns-{namespace:02}"), &format!("p-{at:05}"))
                    .uid(&format!("{:08x}", at * 7919 % 40_000))
                    .created(i64::try_from(at * 31 % 40_000).expect("small"));
                let pod = if at.is_multiple_of(2) {
                    pod.label("half", "yes")
                } else {
                    pod
                };
                if at.is_multiple_of(5000) {
                    pod.label("rare", "yes")
                } else {
                    pod
                }
            };
            fixture.put(&pods, (0..100).map(pod)).await;
        }
        writers.push(pods);
    }
    (fixture, writers)
}

fn by(field: OrderField, descending: bool) -> Query {
    Query {
        order: vec![OrderBy { field, descending }],
        ..all_pods()
    }
}

fn labelled(key: &str, query: Query) -> Query {
    let exists = Requirement {
        key: key.into(),
        operator: Operator::Exists,
    };
    Query {
        labels: vec![exists],
        ..query
    }
}

/// Each shape with its bound: what a page of 100 looks at, whatever else is in the store.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_looks_at_little_more_than_it_gives() {
    let (fixture, _writers) = fleet().await;
    let named = Query {
        names: NameFilter::In(BTreeSet::from(["p-00007".into(), "p-39999".into()])),
        ..all_pods()
    };
    let one_namespace = Query {
        namespaces: NameFilter::only("ns-50"),
        ..all_pods()
    };
    let many = (0..64).map(|n| Requirement::is_in(format!("key-{n}"), ["x"]));
    let many = Query {
        labels: many.collect(),
        ..all_pods()
    };
    for (what, query, most) in [
        ("plain", all_pods(), 400),
        ("the last cluster first", by(OrderField::Cluster, true), 400),
        ("one namespace", one_namespace, 400),
        ("newest", by(OrderField::CreatedAt, true), 700),
        ("by name", by(OrderField::Name, false), 700),
        ("a rare label", labelled("rare", all_pods()), 150),
        (
            "a rare label, newest",
            labelled("rare", by(OrderField::CreatedAt, true)),
            150,
        ),
        ("half of all", labelled("half", all_pods()), 1200),
        (
            "half of all, newest",
            labelled("half", by(OrderField::CreatedAt, true)),
            4000,
        ),
        (
            "a name among half of all",
            labelled("half", named.clone()),
            50,
        ),
        ("two names", named, 50),
        ("64 labels that nobody has", many, 200),
    ] {
        let page = page(&fixture, &query, &Start::Beginning, 100)
            .await
            .expect("a page");
        assert!(
            page.looked_at <= most,
            "{what}: {} rows looked at",
            page.looked_at
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_offset_is_reached_by_counters_or_refused() {
    let (fixture, _writers) = fleet().await;
    let far = Start::Offset(35_000);
    let found = page(&fixture, &all_pods(), &far, 100)
        .await
        .expect("a page");
    assert!(found.looked_at < 1200, "{} rows looked at", found.looked_at);
    assert_eq!(found.rows[0].key.name, "p-35000");
    for query in [by(OrderField::CreatedAt, false), by(OrderField::Name, true)] {
        let refused = page(&fixture, &query, &far, 1).await;
        match refused {
            Err(StoreError::Unsupported { what }) => {
                assert!(what.contains("continue token"), "{what}");
            }
            other => panic!("expected a refusal, got {other:?}"),
        }
    }
}

/// A continuous integration that makes a thousand namespaces a day.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn namespaces_that_come_and_go_leave_nothing() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("store.db");
    let store = open(&path).await;
    let fixture = Fixture {
        sink: Arc::clone(&store) as _,
        search: Arc::clone(&store) as _,
        audit: Box::new(|| Box::pin(async { vec![] })),
        tiny: false,
        guard: Box::new(()),
    };
    let pods = fixture.pods_of("m").await;
    let day = async |day: usize| {
        for part in 0..10 {
            let names: Vec<String> = (0..100).map(|n| format!("ci-{day}-{part}-{n}")).collect();
            let made = names.iter().map(|name| object(name, "p"));
            fixture.put(&pods, made).await;
            let gone = names
                .iter()
                .map(|name| Change::Delete(armadex_model::ObjectKey::new(name, "p")));
            fixture.write(&pods, gone).await.expect("written");
        }
        fixture.purge(500).await;
    };
    day(0).await;
    let first = store.check().await.expect("a report");
    assert_eq!((first.objects, first.namespaces), (0, 0));
    day(1).await;
    let second = store.check().await.expect("a report");
    assert_eq!((second.namespaces, second.faults), (0, vec![]));
    store.shutdown().await;
}
