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
    let server = Server::new(fleet(), RULES).await;
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

const NAME_A_CLUSTER: &str =
    "no - please specify the cluster name when using the resource name to get a specific resource.";

#[tokio::test]
async fn a_single_object_can_be_had_where_a_get_is_served() {
    let rules = RULES
        .into_iter()
        .chain(["alice get namespaces in x", "alice get pods in x"]);
    let server = Server::new(fleet(), rules).await;
    for (attributes, expected) in [
        // kubectl sends the context's namespace, whatever the type.
        (
            json!({"verb": "get", "resource": "nodes", "namespace": "default", "name": "n1"}),
            "yes",
        ),
        (
            json!({"verb": "get", "resource": "namespaces", "namespace": "default", "name": "x"}),
            "yes",
        ),
        (
            json!({"verb": "get", "resource": "namespaces", "namespace": "x", "name": "y"}),
            "no",
        ),
        (
            json!({"verb": "get", "resource": "pods", "namespace": "x"}),
            "yes",
        ),
        (json!({"verb": "get", "resource": "pods"}), "no"),
    ] {
        let (cluster, fleet) = ("clusters/m1/proxy", "fleets/all/proxy");
        let answer = server.can_i(cluster, attributes.clone()).await;
        assert_eq!(answer, expected, "{attributes}");
        let answer = server.can_i(fleet, attributes.clone()).await;
        assert_eq!(answer, NAME_A_CLUSTER, "{attributes}");
    }
}

const NOT_THERE: &str = "no - the server could not find the requested resource";

#[tokio::test]
async fn what_a_view_lacks_is_not_to_be_had() {
    let server = Server::open(fleet()).await;
    let list = |group: &str, version: &str, resource: &str| json!({"verb": "list", "group": group, "version": version, "resource": resource, "namespace": "x"});
    for (view, attributes, expected) in [
        ("clusters/m1/proxy", list("apps", "", "deployments"), "yes"),
        ("clusters/m1/proxy", list("apps", "*", "deployments"), "yes"),
        (
            "clusters/m1/proxy",
            list("apps", "v2", "deployments"),
            NOT_THERE,
        ),
        (
            "clusters/m2/proxy",
            list("apps", "", "deployments"),
            NOT_THERE,
        ),
        ("resources", list("", "", "services"), NOT_THERE),
        ("resources", list("", "v1", "pods"), "yes"),
    ] {
        let answer = server.can_i(view, attributes.clone()).await;
        assert_eq!(answer, expected, "{view}: {attributes}");
    }
}

/// What a review says and what the request itself is told: never yes and 403, or no and 200.
#[tokio::test]
async fn a_review_and_the_request_agree() {
    let rules = [
        "alice create resources/apis/authorization.k8s.io",
        "alice create resources/clusters/m1",
        "alice create clusters/m1/proxy",
        "alice get resources/api/v1",
        "alice get resources/clusters/m1",
        "alice list pods in *",
        "alice list namespaces in ",
        "alice get namespaces in x",
        "alice get pods in y",
        "alice list deployments.apps in *",
    ];
    let server = Server::new(fleet(), rules).await;
    let views = ["resources", "resources/clusters/m1", "clusters/m1/proxy"];
    let mut seen = std::collections::BTreeSet::new();
    for view in views {
        for (group, resource) in [
            ("", "pods"),
            ("", "nodes"),
            ("", "namespaces"),
            ("", "services"),
            ("apps", "deployments"),
        ] {
            let root = match group {
                "" => "api/v1".to_owned(),
                group => format!("apis/{group}/v1"),
            };
            for (verb, namespace, name) in [
                ("list", "", ""),
                ("list", "x", ""),
                ("get", "x", "a"),
                ("get", "y", "c"),
                ("get", "", "x"),
            ] {
                let place = match namespace {
                    "" => String::new(),
                    namespace => format!("namespaces/{namespace}/"),
                };
                let path = format!("{view}/{root}/{place}{resource}/{name}");
                let request = server.get(path.trim_end_matches('/')).await;
                let attributes = json!({"verb": verb, "group": group, "resource": resource, "namespace": namespace, "name": name});
                let said = server.can_i(view, attributes).await;
                let (served, allowed) = (request.code == 200, said == "yes");
                let namespaced = matches!(resource, "pods" | "services" | "deployments");
                let is_elsewhere = match verb {
                    "get" => namespaced == namespace.is_empty(),
                    _ => !namespaced && !namespace.is_empty(),
                };
                // A name or a namespace that is not there, and one that kubectl adds to what has none, are no matter of rights.
                assert!(
                    served == allowed || (allowed && request.code == 404) || is_elsewhere,
                    "{verb} {path}: {} and {said}",
                    request.code
                );
                seen.insert((served, allowed));
            }
        }
    }
    assert!(seen.contains(&(true, true)) && seen.contains(&(false, false)));
}

