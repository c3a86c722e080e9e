//! What a page costs, in rows and index blocks that are looked at: a figure that no machine changes. SQLite, with the budgets of every day.

use std::collections::BTreeSet;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use armadex_model::label::{Operator, Requirement};
use armadex_model::query::{NamespaceScope, OrderBy, OrderField, Scope, Searched, Start};
use armadex_model::{NameFilter, Query};
use armadex_storage::conformance::fixture::{self, all_pods};
use armadex_storage::conformance::{Fixture, Writer, object, resource};
use armadex_storage::{Change, Page, PageBudget, StoreError};
use armadex_storage_sql::{Options, SqlStore, Tuning};

async fn empty() -> Fixture {
    tuned(Tuning::default()).await
}

async fn tuned(tuning: Tuning) -> Fixture {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let options = Options {
        tuning,
        ..Options::default()
    };
    let store = SqlStore::sqlite(&directory.path().join("store.db"), &options).await;
    let store = Arc::new(store.expect("a store"));
    Fixture::of(&store).guarded(directory)
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

/// How many of something: as many as a variable says, for a run at the size of a large fleet, or enough to see what matters.
fn asked_for(variable: &str, enough: usize) -> usize {
    std::env::var(variable).map_or(enough, |text| text.parse().expect("a number"))
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
    let clusters = asked_for("ARMADEX_TEST_CLUSTERS", 200);
    for arrival in arrivals(clusters) {
        let fixture = empty().await;
        for number in arrival {
            let name = format!("c-{number:05}");
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
        assert_eq!(rows.len(), clusters / 10 * 27);
        assert!(rows.is_sorted());
        costs.push(cost);
    }
    assert!(costs.iter().all(|cost| *cost == costs[0]), "{costs:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn namespaces_come_by_name_at_the_same_cost_in_whatever_order_they_arrived() {
    let mut costs = Vec::new();
    let namespaces = asked_for("ARMADEX_TEST_NAMESPACES", 2000);
    for arrival in arrivals(namespaces) {
        let fixture = empty().await;
        let pods = fixture.pods_of("m").await;
        for part in arrival.chunks(100) {
            let objects = part.iter().map(|n| object(&format!("ns-{n:05}"), "p"));
            fixture.put(&pods, objects).await;
            let gone = part.iter().filter(|n| *n % 4 == 1);
            let gone = gone
                .map(|n| Change::Delete(armadex_model::ObjectKey::new(format!("ns-{n:05}"), "p")));
            fixture.write(&pods, gone).await.expect("written");
        }
        let (rows, cost) = cost_of_walk(&fixture, 100).await;
        assert_eq!(rows.len(), namespaces / 4 * 3);
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

/// Each of many clauses leads to most of a namespace: together they read no more than one page may hold, and a term that all of them have is read once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_clauses_about_most_of_a_namespace_share_what_one_may_read() {
    let tuning = Tuning {
        blocks: 64,
        probe: 4,
        rows: 100,
        ..Tuning::default()
    };
    let fixture = tuned(tuning).await;
    let pods = fixture.pods_of("m").await;
    let pod = |n: usize| {
        let pod = object("ns", &format!("p-{n:04}"));
        match n % 10 {
            0 => pod.label("app", "api"),
            _ => (0..32).fold(pod.label("app", "web"), |pod, key| {
                pod.label(&format!("key-{key}"), "x")
            }),
        }
    };
    fixture.put(&pods, (0..2000).map(pod)).await;
    let values = |n: usize| BTreeSet::from(["web".to_owned(), format!("x-{n}")]);
    let of = |key: String, operator| Requirement { key, operator };
    let app = |operator| of("app".to_owned(), operator);
    let not_web = (0..64).map(|n| app(Operator::NotIn(values(n))));
    let web = (0..64).map(|n| app(Operator::In(values(n))));
    let bare = (0..32).map(|n| of(format!("key-{n}"), Operator::DoesNotExist));
    for (what, labels, first, most) in [
        ("not web", Vec::from_iter(not_web), "p-0000", 200),
        ("web", Vec::from_iter(web), "p-0001", 400),
        ("without keys", Vec::from_iter(bare), "p-0000", 400),
    ] {
        let query = Query {
            labels,
            ..all_pods()
        };
        let found = page(&fixture, &query, &Start::Beginning, 5).await;
        let found = found.expect("a page");
        assert_eq!(found.rows.len(), 5, "{what}");
        assert_eq!(found.rows[0].key.name, first, "{what}");
        let looked_at = found.looked_at;
        assert!(looked_at <= most, "{what}: {looked_at} looked at");
    }
}

/// What the fleet has of a name or a label is nothing to one of three hundred clusters.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_about_one_cluster_looks_at_that_cluster() {
    let fixture = empty().await;
    for cluster in 0..300 {
        let pods = fixture.pods_of(&format!("m-{cluster:03}")).await;
        let pod = |n: usize| object("shop", &format!("web-{n}")).label("app", "web");
        fixture.put(&pods, (0..4).map(pod)).await;
    }
    let one = Query {
        clusters: NameFilter::only("m-123"),
        ..all_pods()
    };
    let named = Query {
        names: NameFilter::only("web-2"),
        ..one.clone()
    };
    let web = labelled("app", one.clone());
    let in_shop = Query {
        namespaces: NameFilter::only("shop"),
        ..web.clone()
    };
    let nobody = Query {
        labels: vec![
            Requirement::is_in("app", ["web"]),
            Requirement::is_in("app", ["api"]),
        ],
        ..one.clone()
    };
    for (what, query, rows) in [
        ("all", one, 4),
        ("a name", named.clone(), 1),
        ("a label", web.clone(), 4),
        ("a label in a namespace", in_shop, 4),
        ("a label, newest", ordered(&web, OrderField::CreatedAt), 4),
        ("a label by uid", ordered(&web, OrderField::Uid), 4),
        ("a name with a label", labelled("app", named.clone()), 1),
        ("a name by uid", ordered(&named, OrderField::Uid), 1),
        ("two labels, one of which nobody has", nobody, 0),
    ] {
        let found = page(&fixture, &query, &Start::Beginning, 100).await;
        let found = found.expect("a page");
        assert_eq!(found.rows.len(), rows, "{what}");
        assert!(
            found.looked_at <= 20,
            "{what}: {} looked at",
            found.looked_at
        );
        let before = found.looked_at;
        let (page, count) = counted(&fixture, &query).await;
        assert_eq!(count, Some(rows as u64), "{what}");
        // The count has a cost, which is part of what such a page costs.
        let counting = page.looked_at - before;
        assert!((1..=20).contains(&counting), "{what}: {counting} to count");
    }
}

/// By an order that no index has the database sorts a type as a whole, to give a part of it: not for one cluster of a large fleet.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_that_is_sorted_without_an_index_costs_what_it_has() {
    let tuning = Tuning {
        sorted: 2,
        most_sorted: 100,
        ..Tuning::default()
    };
    let fixture = tuned(tuning).await;
    for (cluster, count) in [("a", 400), ("b", 20)] {
        let pods = fixture.pods_of(cluster).await;
        // Those of the first cluster come first in any order.
        let pod = |n: usize| object("ns", &format!("p-{n:03}")).uid(&format!("{cluster}-{n:03}"));
        fixture.put(&pods, (0..count).map(pod)).await;
    }
    let of_b = Query {
        clusters: NameFilter::only("b"),
        ..by(OrderField::Uid, false)
    };
    let found = page(&fixture, &of_b, &Start::Beginning, 100).await;
    let found = found.expect("a page");
    assert_eq!((found.rows.len(), found.next.is_none()), (20, true));
    assert!(found.looked_at < 100, "{} looked at", found.looked_at);
}

/// What was looked at in vain to sort what matches is not looked at once more for the same page.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_could_not_be_fetched_to_be_sorted_is_not_fetched_again() {
    let tuning = Tuning {
        work: 300,
        probe: 4,
        sorted: 2000,
        refetched: 5000,
        ..Tuning::default()
    };
    let fixture = tuned(tuning).await;
    let pods = fixture.pods_of("m").await;
    let pod = |n: i64| object(&format!("ns-{:03}", n % 400), &format!("p-{n:04}")).created(n);
    let pod = |n: i64| match n {
        800.. => pod(n).label("app", "web"),
        _ => pod(n),
    };
    fixture.put(&pods, (0..1200).map(pod)).await;
    let values = (0..400).map(|n| format!("web-{n}"));
    let web = Query {
        labels: vec![
            Requirement::is_in("app", ["web"]),
            Requirement::is_in("app", values.chain(["web".to_owned()])),
        ],
        ..by(OrderField::CreatedAt, false)
    };
    let found = page(&fixture, &web, &Start::Beginning, 100).await;
    let looked_at = found.expect("a page").looked_at;
    // 6,300 and what one look is beyond; the second time would be 15,300.
    assert!(looked_at < 12_000, "{looked_at} looked at");
}

async fn counted(fixture: &Fixture, query: &Query) -> (Page, Option<u64>) {
    let budget = PageBudget {
        rows: 100,
        bytes: usize::MAX,
    };
    let counted = fixture
        .search
        .counted_page(query, &Start::Beginning, budget);
    counted.await.expect("a page")
}

/// A type of which one cluster of three hundred has an object is found without asking each of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_type_with_few_objects_is_not_looked_for_in_every_cluster() {
    let tuning = Tuning {
        probe: 80,
        ..Tuning::default()
    };
    let fixture = tuned(tuning).await;
    for cluster in 0..300 {
        let pods = fixture.pods_of(&format!("m-{cluster:03}")).await;
        if cluster == 250 {
            fixture.put(&pods, [object("ns", "p")]).await;
        }
    }
    for descending in [false, true] {
        let query = by(OrderField::Cluster, descending);
        let found = page(&fixture, &query, &Start::Beginning, 100).await;
        let found = found.expect("a page");
        assert_eq!(found.rows.len(), 1);
        assert!(found.next.is_none());
        assert!(found.looked_at < 30, "{} looked at", found.looked_at);
    }
}

