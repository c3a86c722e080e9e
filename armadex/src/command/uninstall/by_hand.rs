//! Rights for what is uninstalled that somebody applied from a manifest which nothing installs. They are that person's and stay, so they are told of: whoever
//! makes an account of that name later has them.

use armadex_control_plane::{Objects, Trouble};
use kube::Client;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use serde_json::Value;

/// The names in deploy/rbac/karmada-proxy.yaml, each that of a role and of its binding.
const KARMADA_PROXY: [&str; 2] = ["armadex-karmada-proxy", "armadex-karmada-impersonated"];

/// What is said of those that accounts of this home have, with the way out.
pub(super) async fn applied_by_hand(
    client: &Client,
    home: &str,
) -> Result<Option<String>, Trouble> {
    let kind = GroupVersionKind::gvk("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding");
    let kind = ApiResource::from_gvk(&kind);
    let bindings = Objects::<DynamicObject>::of_kind(client.clone(), &kind, None);
    let mut found = Vec::new();
    for name in KARMADA_PROXY {
        let binding = bindings.get_opt(name).await?;
        found.extend(binding.filter(|it| names(it, home)).map(|_| name));
    }
    Ok((!found.is_empty()).then(|| {
        format!(
            "ClusterRoleBindings {} stay, by which accounts of namespace {home} have Karmada ask its members: they were applied by hand, from \
             rbac/karmada-proxy.yaml. `kubectl delete clusterrolebindings,clusterroles {} --ignore-not-found` takes them away",
            found.join(" and "),
            KARMADA_PROXY.join(" ")
        )
    }))
}

/// Whether a binding has an account of this home among its subjects, or the group of all of them.
fn names(binding: &DynamicObject, home: &str) -> bool {
    let all = format!("system:serviceaccounts:{home}");
    let is_of_home = |subject: &Value| subject["namespace"] == home || subject["name"] == all;
    let subjects = binding.data["subjects"].as_array();
    subjects.into_iter().flatten().any(is_of_home)
}

#[cfg(test)]
mod tests {
    use armadex_control_plane::testing::Host;

    use super::*;
    use crate::command::install::testing::host;

    /// Applies the manifest with kubectl.
    fn apply(host: &Host) {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../deploy/rbac/karmada-proxy.yaml"
        );
        let manifest = std::fs::read_to_string(path).expect("the manifest");
        let objects: Vec<Value> = manifest
            .split("\n---\n")
            .map(|object| serde_saphyr::from_str(object).expect("an object"))
            .collect();
        assert_eq!(objects.len(), 2 * KARMADA_PROXY.len());
        for object in objects {
            let plural = match object["kind"].as_str() {
                Some("ClusterRole") => "clusterroles",
                _ => "clusterrolebindings",
            };
            let name = object["metadata"]["name"].as_str().expect("a name");
            assert!(KARMADA_PROXY.contains(&name), "{name}");
            let path = format!("/apis/rbac.authorization.k8s.io/v1/{plural}/{name}");
            host.put(&path, object);
        }
    }

    #[tokio::test]
    async fn the_way_to_members_by_karmada_is_told_of_where_accounts_of_this_home_have_it() {
        let host = host();
        let told = async |home| applied_by_hand(&host.client(), home).await.expect("a look");
        assert_eq!(told("clusterpedia-system").await, None);
        apply(&host);
        assert_eq!(told("fleet").await, None);
        let words = told("clusterpedia-system").await.expect("it is there");
        assert!(
            words.starts_with(
                "ClusterRoleBindings armadex-karmada-proxy and armadex-karmada-impersonated stay, by which accounts of namespace clusterpedia-system "
            ),
            "{words}"
        );
        let command = "`kubectl delete clusterrolebindings,clusterroles armadex-karmada-proxy armadex-karmada-impersonated --ignore-not-found`";
        assert!(words.contains(command), "{words}");
    }
}