#[tokio::test]
async fn all_types_take_what_each_of_them_takes() {
    let everything = json!({"verb": "list", "group": "*", "resource": "*"});
    let inner = "alice list *.* in *";
    let outer = [
        "alice get resources/api/v1",
        "alice get resources/apis/apps",
    ];
    let post = "alice create resources/apis/authorization.k8s.io";
    for (rules, expected) in [
        (vec![post, inner, outer[0], outer[1]], "yes"),
        (vec![post, inner, outer[1]], "no"),
        (vec![post, inner, outer[0]], "no"),
        (vec![post, outer[0], outer[1]], "no"),
    ] {
        let server = Server::new(fleet(), rules.clone()).await;
        let answer = server.can_i("resources", everything.clone()).await;
        assert_eq!(answer, expected, "{rules:?}");
        let spec = json!({"namespace": "x"});
        let answer = server
            .post("resources", "SelfSubjectRulesReview", spec)
            .await
            .json();
        let is_complete = answer["status"]["incomplete"] == false;
        assert_eq!(is_complete, expected == "yes", "{rules:?}");
    }
}

#[tokio::test]
async fn another_review_is_reviewed_as_its_path_is() {
    let rules = ["alice create resources/apis/authorization.k8s.io"];
    let server = Server::new(fleet(), rules).await;
    for (group, resource, version, expected) in [
        (
            "authorization.k8s.io",
            "selfsubjectrulesreviews",
            "v1",
            "yes",
        ),
        (
            "authorization.k8s.io",
            "selfsubjectrulesreviews",
            "v1beta1",
            "no - the server only reads",
        ),
        ("authentication.k8s.io", "selfsubjectreviews", "", "no"),
    ] {
        let attributes =
            json!({"verb": "create", "group": group, "version": version, "resource": resource});
        let answer = server.can_i("resources", attributes).await;
        assert_eq!(answer, expected, "{resource} {version}");
    }
}

