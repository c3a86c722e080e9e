//! A control plane that takes every write of a PediaCluster, and has nothing else.

use std::convert::Infallible;

use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::json;

/// Answers on what is asked for, and keeps nothing.
#[derive(Clone, Default)]
pub(crate) struct ControlPlane;

impl ControlPlane {
    pub(crate) fn client(&self) -> Client {
        let service =
            tower::service_fn(|request| async move { Ok::<_, Infallible>(answer(&request)) });
        Client::new(service, "default")
    }
}

fn answer(request: &Request<Body>) -> Response<Body> {
    let (code, answer) = if request.uri().path().contains("/pediaclusters/") {
        let object = json!({"apiVersion": "cluster.clusterpedia.io/v1alpha2", "kind": "PediaCluster",
            "metadata": {"name": "any"}, "spec": {"syncResources": []}});
        (200, object)
    } else {
        let status = json!({"kind": "Status", "status": "Failure", "code": 404,
            "reason": "NotFound", "message": "no such path"});
        (404, status)
    };
    let body = Body::from(answer.to_string().into_bytes());
    let answer = Response::builder().status(code).body(body);
    answer.expect("an answer")
}