/// An object may have a thousand labels, and a search five thousand values.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_labels_of_an_object_and_many_values_of_a_search_are_work() {
    let fixture = empty().await;
    for cluster in ["a", "b"] {
        let pods = fixture.pods_of(cluster).await;
        let pod = |n: usize| {
            let pod = object("ns", &format!("p-{n}"));
            (0..200).fold(pod, |pod, label| pod.label(&format!("key-{label}"), "x"))
        };
        fixture.put(&pods, (0..20).map(pod)).await;
    }
    let none_of = |n: usize| Requirement {
        key: format!("key-{n}"),
        operator: Operator::NotIn((0..70).map(|value| value.to_string()).collect()),
    };
    let query = Query {
        names: NameFilter::In((0..20).map(|n| format!("p-{n}")).collect()),
        labels: (0..64).map(none_of).collect(),
        ..all_pods()
    };
    let found = page(&fixture, &query, &Start::Beginning, 100).await;
    let found = found.expect("a page");
    assert_eq!(found.rows.len(), 40);
    // 64 times 70 numbers that are looked for among 400, and 64 of them are a row.
    assert!(found.looked_at > 40 * 70, "{} looked at", found.looked_at);
    let scope = Scope::Clusters([("a".to_owned(), NamespaceScope::All)].into());
    let mut types = query.types.clone();
    types[0].scope = scope;
    let of_a = Query { types, ..query };
    let looked_at = page(&fixture, &of_a, &Start::Beginning, 100)
        .await
        .expect("a page")
        .looked_at;
    assert!(
        looked_at < 20 * 80,
        "{looked_at} looked at: what may not be shown is tested too"
    );
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

