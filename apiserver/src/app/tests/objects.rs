//! One object at a time.

use super::*;
use crate::answer::aside::tests::HANDED_OVER;

const POD: &str = "resources/clusters/m1/api/v1/namespaces/x/pods/a";

#[tokio::test]
async fn an_object_is_served_as_it_is_stored() {
    let server = Server::open(fleet()).await;
    for path in [POD, "clusters/m1/proxy/api/v1/namespaces/x/pods/a"] {
        let object = server.get(path).await.json();
        assert_eq!(
            (&object["kind"], &object["apiVersion"]),
            (&json!("Pod"), &json!("v1"))
        );
        assert_eq!(object["metadata"]["resourceVersion"], "1001");
        assert_eq!(path_of(&object), "m1/x/a");
    }
    let node = server
        .get("resources/clusters/m1/api/v1/nodes/n1")
        .await
        .json();
    assert_eq!(path_of(&node), "m1//n1");
}

#[tokio::test]
async fn the_fleet_serves_no_single_object() {
    let answer = Server::open(fleet())
        .await
        .get("resources/api/v1/namespaces/x/pods/a")
        .await;
    assert_eq!(
        (answer.code, answer.message().as_str()),
        (
            400,
            "please specify the cluster name when using the resource name to get a specific resource."
        )
    );
}

#[tokio::test]
async fn a_missing_object_is_named() {
    let server = Server::open(fleet()).await;
    let answer = server
        .get("resources/clusters/m1/api/v1/namespaces/x/pods/none")
        .await;
    assert_eq!(answer.message(), "pods \"none\" not found");
    assert_eq!(
        answer.json()["details"],
        json!({"name": "none", "kind": "pods"})
    );
    let answer = server
        .get("resources/clusters/m1/apis/apps/v1/namespaces/x/deployments/none")
        .await;
    assert_eq!(answer.message(), "deployments.apps \"none\" not found");
}

