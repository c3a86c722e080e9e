//! Which objects are installed and removed, and in which order: those of the manifests, with the namespace and the subjects that were asked for. Pure.

use std::collections::BTreeSet;
use std::fmt;

use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use super::holders::{ACCOUNT, Holders};
use super::shipped::{self, HOME};

/// The role by which credentials of members are read, and its binding.
const CREDENTIALS: &str = "armadex-credentials";

/// What is to be on the control plane.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    /// The namespace of Armadex.
    pub(super) namespace: String,
    /// Further ones with credentials of members.
    pub(super) credential_namespaces: Vec<String>,
    pub(super) holders: Holders,
    /// Policies that come with their rights.
    pub(super) policies: Vec<String>,
    /// Policies whose rights come alone.
    pub(super) rights: Vec<String>,
}

/// An object, and what becomes of one that is there.
#[derive(Clone, Debug)]
pub(crate) struct Manifest {
    pub(super) sort: Sort,
    pub(crate) kind: ApiResource,
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
    pub(crate) object: Value,
}

/// What an object is to Armadex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// A CustomResourceDefinition.
    Definition,
    /// The namespace of Armadex.
    Home,
    /// A namespace of the platform.
    Elsewhere,
    /// An account, a role or a binding.
    Right,
    /// A ClusterImportPolicy.
    Policy,
    /// How the control plane finds Armadex.
    Registration,
}

impl Wanted {
    /// All of it, in the order in which it is applied: what others rest on comes first.
    pub(super) fn manifests(&self) -> Vec<Manifest> {
        let mut all = definitions();
        all.extend(self.placed(shipped::rights()));
        let names = once_each(self.rights.iter().chain(&self.policies));
        all.extend(names.flat_map(|name| self.placed(shipped::rights_of(name))));
        all.extend(self.further_credentials(&all));
        all.extend(once_each(self.policies.iter()).flat_map(|name| policy(name)));
        all
    }

    /// The same objects as they are in this namespace, with whoever has the roles.
    fn placed(&self, objects: Vec<Value>) -> Vec<Manifest> {
        let objects = objects.into_iter().flat_map(|object| self.accounts(object));
        let objects = objects.map(|object| self.place(object));
        objects.map(Manifest::of).collect()
    }

    /// In the place of the account those that are to be.
    fn accounts(&self, object: Value) -> Vec<Value> {
        if object["kind"] != "ServiceAccount" || object["metadata"]["name"] != ACCOUNT {
            return vec![object];
        }
        let named = |name: &str| {
            let mut object = object.clone();
            object["metadata"]["name"] = json!(name);
            object
        };
        self.holders.accounts().into_iter().map(named).collect()
    }

    fn place(&self, mut object: Value) -> Value {
        let names_one: &[&str] = match object["kind"].as_str() {
            Some("Namespace") => &["/metadata/name"],
            _ => &["/metadata/namespace", "/spec/service/namespace"],
        };
        for path in names_one {
            if let Some(name) = object.pointer_mut(path)
                && name == HOME
            {
                *name = json!(self.namespace);
            }
        }
        if object["roleRef"].is_object() {
            object["subjects"] = self.holders.subjects(&object, &self.namespace).into();
        }
        object
    }

    /// The role and its binding in each further namespace that has none by then.
    fn further_credentials(&self, all: &[Manifest]) -> Vec<Manifest> {
        let bindings = all
            .iter()
            .filter(|manifest| manifest.name == CREDENTIALS && manifest.kind.kind == "RoleBinding");
        let bindings: Vec<&Manifest> = bindings.collect();
        let is_further = |namespace: &&String| {
            let has_one = |binding: &&Manifest| binding.namespace.as_ref() == Some(*namespace);
            !bindings.iter().any(has_one)
        };
        let there = |namespace: &String| {
            let mut object = bindings.first()?.object.clone();
            object["metadata"]["namespace"] = json!(namespace);
            object["roleRef"]["kind"] = json!("ClusterRole");
            Some(Manifest::of(object))
        };
        let further = once_each(self.credential_namespaces.iter()).filter(is_further);
        let further: Vec<Manifest> = further.filter_map(there).collect();
        match further.is_empty() {
            true => further,
            false => [self.placed(shipped::credentials()), further].concat(),
        }
    }
}

/// All that may have been installed, but for definitions, namespaces and policies: the registration first, since nobody is to be led to a server that is gone, and
/// what others rest on last.
pub(crate) fn to_remove(namespace: &str, credential_namespaces: &[String]) -> Vec<Manifest> {
    let names: Vec<String> = shipped::policies().into_iter().map(String::from).collect();
    let wanted = |holders: Holders| Wanted {
        namespace: namespace.to_owned(),
        credential_namespaces: credential_namespaces.to_vec(),
        holders,
        policies: Vec::new(),
        rights: names.clone(),
    };
    let (one, apart) = (wanted(Holders::One), wanted(Holders::Apart));
    let mut all = one.placed(shipped::registration());
    all.retain(|manifest| manifest.sort == Sort::Registration);
    all.reverse();
    let mut seen = BTreeSet::new();
    let mut rights = one.placed(shipped::credentials());
    rights.extend([one, apart].iter().flat_map(Wanted::manifests));
    let rights = rights.into_iter().rev().filter(|manifest| {
        let place = (manifest.to_string(), manifest.namespace.clone());
        manifest.sort == Sort::Right && seen.insert(place)
    });
    let (accounts, rights): (Vec<_>, Vec<_>) =
        rights.partition(|manifest| manifest.kind.kind == "ServiceAccount");
    all.extend(rights);
    all.extend(accounts);
    all
}

