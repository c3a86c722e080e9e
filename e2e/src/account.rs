//! The accounts that Armadex has on its control plane: nobody who may do everything, so that a right that the manifests forget is missed here.

use anyhow::Result;

use crate::deploy::NAMESPACE;
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
    use crate::deploy;

    /// A binding that nobody is in would be missed only where its part runs apart.
    #[test]
    fn every_role_is_of_a_part_and_every_part_has_only_roles_that_there_are() {
        let objects = deploy::objects(&deploy::rights().unwrap()).unwrap();
        let bound = objects
            .iter()
            .filter_map(|object| object["roleRef"]["name"].as_str());
        let bound: Vec<&str> = bound.collect();
        for role in &bound {
            let is_of_a_part = PARTS.iter().any(|part| part.roles.contains(role));
            assert!(is_of_a_part, "{role} is of no part: add it to one");
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
