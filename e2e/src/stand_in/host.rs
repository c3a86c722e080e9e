//! The Cluster API on the control plane, and what is written there under the stand-in's name.

use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use super::cluster::Cluster;
use crate::wait::wait_until;

/// Where both sides keep a member's credentials.
pub const NAMESPACE: &str = "karmada-cluster";
/// Who writes.
pub(crate) const MANAGER: &str = "armadex-stand-in";
/// The label by which Karmada knows its own.
pub(super) const SYSTEM: &str = "karmada.io/system";
/// A new CRD is served within a second or two.
const SERVED: Duration = Duration::from_secs(30);

/// Installs the Cluster API on the control plane and waits until it is served.
pub async fn install(host: &Client) -> Result<()> {
    let definition: CustomResourceDefinition =
        serde_saphyr::from_str(include_str!("clusters.yaml"))
            .context("the stand-in's CRD does not parse")?;
    let definitions: Api<CustomResourceDefinition> = Api::all(host.clone());
    definitions
        .patch(
            &definition.name_any(),
            &as_manager(),
            &Patch::Apply(&definition),
        )
        .await?;
    let clusters: Api<Cluster> = Api::all(host.clone());
    wait_until("the Cluster API is served", SERVED, || async {
        clusters
            .list(&kube::api::ListParams::default().limit(1))
            .await?;
        Ok(true)
    })
    .await
}

/// Server-side apply under the stand-in's own name.
pub(crate) fn as_manager() -> PatchParams {
    PatchParams::apply(MANAGER).force()
}

/// Makes a namespace with the label by which Karmada knows its own.
pub(crate) async fn ensure_namespace(client: &Client, name: &str) -> Result<()> {
    let namespace = json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": {SYSTEM: "true"}},
    });
    let namespaces: Api<Namespace> = Api::all(client.clone());
    namespaces
        .patch(name, &as_manager(), &Patch::Apply(&namespace))
        .await
        .with_context(|| format!("namespace {name}"))?;
    Ok(())
}
