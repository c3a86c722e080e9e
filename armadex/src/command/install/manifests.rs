//! Which objects are installed and removed, and in which order: those of the manifests, with the namespace and the subjects that were asked for. Pure.

use std::collections::BTreeSet;
use std::fmt;

use anyhow::ensure;
use armadex_apiserver::API_GROUP;
use armadex_registration::api_service;
use clap::ValueEnum;
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use super::holders::{ACCOUNT, Holders};
use super::homes::Identity;
use super::shipped::{self, HOME};
use crate::credentials::{SERVING_NAMESPACE, is_everybodys};

/// The role by which credentials of members are read, and its binding.
pub(super) const CREDENTIALS: &str = "armadex-credentials";
/// The role by which the API server keeps its certificate, and its binding.
pub(super) const SERVING: &str = "armadex-serving";
/// The role by which the API server registers itself, and its binding.
const REGISTRATION: &str = "armadex-registration";

/// What is to be on the control plane.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    /// The namespace of Armadex.
    pub(super) namespace: String,
    /// The release of the chart that it is of.
    pub(super) release: Option<String>,
    /// That of its serving certificate.
    pub(super) serving_namespace: String,
    /// The group of the search API.
    pub(super) api_group: String,
    /// Further ones with credentials of members.
    pub(super) credential_namespaces: Vec<String>,
    pub(super) holders: Holders,
    /// Policies that come with their rights.
    pub(super) policies: Vec<String>,
    /// Policies whose rights come alone.
    pub(super) rights: Vec<String>,
    /// What of it all; where it is empty, everything.
    pub(super) only: Vec<Share>,
}

/// A share of what is installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Share {
    /// The CustomResourceDefinitions.
    Crds,
    /// The namespace, accounts, roles and bindings.
    Rights,
    /// The policies, without their rights.
    Policies,
    /// The kubeconfigs of --kubeconfig-secret, which are no objects of the control plane.
    Kubeconfigs,
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
    /// A namespace of Armadex.
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
    /// The definitions and nothing else.
    pub(super) fn definitions() -> Self {
        Self {
            namespace: HOME.to_owned(),
            release: None,
            serving_namespace: SERVING_NAMESPACE.to_owned(),
            api_group: API_GROUP.to_owned(),
            credential_namespaces: Vec::new(),
            holders: Holders::One,
            policies: Vec::new(),
            rights: Vec::new(),
            only: vec![Share::Crds],
        }
    }

    /// As the control plane knows it.
    pub(super) fn identity(&self) -> Identity {
        Identity {
            home: self.namespace.clone(),
            release: self.release.clone(),
        }
    }

    /// Whether a share is asked for.
    pub(super) fn has(&self, share: Share) -> bool {
        self.only.is_empty() || self.only.contains(&share)
    }

    /// What was asked for of it all.
    pub(super) fn manifests(&self) -> Vec<Manifest> {
        let mut all = self.all();
        all.retain(|manifest| self.has(manifest.sort.share()));
        all
    }

    /// In the order in which it is applied: what others rest on comes first.
    fn all(&self) -> Vec<Manifest> {
        let mut all = definitions();
        all.extend(self.placed(shipped::rights()));
        let names = once_each(self.rights.iter().chain(&self.policies));
        all.extend(names.flat_map(|name| self.placed(shipped::rights_of(name))));
        all.extend(self.further_credentials(&all));
        all.extend(once_each(self.policies.iter()).flat_map(|name| policy(name)));
        all
    }

    /// Fails if the serving certificate would lie among Secrets that others read.
    pub(super) fn expect_serving_apart(&self) -> anyhow::Result<()> {
        let namespace = &self.serving_namespace;
        let reads = |manifest: &Manifest| {
            manifest.name == CREDENTIALS && manifest.namespace.as_ref() == Some(namespace)
        };
        ensure!(
            !is_everybodys(namespace) && !self.all().iter().any(reads),
            "--serving-namespace {namespace}: others read the Secrets there, and whoever reads that of the serving certificate can pass for Armadex: name a namespace that is for it alone"
        );
        Ok(())
    }

    /// The rights of a policy, named or not.
    pub(super) fn rights_of(&self, policy: &str) -> Vec<Manifest> {
        let mut rights = self.placed(shipped::rights_of(policy));
        rights.retain(|manifest| manifest.sort == Sort::Right);
        rights
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
            if let Some(name) = object.pointer_mut(path) {
                let placed = name.as_str().and_then(|name| self.namespace_of(name));
                *name = placed.map_or(name.take(), |placed| json!(placed));
            }
        }
        self.name_group(&mut object);
        if object["roleRef"].is_object() {
            object["subjects"] = self.holders.subjects(&object, &self.namespace).into();
        }
        if sort(&object) == Sort::Right {
            self.identity().mark(&mut object);
        }
        object
    }

    /// What a namespace of the manifests is called here, if that is Armadex's own.
    fn namespace_of(&self, name: &str) -> Option<&String> {
        match name {
            HOME => Some(&self.namespace),
            SERVING_NAMESPACE => Some(&self.serving_namespace),
            _ => None,
        }
    }

    /// How the group is registered, and who may do that.
    fn name_group(&self, object: &mut Value) {
        let (usual, ours) = (api_service(API_GROUP), api_service(&self.api_group));
        if object["kind"] == "APIService" {
            object["metadata"]["name"] = json!(ours);
            object["spec"]["group"] = json!(self.api_group);
        }
        let rules = object.get_mut("rules").and_then(Value::as_array_mut);
        let names = rules
            .into_iter()
            .flatten()
            .filter_map(|rule| rule.get_mut("resourceNames")?.as_array_mut());
        for name in names.flatten().filter(|name| **name == usual) {
            *name = json!(ours);
        }
    }

    /// The role and its binding in each further namespace that has none by then, as they are in that of Armadex.
    fn further_credentials(&self, all: &[Manifest]) -> Vec<Manifest> {
        let credentials = all.iter().filter(|manifest| manifest.name == CREDENTIALS);
        let credentials: Vec<&Manifest> = credentials.collect();
        let of = |namespace: &String| {
            let there = credentials.iter().copied();
            let namespace = Some(namespace.clone());
            there.filter(move |manifest| manifest.namespace == namespace)
        };
        let further = once_each(self.credential_namespaces.iter());
        let further = further.filter(|namespace| of(namespace).next().is_none());
        let there = |namespace: &String| {
            let objects = of(&self.namespace).map(|manifest| {
                let mut object = manifest.object.clone();
                object["metadata"]["namespace"] = json!(namespace);
                Manifest::of(object)
            });
            objects.collect::<Vec<_>>()
        };
        further.flat_map(there).collect()
    }
}

