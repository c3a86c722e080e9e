//! What a page does beside the threads that serve. SQLite.

use armadex_model::NameFilter;
use armadex_model::label::{Operator, Requirement};
use armadex_storage::conformance::fixture::all_pods;
use armadex_storage::conformance::{Fixture, object};

use super::*;
use crate::aside::tests::HANDED_OVER;
use crate::options::Options;
use crate::read::Tuning;

/// 2,000 pods of one namespace, most of them with two labels and one with a hundred.
async fn store(directory: &tempfile::TempDir) -> Arc<SqlStore> {
    let tuning = Tuning {
        // Three blocks are many.
        blocks: 16,
        ..Tuning::default()
    };
    let options = Options {
        tuning,
        ..Options::default()
    };
    let store = SqlStore::sqlite(&directory.path().join("store.db"), &options).await;
    let store = Arc::new(store.expect("a store"));
    let fixture = Fixture::of(&store);
    let pods = fixture.pods_of("m").await;
    let pod = |n: usize| {
        let pod = object("ns", &format!("p-{n:04}")).label("app", "web");
        let pod = pod.label("odd", if n.is_multiple_of(2) { "no" } else { "yes" });
        match n {
            0 => (0..100).fold(pod, |pod, label| pod.label(&format!("key-{label}"), "x")),
            _ => pod,
        }
    };
    fixture.put(&pods, (0..2000).map(pod)).await;
    store
}

/// How often a page hands work over to another thread.
async fn handed_over(store: &SqlStore, query: &Query, rows: u32) -> usize {
    let before = HANDED_OVER.get();
    let budget = PageBudget {
        rows,
        bytes: usize::MAX,
    };
    let page = store.page(query, &Start::Beginning, budget).await;
    page.expect("a page");
    HANDED_OVER.get() - before
}

fn labelled(labels: Vec<Requirement>) -> Query {
    Query {
        labels,
        ..all_pods()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_takes_long_is_done_in_other_threads() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = store(&directory).await;
    let web = Requirement::is_in("app", ["web"]);
    let odd = Requirement::is_in("odd", ["yes"]);
    let none_of = |n: usize| Requirement {
        key: format!("key-{n}"),
        operator: Operator::NotIn((0..150).map(|value| value.to_string()).collect()),
    };
    let named = Query {
        names: NameFilter::only("p-0000"),
        ..labelled((0..60).map(none_of).collect())
    };
    for (what, query, rows, expected) in [
        ("one row", all_pods(), 1, 0),
        ("all bodies", all_pods(), 2000, 1),
        ("the blocks of a label", labelled(vec![web.clone()]), 1, 1),
        (
            "two labels and what they have in common",
            labelled(vec![web, odd]),
            1,
            2,
        ),
        ("a hundred labels and nine thousand values", named, 1, 1),
    ] {
        let handed_over = handed_over(&store, &query, rows).await;
        assert!(handed_over >= expected, "{what}: {handed_over}");
        assert!(expected > 0 || handed_over == 0, "{what}: {handed_over}");
    }
}
