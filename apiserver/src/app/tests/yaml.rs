//! `Accept: application/yaml`: everything that is served, read back and compared with the JSON.

use super::*;

const PODS: &str = "resources/api/v1/pods";
const POD: &str = "resources/clusters/m1/api/v1/namespaces/x/pods/a";
const METADATA: &str = "as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
const AGGREGATED: &str = "g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

fn read(answer: &Answer) -> Value {
    serde_saphyr::from_str(answer.text())
        .unwrap_or_else(|error| panic!("{error}: {}", answer.text()))
}

/// Asks for the same in JSON and in YAML.
async fn check(server: &Server, path: &str, form: &str) {
    let accept = |notation: &str| format!("application/{notation};{form}");
    let json = server.get_as(path, &accept("json")).await;
    let yaml = server.get_as(path, &accept("yaml")).await;
    assert_eq!(yaml.code, json.code, "{path}");
    assert_eq!(read(&yaml), json.json(), "{path} {form}");
    let content_type = |answer: &Answer| answer.header("content-type").concat();
    assert_eq!(
        content_type(&yaml),
        content_type(&json).replace("json", "yaml"),
        "{path}"
    );
    assert!(!yaml.text().starts_with('{'), "{path}: {}", yaml.text());
}

#[tokio::test]
async fn objects_lists_tables_and_documents_come_in_yaml() {
    let server = Server::open(fleet()).await;
    for path in [PODS, POD] {
        check(&server, path, "").await;
        check(&server, path, "as=Table;v=v1;g=meta.k8s.io").await;
    }
    check(&server, PODS, METADATA).await;
    check(
        &server,
        &format!("{PODS}?limit=2&withRemainingCount=true"),
        "",
    )
    .await;
    for path in ["resources/api", "resources/api/v1", "resources/version"] {
        check(&server, path, "").await;
    }
    check(&server, "resources/api", AGGREGATED).await;
}

#[tokio::test]
async fn refusals_come_in_yaml() {
    let server = Server::open(fleet()).await;
    for path in [
        &format!("{PODS}?limit=x"),
        &format!("{POD}-missing"),
        "nowhere",
    ] {
        check(&server, path, "").await;
    }
    let answer = server.get_as(PODS, "application/yaml;as=Nonsense").await;
    assert_eq!((answer.code, &read(&answer)["code"]), (406, &json!(406)));
}

#[tokio::test]
async fn a_list_in_yaml_is_a_sequence_of_blocks() {
    let server = Server::open(fleet()).await;
    let answer = server.get_as(PODS, "application/yaml").await;
    let start = "kind: PodList\napiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata:\n    resourceVersion: \"";
    assert!(answer.text().starts_with(start), "{}", answer.text());
}