#[tokio::test]
async fn who_may_not_look_at_a_view_may_nothing_below_it() {
    let rules = ["alice create fleets/all/proxy", "alice list pods in *"];
    let server = Server::new(fleet(), rules).await;
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
    let server = Server::new(fleet(), RULES).await;
    for (verb, path, expected) in [
        ("get", "/version", json!({"allowed": true})),
        ("get", "/apis/apps", json!({"allowed": true})),
        (
            "get",
            "/apis/authorization.k8s.io/v1",
            json!({"allowed": true}),
        ),
        ("get", "/apis/apps/", json!({"allowed": true})),
        (
            "get",
            "/apis/apps/v2",
            json!({"allowed": false, "reason": "this path is not served"}),
        ),
        (
            "get",
            "/apis/apps/v1/deployments",
            json!({"allowed": false, "reason": "this path is not served"}),
        ),
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
    let server = Server::new(fleet(), RULES).await;
    let spec = json!({"namespace": "x"});
    let answer = server
        .post("clusters/m1/proxy", "SelfSubjectRulesReview", spec)
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
    let server = Server::open(fleet()).await;
    let one = json!(["get", "list"]);
    let all = json!(["list"]);
    for (view, verbs) in VIEWS.into_iter().zip([&all, &one, &all, &one]) {
        let spec = json!({"namespace": "x"});
        let answer = server.post(view, "SelfSubjectRulesReview", spec).await;
        let status = answer.json()["status"].clone();
        assert_eq!(status["incomplete"], false, "{view}");
        assert_eq!(
            status["resourceRules"][3],
            json!({"verbs": verbs, "apiGroups": ["*"], "resources": ["*"]}),
            "{view}"
        );
    }
}

#[tokio::test]
async fn a_type_of_several_versions_has_one_rule() {
    let versions = ["v1", "v1beta1", "v2"];
    let autoscalers = versions.map(|version| {
        let name = "horizontalpodautoscalers";
        resource(
            "autoscaling",
            version,
            name,
            "HorizontalPodAutoscaler",
            true,
        )
    });
    let scales = versions.map(|version| resource("autoscaling", version, "scales", "Scale", true));
    let contents = (autoscalers.iter().chain(&scales))
        .fold(fleet(), |contents, one| contents.synced("m1", one));
    let rules = [
        "alice create clusters/m1/proxy",
        "alice get clusters/m1/proxy",
        "alice list horizontalpodautoscalers.autoscaling in x",
        "alice list scales.autoscaling in x",
    ];
    let spec = json!({"namespace": "x"});
    let answer = Server::new(contents, rules)
        .await
        .post("clusters/m1/proxy", "SelfSubjectRulesReview", spec)
        .await;
    let status = answer.json()["status"].clone();
    let rules = status["resourceRules"].as_array().expect("rules");
    let resources: Vec<&Value> = rules[3..].iter().map(|one| &one["resources"][0]).collect();
    assert_eq!(resources, ["horizontalpodautoscalers", "scales"]);
}

#[tokio::test]
async fn who_asks_who_they_are_is_told_as_whom_they_act() {
    let server = Server::new(fleet(), RULES).await;
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
async fn what_a_review_is_about_is_given_back_as_it_was_written() {
    let server = Server::open(fleet()).await;
    let uri = format!("{BASE}/resources/apis/authorization.k8s.io/v1/selfsubjectrulesreviews");
    let post = async |spec: &str, accept| {
        let body = format!(
            r#"{{"spec": {spec}, "kind": "SelfSubjectRulesReview", "apiVersion": "authorization.k8s.io/v1"}}"#
        );
        let headers = [("authorization", "Bearer alice"), ("accept", accept)];
        server.send("POST", &uri, &headers, body).await
    };
    let spec = r#"{ "z" : 1E2, "": [[], {}],
        "namespace": "x\u0020" }"#;
    let answer = post(spec, "application/json").await;
    assert_eq!(answer.code, 201);
    let before = r#"{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectRulesReview","metadata":{},"spec":"#;
    let after = answer.text().strip_prefix(before).expect("it is in order");
    let status = after.strip_prefix(spec).expect("it is as it was");
    assert!(status.starts_with(r#","status":{"#), "{status}");
    let answer = post(spec, "application/yaml").await;
    let read: Value = serde_saphyr::from_str(answer.text()).expect("YAML");
    assert_eq!(read["spec"]["namespace"], "x ");
    let nothing = post("null", "application/json").await;
    assert_eq!(nothing.message(), "no namespace on request");
}

#[tokio::test]
async fn what_is_no_review_is_refused() {
    let server = Server::open(fleet()).await;
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
    for method in ["GET", "PUT"] {
        let answer = server.ask(method, &uri, &[alice]).await;
        assert_eq!((answer.code, answer.header("allow")), (405, vec!["POST"]));
    }
    let nobody = server.send("POST", &uri, &[], String::new()).await;
    assert_eq!(nobody.code, 401);
}

#[tokio::test]
async fn everything_else_that_would_change_something_is_refused_first() {
    let server = Server::open(fleet()).await;
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