/// All that may have been installed, but for definitions, namespaces and policies, with these registrations beside it. Whoever registers itself may do so no more, before the
/// registrations go, since nobody is to be led to a server that is gone; then the other rights, and what they rest on last. The registrations stand at the end again:
/// what was on its way when the right to it went has come by then.
pub(crate) fn to_remove(
    namespace: &str,
    api_group: &str,
    credential_namespaces: &[String],
    mut registrations: Vec<Manifest>,
) -> Vec<Manifest> {
    let names: Vec<String> = shipped::policies().into_iter().map(String::from).collect();
    let wanted = |holders: Holders| Wanted {
        namespace: namespace.to_owned(),
        release: None,
        // Rights in another one are found by whose they say they are.
        serving_namespace: SERVING_NAMESPACE.to_owned(),
        api_group: api_group.to_owned(),
        credential_namespaces: credential_namespaces.to_vec(),
        holders,
        policies: Vec::new(),
        rights: names.clone(),
        only: vec![Share::Rights],
    };
    let (one, apart) = (wanted(Holders::One), wanted(Holders::Apart));
    let named = one.placed(shipped::registration()).into_iter().rev();
    registrations.extend(named.filter(|manifest| manifest.sort == Sort::Registration));
    let registrations: Vec<_> = once(registrations).collect();
    let mut rights = one.placed(shipped::credentials());
    rights.extend([one, apart].iter().flat_map(Wanted::manifests));
    rights.retain(|manifest| manifest.sort == Sort::Right);
    rights.reverse();
    let (accounts, rights): (Vec<_>, Vec<_>) =
        once(rights).partition(|manifest| manifest.kind.kind == "ServiceAccount");
    let (registering, rights): (Vec<_>, Vec<_>) = rights
        .into_iter()
        .partition(|manifest| manifest.name == REGISTRATION);
    let again = registrations.clone();
    [registering, registrations, rights, accounts, again].concat()
}

