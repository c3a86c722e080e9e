//! What `karmadactl unjoin` does when it is given the member's kubeconfig too.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use k8s_openapi::api::core::v1::{Namespace, Secret};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::DeleteParams;
use kube::{Api, Client};

use super::cluster::Cluster;
use super::host::NAMESPACE;
use super::join::{IMPERSONATOR, impersonator_secret, role_of};
use crate::wait::wait_until;

/// `karmadactl`'s own limit for the Cluster to go.
const LIMIT: Duration = Duration::from_secs(60);

/// Takes `name` out of the control plane, waits until it is gone, then cleans up in the member if that can be reached.
pub async fn unjoin(host: &Client, member: Option<&Client>, name: &str) -> Result<()> {
    let clusters: Api<Cluster> = Api::all(host.clone());
    if clusters.get_opt(name).await?.is_none() {
        bail!("{name} is not joined");
    }
    clusters.delete(name, &DeleteParams::default()).await?;
    wait_until(&format!("the Cluster {name} is gone"), LIMIT, || async {
        Ok(clusters.get_opt(name).await?.is_none())
    })
    .await
    .context("an APIService whose server is down keeps namespaces, and so Clusters, from going")?;
    // The garbage collector takes them; a join that came before it would write into Secrets about to go.
    let secrets: Api<Secret> = Api::namespaced(host.clone(), NAMESPACE);
    wait_until(
        &format!("the Secrets of {name} are gone"),
        LIMIT,
        || async {
            let own = secrets.get_metadata_opt(name).await?;
            Ok(own
                .or(secrets.get_metadata_opt(&impersonator_secret(name)).await?)
                .is_none())
        },
    )
    .await?;
    match member {
        Some(member) => clean_up(member, name).await,
        None => Ok(()),
    }
}

async fn clean_up(member: &Client, name: &str) -> Result<()> {
    let now = DeleteParams::default();
    let bindings: Api<ClusterRoleBinding> = Api::all(member.clone());
    let roles: Api<ClusterRole> = Api::all(member.clone());
    for role in [role_of(name), IMPERSONATOR.to_owned()] {
        bindings.delete(&role, &now).await?;
        roles.delete(&role, &now).await?;
    }
    let namespaces: Api<Namespace> = Api::all(member.clone());
    namespaces.delete(NAMESPACE, &now).await?;
    wait_until_clean(member, name).await
}

/// Waits until the control plane's namespace is gone from the member, so that it can be joined again.
pub(crate) async fn wait_until_clean(member: &Client, name: &str) -> Result<()> {
    let namespaces: Api<Namespace> = Api::all(member.clone());
    wait_until(
        &format!("{NAMESPACE} is gone from {name}"),
        LIMIT,
        || async { Ok(namespaces.get_opt(NAMESPACE).await?.is_none()) },
    )
    .await
}
