//! What the host is asked, and which of its answers grant anything.

use serde_json::{Value, json};

use super::*;
use crate::testing::{Posted, host};

fn reviews(code: u16, answer: Value) -> (KubeReviews, Posted) {
    let (client, posted) = host(move |_| {
        let answer = answer.clone();
        async move { (code, answer) }
    });
    (KubeReviews::new(client, Arc::default()), posted)
}

fn alice() -> Identity {
    Identity {
        user: "alice".to_owned(),
        ..Identity::default()
    }
}

fn version() -> Attributes {
    Attributes::Path("/version".to_owned())
}

/// The specification that is posted.
async fn asked(who: &Identity, what: &Attributes) -> Value {
    let (reviews, posted) = reviews(201, json!({"status": {"allowed": true}}));
    reviews.review(who, what).await.expect("an answer");
    let posted = posted.lock().expect("no panic");
    let [(path, review)] = posted.as_slice() else {
        panic!("not one question: {posted:?}");
    };
    assert_eq!(path, "/apis/authorization.k8s.io/v1/subjectaccessreviews");
    assert_eq!(review["kind"], "SubjectAccessReview");
    assert_eq!(review["apiVersion"], "authorization.k8s.io/v1");
    review["spec"].clone()
}

#[tokio::test]
async fn all_that_is_known_of_a_caller_is_told() {
    let known = Identity {
        user: "bob".to_owned(),
        uid: "u-1".to_owned(),
        groups: vec!["dev".to_owned(), "system:authenticated".to_owned()],
        extra: [(
            "scopes".to_owned(),
            vec!["narrow".to_owned(), "safe".to_owned()],
        )]
        .into(),
    };
    let path = json!({"path": "/version", "verb": "get"});
    for (who, expected) in [
        (
            alice(),
            json!({"user": "alice", "groups": [], "nonResourceAttributes": path}),
        ),
        (
            known,
            json!({
                "user": "bob", "uid": "u-1", "groups": ["dev", "system:authenticated"],
                "extra": {"scopes": ["narrow", "safe"]}, "nonResourceAttributes": path,
            }),
        ),
    ] {
        assert_eq!(asked(&who, &version()).await, expected);
    }
}

#[tokio::test]
async fn a_question_about_objects_is_told_with_all_its_parts() {
    let question = |parts: [&str; 6]| {
        let [group, version, resource, subresource, namespace, name] = parts.map(str::to_owned);
        Attributes::Resource {
            verb: "list",
            group,
            version,
            resource,
            subresource,
            namespace,
            name,
        }
    };
    for (parts, expected) in [
        (
            ["apps", "v1", "deployments", "status", "x", "web"],
            json!({
                "verb": "list", "group": "apps", "version": "v1", "resource": "deployments",
                "subresource": "status", "namespace": "x", "name": "web",
            }),
        ),
        (
            ["", "v1", "pods", "", "", ""],
            json!({"verb": "list", "version": "v1", "resource": "pods"}),
        ),
    ] {
        let spec = asked(&alice(), &question(parts)).await;
        assert_eq!(spec["resourceAttributes"], expected);
        assert_eq!(spec.get("nonResourceAttributes"), None);
    }
}

#[tokio::test]
async fn only_a_clear_yes_grants() {
    for (status, expected) in [
        (json!({"allowed": true}), Decision::Allowed),
        (json!({"allowed": false}), Decision::Denied),
        (
            json!({"allowed": false, "reason": "allowed"}),
            Decision::Denied,
        ),
        // An authoriser that says both is broken; a kube-apiserver takes it for a no.
        (json!({"allowed": true, "denied": true}), Decision::Denied),
        (Value::Null, Decision::Denied),
    ] {
        let (reviews, _) = reviews(201, json!({"status": status}));
        let decision = reviews.review(&alice(), &version()).await;
        assert_eq!(decision.expect("an answer"), expected, "{status}");
    }
}

#[tokio::test]
async fn an_answer_that_is_none_decides_nothing() {
    let yes = json!({"status": {"allowed": true}});
    let failure = json!({"kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "no"});
    for (code, answer) in [
        (403, failure),
        (500, yes.clone()),
        (403, yes),
        (201, json!("yes")),
        (201, json!({"status": {"allowed": "yes"}})),
    ] {
        let (reviews, _) = reviews(code, answer.clone());
        let decision = reviews.review(&alice(), &version()).await;
        assert!(decision.is_err(), "{code} {answer}");
    }
}