/// Each place once.
fn once(manifests: Vec<Manifest>) -> impl Iterator<Item = Manifest> {
    let mut seen = BTreeSet::new();
    let manifests = manifests.into_iter();
    manifests.filter(move |manifest| seen.insert(manifest.address()))
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

fn sort(object: &Value) -> Sort {
    let is_ours = object.pointer("/metadata/labels").is_some();
    match object["kind"].as_str().unwrap_or_default() {
        "CustomResourceDefinition" => Sort::Definition,
        // Those of Armadex have a label that says so to Karmada.
        "Namespace" if is_ours => Sort::Home,
        "Namespace" => Sort::Elsewhere,
        "ClusterImportPolicy" => Sort::Policy,
        "Service" | "APIService" => Sort::Registration,
        _ => Sort::Right,
    }
}

impl Sort {
    const fn share(self) -> Share {
        match self {
            Self::Definition => Share::Crds,
            Self::Policy => Share::Policies,
            Self::Home | Self::Elsewhere | Self::Right | Self::Registration => Share::Rights,
        }
    }
}

impl Manifest {
    /// A right that is there.
    pub(super) fn right(kind: ApiResource, namespace: Option<String>, name: String) -> Self {
        Self {
            sort: Sort::Right,
            kind,
            namespace,
            name,
            object: Value::Null,
        }
    }

    /// A Secret that may be there.
    pub(super) fn secret(namespace: &str, name: &str) -> Self {
        let metadata = json!({"namespace": namespace, "name": name});
        Self::of(json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata}))
    }

    /// An APIService that is there.
    pub(super) fn api_service(name: &str, home: &str) -> Self {
        Self::of(json!({
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": name},
            "spec": {"service": {"namespace": home}},
        }))
    }

    /// What no two objects have in common.
    pub(crate) fn address(&self) -> (String, Option<String>) {
        (self.to_string(), self.namespace.clone())
    }

    fn of(object: Value) -> Self {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str);
        let kind = text("/kind").unwrap_or_default();
        let version = text("/apiVersion").unwrap_or_default();
        let (group, version) = version.rsplit_once('/').unwrap_or(("", version));
        Self {
            sort: sort(&object),
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
            release: None,
            serving_namespace: SERVING_NAMESPACE.to_owned(),
            api_group: API_GROUP.to_owned(),
            credential_namespaces: Vec::new(),
            holders: Holders::One,
            policies: vec!["karmada".to_owned()],
            rights: Vec::new(),
            only: Vec::new(),
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
        let homes = place(Sort::Home);
        assert_eq!(homes[0], 4);
        let homes = homes.into_iter().map(|place| all[place].name.as_str());
        assert_eq!(Vec::from_iter(homes), [HOME, SERVING_NAMESPACE]);
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
        all.extend(to_remove("fleet", API_GROUP, &[], Vec::new()));
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
            usual.manifests().len() + to_remove(HOME, API_GROUP, &[], Vec::new()).len(),
            all.len()
        );
    }

    /// Beside a Clusterpedia that is used: its APIService can then be neither written nor taken away by mistake.
    #[test]
    fn a_trial_may_register_its_own_group_and_no_other() {
        let trial = Wanted {
            api_group: "trial.example.com".to_owned(),
            ..wanted()
        };
        let mut all = trial.manifests();
        all.extend(to_remove(HOME, "trial.example.com", &[], Vec::new()));
        let of_objects = all.iter().filter(|it| it.sort != Sort::Definition);
        let texts: Vec<String> = of_objects.map(|it| it.object.to_string()).collect();
        let names = |name: &str| {
            let name = format!("\"{name}\"");
            texts.iter().filter(|text| text.contains(&name)).count()
        };
        assert_eq!(names("v1beta1.clusterpedia.io"), 0);
        // Installed, and of those that go: the right of one account and of several, and the registration twice.
        assert!(names("v1beta1.trial.example.com") >= 4);
        let told = told(&all);
        let registration = "apiservice.apiregistration.k8s.io/v1beta1.trial.example.com";
        assert!(told.iter().any(|told| told == registration), "{told:#?}");
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
        all.push("team-a: role.rbac.authorization.k8s.io/armadex-credentials".to_owned());
        all.push("team-a: rolebinding.rbac.authorization.k8s.io/armadex-credentials".to_owned());
        assert_eq!(further(&["team-a", HOME, "team-a"]), all);
    }

    /// The registration goes early, and is looked at again: whoever makes it may not have seen yet that it may not.
    #[test]
    fn the_right_to_register_goes_before_the_registration_and_the_accounts_go_last() {
        let all = to_remove("fleet", API_GROUP, &["team-a".to_owned()], Vec::new());
        let mut told = told(&all);
        let registration = [
            "apiservice.apiregistration.k8s.io/v1beta1.clusterpedia.io",
            "fleet: service/armadex-apiserver",
        ];
        assert!(
            told[..4]
                .iter()
                .all(|told| told.ends_with("/armadex-registration"))
        );
        assert_eq!(told[4..6], registration);
        assert_eq!(told.split_off(told.len() - 2), registration);
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
