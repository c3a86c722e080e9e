//! The accounts that Armadex has on its control plane: nobody who may do everything, so that a right that the manifests forget is missed here.

use anyhow::Result;
use serde_json::{Value, json};

use crate::deploy::{self, NAMESPACE};
use crate::folder::Folder;
use crate::kubeconfig;
use crate::kubectl::Kubectl;
use crate::pki::write_private;

/// The ServiceAccount of the manifests, which has all roles.
pub const ACCOUNT: &str = "armadex";
/// How the control plane calls the accounts.
const USERS: &str = "system:serviceaccount:clusterpedia-system:";
/// A demo may be left running; the control plane goes with it.
const LENGTH: &str = "--duration=8760h";

/// The account of a part that runs apart, with the roles that docs/permissions.md gives to it.
#[derive(Debug)]
pub struct Part {
    /// The ServiceAccount.
    pub account: &'static str,
    roles: &'static [&'static str],
}

/// The API server, apart.
pub const APISERVER: Part = Part {
    account: "armadex-apiserver",
    roles: &[
        "armadex-control-plane",
        "armadex-apiserver",
        "armadex-registration",
    ],
};
/// The synchro, apart.
pub const SYNCHRO: Part = Part {
    account: "armadex-synchro",
    roles: &[
        "armadex-control-plane",
        "armadex-synchro",
        "armadex-lease",
        "armadex-events",
        "armadex-credentials",
    ],
};
/// The policy controllers, apart.
pub const CONTROLLERS: Part = Part {
    account: "armadex-controllers",
    roles: &[
        "armadex-control-plane",
        "armadex-controllers",
        "armadex-lease",
        "armadex-events",
        "armadex-credentials",
        "armadex-karmada",
    ],
};
const PARTS: [Part; 3] = [APISERVER, SYNCHRO, CONTROLLERS];

/// Whether `account` has the role.
#[must_use]
pub fn has(account: &str, role: &str) -> bool {
    let is_apart = |part: &Part| part.account == account && part.roles.contains(&role);
    account == ACCOUNT || PARTS.iter().any(is_apart)
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

/// Applies the shipped account with its rights, and writes a kubeconfig with a token of it.
pub async fn create(host: &Kubectl, folder: &Folder) -> Result<()> {
    host.apply(&deploy::rights()?).await?;
    write_kubeconfig(host, folder, ACCOUNT).await
}

/// Applies the same rights for an account of each part, and writes a kubeconfig for each. The shipped account has no rights then.
pub async fn create_apart(host: &Kubectl, folder: &Folder) -> Result<()> {
    host.apply(&apart(deploy::objects(&deploy::rights()?)?))
        .await?;
    for part in PARTS {
        write_kubeconfig(host, folder, part.account).await?;
    }
    Ok(())
}

/// The manifests with each role bound to the parts that have it.
fn apart(objects: Vec<Value>) -> String {
    let subject = |part: &Part| json!({"kind": "ServiceAccount", "name": part.account, "namespace": NAMESPACE});
    let mut items = Vec::new();
    for mut object in objects {
        if object["roleRef"].is_object() {
            let role = object["roleRef"]["name"].as_str().unwrap_or_default();
            let parts = PARTS.iter().filter(|part| part.roles.contains(&role));
            object["subjects"] = parts.map(subject).collect();
        }
        items.push(object);
    }
    items.extend(PARTS.iter().map(|part| {
        let metadata = json!({"name": part.account, "namespace": NAMESPACE});
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    }));
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

/// A token of `account`, in a file beside the kubeconfig that names it.
async fn write_kubeconfig(host: &Kubectl, folder: &Folder, account: &str) -> Result<()> {
    let token = ["create", "token", account, "--namespace", NAMESPACE, LENGTH];
    let token = host.run(&token).await?;
    let path = folder.account_kubeconfig(account);
    let file = format!("{account}.token");
    write_private(&path.with_file_name(&file), token.trim())?;
    kubeconfig::write_for_token(&path, &folder.kubeconfig("host"), &file)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A binding that nobody is in would be missed only where its part runs apart.
    #[test]
    fn every_role_is_of_a_part_and_every_part_has_only_roles_that_there_are() {
        let objects = deploy::objects(&deploy::rights().unwrap()).unwrap();
        let list: Value = serde_json::from_str(&apart(objects)).unwrap();
        let items = list["items"].as_array().unwrap();
        let bindings = items.iter().filter(|item| item["roleRef"].is_object());
        let mut bound = Vec::new();
        for binding in bindings {
            let role = binding["roleRef"]["name"].as_str().unwrap();
            let subjects = binding["subjects"].as_array().unwrap();
            assert!(!subjects.is_empty(), "{role} is of no part: add it to one");
            bound.push(role);
        }
        for role in PARTS.iter().flat_map(|part| part.roles) {
            assert!(bound.contains(role), "there is no {role}");
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
        for (clause, part) in told.split("; ").zip([APISERVER, SYNCHRO, CONTROLLERS]) {
            let clause = format!("{everyone} {clause}");
            for role in part.roles {
                let said = match *role {
                    "armadex-karmada" => "that of the source".to_owned(),
                    role => format!("`{role}`"),
                };
                assert!(clause.contains(&said), "{}: {role}: {clause}", part.account);
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
