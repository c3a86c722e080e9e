//! The PediaClusters of the fleet: the shape that the shipped policy gives them, many of one member.

use std::time::Duration;

use anyhow::{Context as _, Result};
use armadex_e2e::wait_until;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::Client;
use serde_json::{Value, json};

use crate::pedia_clusters::{self, AT_ONCE, LABEL, PATH};

/// The kinds that the shipped policy syncs: group, plural, path of the list.
pub(super) const KINDS: [(&str, &str, &str); 12] = [
    ("", "pods", "/api/v1/pods"),
    ("", "services", "/api/v1/services"),
    ("", "configmaps", "/api/v1/configmaps"),
    ("", "secrets", "/api/v1/secrets"),
    ("", "namespaces", "/api/v1/namespaces"),
    ("", "nodes", "/api/v1/nodes"),
    ("apps", "deployments", "/apis/apps/v1/deployments"),
    ("apps", "replicasets", "/apis/apps/v1/replicasets"),
    ("apps", "daemonsets", "/apis/apps/v1/daemonsets"),
    ("apps", "statefulsets", "/apis/apps/v1/statefulsets"),
    ("batch", "jobs", "/apis/batch/v1/jobs"),
    ("batch", "cronjobs", "/apis/batch/v1/cronjobs"),
];

/// What they are for.
const PURPOSE: &str = "fleet";

/// The fleet's PediaClusters.
pub(super) struct Clusters {
    pub(super) host: Client,
    pub(super) count: usize,
    /// Their spec.
    pub(super) template: Value,
}

impl Clusters {
    /// Creates all of them, as fast as the control plane takes them.
    pub(super) async fn create(&self) -> Result<Duration> {
        let clusters = (0..self.count).map(|number| (name(number), self.template.clone()));
        pedia_clusters::create_all(&self.host, PURPOSE, clusters).await
    }

    /// Asks for the deletion of all of them.
    pub(super) async fn delete(&self) -> Result<()> {
        stream::iter(0..self.count)
            .map(|number| async move {
                let request = http::Request::delete(format!("{PATH}/{}", name(number)));
                let deleted = self.host.request_text(request.body(Vec::new())?).await;
                deleted
                    .with_context(|| format!("{} cannot be deleted", name(number)))
                    .map(drop)
            })
            .buffer_unordered(AT_ONCE)
            .try_collect()
            .await
    }

    /// Waits until the control plane has none of them.
    pub(super) async fn wait_until_gone(&self, limit: Duration) -> Result<()> {
        wait_until("all PediaClusters are gone", limit, || async {
            let path = format!("{PATH}?labelSelector={LABEL}%3D{PURPOSE}&limit=1");
            let request = http::Request::get(path).body(Vec::new())?;
            let list: Value = self.host.request(request).await?;
            Ok(list["items"].as_array().is_some_and(Vec::is_empty))
        })
        .await
    }
}

/// The spec that the shipped policy renders for `member`, with the first `kinds` of its kinds.
pub(super) fn template(apiserver: &str, member: &str, kinds: usize) -> Value {
    let secret = |key: &str| json!({"namespace": "karmada-cluster", "name": member, "key": key});
    let resources: Vec<Value> = KINDS[..kinds]
        .iter()
        .map(|(group, plural, _)| json!({"group": group, "resources": [plural]}))
        .collect();
    json!({
        "apiserver": apiserver,
        "authenticationFrom": {"token": secret("token"), "ca": secret("caBundle")},
        "syncResources": resources,
    })
}

fn name(number: usize) -> String {
    format!("fleet-{number:05}")
}