/// What is not indexed costs a look at each object that carries the label, in pages of no more work than any other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_label_of_its_own_for_each_object_costs_two_rows_an_object() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let options = Options {
        label_sample: 1000,
        tuning: Tuning {
            work: 5000,
            ..Tuning::default()
        },
        ..Options::default()
    };
    let store = SqlStore::sqlite(&directory.path().join("store.db"), &options).await;
    let fixture = Fixture::of(&Arc::new(store.expect("a store"))).guarded(directory);
    let (a, b) = (fixture.pods_of("a").await, fixture.pods_of("b").await);
    for namespace in 0..100 {
        for (cluster, pods) in [("a", &a), ("b", &b)] {
            let pod = |n: usize| {
                let name = format!("p-{namespace:02}-{n:02}");
                let pod = object(&format!("ns-{namespace:02}"), &name);
                pod.label("id", &format!("{cluster}-{name}"))
            };
            fixture.put(pods, (0..40).map(pod)).await;
        }
    }
    let query = |operator| Query {
        labels: vec![Requirement {
            key: "id".into(),
            operator,
        }],
        ..all_pods()
    };
    let last = BTreeSet::from(["b-p-99-39".to_owned()]);
    let (mut rows, mut cost, mut start) = (0, 0, Start::Beginning);
    while rows == 0 {
        let page = page(&fixture, &query(Operator::In(last.clone())), &start, 10)
            .await
            .expect("a page");
        assert!(
            page.looked_at < 5000 + 4000,
            "{} in one page",
            page.looked_at
        );
        cost += page.looked_at;
        rows += page.rows.len();
        match page.next {
            Some(next) => start = Start::After(next),
            None => assert_eq!(rows, 1),
        }
    }
    assert!(
        cost < 8000 * 5 / 2,
        "{cost} for 8,000 objects with the label"
    );
    let others = query(Operator::NotIn(last));
    let page = page(&fixture, &others, &Start::Beginning, 100).await;
    let looked_at = page.expect("a page").looked_at;
    assert!(looked_at < 600, "{looked_at} for a page of all others");
}

