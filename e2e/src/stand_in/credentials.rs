//! Tokens of a member and the Secrets of the control plane that hold them.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ListParams, Patch, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use super::host::{NAMESPACE, SYSTEM, as_manager};
use crate::wait::wait_for;

/// `karmadactl` waits as long for the token controller.
const TOKEN_LIMIT: Duration = Duration::from_secs(30);
const TOKEN_TYPE: &str = "kubernetes.io/service-account-token";
const ACCOUNT: &str = "kubernetes.io/service-account.name";

/// What a ServiceAccount's token Secret holds.
pub(super) struct Credentials {
    /// The Secret in the member.
    pub(super) secret: String,
    /// The token.
    pub(super) token: ByteString,
    /// The member's authority.
    pub(super) authority: ByteString,
}

/// The ServiceAccount with all rights by which the control plane reaches the member.
pub(super) fn account_of(member_name: &str) -> String {
    format!("karmada-{member_name}")
}

/// Makes a new token of `account` in the member. Each call makes another one.
pub(super) async fn create(member: &Client, account: &str) -> Result<Credentials> {
    let secrets: Api<Secret> = Api::namespaced(member.clone(), NAMESPACE);
    let wanted = serde_json::from_value(json!({
        "metadata": {"generateName": format!("{account}-"), "annotations": {ACCOUNT: account}},
        "type": TOKEN_TYPE,
    }))?;
    let name = secrets
        .create(&PostParams::default(), &wanted)
        .await?
        .name_any();
    let (token, authority) = wait_for(&format!("a token of {account}"), TOKEN_LIMIT, || async {
        let mut data = secrets.get(&name).await?.data.unwrap_or_default();
        Ok(data.remove("token").zip(data.remove("ca.crt")))
    })
    .await?;
    Ok(Credentials {
        secret: name,
        token,
        authority,
    })
}

/// Writes one of the control plane's two Secrets for a member.
pub(super) async fn store(host: &Client, name: &str, data: &[(&str, &ByteString)]) -> Result<()> {
    let data: serde_json::Map<_, _> = data
        .iter()
        .map(|(key, value)| ((*key).to_owned(), json!(value)))
        .collect();
    let secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {SYSTEM: "true"}},
        "data": data,
    });
    let secrets: Api<Secret> = Api::namespaced(host.clone(), NAMESPACE);
    secrets
        .patch(name, &as_manager(), &Patch::Apply(&secret))
        .await
        .with_context(|| format!("Secret {name}"))?;
    Ok(())
}

/// Replaces the token by which the control plane reaches `name` and revokes the one before.
pub async fn rotate(host: &Client, member: &Client, name: &str) -> Result<()> {
    let account = account_of(name);
    let secrets: Api<Secret> = Api::namespaced(member.clone(), NAMESPACE);
    let before = secrets
        .list(&ListParams::default().fields(&format!("type={TOKEN_TYPE}")))
        .await?;
    let old: Vec<_> = before
        .into_iter()
        .filter(|secret| secret.annotations().get(ACCOUNT) == Some(&account))
        .map(|secret| secret.name_any())
        .collect();
    ensure!(
        !old.is_empty(),
        "{name} has no token of {account}: it is not joined"
    );
    let fresh = create(member, &account).await?;
    let patch = json!({"data": {"token": fresh.token, "caBundle": fresh.authority}});
    let held: Api<Secret> = Api::namespaced(host.clone(), NAMESPACE);
    held.patch(
        name,
        &kube::api::PatchParams::default(),
        &Patch::Merge(&patch),
    )
    .await?;
    for secret in old.iter().filter(|&secret| *secret != fresh.secret) {
        secrets.delete(secret, &Default::default()).await?;
    }
    Ok(())
}
