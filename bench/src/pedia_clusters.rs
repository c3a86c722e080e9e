//! Creating PediaClusters, as fast as the control plane takes them.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use armadex_e2e::wait_until;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::Client;
use serde_json::{Value, json};

/// Requests under way at once: as many as a control plane of two cores answers without queueing for long.
pub(crate) const AT_ONCE: usize = 16;
/// Where they are.
pub(crate) const PATH: &str = "/apis/cluster.clusterpedia.io/v1alpha2/pediaclusters";
/// The label that says what one is for.
pub(crate) const LABEL: &str = "bench";

/// A control plane that has just got its CRDs may not serve them at once.
pub(crate) async fn wait_until_served(host: &Client) -> Result<()> {
    let path = format!("{PATH}?limit=1");
    wait_until(
        "PediaClusters are served",
        Duration::from_secs(60),
        || async {
            let request = http::Request::get(&path).body(Vec::new())?;
            Ok(host.request_text(request).await.is_ok())
        },
    )
    .await
}

/// Creates one for each name and spec, all for the same purpose; gives how long that took.
pub(crate) async fn create_all(
    host: &Client,
    purpose: &str,
    clusters: impl Iterator<Item = (String, Value)>,
) -> Result<Duration> {
    let begun = Instant::now();
    stream::iter(clusters)
        .map(|(name, spec)| async move { create(host, &name, purpose, &spec).await })
        .buffer_unordered(AT_ONCE)
        .try_collect::<()>()
        .await?;
    Ok(begun.elapsed())
}

/// Creates one.
pub(crate) async fn create(host: &Client, name: &str, purpose: &str, spec: &Value) -> Result<()> {
    let object = json!({
        "apiVersion": "cluster.clusterpedia.io/v1alpha2",
        "kind": "PediaCluster",
        "metadata": {"name": name, "labels": {LABEL: purpose}},
        "spec": spec,
    });
    let request = http::Request::post(PATH)
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(serde_json::to_vec(&object)?)?;
    let created = host.request_text(request).await;
    created
        .with_context(|| format!("{name} cannot be created"))
        .map(drop)
}