/// A continuous integration that makes a thousand namespaces a day.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn namespaces_that_come_and_go_leave_nothing() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("store.db");
    let options = Options {
        // The log would name them for that long.
        watch_window: Duration::ZERO,
        ..Options::default()
    };
    let store = SqlStore::sqlite(&path, &options).await;
    let store = Arc::new(store.expect("a store"));
    let fixture = Fixture::of(&store);
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

/// Few among many: what an index leads to by chance is fetched instead, once a page shows how seldom that is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_index_seldom_leads_to_is_fetched_and_sorted() {
    let tuning = Tuning {
        work: 2000,
        sorted: 10,
        ..Tuning::default()
    };
    let fixture = tuned(tuning).await;
    let (mut expected, mut at) = (Vec::new(), 0);
    for cluster in 0..4 {
        let pods = fixture.pods_of(&format!("m{cluster}")).await;
        for part in 0..10 {
            let pod = |n: i64| {
                let pod = object("ns", &format!("p-{n:05}")).created(n * 7919 % 40_000);
                match n % 1000 {
                    0 => pod.label("rare", "yes"),
                    _ => pod,
                }
            };
            fixture.put(&pods, (at..at + 1000).map(pod)).await;
            expected.push((at * 7919 % 40_000, format!("m{cluster}/ns/p-{at:05}")));
            at += 1000;
            assert!(part < 10);
        }
    }
    expected.sort();
    let rare = labelled("rare", by(OrderField::CreatedAt, false));
    let found = page(&fixture, &rare, &Start::Beginning, 100).await;
    let found = found.expect("a page");
    let paths: Vec<String> = found
        .rows
        .iter()
        .map(armadex_storage::conformance::fixture::path)
        .collect();
    let expected: Vec<String> = expected.into_iter().map(|(_, path)| path).collect();
    assert_eq!(paths, expected);
    // The index is not walked as far as a page may before that is known.
    assert!(found.looked_at < 1500, "{} looked at", found.looked_at);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_than_may_be_sorted_is_refused_with_the_way_out() {
    let tuning = Tuning {
        work: 40,
        most_sorted: 100,
        sorted: 10,
        rows: 20,
        ties: 10,
        ..Tuning::default()
    };
    let fixture = tuned(tuning).await;
    let pods = fixture.pods_of("m").await;
    let pod = |n: usize| object(&format!("ns-{}", n % 2), &format!("p-{n:03}"));
    let pod = |n: usize| match n % 3 {
        0 => pod(n).label("third", "yes"),
        _ => pod(n),
    };
    fixture.put(&pods, (0..101).map(pod)).await;
    let refusal = async |query: &Query| match page(&fixture, query, &Start::Beginning, 10).await {
        Err(StoreError::Unsupported { what }) => Some(what),
        other => {
            other.expect("a page");
            None
        }
    };
    let refused = refusal(&by(OrderField::Uid, false)).await;
    let refused = refused.expect("101 objects are too many");
    assert!(refused.contains("100 objects by uid"), "{refused}");
    let third = labelled("third", by(OrderField::Uid, false));
    assert_eq!(refusal(&third).await, None);
    let two_keys = Query {
        order: [OrderField::CreatedAt, OrderField::Uid]
            .map(|field| OrderBy {
                field,
                descending: false,
            })
            .to_vec(),
        ..all_pods()
    };
    fixture.delete(&pods, "ns-0", &["p-000"]).await;
    assert_eq!(refusal(&by(OrderField::Uid, false)).await, None);
    // All of them have one version, so the database's order says nothing.
    assert_eq!(refusal(&by(OrderField::ResourceVersion, false)).await, None);
    assert_eq!(refusal(&two_keys).await, None);
    fixture.put(&pods, (101..141).map(pod)).await;
    let refused = refusal(&two_keys).await;
    let refused = refused.expect("140 objects of one second are too many");
    assert!(refused.contains("leave the other keys out"), "{refused}");
}

fn many(what: &str) -> BTreeSet<String> {
    let names = (0..4000).map(|n| format!("{what}-{n}"));
    names.collect()
}

