//! A control plane that has the PediaClusters that a test gives it, takes every write of one and remembers what was asked.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use armadex_crds::PediaCluster;
use http::{Method, Request, Response};
use kube::client::Body;
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

/// What it has, what was asked of it, and in which words.
#[derive(Clone, Default)]
pub(crate) struct ControlPlane {
    clusters: Arc<Mutex<BTreeMap<String, PediaCluster>>>,
    asked: Arc<Mutex<Vec<Asked>>>,
}

/// A request: path with its query, and body.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    method: Method,
    path: String,
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

    /// From now on these are its PediaClusters.
    pub(crate) fn has(&self, clusters: impl IntoIterator<Item = PediaCluster>) {
        let clusters = clusters.into_iter();
        let named = clusters.map(|cluster| (cluster.name_any(), cluster));
        *self.clusters.lock().expect("no panic") = named.collect();
    }

    /// The statuses that were written of a PediaCluster, oldest first.
    pub(crate) fn statuses(&self, cluster: &str) -> Vec<Asked> {
        let path = format!("/pediaclusters/{cluster}/status");
        self.asked_for(|asked| asked.path.contains(&path))
    }

    /// The times that a PediaCluster was read by its name.
    pub(crate) fn reads(&self, cluster: &str) -> Vec<Asked> {
        let path = format!("/pediaclusters/{cluster}");
        self.asked_for(|asked| asked.method == Method::GET && asked.path.ends_with(&path))
    }

    /// The times that PediaClusters were listed.
    pub(crate) fn lists(&self) -> usize {
        self.asked_for(|asked| asked.path.contains("/pediaclusters?"))
            .len()
    }

    fn asked_for(&self, is_meant: impl Fn(&Asked) -> bool) -> Vec<Asked> {
        let asked = self.asked.lock().expect("no panic");
        asked
            .iter()
            .filter(|asked| is_meant(asked))
            .cloned()
            .collect()
    }

    async fn answer(&self, request: Request<Body>) -> Response<Body> {
        let (head, body) = request.into_parts();
        let path = head.uri.to_string();
        let body = body.collect_bytes().await.unwrap_or_default();
        let (code, answer) = self.find(&head.method, head.uri.path());
        self.asked.lock().expect("no panic").push(Asked {
            method: head.method,
            path,
            body: serde_json::from_slice(&body).unwrap_or_default(),
        });
        let body = Body::from(answer.to_string().into_bytes());
        let answer = Response::builder().status(code).body(body);
        answer.expect("an answer")
    }

    fn find(&self, method: &Method, path: &str) -> (u16, Value) {
        let clusters = self.clusters.lock().expect("no panic");
        if path.ends_with("/pediaclusters") {
            let items = Vec::from_iter(clusters.values());
            return (200, json!({"metadata": {}, "items": items}));
        }
        if let Some((_, name)) = path.split_once("/pediaclusters/") {
            let name = name.trim_end_matches("/status");
            match clusters.get(name) {
                Some(cluster) => return (200, json!(cluster)),
                // Whatever is written succeeds.
                None if method == Method::PATCH => return (200, any()),
                None => {}
            }
        }
        let refused = json!({"kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound", "message": "no such path"});
        (404, refused)
    }
}

fn any() -> Value {
    json!({"apiVersion": "cluster.clusterpedia.io/v1alpha2", "kind": "PediaCluster",
        "metadata": {"name": "any"}, "spec": {"syncResources": []}})
}
