//! The accounts that Armadex has on its control plane: nobody who may do everything, so that a right that the manifests forget is missed here.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use anyhow::Result;
use serde_json::json;

use crate::deploy::{self, NAMESPACE};
use crate::folder::Folder;
use crate::kubeconfig;
use crate::kubectl::Kubectl;
use crate::pki::write_private;

/// The ServiceAccount of the manifests, which has all roles.
pub const ACCOUNT: &str = "armadex";
/// Where accounts of others are.
const ELSEWHERE: &str = "default";
/// How the control plane calls the accounts.
const USERS: &str = "system:serviceaccount:clusterpedia-system:";
/// A demo may be left running; the control plane goes with it.
const LENGTH: &str = "--duration=8760h";

/// The account of a part that runs apart. Its roles are those whose bindings name it.
#[derive(Debug)]
pub struct Part {
    /// The ServiceAccount.
    pub account: &'static str,
    name: &'static str,
}

/// The API server, apart.
pub const APISERVER: Part = Part {
    account: "armadex-apiserver",
    name: "apiserver",
};
/// The synchro, apart.
pub const SYNCHRO: Part = Part {
    account: "armadex-synchro",
    name: "synchro",
};
/// The policy controllers, apart.
pub const CONTROLLERS: Part = Part {
    account: "armadex-controllers",
    name: "controllers",
};
const PARTS: [Part; 3] = [APISERVER, SYNCHRO, CONTROLLERS];
/// The annotation of a binding that names the parts, separated by commas.
const PARTS_OF_A_BINDING: &str = "armadex.dev/parts";

/// The parts that have each role.
#[derive(Debug)]
pub struct Roles(BTreeMap<String, String>);

/// Those that are shipped.
static ROLES: LazyLock<Roles> = LazyLock::new(|| {
    let manifests = [deploy::rights(), deploy::rights_of_others()];
    let manifests = manifests.map(|some| some.expect("the manifests"));
    Roles::of(&manifests.join("\n---\n")).expect("objects")
});

impl Roles {
    /// Those of which some manifests have bindings.
    pub fn of(manifests: &str) -> Result<Self> {
        let objects = deploy::objects(manifests)?.into_iter();
        let bindings = objects.filter_map(|object| {
            let role = object["roleRef"]["name"].as_str()?.to_owned();
            let parts = object["metadata"]["annotations"][PARTS_OF_A_BINDING].as_str()?;
            Some((role, parts.to_owned()))
        });
        Ok(Self(bindings.collect()))
    }

    /// Whether `account` has the role.
    #[must_use]
    pub fn has(&self, account: &str, role: &str) -> bool {
        let parts = self.0.get(role).map_or("", String::as_str);
        let is_apart =
            |part: &Part| part.account == account && parts.split(',').any(|it| it == part.name);
        account == ACCOUNT || PARTS.iter().any(is_apart)
    }
}

/// Whether `account` has a role that is shipped.
#[must_use]
pub fn has(account: &str, role: &str) -> bool {
    ROLES.has(account, role)
}

/// How the control plane calls all of them.
#[must_use]
pub fn users() -> Vec<String> {
    let accounts = PARTS.iter().map(|part| part.account).chain([ACCOUNT]);
    accounts
        .map(|account| format!("{USERS}{account}"))
        .collect()
}

/// The account that the control plane calls `user`.
#[must_use]
pub fn of_user(user: &str) -> Option<&str> {
    user.strip_prefix(USERS)
}

/// Writes a kubeconfig with a token of the shipped account.
pub async fn use_one(host: &Kubectl, folder: &Folder) -> Result<()> {
    write_kubeconfig(host, folder, ACCOUNT).await
}

/// Writes one for the account of each part.
pub async fn use_apart(host: &Kubectl, folder: &Folder) -> Result<()> {
    for part in PARTS {
        write_kubeconfig(host, folder, part.account).await?;
    }
    Ok(())
}