/// What is looked for costs as much as what is found: namespaces and values that are nowhere end a page, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_looked_for_in_vain_is_work() {
    let fixture = empty().await;
    for cluster in 0..60 {
        let pods = fixture.pods_of(&format!("m-{cluster:02}")).await;
        let pods_of_it = (0..10).map(|n| object(&format!("ns-{n}"), "p").label("app", "web"));
        fixture.put(&pods, pods_of_it).await;
    }
    let nowhere = Query {
        namespaces: NameFilter::In(many("nowhere")),
        ..all_pods()
    };
    let values = Query {
        labels: vec![
            Requirement::is_in("app", ["web"]),
            Requirement::is_in("app", many("no").into_iter().chain(["web".into()])),
        ],
        ..all_pods()
    };
    let newest = Query {
        order: by(OrderField::CreatedAt, true).order,
        ..nowhere.clone()
    };
    // The newest are found along an index, which is soon at its end.
    for (query, rows, least) in [
        (nowhere, 0, 3),
        (values.clone(), 600, 10),
        (newest, 0, 1),
        (ordered(&values, OrderField::CreatedAt), 600, 1),
    ] {
        let (mut start, mut pages, mut found) = (Start::Beginning, 0, 0);
        loop {
            let page = page(&fixture, &query, &start, 1000).await.expect("a page");
            assert!(page.looked_at < 60_000, "{} looked at", page.looked_at);
            pages += 1;
            found += page.rows.len();
            match page.next {
                Some(next) => start = Start::After(next),
                None => break,
            }
        }
        assert_eq!(found, rows);
        assert!(pages >= least, "{pages} pages of {query:?}");
    }
    refuses_to_sort(&fixture, &values, LOOKED_FOR).await;
    let excluded = Query {
        labels: vec![Requirement {
            key: "app".into(),
            operator: Operator::NotIn(many("no")),
        }],
        ..all_pods()
    };
    refuses_to_sort(&fixture, &excluded, LOOKED_FOR).await;
    let too_many = Query {
        namespaces: NameFilter::In((0..16_001).map(|n| n.to_string()).collect()),
        ..all_pods()
    };
    let refused = page(&fixture, &too_many, &Start::Beginning, 1).await;
    assert!(
        matches!(refused, Err(StoreError::Unsupported { what }) if what.contains("namespaces"))
    );
}

/// A count that takes too much work is none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counting_ends_where_it_costs_too_much() {
    let tuning = Tuning {
        work: 30,
        probe: 20,
        ..Tuning::default()
    };
    let fixture = tuned(tuning).await;
    for cluster in 0..40 {
        let pods = fixture.pods_of(&format!("m-{cluster:02}")).await;
        let pods_of_it = (0..30).map(|n| object(&format!("ns-{n}"), "p").label("app", "web"));
        fixture.put(&pods, pods_of_it).await;
    }
    let web = Query {
        labels: vec![Requirement::is_in("app", ["web"])],
        ..all_pods()
    };
    assert_eq!(fixture.search.count(&web).await.expect("an answer"), None);
    let two = Query {
        clusters: NameFilter::In(BTreeSet::from(["m-07".into(), "m-30".into()])),
        ..web
    };
    let count = fixture.search.count(&two).await.expect("an answer");
    assert_eq!(count, Some(60));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_that_are_nowhere_are_work_in_every_namespace() {
    let fixture = empty().await;
    let pods = fixture.pods_of("m").await;
    let objects = (0..600).map(|n| object(&format!("ns-{n:03}"), "p"));
    fixture.put(&pods, objects).await;
    let nowhere = Query {
        names: NameFilter::In((0..4000).map(|n| format!("nowhere-{n}")).collect()),
        ..all_pods()
    };
    let (mut start, mut pages) = (Start::Beginning, 0);
    loop {
        let page = page(&fixture, &nowhere, &start, 100).await.expect("a page");
        assert!(page.rows.is_empty());
        assert!(page.looked_at < 30_000, "{} looked at", page.looked_at);
        pages += 1;
        match page.next {
            Some(next) => start = Start::After(next),
            None => break,
        }
    }
    // 600 times 4,000 names, a quarter of the cost of a row each, 20,000 a page.
    assert!(pages > 20, "{pages} pages");
    refuses_to_sort(&fixture, &nowhere, LOOKED_FOR).await;
    let oldest = ordered(&nowhere, OrderField::CreatedAt);
    let page = page(&fixture, &oldest, &Start::Beginning, 100).await;
    let page = page.expect("a page");
    assert!(page.rows.is_empty() && page.next.is_none());
    // All that there is, along the index of the order.
    assert!(page.looked_at < 10_000, "{} looked at", page.looked_at);
}

