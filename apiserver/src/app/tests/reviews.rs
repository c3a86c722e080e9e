//! Reviews that callers ask about themselves.

use super::*;

const VIEWS: [&str; 4] = [
    "fleets/all/proxy",
    "clusters/m1/proxy",
    "resources",
    "resources/clusters/m1",
];

/// Alice may see the fleet and m1, list pods in x, and get nodes.
const RULES: [&str; 8] = [
    "alice create fleets/all/proxy",
    "alice get fleets/all/proxy",
    "alice create clusters/m1/proxy",
    "alice get clusters/m1/proxy",
    "alice list pods in x",
    "alice get nodes in ",
    "alice impersonate users in *",
    "bob create fleets/all/proxy",
];

impl Server {
    /// Posts a review below a view as alice.
    async fn post(&self, view: &str, kind: &str, spec: Value) -> Answer {
        self.post_with(&[("authorization", "Bearer alice")], view, kind, spec)
            .await
    }

    async fn post_with(
        &self,
        headers: &[(&str, &str)],
        view: &str,
        kind: &str,
        spec: Value,
    ) -> Answer {
        let group = match kind {
            "SelfSubjectReview" => "authentication.k8s.io",
            _ => "authorization.k8s.io",
        };
        let resource = format!("{}s", kind.to_lowercase());
        let uri = format!("{BASE}/{view}/apis/{group}/v1/{resource}");
        let body = json!({"kind": kind, "apiVersion": format!("{group}/v1"), "spec": spec});
        self.send("POST", &uri, headers, body.to_string()).await
    }

