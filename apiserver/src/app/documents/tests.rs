use std::sync::mpsc;

use armadex_model::ClusterLabels;
use armadex_storage::{Health, Search as _};
use serde_json::json;

use super::*;
use crate::answer::aside::tests::HANDED_OVER;
use crate::request::negotiate::Notation;
use crate::testing::{Contents, Watched, resource};

const JSON: Written = Written {
    notation: Notation::Json,
    content_type: "application/json",
};

async fn ask(
    documents: &Documents,
    (catalog, cluster): (&Catalog, Option<&ClusterEntry>),
    path: &str,
    written: Written,
) -> Arc<Document> {
    let number = documents.built();
    let make = || Some(json!({"number": number}));
    let listed = catalog.types.len();
    let made = documents.of_view((catalog, cluster), path.to_owned(), written, (listed, make));
    made.await.expect("a document")
}

fn cluster(types: &Arc<BTreeSet<Arc<GroupVersionResource>>>) -> ClusterEntry {
    ClusterEntry {
        health: None,
        version: None,
        labels: ClusterLabels::default(),
        resources: Arc::clone(types),
    }
}

#[tokio::test]
async fn each_set_of_types_each_path_and_each_form_has_its_document() {
    let documents = Documents::default();
    let yaml = Written {
        notation: Notation::Yaml,
        content_type: "application/yaml",
    };
    let (before, now) = (Catalog::default(), Catalog::default());
    let sets = [Arc::default(), Arc::default()];
    let (one, another) = (cluster(&sets[0]), cluster(&sets[1]));
    let mut tags = Vec::new();
    for (view, path, written) in [
        ((&before, None), "/api", JSON),
        ((&now, None), "/api", JSON),
        ((&now, Some(&one)), "/api", JSON),
        ((&now, Some(&another)), "/api", JSON),
        ((&now, None), "/apis", JSON),
        ((&now, None), "/api", yaml),
    ] {
        let made = ask(&documents, view, path, written).await;
        let again = ask(&documents, view, path, written).await;
        assert_eq!(made.bytes, again.bytes, "{path}");
        assert!(!tags.contains(&made.tag), "{path}");
        tags.push(made.tag.clone());
        assert_eq!(documents.built(), tags.len() as u64);
    }
}

/// A thousand types take ten milliseconds and more, which others would wait for.
#[tokio::test]
async fn a_document_of_many_types_is_made_aside() {
    let catalog = |types: usize| {
        let described = |number| {
            let one = resource("", "v1", &format!("kinds{number}"), "Kind", true);
            (one.gvr.clone(), Arc::new(one))
        };
        Catalog {
            types: Arc::new((0..types).map(described).collect()),
            ..Catalog::default()
        }
    };
    for (types, handed_over) in [(10, 0), (1000, 1)] {
        let (documents, catalog) = (Documents::default(), catalog(types));
        let before = HANDED_OVER.get();
        for _ in 0..2 {
            ask(&documents, (&catalog, None), "/apis", JSON).await;
        }
        assert_eq!(HANDED_OVER.get() - before, handed_over, "{types}");
    }
}

/// It would be begun anew for the next one, who may leave as well.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_large_document_is_there_also_where_who_asked_for_it_has_left() {
    const MANY: usize = 1000;
    let documents = Arc::new(Documents::default());
    let catalog = Arc::new(Catalog::default());
    let (begins, begun) = mpsc::channel();
    let (ends, ended) = mpsc::channel();
    let asker = tokio::spawn({
        let (documents, catalog) = (Arc::clone(&documents), Arc::clone(&catalog));
        async move {
            let make = move || {
                begins.send(()).expect("it is waited for");
                let told = ended.recv_timeout(Duration::from_secs(60));
                told.is_ok().then(|| json!({}))
            };
            let view = (&*catalog, None);
            let made = documents.of_view(view, "/apis".to_owned(), JSON, (MANY, make));
            made.await.is_some()
        }
    });
    let leaving = tokio::task::spawn_blocking(move || {
        let is_begun = begun.recv_timeout(Duration::from_secs(60)).is_ok();
        asker.abort();
        ends.send(()).expect("it is waited for");
        is_begun
    });
    assert!(leaving.await.expect("no panic"));
    // It waits for whoever makes it, and would make another one.
    let there = ask(&documents, (&catalog, None), "/apis", JSON).await;
    assert_eq!(there.bytes.trim_ascii(), b"{}");
    assert_eq!(documents.built(), 1);
}

/// Each of these clusters is asked about, as the store sees it now.
async fn ask_all(documents: &Documents, store: &Watched, clusters: &[&str]) {
    let catalog = store.catalog().await.expect("a catalogue");
    for name in clusters {
        let mut entries = catalog.clusters.iter();
        let found = entries.find(|(one, _)| one.as_str() == *name);
        let (_, entry) = found.expect("it has joined");
        ask(documents, (&catalog, Some(entry)), "/apis", JSON).await;
    }
}

#[tokio::test]
async fn clusters_of_the_same_types_share_a_document_until_the_fleet_has_another_type() {
    let documents = Documents::default();
    let pods = resource("", "v1", "pods", "Pod", true);
    let contents = Contents::new().cluster("m1", "v1.36.1", "");
    let contents = contents.cluster("m2", "v1.36.1", "NotReachable");
    let contents = contents.synced("m1", &pods).synced("m2", &pods);
    let store = contents.store().await;
    ask_all(&documents, &store, &["m1", "m2"]).await;
    assert_eq!(documents.built(), 1);

    store.open("m3", &pods).await;
    let failing = Health {
        healthy: false,
        reason: "NotReachable".to_owned(),
    };
    store.set_health("m1", &failing).await;
    ask_all(&documents, &store, &["m1", "m2", "m3"]).await;
    assert_eq!(documents.built(), 1);

    let nodes = resource("", "v1", "nodes", "Node", false);
    store.open("m3", &nodes).await;
    ask_all(&documents, &store, &["m1", "m2", "m1"]).await;
    assert_eq!(documents.built(), 2);
    ask_all(&documents, &store, &["m3"]).await;
    assert_eq!(documents.built(), 3);
}

#[tokio::test]
async fn what_is_not_there_is_not_kept() {
    let documents = Documents::default();
    let catalog = Catalog::default();
    for found in [None, Some(json!({}))] {
        let is_there = found.is_some();
        let made = documents.of_view((&catalog, None), "/api".to_owned(), JSON, (0, || found));
        assert_eq!(made.await.is_some(), is_there);
    }
}

#[tokio::test]
async fn types_that_are_there_no_more_are_held_by_no_document() {
    let documents = Documents::default();
    let mut gone = Vec::new();
    for _ in 0..100 {
        let catalog = Catalog::default();
        ask(&documents, (&catalog, None), "/apis", JSON).await;
        gone.push(Arc::downgrade(&catalog.types));
    }
    gone.retain(|types| types.strong_count() > 0);
    assert_eq!(gone.len(), 0, "sets of types are held");
    documents.kept.run_pending_tasks().await;
    assert_eq!(documents.kept.entry_count(), 100);
}