/// Objects of names that are not to be found are looked at, whether a page is asked for or how many there are.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_that_all_objects_have_and_none_may_have_are_work() {
    let fixture = empty().await;
    let pods = fixture.pods_of("m").await;
    for part in 0..6 {
        let places = part * 100..(part + 1) * 100;
        let objects = places.flat_map(|n| (0..50).map(move |p| (n, p)));
        let objects = objects.map(|(n, p)| object(&format!("ns-{n:03}"), &format!("p{p}")));
        fixture.put(&pods, objects).await;
    }
    let none = Query {
        names: NameFilter::NotIn((0..50).map(|p| format!("p{p}")).collect()),
        ..all_pods()
    };
    let (mut start, mut cost) = (Start::Beginning, 0);
    loop {
        let page = page(&fixture, &none, &start, 100).await.expect("a page");
        assert!(page.rows.is_empty());
        assert!(page.looked_at < 30_000, "{} looked at", page.looked_at);
        cost += page.looked_at;
        match page.next {
            Some(next) => start = Start::After(next),
            None => break,
        }
    }
    assert!(cost >= 30_000, "{cost} looked at of 30,000 objects");
}

/// What an order without an index costs is known before it is begun, or found out while it is looked for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sorting_ends_where_it_costs_too_much() {
    let tuning = Tuning {
        work: 300,
        probe: 4,
        most_sorted: 100,
        ..Tuning::default()
    };
    let fixture = tuned(tuning).await;
    let pods = fixture.pods_of("m").await;
    let labelled = |n: usize| object(&format!("ns-{n:02}"), "p").label("app", "web");
    fixture.put(&pods, (0..50).map(labelled)).await;
    let web = |values: usize| {
        let values = (0..values).map(|n| format!("web-{n}"));
        let values = values.chain(["web".to_owned()]);
        Query {
            labels: vec![
                Requirement::is_in("app", ["web"]),
                Requirement::is_in("app", values),
            ],
            ..all_pods()
        }
    };
    // The first clause has more blocks than are counted, so nothing says where the second is looked for.
    refuses_to_sort(&fixture, &web(400), "this search looks at too much").await;
    let few = ordered(&web(4), OrderField::Namespace);
    let found = page(&fixture, &few, &Start::Beginning, 100).await;
    assert_eq!(found.expect("a page").rows.len(), 50);
    let newest = ordered(&web(400), OrderField::CreatedAt);
    let found = page(&fixture, &newest, &Start::Beginning, 100).await;
    assert_eq!(found.expect("a page").rows.len(), 50);
}

fn ordered(query: &Query, field: OrderField) -> Query {
    Query {
        order: by(field, false).order,
        ..query.clone()
    }
}

const LOOKED_FOR: &str = "so many names or values cannot be looked for";

/// By an order that has no index this is no search for one page, for the reason that these words give.
#[track_caller]
fn refuses_to_sort(fixture: &Fixture, query: &Query, why: &str) -> impl Future<Output = ()> {
    let caller = Location::caller();
    async move {
        for field in [OrderField::Namespace, OrderField::Uid] {
            let query = ordered(query, field);
            match page(fixture, &query, &Start::Beginning, 1).await {
                Err(StoreError::Unsupported { what }) => {
                    assert!(what.contains(why), "{caller}: {what}");
                }
                other => panic!("{caller}: expected a refusal, got {other:?}"),
            }
        }
    }
}

/// One clause leads to three objects, another to more blocks than are read: the three are looked at, not their namespace.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn few_objects_of_a_large_namespace_are_tested_by_themselves() {
    let tuning = Tuning {
        blocks: 4,
        probe: 8,
        rows: 20,
        ..Tuning::default()
    };
    let fixture = tuned(tuning).await;
    let pods = fixture.pods_of("m").await;
    let pod = |n: usize| {
        let pod = object("ns", &format!("p-{n:04}")).label("job", &n.to_string());
        match n % 700 {
            0 => pod.label("rare", "yes"),
            _ => pod,
        }
    };
    fixture.put(&pods, (0..2000).map(pod)).await;
    let query = Query {
        labels: vec![
            Requirement::is_in("rare", ["yes"]),
            Requirement::is_in("job", (0..1000).map(|n| n.to_string())),
        ],
        ..all_pods()
    };
    let found = page(&fixture, &query, &Start::Beginning, 100).await;
    let found = found.expect("a page");
    assert_eq!(found.rows.len(), 2);
    assert!(found.looked_at < 600, "{} looked at", found.looked_at);
}

