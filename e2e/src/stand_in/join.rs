//! What `karmadactl join` does.

use anyhow::{Context, Result, bail};
use k8s_openapi::api::core::v1::{Namespace, Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource};
use serde_json::json;

use super::cluster::{Cluster, ClusterSpec, SecretReference};
use super::credentials::{self, account_of};
use super::host::{NAMESPACE, SYSTEM, as_manager, ensure_namespace};

/// The ServiceAccount through which callers are impersonated.
pub(super) const IMPERSONATOR: &str = "karmada-impersonator";

/// The mode of a cluster whose agent tells how it is.
pub(super) const PULL: &str = "Pull";

/// The name of the member's ClusterRole and ClusterRoleBinding.
pub(super) fn role_of(member_name: &str) -> String {
    format!("karmada-controller-manager:{}", account_of(member_name))
}

/// Joins the member at `endpoint` to the control plane under `name`.
pub async fn join(host: &Client, member: &Client, name: &str, endpoint: &str) -> Result<()> {
    let id = identity(member).await?;
    refuse_duplicate(host, name, &id).await?;
    ensure_namespace(member, NAMESPACE).await?;
    ensure_accounts(member, name).await?;
    let own = credentials::create(member, &account_of(name)).await?;
    let impersonator = credentials::create(member, IMPERSONATOR).await?;
    ensure_namespace(host, NAMESPACE).await?;
    credentials::store(
        host,
        name,
        &[("token", &own.token), ("caBundle", &own.authority)],
    )
    .await?;
    credentials::store(
        host,
        &impersonator_secret(name),
        &[("token", &impersonator.token)],
    )
    .await?;
    let spec = ClusterSpec {
        sync_mode: "Push".to_owned(),
        secret_ref: Some(secret(name.to_owned())),
        ..spec(name, endpoint, id)
    };
    let cluster = create_cluster(host, name, spec).await?;
    own_secrets(host, &[name, &impersonator_secret(name)], &cluster).await
}

/// What the agent of a Pull cluster does that reports its impersonator's Secret alone: nobody here is given credentials of the member's own, nor its authority.
pub async fn register(host: &Client, member: &Client, name: &str, endpoint: &str) -> Result<()> {
    let id = identity(member).await?;
    refuse_duplicate(host, name, &id).await?;
    ensure_namespace(member, NAMESPACE).await?;
    ensure_accounts(member, name).await?;
    let impersonator = credentials::create(member, IMPERSONATOR).await?;
    ensure_namespace(host, NAMESPACE).await?;
    let secret = impersonator_secret(name);
    credentials::store(host, &secret, &[("token", &impersonator.token)]).await?;
    let spec = ClusterSpec {
        sync_mode: PULL.to_owned(),
        insecure_skip_tls_verification: Some(true),
        ..spec(name, endpoint, id)
    };
    let cluster = create_cluster(host, name, spec).await?;
    own_secrets(host, &[&secret], &cluster).await?;
    let clusters: Api<Cluster> = Api::all(host.clone());
    let ready = json!({"type": "Ready", "status": "True", "reason": "ClusterReady",
        "message": "cluster is healthy and ready to accept workloads",
        "lastTransitionTime": jiff::Timestamp::now()});
    let status = json!({"status": {"conditions": [ready]}});
    let how = PatchParams::default();
    clusters
        .patch_status(name, &how, &Patch::Merge(&status))
        .await?;
    Ok(())
}

/// The name of the control plane's Secret with the impersonator's token.
pub(super) fn impersonator_secret(name: &str) -> String {
    format!("{name}-impersonator")
}

/// A cluster is told from another by the uid of its kube-system namespace.
async fn identity(member: &Client) -> Result<String> {
    let namespaces: Api<Namespace> = Api::all(member.clone());
    let system = namespaces.get("kube-system").await?;
    system
        .metadata
        .uid
        .context("the member's kube-system namespace has no uid")
}

async fn refuse_duplicate(host: &Client, name: &str, id: &str) -> Result<()> {
    let clusters: Api<Cluster> = Api::all(host.clone());
    for known in clusters.list(&ListParams::default()).await? {
        let known_name = known.metadata.name.as_deref().unwrap_or_default();
        if known_name == name {
            bail!("{name} is joined already");
        }
        if known.spec.id.as_deref() == Some(id) {
            bail!("the same cluster is joined already as {known_name}");
        }
    }
    Ok(())
}

async fn ensure_accounts(member: &Client, name: &str) -> Result<()> {
    let accounts: Api<ServiceAccount> = Api::namespaced(member.clone(), NAMESPACE);
    for account in [IMPERSONATOR, &account_of(name)] {
        let wanted = json!({
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": account, "namespace": NAMESPACE, "labels": {SYSTEM: "true"}},
        });
        accounts
            .patch(account, &as_manager(), &Patch::Apply(&wanted))
            .await?;
    }
    grant(member, &all_rights(&role_of(name)), &account_of(name)).await?;
    grant(member, &impersonation(), IMPERSONATOR).await
}

async fn grant(member: &Client, role: &serde_json::Value, account: &str) -> Result<()> {
    let name = role["metadata"]["name"].as_str().unwrap_or_default();
    let roles: Api<ClusterRole> = Api::all(member.clone());
    roles
        .patch(name, &as_manager(), &Patch::Apply(role))
        .await?;
    let bindings: Api<ClusterRoleBinding> = Api::all(member.clone());
    bindings
        .patch(name, &as_manager(), &Patch::Apply(&binding(name, account)))
        .await?;
    Ok(())
}

fn all_rights(role: &str) -> serde_json::Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": role, "labels": {SYSTEM: "true"}},
        "rules": [
            {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
            {"nonResourceURLs": ["*"], "verbs": ["get"]},
        ],
    })
}

/// Karmada's `unifiedAuth` grants it for those alone who have a ClusterRole on `clusters/proxy`, which is looked at where that is served.
fn impersonation() -> serde_json::Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": IMPERSONATOR, "labels": {SYSTEM: "true"}},
        "rules": [
            {"apiGroups": [""], "resources": ["users", "groups", "serviceaccounts"], "verbs": ["impersonate"]},
        ],
    })
}

fn binding(role: &str, account: &str) -> serde_json::Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": role, "labels": {SYSTEM: "true"}},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE}],
    })
}

fn secret(name: String) -> SecretReference {
    SecretReference {
        namespace: NAMESPACE.to_owned(),
        name,
    }
}

/// What both modes say.
fn spec(name: &str, endpoint: &str, id: String) -> ClusterSpec {
    ClusterSpec {
        id: Some(id),
        api_endpoint: Some(endpoint.to_owned()),
        impersonator_secret_ref: Some(secret(impersonator_secret(name))),
        ..ClusterSpec::default()
    }
}

async fn create_cluster(host: &Client, name: &str, spec: ClusterSpec) -> Result<Cluster> {
    let clusters: Api<Cluster> = Api::all(host.clone());
    Ok(clusters
        .create(&PostParams::default(), &Cluster::new(name, spec))
        .await?)
}

/// Lets the garbage collector take the Secrets away with the Cluster.
async fn own_secrets(host: &Client, names: &[&str], cluster: &Cluster) -> Result<()> {
    let owner = cluster
        .controller_owner_ref(&())
        .context("the Cluster was created without a uid")?;
    let patch = json!({"metadata": {"ownerReferences": [owner]}});
    let secrets: Api<Secret> = Api::namespaced(host.clone(), NAMESPACE);
    for secret in names {
        secrets
            .patch(secret, &PatchParams::default(), &Patch::Merge(&patch))
            .await?;
    }
    Ok(())
}