#[tokio::test]
async fn an_object_lives_where_its_type_lives() {
    let server = Server::open(fleet()).await;
    for path in [
        "api/v1/pods/a",
        "api/v1/namespaces/x/nodes/n1",
        "api/v1/namespaces/x/services/s",
    ] {
        let answer = server.get(&format!("resources/clusters/m1/{path}")).await;
        assert_eq!(
            answer.message(),
            "the server could not find the requested resource",
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_subresource_is_not_served() {
    let answer = Server::open(fleet()).await.get(&format!("{POD}/log")).await;
    assert_eq!(
        (answer.code, answer.message().as_str()),
        (
            405,
            "subresource log of pods/v1 is not served: ask the member itself"
        )
    );
    assert_eq!(answer.header("allow"), [""]);
}

#[tokio::test]
async fn an_object_comes_as_a_table_and_as_metadata() {
    let server = Server::open(fleet()).await;
    let table = server.get_as(POD, TABLE).await.json();
    assert_eq!(table["rows"].as_array().map(Vec::len), Some(1));
    let cells = table["rows"][0]["cells"].as_array().expect("cells");
    assert_eq!(cells[..2], [json!("m1"), json!("a")]);
    assert_eq!(table["metadata"]["resourceVersion"], "1001");
    let accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    let metadata = server.get_as(POD, accept).await.json();
    assert_eq!(metadata["kind"], "PartialObjectMetadata");
    assert!(metadata.get("spec").is_none());
    assert_eq!(
        server
            .get_as(POD, "application/vnd.kubernetes.protobuf")
            .await
            .code,
        406
    );
}

/// What takes milliseconds keeps nobody else waiting.
#[tokio::test]
async fn a_large_object_is_made_aside() {
    let large = json!({"spec": {"containers": []}, "status": {"message": "x".repeat(100_000)}});
    let fleet = fleet().object("m1", &pods(), "x", "large", large);
    let server = Server::open(fleet).await;
    for (name, handed_over) in [("a", 0), ("large", 1)] {
        let before = HANDED_OVER.get();
        let path = format!("resources/clusters/m1/api/v1/namespaces/x/pods/{name}");
        assert_eq!(server.get_as(&path, TABLE).await.code, 200);
        assert_eq!(HANDED_OVER.get() - before, handed_over, "{name}");
    }
}

#[tokio::test]
async fn a_get_is_reviewed_as_a_get() {
    let outer = "alice get resources/clusters/m1";
    let server = Server::new(fleet(), [outer, "alice get pods in x"]).await;
    assert_eq!(server.get(POD).await.code, 200);
    assert_eq!(
        server
            .get("resources/clusters/m1/api/v1/namespaces/y/pods/c")
            .await
            .code,
        403
    );
    let server = Server::new(fleet(), [outer, "alice list pods in *"]).await;
    assert_eq!(server.get(POD).await.code, 403);
}

#[tokio::test]
async fn who_may_not_get_an_object_does_not_learn_whether_it_exists() {
    let server = Server::new(fleet(), ["alice get resources/clusters/m1"]).await;
    let there = server.get(POD).await;
    let missing = server
        .get("resources/clusters/m1/api/v1/namespaces/x/pods/none")
        .await;
    assert_eq!((there.code, missing.code), (403, 403));
    assert_eq!(
        there.message().replace("\"a\"", "_"),
        missing.message().replace("\"none\"", "_")
    );
}

#[tokio::test]
async fn a_namespace_that_is_not_stored_exists_if_it_has_rows() {
    let server = Server::open(fleet()).await;
    let namespace = server
        .get("resources/clusters/m1/api/v1/namespaces/x")
        .await
        .json();
    assert_eq!(
        (&namespace["kind"], path_of(&namespace)),
        (&json!("Namespace"), "m1//x".to_owned())
    );
    // Whichever of its types has rows there.
    assert_eq!(server.store.namespaces.load(Ordering::Relaxed), 1);
    let answer = server
        .get("resources/clusters/m1/api/v1/namespaces/z")
        .await;
    assert_eq!(answer.message(), "namespaces \"z\" not found");
}

#[tokio::test]
async fn a_namespace_that_is_stored_is_not_made_up() {
    let namespaces = resource("", "v1", "namespaces", "Namespace", false);
    let server = Server::open(fleet().object(
        "m1",
        &namespaces,
        "",
        "y",
        json!({"status": {"phase": "Active"}}),
    ))
    .await;
    assert_eq!(
        server
            .get("resources/clusters/m1/api/v1/namespaces/y")
            .await
            .json()["status"]["phase"],
        "Active"
    );
    let answer = server
        .get("resources/clusters/m1/api/v1/namespaces/x")
        .await;
    assert_eq!(answer.message(), "namespaces \"x\" not found");
}

#[tokio::test]
async fn an_object_of_a_cluster_that_does_not_answer_comes_with_a_warning() {
    let answer = Server::open(fleet())
        .await
        .get("resources/clusters/m2/api/v1/namespaces/z/pods/d")
        .await;
    assert_eq!(answer.code, 200);
    assert_eq!(answer.header("warning").len(), 1);
}

#[tokio::test]
async fn a_get_takes_its_own_parameters_only() {
    let server = Server::open(fleet()).await;
    assert!(
        server
            .get(&format!("{POD}?pretty=1"))
            .await
            .text()
            .starts_with("{\n  \"apiVersion\"")
    );
    let answer = server.get(&format!("{POD}?labelSelector=a&shiny=1")).await;
    assert_eq!(path_of(&answer.json()), "m1/x/a");
    assert_eq!(
        answer.header("warning"),
        [
            r#"299 - "query parameters without effect here are ignored: \"labelSelector\", \"shiny\"""#
        ]
    );
    assert_eq!(
        server.get(&format!("{POD}?cluster=m2")).await.message(),
        "unknown query parameter \"cluster\": did you mean clusters?"
    );
}

#[tokio::test]
async fn an_object_is_not_older_than_the_version_that_is_asked_for() {
    let server = Server::open(fleet()).await;
    for (query, code) in [
        ("resourceVersion=", 200),
        ("resourceVersion=0", 200),
        // The store's.
        ("resourceVersion=1", 200),
        // The object's own version, which is the member's.
        ("resourceVersion=1001", 200),
        ("resourceVersion=1002", 504),
        ("resourceVersion=first", 400),
    ] {
        let answer = server.get(&format!("{POD}?{query}")).await;
        assert_eq!(answer.code, code, "{query}");
    }
    let missing = "resources/clusters/m1/api/v1/namespaces/x/pods/none";
    let now = server.store.revision().await;
    let reached = server
        .get(&format!("{missing}?resourceVersion={now}"))
        .await;
    assert_eq!(reached.code, 404);
    let next = now + 1;
    let early = server
        .get(&format!("{missing}?resourceVersion={next}"))
        .await;
    assert_eq!(
        (early.code, early.message()),
        (
            504,
            format!("Timeout: Too large resource version: {next}, current: {now}")
        )
    );
    assert_eq!(early.header("retry-after"), ["1"]);
    assert_eq!(
        early.json()["details"]["causes"],
        json!([{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}])
    );
}

/// Its version was the member's, which no revision of the store ever reaches.
#[tokio::test]
async fn an_object_that_is_gone_is_missing_at_the_version_that_it_had() {
    let server = Server::open(fleet()).await;
    // The object that was stored last.
    const POD: &str = "resources/clusters/m2/api/v1/namespaces/z/pods/d";
    server.store.write().await;
    let code_at = async |version: u64| {
        let asked = format!("{POD}?resourceVersion={version}");
        server.get(&asked).await.code
    };
    assert!(server.store.revision().await < 9000);
    assert_eq!([code_at(9000).await, code_at(9001).await], [200, 504]);
    server.store.reach("9010").await;
    assert_eq!(
        [code_at(9010).await, code_at(9011).await],
        [200, 504],
        "it did not change, and the stream says up to where"
    );
    server.store.delete("9020").await;
    assert_eq!(
        [code_at(9000).await, code_at(9020).await],
        [404, 404],
        "it was there, and is gone"
    );
    assert_eq!(code_at(9021).await, 504, "it may be there again by then");
}