/// Whether an excluded label leaves anything of a large namespace is asked once, and not by each page of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_excludes_is_not_added_up_again_by_each_page() {
    let tuning = Tuning {
        blocks: 4,
        ..Tuning::default()
    };
    let fixture = tuned(tuning).await;
    let pods = fixture.pods_of("m").await;
    let pod = |n: usize| {
        let app = ["web", "db"][n % 2];
        object("ns", &format!("p-{n:05}")).label("app", app)
    };
    fixture.put(&pods, (0..8000).map(pod)).await;
    let query = Query {
        labels: vec![Requirement::is_not_in("app", ["web"])],
        ..all_pods()
    };
    let (mut costs, mut start) = (Vec::new(), Start::Beginning);
    while costs.len() < 3 {
        let found = page(&fixture, &query, &start, 20).await.expect("a page");
        assert_eq!(found.rows.len(), 20);
        costs.push(found.looked_at);
        start = Start::After(found.next.expect("there are more"));
    }
    assert!(costs[0] > costs[1], "{costs:?}");
    assert_eq!(costs[1], costs[2]);
}

/// Values that have many objects, none of which matches, share the budget of their page.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_values_of_many_objects_are_one_page_of_work() {
    let tuning = Tuning {
        ties: 2,
        work: 40,
        rows: 10,
        sorted: 2,
        refetched: 2,
        probe: 4,
        ..Tuning::default()
    };
    let fixture = tuned(tuning).await;
    let pods = fixture.pods_of("m").await;
    let pod = |n: i64| object(&format!("ns-{}", n % 3), &format!("p-{n:03}")).created(n / 5);
    let pod = |n: i64| pod(n).label("half", if n % 2 == 0 { "yes" } else { "no" });
    fixture.put(&pods, (0..250).map(pod)).await;
    let oldest = by(OrderField::CreatedAt, false);
    let neither = Query {
        labels: vec![
            Requirement::is_in("half", ["yes"]),
            Requirement::is_in("half", ["no"]),
        ],
        ..oldest
    };
    let found = page(&fixture, &neither, &Start::Beginning, 10).await;
    let found = found.expect("a page");
    assert!(found.next.is_some());
    assert!(found.looked_at < 200, "{} looked at", found.looked_at);
}

/// One name in each namespace, as `default` and `kube-root-ca.crt` have: a page that begins among them is full, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_begins_among_many_of_one_name_is_full() {
    let tuning = Tuning {
        ties: 100,
        work: 400,
        rows: 50,
        sorted: 10,
        refetched: 50,
        ..Tuning::default()
    };
    let fixture = tuned(tuning).await;
    for cluster in ["m0", "m1"] {
        let pods = fixture.pods_of(cluster).await;
        let pod = |n: usize| object(&format!("ns-{n:04}"), "default");
        fixture.put(&pods, (0..1000).map(pod)).await;
    }
    let named = by(OrderField::Name, false);
    let of_one = Query {
        clusters: NameFilter::only("m1"),
        ..named.clone()
    };
    for query in [named, of_one] {
        let mut start = Start::Beginning;
        for _ in 0..3 {
            let found = page(&fixture, &query, &start, 50).await.expect("a page");
            let Page {
                rows, looked_at, ..
            } = &found;
            assert_eq!(rows.len(), 50, "{looked_at} looked at");
            assert!(*looked_at < 1000, "{looked_at} looked at");
            start = Start::After(found.next.expect("more"));
        }
    }
}

/// Types before the one that a page begins in have no more objects of the name that it begins among: they take nothing of the page's work.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_begins_among_many_of_one_name_in_the_last_of_several_types_is_full() {
    let tuning = Tuning {
        ties: 100,
        work: 400,
        rows: 50,
        sorted: 10,
        refetched: 50,
        ..Tuning::default()
    };
    let fixture = tuned(tuning).await;
    let kinds = ["A", "B", "C"].map(|kind| {
        let plural = format!("{}s", kind.to_lowercase());
        resource("example.com", &plural, kind, true)
    });
    for kind in &kinds {
        let objects = fixture.writer("m", kind).await;
        let tied = |n: usize| object(&format!("ns-{n:03}"), "default");
        let other = |n: usize| object(&format!("ns-{n:03}"), &format!("other-{n:03}"));
        fixture.put(&objects, (0..500).map(tied)).await;
        fixture.put(&objects, (0..500).map(other)).await;
    }
    let searched = kinds.iter().map(|kind| Searched {
        resource: kind.gvr.clone(),
        scope: Scope::Everything,
    });
    let query = Query {
        types: searched.collect(),
        ..by(OrderField::Name, false)
    };
    let (mut pages, mut rows) = (0, 0);
    let (mut start, mut last) = (Start::Beginning, None);
    loop {
        let found = page(&fixture, &query, &start, 50).await.expect("a page");
        let looked_at = found.looked_at;
        assert!(looked_at < 1700, "page {pages}, {looked_at} looked at");
        // A page after the last object of a type has to find out that this one has no more.
        let begins_after_a_type = rows % 500 == 0;
        let is_full = found.rows.len() == 50 || found.next.is_none();
        assert!(
            is_full || begins_after_a_type,
            "page {pages}: {} rows after {last:?}",
            found.rows.len()
        );
        last = found.rows.last().map(fixture::path);
        (pages, rows) = (pages + 1, rows + found.rows.len());
        match found.next {
            Some(next) => start = Start::After(next),
            None => break,
        }
    }
    assert_eq!(rows, 3000);
    assert!(pages <= 65, "{pages} pages");
}

