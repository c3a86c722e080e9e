//! What `deploy/` has, compiled in: a binary and what it installs are of one release, and no manifest is written a second time. Values; nothing is asked.

use armadex_crds::read_yaml_documents;
use serde_json::Value;

/// What the manifests call the namespace of Armadex.
pub(super) const HOME: &str = "clusterpedia-system";

const RIGHTS: &str = include_str!("../../../../deploy/rbac/armadex.yaml");
const REGISTERING: &str = include_str!("../../../../deploy/rbac/registration.yaml");
const CREDENTIALS: &str = include_str!("../../../../deploy/rbac/credentials.yaml");
const REGISTRATION: &str = include_str!("../../../../deploy/apiservice.yaml");

/// A policy of `deploy/policies`, with the rights of its name in `deploy/rbac`.
struct Policy {
    name: &'static str,
    policy: &'static str,
    rights: Option<&'static str>,
}

/// `policy!("a" with rights)`, or `policy!("a")` for one that needs none of its own.
macro_rules! policy {
    ($name:literal) => {
        policy!($name, None)
    };
    ($name:literal with rights) => {
        policy!(
            $name,
            Some(include_str!(concat!(
                "../../../../deploy/rbac/",
                $name,
                ".yaml"
            )))
        )
    };
    ($name:literal, $rights:expr) => {
        Policy {
            name: $name,
            policy: include_str!(concat!("../../../../deploy/policies/", $name, ".yaml")),
            rights: $rights,
        }
    };
}

const POLICIES: &[Policy] = &[
    policy!("cluster-api" with rights),
    policy!("karmada" with rights),
    policy!("kubeconfig"),
    policy!("kubevela" with rights),
    policy!("open-cluster-management" with rights),
    policy!("rancher" with rights),
    policy!("vcluster"),
];

/// The names of the policies that there are.
pub(super) fn policies() -> Vec<&'static str> {
    POLICIES.iter().map(|policy| policy.name).collect()
}

/// The namespace, the account, roles and bindings.
pub(super) fn rights() -> Vec<Value> {
    [objects(RIGHTS), objects(REGISTERING)].concat()
}

/// The role of those who read credentials in a namespace of no fixed name, which nobody has yet.
pub(super) fn credentials() -> Vec<Value> {
    objects(CREDENTIALS)
}

/// What a policy needs beside that; nothing of a name that there is no policy of.
pub(super) fn rights_of(policy: &str) -> Vec<Value> {
    let rights = of_name(policy).and_then(|policy| policy.rights);
    rights.map(objects).unwrap_or_default()
}

/// The policy of a name.
pub(super) fn policy(name: &str) -> Vec<Value> {
    let policy = of_name(name).map(|policy| policy.policy);
    policy.map(objects).unwrap_or_default()
}

/// How a control plane finds Armadex, with words where a value is to be filled in.
pub(super) fn registration() -> Vec<Value> {
    objects(REGISTRATION)
}

fn of_name(name: &str) -> Option<&'static Policy> {
    POLICIES.iter().find(|policy| policy.name == name)
}

fn objects(text: &str) -> Vec<Value> {
    let read: Result<Vec<Value>, _> = read_yaml_documents(text);
    let mut objects = read.expect("the tests read every manifest");
    objects.retain(|object| !object.is_null());
    objects
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn names(folder: &str) -> Vec<String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy");
        let files = std::fs::read_dir(root.join(folder)).expect("a folder");
        let paths = files.map(|file| file.expect("a file").path());
        let yaml = paths.filter(|path| path.extension().is_some_and(|it| it == "yaml"));
        let mut names: Vec<String> = yaml
            .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
            .collect();
        names.sort();
        names
    }

    #[test]
    fn every_policy_and_every_right_that_is_shipped_can_be_installed() {
        assert_eq!(policies(), names("policies"));
        let with_rights = POLICIES.iter().filter(|policy| policy.rights.is_some());
        let mut rights: Vec<&str> = with_rights.map(|policy| policy.name).collect();
        // The last one is applied by hand, or not.
        rights.extend(["armadex", "credentials", "registration", "karmada-proxy"]);
        rights.sort_unstable();
        assert_eq!(rights, names("rbac"));
    }

    #[test]
    fn every_manifest_is_read_and_says_what_it_is() {
        let mut all = [rights(), credentials(), registration()].concat();
        for name in policies() {
            all.extend(rights_of(name));
            let policy = policy(name);
            assert_eq!(policy.len(), 1, "{name}");
            assert_eq!(policy[0]["metadata"]["name"], name);
            all.extend(policy);
        }
        assert!(all.len() > 20);
        for object in all {
            for field in ["/apiVersion", "/kind", "/metadata/name"] {
                let text = object.pointer(field).and_then(Value::as_str);
                assert!(text.is_some(), "{field}: {object}");
            }
        }
        assert!(policy("other").is_empty() && rights_of("other").is_empty());
    }
}