/// The definitions alone.
pub(super) fn definitions() -> Vec<Manifest> {
    let definitions = armadex_crds::all().into_iter();
    let definitions = definitions
        .map(|definition| serde_json::to_value(definition).expect("a definition is plain data"));
    definitions.map(Manifest::of).collect()
}

/// The policy of a name.
pub(crate) fn policy(name: &str) -> Vec<Manifest> {
    let policy = shipped::policy(name).into_iter();
    policy.map(Manifest::of).collect()
}

fn once_each<'a>(names: impl Iterator<Item = &'a String>) -> impl Iterator<Item = &'a String> {
    let mut seen = BTreeSet::new();
    names.filter(move |name| seen.insert(*name))
}

impl Manifest {
    fn of(object: Value) -> Self {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str);
        let kind = text("/kind").unwrap_or_default();
        let version = text("/apiVersion").unwrap_or_default();
        let (group, version) = version.rsplit_once('/').unwrap_or(("", version));
        let is_ours = object.pointer("/metadata/labels").is_some();
        Self {
            sort: match kind {
                "CustomResourceDefinition" => Sort::Definition,
                // That of Armadex has a label that says so to Karmada.
                "Namespace" if is_ours => Sort::Home,
                "Namespace" => Sort::Elsewhere,
                "ClusterImportPolicy" => Sort::Policy,
                "Service" | "APIService" => Sort::Registration,
                _ => Sort::Right,
            },
            kind: ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind)),
            namespace: text("/metadata/namespace").map(str::to_owned),
            name: text("/metadata/name").unwrap_or_default().to_owned(),
            object,
        }
    }

    /// What became of it, as kubectl prints it, and in which namespace.
    pub(crate) fn line(&self, verb: impl fmt::Display, dry_run: bool) -> String {
        let place = self.place();
        let dry = if dry_run { " (dry run)" } else { "" };
        format!("{self} {verb}{place}{dry}")
    }

    /// Where it lies, if that is anywhere: to be said behind a verb.
    pub(crate) fn place(&self) -> String {
        let namespace = self.namespace.as_ref();
        namespace.map_or(String::new(), |namespace| format!(" in {namespace}"))
    }
}