/// Makes an account that is no part of Armadex, with these rules, and writes a kubeconfig with a token of it.
pub async fn use_stranger(
    host: &Kubectl,
    folder: &Folder,
    account: &str,
    rules: &serde_json::Value,
) -> Result<()> {
    let rbac = "rbac.authorization.k8s.io";
    let name = json!({"name": account});
    let subject = json!({"kind": "ServiceAccount", "name": account, "namespace": ELSEWHERE});
    for object in [
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account, "namespace": ELSEWHERE}}),
        json!({"apiVersion": format!("{rbac}/v1"), "kind": "ClusterRole", "metadata": name, "rules": rules}),
        json!({"apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding", "metadata": name, "subjects": [subject],
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": account}}),
    ] {
        host.apply(&object.to_string()).await?;
    }
    write_kubeconfig_in(host, folder, ELSEWHERE, account).await
}

async fn write_kubeconfig(host: &Kubectl, folder: &Folder, account: &str) -> Result<()> {
    write_kubeconfig_in(host, folder, NAMESPACE, account).await
}

/// A token of `account`, in a file beside the kubeconfig that names it.
async fn write_kubeconfig_in(
    host: &Kubectl,
    folder: &Folder,
    namespace: &str,
    account: &str,
) -> Result<()> {
    let token = ["create", "token", account, "--namespace", namespace, LENGTH];
    let token = host.run(&token).await?;
    let path = folder.account_kubeconfig(account);
    let file = format!("{account}.token");
    write_private(&path.with_file_name(&file), token.trim())?;
    kubeconfig::write_for_token(&path, &folder.kubeconfig("host"), &file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deploy;

    /// A binding that nobody is in would be missed only where its part runs apart, and two of one role that differ would be one here.
    #[test]
    fn every_binding_says_whose_it_is_and_all_of_a_role_say_the_same() {
        let manifests = [deploy::rights(), deploy::rights_of_others()].map(Result::unwrap);
        for object in manifests
            .iter()
            .flat_map(|some| deploy::objects(some).unwrap())
        {
            if let Some(role) = object["roleRef"]["name"].as_str() {
                let parts = object["metadata"]["annotations"][PARTS_OF_A_BINDING].as_str();
                assert_eq!(parts, ROLES.0.get(role).map(String::as_str), "{role}");
                let is_known = |name: &str| PARTS.iter().any(|part| part.name == name);
                assert!(parts.unwrap().split(',').all(is_known), "{role}: {parts:?}");
            }
        }
    }

    /// The sentence names those that all have, and then the others part by part.
    #[test]
    fn the_page_about_permissions_gives_each_part_the_roles_that_it_has_here() {
        let page = deploy::folder().join("../docs/permissions.md");
        let page = std::fs::read_to_string(page).unwrap();
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        let told = page.split("Parts that run apart do with ").nth(1).unwrap();
        let told = told.split(". ").next().unwrap();
        let (everyone, told) = told.split_once(": ").unwrap();
        let of_a_source = [
            "cluster-api",
            "karmada",
            "open-cluster-management",
            "rancher",
        ];
        for (clause, part) in told.split("; ").zip(PARTS) {
            let clause = format!("{everyone} {clause}");
            for role in ROLES.0.keys() {
                let source = role.strip_prefix("armadex-").unwrap();
                let said = match of_a_source.contains(&source) {
                    true => "that of the source".to_owned(),
                    false => format!("`{role}`"),
                };
                let is_said = clause.contains(&said);
                assert_eq!(
                    is_said,
                    has(part.account, role),
                    "{}: {role}: {clause}",
                    part.account
                );
            }
        }
    }

    #[test]
    fn an_account_has_the_roles_of_its_part() {
        assert!(has(ACCOUNT, "armadex-lease") && has(SYNCHRO.account, "armadex-lease"));
        assert!(!has(APISERVER.account, "armadex-lease") && !has("stranger", "armadex-lease"));
        let users = users();
        assert!(users.iter().all(|user| of_user(user).is_some()) && users.len() == 4);
        assert_eq!(of_user("bob"), None);
    }
}
