//! Discovery against a scripted API server.

use std::sync::{Arc, Mutex};

use http::{Request, Response};
use kube::client::Body;
use serde_json::{Value, json};

use super::*;

/// Answers by path; anything else is a 404. Records what was asked.
fn server(answers: &[(&'static str, u16, Value)]) -> (Client, Arc<Mutex<Vec<String>>>) {
    let answers = answers.to_vec();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = asked.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let path = request.uri().path().to_owned();
        let found = answers.iter().find(|(known, ..)| *known == path);
        let (code, body) =
            found.map_or((404, failure(404)), |(_, code, body)| (*code, body.clone()));
        log.lock().unwrap().push(path);
        async move {
            let body = Body::from(serde_json::to_vec(&body).unwrap());
            Ok::<_, std::convert::Infallible>(Response::builder().status(code).body(body).unwrap())
        }
    });
    (Client::new(service, "default"), asked)
}

fn failure(code: u16) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
           "message": "no answer from the API behind this one", "reason": "x"})
}

fn group() -> Value {
    let version =
        |name: &str| json!({"groupVersion": format!("cluster.karmada.io/{name}"), "version": name});
    json!({"kind": "APIGroup", "apiVersion": "v1", "name": "cluster.karmada.io",
           "versions": [version("v1beta1"), version("v1alpha1")],
           "preferredVersion": version("v1alpha1")})
}

fn clusters(verbs: &[&str]) -> Value {
    json!({"kind": "APIResourceList", "groupVersion": "x", "resources": [
        {"name": "clusters/status", "singularName": "", "namespaced": false, "kind": "Cluster", "verbs": ["get"]},
        {"name": "clusters", "singularName": "", "namespaced": false, "kind": "Cluster", "verbs": verbs},
    ]})
}

const ALL: &[&str] = &["get", "list", "watch"];

async fn version(client: &Client, wanted: &[&str]) -> Result<String, String> {
    let wanted: Vec<String> = wanted.iter().map(ToString::to_string).collect();
    let served = resolve(client, "cluster.karmada.io", "clusters", &wanted).await;
    served
        .map(|served| served.gvr.version)
        .map_err(|error| error.to_string())
}

#[tokio::test]
async fn the_preferred_version_wins_unless_others_are_wanted() {
    let (client, asked) = server(&[
        ("/apis/cluster.karmada.io", 200, group()),
        ("/apis/cluster.karmada.io/v1alpha1", 200, clusters(ALL)),
        ("/apis/cluster.karmada.io/v1beta1", 200, clusters(ALL)),
    ]);
    assert_eq!(version(&client, &[]).await, Ok("v1alpha1".into()));
    assert_eq!(version(&client, &["v1beta1"]).await, Ok("v1beta1".into()));
    assert_eq!(
        version(&client, &["v2"]).await.unwrap_err(),
        "the control plane serves clusters.cluster.karmada.io as v1alpha1, v1beta1, \
         and the policy allows v2"
    );
    assert!(
        asked
            .lock()
            .unwrap()
            .iter()
            .all(|path| path.starts_with("/apis/cluster.karmada.io"))
    );
}

#[tokio::test]
async fn what_is_missing_is_told_from_what_is_down() {
    let (nothing, _) = server(&[]);
    assert_eq!(
        version(&nothing, &[]).await.unwrap_err(),
        "the control plane does not serve clusters.cluster.karmada.io"
    );
    let (down, _) = server(&[
        ("/apis/cluster.karmada.io", 200, group()),
        ("/apis/cluster.karmada.io/v1alpha1", 503, failure(503)),
        ("/apis/cluster.karmada.io/v1beta1", 200, clusters(ALL)),
    ]);
    assert_eq!(
        version(&down, &[]).await.unwrap_err(),
        "discovery of clusters.cluster.karmada.io: no answer from the API behind this one"
    );
    let (mute, _) = server(&[
        ("/apis/cluster.karmada.io", 200, group()),
        (
            "/apis/cluster.karmada.io/v1alpha1",
            200,
            clusters(&["get", "list"]),
        ),
    ]);
    assert_eq!(
        version(&mute, &[]).await.unwrap_err(),
        "clusters.cluster.karmada.io can't be listed and watched"
    );
}

#[tokio::test]
async fn names_that_would_leave_their_path_are_not_asked_for() {
    let (client, asked) = server(&[]);
    for (group, resource) in [
        ("../../x", "clusters"),
        ("", "pods?x=1"),
        ("a.b", "Pods"),
        ("", ""),
    ] {
        assert!(matches!(
            resolve(&client, group, resource, &[]).await,
            Err(ResolveError::NotServed(_))
        ));
    }
    assert!(asked.lock().unwrap().is_empty());
}
