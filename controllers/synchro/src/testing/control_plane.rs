//! A control plane that has the PediaClusters that a test gives it, takes every write of one that is of its present version, and remembers what
//! was asked.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use armadex_crds::PediaCluster;
use http::{Method, Request, Response};
use kube::client::Body;
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use tokio::sync::Notify;

/// What it has, what was asked of it, and in which words.
#[derive(Clone, Default)]
pub(crate) struct ControlPlane {
    clusters: Arc<Mutex<BTreeMap<String, PediaCluster>>>,
    asked: Arc<Mutex<Vec<Asked>>>,
    /// The next status is put there, and that is not answered.
    swallows: Arc<AtomicBool>,
    /// Requests to paths with this in them are not answered.
    hangs_on: Arc<Mutex<Option<&'static str>>>,
    /// One is not answered.
    request_hangs: Arc<Notify>,
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

    /// A PediaCluster as it is now.
    pub(crate) fn cluster(&self, name: &str) -> PediaCluster {
        let clusters = self.clusters.lock().expect("no panic");
        clusters[name].clone()
    }

    /// The next status that is written is there, and whoever wrote it is not told so.
    pub(crate) fn swallow_an_answer(&self) {
        self.swallows.store(true, Ordering::Release);
    }

    /// From now on no Event is answered.
    pub(crate) fn takes_no_events(&self) {
        self.hangs_on("/events");
    }

    /// From now on no status is answered.
    pub(crate) fn takes_no_statuses(&self) {
        self.hangs_on("/status");
    }

    fn hangs_on(&self, part: &'static str) {
        *self.hangs_on.lock().expect("no panic") = Some(part);
    }

    /// Until somebody waits for an answer that does not come.
    pub(crate) async fn a_request_hangs(&self) {
        self.request_hangs.notified().await;
    }

    /// The statuses that were written of a PediaCluster, oldest first.
    pub(crate) fn statuses(&self, cluster: &str) -> Vec<Asked> {
        let path = format!("/pediaclusters/{cluster}/status");
        self.asked_for(|asked| asked.path.contains(&path))
    }

    /// The Events that were written, oldest first.
    pub(crate) fn events(&self) -> Vec<Asked> {
        self.asked_for(|asked| asked.path.contains("/events"))
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

    /// The times that something was written.
    pub(crate) fn writes(&self) -> usize {
        self.asked_for(|asked| asked.method != Method::GET).len()
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
        let hangs_on = *self.hangs_on.lock().expect("no panic");
        if hangs_on.is_some_and(|part| path.contains(part)) {
            self.request_hangs.notify_one();
            std::future::pending::<()>().await;
        }
        let body = body.collect_bytes().await.unwrap_or_default();
        let body = serde_json::from_slice(&body).unwrap_or_default();
        let (mut code, mut answer) = self.find(&head.method, head.uri.path(), &body);
        if path.contains("/status") && self.swallows.swap(false, Ordering::AcqRel) {
            (code, answer) = refused(504, "Timeout", "no answer came in time");
        }
        self.asked.lock().expect("no panic").push(Asked {
            method: head.method,
            path,
            body,
        });
        let body = Body::from(answer.to_string().into_bytes());
        let answer = Response::builder().status(code).body(body);
        answer.expect("an answer")
    }

    fn find(&self, method: &Method, path: &str, body: &Value) -> (u16, Value) {
        let mut clusters = self.clusters.lock().expect("no panic");
        if path.ends_with("/pediaclusters") {
            let items = Vec::from_iter(clusters.values());
            return (200, json!({"metadata": {}, "items": items}));
        }
        if let Some((_, name)) = path.split_once("/pediaclusters/") {
            let name = name.trim_end_matches("/status");
            match clusters.get_mut(name) {
                Some(cluster) if method == Method::PATCH => return patched(cluster, body),
                Some(cluster) => return (200, json!(cluster)),
                None => {}
            }
        }
        refused(404, "NotFound", "no such path or object")
    }
}

/// Another status or other finalizers, for whoever knows the present version.
fn patched(cluster: &mut PediaCluster, patch: &Value) -> (u16, Value) {
    let version = cluster.resource_version().unwrap_or_default();
    let expected = patch["metadata"]["resourceVersion"].as_str();
    if expected.is_some_and(|expected| expected != version) {
        return refused(409, "Conflict", "the object has been modified");
    }
    if let Some(status) = patch.get("status") {
        cluster.status = serde_json::from_value(status.clone()).expect("a status");
    }
    let finalizers = &patch["metadata"]["finalizers"];
    if !finalizers.is_null() {
        cluster.metadata.finalizers = serde_json::from_value(finalizers.clone()).expect("names");
    }
    let next = version.parse::<u64>().expect("a number") + 1;
    cluster.metadata.resource_version = Some(next.to_string());
    (200, json!(cluster))
}

fn refused(code: u16, reason: &str, message: &str) -> (u16, Value) {
    let status = json!({"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message});
    (code, status)
}
