//! A control plane that takes every write of a PediaCluster and remembers it.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

/// What was asked of it, and in which words.
#[derive(Clone, Default)]
pub(crate) struct ControlPlane {
    written: Arc<Mutex<Vec<Written>>>,
}

/// A request: path with its query, and body.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) path: String,
    pub(crate) body: Value,
}

impl ControlPlane {
    pub(crate) fn client(&self) -> Client {
        let plane = self.clone();
        let service = tower::service_fn(move |request| {
            let plane = plane.clone();
            async move { Ok::<_, Infallible>(plane.answer(request).await) }
        });
        Client::new(service, "default")
    }

    /// The statuses that were written of a PediaCluster, oldest first.
    pub(crate) fn statuses(&self, cluster: &str) -> Vec<Written> {
        let path = format!("/pediaclusters/{cluster}/status");
        let written = self.written.lock().expect("no panic");
        let of_cluster = |written: &&Written| written.path.contains(&path);
        written.iter().filter(of_cluster).cloned().collect()
    }

    async fn answer(&self, request: Request<Body>) -> Response<Body> {
        let (head, body) = request.into_parts();
        let path = head.uri.to_string();
        let body = body.collect_bytes().await.unwrap_or_default();
        self.written.lock().expect("no panic").push(Written {
            path: path.clone(),
            body: serde_json::from_slice(&body).unwrap_or_default(),
        });
        let (code, answer) = if path.contains("/pediaclusters/") {
            (
                200,
                json!({"apiVersion": "cluster.clusterpedia.io/v1alpha2", "kind": "PediaCluster",
                "metadata": {"name": "any"}, "spec": {"syncResources": []}}),
            )
        } else {
            (
                404,
                json!({"kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound", "message": "no such path"}),
            )
        };
        let body = Body::from(answer.to_string().into_bytes());
        let answer = Response::builder().status(code).body(body);
        answer.expect("an answer")
    }
}
