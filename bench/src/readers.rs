//! Users who may read: an administrator is never asked about, so what a search costs is seen by those who are.

use anyhow::{Context as _, Result};
use armadex_e2e::armadex::Armadex;
use armadex_e2e::{Cluster, Harness, kubeconfig};
use kube::Client;
use serde_json::json;

/// The group that gives the users their rights.
pub(crate) const READERS: &str = "fleet-readers";

/// One of them.
const READER: &str = "alice";

/// The API of a process of Armadex as one of [`READERS`] has it, past the aggregator. Each of this user's searches is reviewed by the host, which is as busy as
/// everything else.
pub(crate) async fn client(fleet: &Harness, armadex: &Armadex) -> Result<Client> {
    let path = fleet.folder().root().join("direct.kubeconfig");
    let url = format!("https://127.0.0.1:{}", armadex.listen);
    let pki = fleet.host().pki();
    pki.issue_for_user(READER, Some(READERS))?;
    kubeconfig::write_for_user(&path, "direct", &url, &pki, READER)?;
    kubeconfig::client(&path).await
}

/// Lets [`READERS`] read pods, namespaces and ConfigMaps of the whole fleet, and nothing else.
pub(crate) async fn allow(host: &Cluster) -> Result<()> {
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": READERS},
        "rules": [
            {"apiGroups": ["clusterpedia.io"], "resources": ["*"], "verbs": ["get", "list"]},
            {"apiGroups": [""], "resources": ["pods", "namespaces", "configmaps"], "verbs": ["get", "list"]},
        ],
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": READERS},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": READERS},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": READERS}],
    });
    let client = host.client().await?;
    for (object, plural) in [(role, "clusterroles"), (binding, "clusterrolebindings")] {
        let path = format!("/apis/rbac.authorization.k8s.io/v1/{plural}");
        let request = http::Request::post(path).header("content-type", "application/json");
        client
            .request_text(request.body(serde_json::to_vec(&object)?)?)
            .await
            .with_context(|| format!("cannot create one of the {plural}"))?;
    }
    Ok(())
}