/// To know where a type has what matches takes some blocks of each clause, and a collection has any number of types.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_many_types_match_is_looked_at_within_the_budget_of_a_page() {
    let tuning = Tuning {
        probe: 16,
        work: 200,
        sorted: 50,
        refetched: 50,
        most_sorted: 200,
        ..Tuning::default()
    };
    let fixture = tuned(tuning).await;
    let kinds = Vec::from_iter((0..20).map(|number| {
        let plural = format!("kinds{number}");
        resource("example.com", &plural, &format!("Kind{number}"), true)
    }));
    let common = ["app", "tier", "zone"];
    for (number, kind) in kinds.iter().enumerate() {
        let objects = fixture.writer("m", kind).await;
        let labelled = |n: usize| {
            let unlabelled = object(&format!("ns-{n:02}"), &format!("o-{n:02}-{number}"));
            let labels = common.into_iter();
            labels.fold(unlabelled, |object, key| object.label(key, "x"))
        };
        fixture.put(&objects, (0..18).map(labelled)).await;
    }
    let searched = kinds.iter().map(|kind| Searched {
        resource: kind.gvr.clone(),
        scope: Scope::Everything,
    });
    let labels = common.into_iter().chain(["rare"]);
    let rare = Query {
        types: searched.collect(),
        labels: labels.map(|key| Requirement::is_in(key, ["x"])).collect(),
        ..all_pods()
    };
    let named = ordered(&rare, OrderField::Name);
    let found = page(&fixture, &named, &Start::Beginning, 50).await;
    // What the order leads to, and twice what is looked at to find out that it does.
    let looked_at = found.expect("a page").looked_at;
    assert!(looked_at < 2200, "{looked_at} looked at");
    refuses_to_sort(&fixture, &rare, "looks at too much").await;
}

/// As `kubectl describe` asks for the events of a pod: kind and namespace are those of many, and the uid is in no index.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_of_one_object_cost_what_its_name_leads_to() {
    let fixture = empty().await;
    let kind = resource("", "events", "Event", true);
    for cluster in ["m1", "m2"] {
        let events = fixture.writer(cluster, &kind).await;
        for part in 0..4 {
            let event = |n: usize| {
                let of = n / 2;
                object("shop", &format!("event-{n:04}"))
                    .field("involvedObject.kind", "Pod")
                    .field("involvedObject.namespace", "shop")
                    .field("involvedObject.name", &format!("pod-{of}"))
                    .own_field("involvedObject.uid", &format!("{cluster}-{of}"))
            };
            fixture
                .put(&events, (part * 500..(part + 1) * 500).map(event))
                .await;
        }
    }
    let field =
        |key: &str, value: &str| Requirement::is_in(format!("involvedObject.{key}"), [value]);
    let of = |fields: Vec<Requirement>| Query {
        fields,
        ..Query::all(kind.gvr.clone())
    };
    let all = vec![
        field("kind", "Pod"),
        field("namespace", "shop"),
        field("name", "pod-300"),
        field("uid", "m2-300"),
    ];
    let described = page(&fixture, &of(all), &Start::Beginning, 100).await;
    let described = described.expect("a page");
    assert_eq!(described.rows.len(), 2);
    assert!(
        described.looked_at < 200,
        "{} looked at",
        described.looked_at
    );
    // By the uid alone each event tells, and a page is at its end when it has looked at as much as it may.
    let by_uid = of(vec![field("uid", "m2-300")]);
    let found = page(&fixture, &by_uid, &Start::Beginning, 100).await;
    let found = found.expect("a page");
    assert_eq!(found.rows.len(), 2);
    assert!(found.looked_at < 3 * 4000, "{} looked at", found.looked_at);
}