/// As kubectl names it.
impl fmt::Display for Manifest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ApiResource { kind, group, .. } = &self.kind;
        let kind = kind.to_lowercase();
        match group.as_str() {
            "" => write!(out, "{kind}/{}", self.name),
            group => write!(out, "{kind}.{group}/{}", self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted() -> Wanted {
        Wanted {
            namespace: HOME.to_owned(),
            credential_namespaces: Vec::new(),
            holders: Holders::One,
            policies: vec!["karmada".to_owned()],
            rights: Vec::new(),
        }
    }

    fn told(manifests: &[Manifest]) -> Vec<String> {
        let told = manifests.iter().map(|manifest| match &manifest.namespace {
            Some(namespace) => format!("{namespace}: {manifest}"),
            None => manifest.to_string(),
        });
        told.collect()
    }

    #[test]
    fn what_others_rest_on_comes_first() {
        let all = wanted().manifests();
        let place = |sort: Sort| {
            let places = all.iter().enumerate();
            let places = places.filter(move |(_, manifest)| manifest.sort == sort);
            places.map(|(place, _)| place).collect::<Vec<_>>()
        };
        assert_eq!(place(Sort::Definition), [0, 1, 2, 3]);
        assert_eq!(place(Sort::Home), [4]);
        assert_eq!(place(Sort::Policy), [all.len() - 1]);
        let told = told(&all);
        assert_eq!(told[4], "namespace/clusterpedia-system");
        assert_eq!(told[5], "clusterpedia-system: serviceaccount/armadex");
        let last = "clusterimportpolicy.policy.clusterpedia.io/karmada";
        assert_eq!(told.last().map(String::as_str), Some(last));
        for (place, manifest) in all.iter().enumerate() {
            let rests_on = |other: &Manifest| match manifest.kind.kind.as_str() {
                "RoleBinding" | "ClusterRoleBinding" => {
                    let role = &manifest.object["roleRef"];
                    role["kind"] == other.kind.kind && role["name"] == other.name
                }
                _ => true,
            };
            assert!(
                place == 0 || all[..place].iter().any(rests_on),
                "{manifest}"
            );
        }
    }

    /// But for the name in the comments, which are not applied.
    #[test]
    fn another_namespace_takes_the_place_of_the_usual_one_everywhere() {
        let wanted = Wanted {
            namespace: "fleet".to_owned(),
            credential_namespaces: vec!["team-a".to_owned()],
            policies: shipped::policies().into_iter().map(String::from).collect(),
            ..wanted()
        };
        let mut all = wanted.manifests();
        all.extend(to_remove("fleet", &[]));
        let texts: Vec<String> = all
            .iter()
            .filter(|manifest| manifest.sort != Sort::Definition)
            .map(|manifest| manifest.object.to_string())
            .collect();
        assert!(texts.iter().all(|text| !text.contains(HOME)), "{texts:#?}");
        let of_fleet = texts.iter().filter(|text| text.contains("\"fleet\""));
        assert!(of_fleet.count() > 15);
        let usual = Wanted {
            namespace: HOME.to_owned(),
            ..wanted
        };
        assert_eq!(
            usual.manifests().len() + to_remove(HOME, &[]).len(),
            all.len()
        );
    }

    #[test]
    fn whoever_is_named_has_the_roles_and_no_account_is_made() {
        let user = "user:karmada-armadex".parse().expect("a subject");
        let wanted = Wanted {
            holders: Holders::Named(vec![user]),
            ..wanted()
        };
        let all = wanted.manifests();
        let is_account = |manifest: &Manifest| manifest.kind.kind == "ServiceAccount";
        assert!(!all.iter().any(is_account));
        let bindings = all
            .iter()
            .filter(|manifest| manifest.object["roleRef"].is_object());
        let bindings: Vec<&Manifest> = bindings.collect();
        assert!(bindings.len() > 8);
        for binding in bindings {
            let user = json!([{"apiGroup": "rbac.authorization.k8s.io", "kind": "User",
                               "name": "karmada-armadex"}]);
            assert_eq!(binding.object["subjects"], user, "{binding}");
        }
        let wanted = Wanted {
            holders: Holders::Apart,
            ..wanted
        };
        let all = wanted.manifests();
        let accounts = all.into_iter().filter(is_account);
        assert_eq!(
            told(&accounts.collect::<Vec<_>>()),
            [
                "clusterpedia-system: serviceaccount/armadex-apiserver",
                "clusterpedia-system: serviceaccount/armadex-synchro",
                "clusterpedia-system: serviceaccount/armadex-controllers",
            ]
        );
    }

    #[test]
    fn rights_come_without_their_policy_and_each_comes_once() {
        let without = Wanted {
            policies: Vec::new(),
            rights: vec!["karmada".to_owned(), "karmada".to_owned()],
            ..wanted()
        };
        let mut all = told(&wanted().manifests());
        all.pop();
        assert_eq!(told(&without.manifests()), all);
        let both = Wanted {
            rights: vec!["karmada".to_owned()],
            ..wanted()
        };
        assert_eq!(told(&both.manifests()), told(&wanted().manifests()));
    }

    #[test]
    fn credentials_may_be_read_in_further_namespaces() {
        let further = |names: &[&str]| {
            let wanted = Wanted {
                credential_namespaces: names.iter().map(|&name| name.to_owned()).collect(),
                ..wanted()
            };
            let mut told = told(&wanted.manifests());
            told.retain(|told| told.ends_with("/armadex-credentials"));
            told
        };
        let mut all = further(&[]);
        // A role and its binding, of Armadex and of Karmada.
        assert_eq!(all.len(), 4);
        assert_eq!(further(&[HOME, "karmada-cluster"]), all);
        all.push("clusterrole.rbac.authorization.k8s.io/armadex-credentials".to_owned());
        all.push("team-a: rolebinding.rbac.authorization.k8s.io/armadex-credentials".to_owned());
        assert_eq!(further(&["team-a", HOME, "team-a"]), all);
    }

    #[test]
    fn the_registration_goes_first_and_the_accounts_last() {
        let all = to_remove("fleet", &["team-a".to_owned()]);
        let told = told(&all);
        assert_eq!(
            told[..2],
            [
                "apiservice.apiregistration.k8s.io/v1beta1.clusterpedia.io",
                "fleet: service/armadex-apiserver"
            ]
        );
        let accounts: Vec<&String> = told.iter().rev().take(4).collect();
        let is_account = |told: &&String| told.starts_with("fleet: serviceaccount/armadex");
        assert!(accounts.iter().all(is_account), "{accounts:?}");
        let credentials = told
            .iter()
            .filter(|told| told.ends_with("/armadex-credentials"));
        // A role and its binding, of Armadex, of Karmada and of the further one.
        let credentials: Vec<_> = credentials.collect();
        assert!(credentials.len() >= 6, "{credentials:?}");
        let once: BTreeSet<_> = told.iter().collect();
        assert_eq!(once.len(), told.len());
        let stays = |manifest: &Manifest| {
            [
                "Namespace",
                "CustomResourceDefinition",
                "ClusterImportPolicy",
            ]
            .contains(&manifest.kind.kind.as_str())
        };
        assert!(!all.iter().any(stays));
    }
}