    /// What `kubectl auth can-i` prints.
    async fn can_i(&self, view: &str, attributes: Value) -> String {
        let spec = json!({"resourceAttributes": attributes});
        let answer = self.post(view, "SelfSubjectAccessReview", spec).await;
        assert_eq!(answer.code, 201, "{}", answer.text());
        let status = answer.json()["status"].clone();
        match (status["allowed"].as_bool(), status["reason"].as_str()) {
            (Some(true), None) => "yes".to_owned(),
            (Some(false), None) => "no".to_owned(),
            (Some(false), Some(reason)) => format!("no - {reason}"),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn who_asks_whether_they_may_is_told_what_a_request_would_be() {
    let server = Server::new(fleet(), RULES);
    for view in ["fleets/all/proxy", "clusters/m1/proxy"] {
        for (attributes, expected) in [
            (
                json!({"verb": "list", "resource": "pods", "namespace": "x"}),
                "yes",
            ),
            (
                json!({"verb": "list", "resource": "pods", "namespace": "y"}),
                "no",
            ),
            (json!({"verb": "list", "resource": "pods"}), "no"),
            // kubectl sends the context's namespace, whatever the type.
            (
                json!({"verb": "get", "resource": "nodes", "namespace": "default", "name": "n1"}),
                "yes",
            ),
            (
                json!({"verb": "delete", "resource": "pods", "namespace": "x"}),
                "no - the server only reads",
            ),
            (
                json!({"verb": "*", "resource": "*", "group": "*"}),
                "no - the server only reads",
            ),
            (
                json!({"verb": "watch", "resource": "pods", "namespace": "x"}),
                "no - watch is not served",
            ),
            (
                json!({"verb": "get", "resource": "pods", "subresource": "log"}),
                "no - subresources are not served: ask the member itself",
            ),
            (
                json!({"verb": "create", "group": "authorization.k8s.io", "resource": "selfsubjectaccessreviews"}),
                "yes",
            ),
        ] {
            let answer = server.can_i(view, attributes.clone()).await;
            assert_eq!(answer, expected, "{view}: {attributes}");
        }
    }
}

#[tokio::test]
async fn who_may_not_look_at_a_view_may_nothing_below_it() {
    let rules = ["alice create fleets/all/proxy", "alice list pods in *"];
    let server = Server::new(fleet(), rules);
    let attributes = json!({"verb": "list", "resource": "pods"});
    assert_eq!(
        server.can_i("fleets/all/proxy", attributes.clone()).await,
        "no"
    );
    let spec = json!({"resourceAttributes": attributes});
    let outside = server
        .post("clusters/m1/proxy", "SelfSubjectAccessReview", spec)
        .await;
    assert_eq!(outside.code, 403);
    assert!(
        outside
            .message()
            .contains("cannot create resource \"clusters/proxy\""),
        "{}",
        outside.message()
    );
}

#[tokio::test]
async fn a_path_is_reviewed_as_the_view_serves_it() {
    let server = Server::new(fleet(), RULES);
    for (verb, path, expected) in [
        ("get", "/version", json!({"allowed": true})),
        ("get", "/apis/apps/", json!({"allowed": true})),
        (
            "get",
            "/metrics",
            json!({"allowed": false, "reason": "this path is not served"}),
        ),
        (
            "post",
            "/version",
            json!({"allowed": false, "reason": "the server only reads"}),
        ),
    ] {
        let spec = json!({"nonResourceAttributes": {"verb": verb, "path": path}});
        let answer = server
            .post("fleets/all/proxy", "SelfSubjectAccessReview", spec)
            .await;
        assert_eq!(answer.json()["status"], expected, "{verb} {path}");
    }
}

#[tokio::test]
async fn rules_are_found_type_by_type_and_say_that_they_may_be_incomplete() {
    let server = Server::new(fleet(), RULES);
    let spec = json!({"namespace": "x"});
    let answer = server
        .post("fleets/all/proxy", "SelfSubjectRulesReview", spec)
        .await;
    assert_eq!(answer.code, 201);
    let status = answer.json()["status"].clone();
    assert_eq!(status["incomplete"], true);
    assert!(
        status["evaluationError"]
            .as_str()
            .is_some_and(|text| text.contains("type by type"))
    );
    let rules = status["resourceRules"].as_array().expect("rules");
    assert_eq!(
        rules[3..],
        [
            json!({"verbs": ["get"], "apiGroups": [""], "resources": ["nodes"]}),
            json!({"verbs": ["list"], "apiGroups": [""], "resources": ["pods"]}),
        ]
    );
    assert_eq!(rules[0]["resources"], json!(["selfsubjectaccessreviews"]));
    let paths = &status["nonResourceRules"][0]["nonResourceURLs"];
    assert_eq!(paths.as_array().map(Vec::len), Some(7));
    let nowhere = server
        .post("fleets/all/proxy", "SelfSubjectRulesReview", json!({}))
        .await;
    assert_eq!(
        (nowhere.code, nowhere.message().as_str()),
        (400, "no namespace on request")
    );
}

#[tokio::test]
async fn who_may_everything_has_one_complete_rule() {
    let server = Server::open(fleet());
    for view in VIEWS {
        let spec = json!({"namespace": "x"});
        let answer = server.post(view, "SelfSubjectRulesReview", spec).await;
        let status = answer.json()["status"].clone();
        assert_eq!(status["incomplete"], false, "{view}");
        assert_eq!(
            status["resourceRules"][3],
            json!({"verbs": ["get", "list"], "apiGroups": ["*"], "resources": ["*"]}),
            "{view}"
        );
    }
}

#[tokio::test]
async fn who_asks_who_they_are_is_told_as_whom_they_act() {
    let server = Server::new(fleet(), RULES);
    let view = "fleets/all/proxy";
    let answer = server.post(view, "SelfSubjectReview", json!({})).await;
    assert_eq!(answer.code, 201);
    let review = answer.json();
    assert_eq!(review["apiVersion"], "authentication.k8s.io/v1");
    assert_eq!(
        review["metadata"]["creationTimestamp"],
        "2026-03-01T12:00:00Z"
    );
    assert_eq!(
        review["status"]["userInfo"],
        json!({"username": "alice", "groups": ["system:authenticated"]})
    );
    let as_bob = [
        ("authorization", "Bearer alice"),
        ("impersonate-user", "bob"),
    ];
    let answer = server
        .post_with(&as_bob, view, "SelfSubjectReview", json!({}))
        .await;
    assert_eq!(answer.json()["status"]["userInfo"]["username"], "bob");
}

#[tokio::test]
async fn what_is_no_review_is_refused() {
    let server = Server::open(fleet());
    let uri =
        format!("{BASE}/fleets/all/proxy/apis/authorization.k8s.io/v1/selfsubjectaccessreviews");
    let alice = ("authorization", "Bearer alice");
    let post = async |body: &str| {
        let answer = server.send("POST", &uri, &[alice], body.to_owned()).await;
        (answer.code, answer.message())
    };
    assert_eq!(post("").await.0, 400);
    assert_eq!(
        post(r#"{"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1"}"#).await,
        (
            400,
            "the body is not a SelfSubjectAccessReview of authorization.k8s.io/v1".to_owned()
        )
    );
    let both = r#"{"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "spec": {}}"#;
    assert_eq!(post(both).await.0, 400);
    assert_eq!(post(&" ".repeat(20_000)).await.0, 413);
    for (content_type, code) in [
        ("application/vnd.kubernetes.protobuf", 400),
        ("application/cbor", 415),
    ] {
        let headers = [alice, ("content-type", content_type)];
        let answer = server.send("POST", &uri, &headers, String::new()).await;
        assert_eq!(answer.code, code, "{content_type}");
    }
    assert_eq!(server.ask("GET", &uri, &[alice]).await.code, 405);
    let nobody = server.send("POST", &uri, &[], String::new()).await;
    assert_eq!(nobody.code, 401);
}

#[tokio::test]
async fn everything_else_that_would_change_something_is_refused_first() {
    let server = Server::open(fleet());
    for (method, path) in [
        ("POST", "fleets/all/proxy/api/v1/namespaces/x/pods"),
        (
            "POST",
            "fleets/all/proxy/apis/authorization.k8s.io/v1/subjectaccessreviews",
        ),
        (
            "POST",
            "fleets/all/proxy/apis/authorization.k8s.io/v1beta1/selfsubjectaccessreviews",
        ),
        (
            "PUT",
            "fleets/all/proxy/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        ),
        (
            "DELETE",
            "fleets/all/proxy/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        ),
        ("DELETE", "clusters/m1/proxy/api/v1/namespaces/x/pods/a"),
    ] {
        // Nobody is asked who they are.
        let answer = server
            .send(method, &format!("{BASE}/{path}"), &[], String::new())
            .await;
        assert_eq!(answer.code, 405, "{method} {path}");
    }
}
