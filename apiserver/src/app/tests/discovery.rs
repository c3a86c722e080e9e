//! Discovery, versions and the documents for the aggregator.

use super::*;
use crate::answer::aside::tests::HANDED_OVER;
use crate::app::context::OWN_VERSION;
use crate::discovery::LOOKED_AT;

const V2: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

#[tokio::test]
async fn a_view_has_the_types_that_are_stored_of_it() {
    let server = Server::open(fleet()).await;
    let names = async |path: &str| {
        let list = server.get(path).await.json();
        let entries = list["resources"].as_array().expect("resources").clone();
        entries
            .iter()
            .map(|one| one["name"].as_str().expect("a name").to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names("resources/api/v1").await, ["nodes", "pods"]);
    assert_eq!(names("resources/clusters/m2/api/v1").await, ["pods"]);
    assert_eq!(
        names("clusters/m1/proxy/apis/apps/v1").await,
        ["deployments"]
    );
    assert_eq!(
        server.get("resources/api").await.json()["versions"],
        json!(["v1"])
    );
    assert_eq!(
        server.get("resources/apis/apps").await.json()["kind"],
        "APIGroup"
    );
    for path in [
        "resources/apis/none",
        "resources/clusters/m2/apis/apps",
        "resources/clusters/m2/apis/apps/v1",
    ] {
        assert_eq!(server.get(path).await.code, 404, "{path}");
    }
    assert_eq!(
        server.get("resources/clusters/m9/api").await.json()["reason"],
        "NotFound"
    );
}

#[tokio::test]
async fn aggregated_discovery_has_its_own_content_type_and_a_tag() {
    let server = Server::open(fleet()).await;
    let accept = format!("{V2},application/json");
    for (path, items) in [
        ("resources/api", 1),
        ("resources/apis", 3),
        ("resources/clusters/m2/apis", 2),
    ] {
        let answer = server.get_as(path, &accept).await;
        assert_eq!(answer.header("content-type"), [V2], "{path}");
        assert_eq!(
            answer.json()["items"].as_array().map(Vec::len),
            Some(items),
            "{path}"
        );
        let tag = answer.header("etag")[0].to_owned();
        let uri = format!("{BASE}/{path}");
        let again = [
            ("authorization", "Bearer alice"),
            ("accept", accept.as_str()),
            ("if-none-match", tag.as_str()),
        ];
        let again = server.ask("GET", &uri, &again).await;
        assert_eq!((again.code, again.text()), (304, ""), "{path}");
    }
    let plain = server.get("resources/apis").await;
    assert_eq!(plain.header("content-type"), ["application/json"]);
    assert_eq!(plain.json()["kind"], "APIGroupList");
    assert_eq!(
        server
            .get_as("resources/apis", "application/vnd.kubernetes.protobuf")
            .await
            .code,
        406
    );
}

#[tokio::test]
async fn a_version_is_the_members_own_and_for_the_fleet_the_highest() {
    let server = Server::open(fleet()).await;
    let version = async |path: &str| server.get(path).await.json()["gitVersion"].clone();
    assert_eq!(version("resources/clusters/m2/version").await, "v1.35.0");
    assert_eq!(version("resources/version?timeout=5s").await, "v1.36.1");
    assert_eq!(
        Server::open(Contents::new())
            .await
            .get("resources/version")
            .await
            .json()["gitVersion"],
        OWN_VERSION
    );
    assert_eq!(
        server.get("resources/clusters/m1/readyz").await.text(),
        "ok"
    );
}

/// Beside a Clusterpedia that is used, whose group the control plane sends elsewhere.
#[tokio::test]
async fn in_another_group_the_same_is_served_and_in_the_usual_one_nothing() {
    const GROUP: &str = "trial.example.com";
    let usual = Server::open(fleet()).await;
    let trial = Server::open(fleet()).await.in_group(GROUP);
    let ask = async |server: &Server, path: &str, accept: &str| {
        let headers = [("authorization", "Bearer alice"), ("accept", accept)];
        server.ask("GET", path, &headers).await
    };
    let json = "application/json";
    for path in [
        "resources/api/v1/pods",
        "resources/clusters/m1/apis/apps/v1",
        "fleets/all/proxy/apis",
        "clusters/m1/proxy/version",
    ] {
        let here = ask(&trial, &format!("/apis/{GROUP}/v1beta1/{path}"), json).await;
        assert_eq!(here.code, 200, "{path}");
        assert_eq!(here.body, usual.get(path).await.body, "{path}");
        assert_eq!(trial.get(path).await.code, 404, "{path}");
    }
    let groups = ask(&trial, "/apis", json).await.json();
    assert_eq!(groups["groups"][0]["name"], GROUP);
    let groups = ask(&trial, "/apis", V2).await.json();
    assert_eq!(groups["items"][0]["metadata"]["name"], GROUP);
    let version = format!("{GROUP}/v1beta1");
    let own = ask(&trial, &format!("/apis/{version}"), json).await.json();
    assert_eq!(own["groupVersion"], version);
    let index = ask(&trial, "/openapi/v3", json).await.json();
    let url = &index["paths"][format!("apis/{version}")]["serverRelativeURL"];
    let url = url.as_str().expect("a URL");
    assert_eq!(ask(&trial, url, json).await.json()["openapi"], "3.0.0");
}

#[tokio::test]
async fn the_server_describes_its_own_group() {
    let server = Server::open(fleet()).await;
    let ask = async |path: &str, accept: &str| {
        let headers = [("authorization", "Bearer alice"), ("accept", accept)];
        server.ask("GET", path, &headers).await
    };
    let json = "application/json";
    assert_eq!(ask("/apis", json).await.json()["kind"], "APIGroupList");
    assert_eq!(
        ask("/apis", V2).await.json()["items"][0]["metadata"]["name"],
        "clusterpedia.io"
    );
    assert_eq!(
        ask("/apis/clusterpedia.io", json).await.json()["kind"],
        "APIGroup"
    );
    assert_eq!(
        ask(BASE, json).await.json()["groupVersion"],
        "clusterpedia.io/v1beta1"
    );
    assert_eq!(
        ask("/version", "*/*").await.json()["gitVersion"],
        OWN_VERSION
    );
    assert_eq!(ask("/openapi/v2", json).await.json()["swagger"], "2.0");
    let index = ask("/openapi/v3", json).await.json();
    let url = index["paths"]["apis/clusterpedia.io/v1beta1"]["serverRelativeURL"]
        .as_str()
        .expect("a URL")
        .to_owned();
    assert_eq!(ask(&url, json).await.json()["openapi"], "3.0.0");
    assert_eq!(
        ask(
            "/openapi/v2",
            "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
        )
        .await
        .code,
        406
    );
}

#[tokio::test]
async fn collections_say_that_they_are_not_served_yet() {
    let server = Server::open(fleet()).await;
    for path in ["collectionresources", "collectionresources/any?groups=apps"] {
        let answer = server.get(path).await;
        assert_eq!(answer.code, 405, "{path}");
        assert!(answer.message().contains("not served yet"), "{path}");
    }
}

/// Whatever else the fleet has: what is said of a few types looks at these and takes nobody's time.
#[tokio::test]
async fn a_document_takes_a_turn_where_it_tells_of_many_types() {
    let mut contents = Contents::new().cluster("m1", "v1.36.1", "");
    for (group, version, types) in [
        ("many.example", "v1", 40),
        ("few.example", "v1", 2),
        ("few.example", "v2", 1),
    ] {
        for number in 0..types {
            let one = resource(group, version, &format!("kinds{number}"), "Kind", true);
            contents = contents.synced("m1", &one);
        }
    }
    let server = Server::open(contents).await;
    for (path, code, handed_over, tells) in [
        ("resources/apis/many.example", 200, 1, 40),
        ("resources/apis/many.example/v1", 200, 1, 40),
        ("resources/apis/many.example/v2", 404, 0, 0),
        ("resources/apis", 200, 1, 46),
        ("resources/apis/few.example", 200, 0, 3),
        ("resources/apis/few.example/v1", 200, 0, 2),
        ("resources/apis/none.example", 404, 0, 0),
        ("resources/api/v1", 200, 0, 0),
        ("resources/version", 200, 0, 0),
    ] {
        // Once to count them and once to choose them, both with the first that is not one of them, once to sort them, and the three reviews.
        let most = 3 * tells + 5;
        let before = (HANDED_OVER.get(), LOOKED_AT.get());
        assert_eq!(server.get(path).await.code, code, "{path}");
        assert_eq!(HANDED_OVER.get() - before.0, handed_over, "{path}");
        assert!(LOOKED_AT.get() - before.1 <= most, "{path}");
    }
}

#[tokio::test]
async fn a_document_is_made_once_for_each_view_and_form() {
    let server = Server::open(fleet()).await;
    let documents = || server.app.context.documents.built();
    let accept = format!("{V2},application/json");
    for _ in 0..5 {
        for path in ["resources/apis", "fleets/all/proxy/apis"] {
            assert_eq!(server.get_as(path, &accept).await.code, 200);
        }
    }
    assert_eq!(documents(), 1, "the fleet's, under both of its paths");
    for _ in 0..5 {
        server.get_as("clusters/m1/proxy/apis", &accept).await;
        server.get("resources/apis").await;
        server.get("resources/apis/apps/v1").await;
    }
    assert_eq!(documents(), 4);
    for number in 0..100 {
        let answer = server.get(&format!("resources/apis/junk{number}")).await;
        assert_eq!(answer.code, 404);
    }
    assert_eq!(documents(), 4, "what is not there is not kept");
}
