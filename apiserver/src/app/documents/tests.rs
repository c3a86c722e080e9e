use serde_json::json;

use super::*;
use crate::request::negotiate::Notation;

const JSON: Written = Written {
    notation: Notation::Json,
    content_type: "application/json",
};

async fn ask(
    documents: &Documents,
    generation: u64,
    cluster: Option<&str>,
    path: &str,
    written: Written,
) -> Arc<Document> {
    let catalog = Catalog {
        generation,
        ..Catalog::default()
    };
    let cluster = cluster.map(|name| ClusterName::new(name).expect("a name"));
    let number = documents.built();
    let make = || Some(json!({"number": number}));
    let path = path.to_owned();
    let made = documents.of_view(&catalog, cluster.as_ref(), path, written, make);
    made.await.expect("a document")
}

#[tokio::test]
async fn each_state_of_the_catalog_each_view_each_path_and_each_form_has_its_document() {
    let documents = Documents::default();
    let yaml = Written {
        notation: Notation::Yaml,
        content_type: "application/yaml",
    };
    let mut before = Vec::new();
    for (generation, cluster, path, written) in [
        (1, None, "/api", JSON),
        (2, None, "/api", JSON),
        (2, Some("m1"), "/api", JSON),
        (2, Some("m2"), "/api", JSON),
        (2, None, "/apis", JSON),
        (2, None, "/api", yaml),
    ] {
        let made = ask(&documents, generation, cluster, path, written).await;
        let again = ask(&documents, generation, cluster, path, written).await;
        assert_eq!(made.bytes, again.bytes, "{generation} {cluster:?} {path}");
        assert!(
            !before.contains(&made.tag),
            "{generation} {cluster:?} {path}"
        );
        before.push(made.tag.clone());
        assert_eq!(documents.built(), before.len() as u64);
    }
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
