use serde_json::json;

use super::*;
use crate::request::negotiate::Notation;

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
    let made = documents.of_view(catalog, cluster, path.to_owned(), written, make);
    made.await.expect("a document")
}

fn cluster(types: &Arc<BTreeSet<GroupVersionResource>>) -> ClusterEntry {
    ClusterEntry {
        health: None,
        version: None,
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

#[tokio::test]
async fn clusters_of_the_same_types_share_a_document_whatever_else_changes() {
    let documents = Documents::default();
    let catalog = Catalog::default();
    let types = Arc::default();
    let (one, other) = (cluster(&types), cluster(&types));
    let joined = Catalog {
        types: Arc::clone(&catalog.types),
        ..Catalog::default()
    };
    for view in [
        (&catalog, Some(&one)),
        (&catalog, Some(&other)),
        (&joined, Some(&one)),
    ] {
        ask(&documents, view, "/apis", JSON).await;
    }
    assert_eq!(documents.built(), 1);
}

#[tokio::test]
async fn what_is_not_there_is_not_kept() {
    let documents = Documents::default();
    let catalog = Catalog::default();
    for found in [None, Some(json!({}))] {
        let is_there = found.is_some();
        let made = documents.of_view(&catalog, None, "/api".to_owned(), JSON, || found);
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
