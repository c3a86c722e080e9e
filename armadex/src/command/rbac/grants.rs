//! From what is needed to the roles and bindings that grant it, each place once. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::needs::{Need, Place, secrets};
use crate::command::install::{CREDENTIALS, Grantees, own_roles};
use crate::credentials::{is_everybodys, namespace};

const RBAC: &str = "rbac.authorization.k8s.io";
/// Which parts read what policies name, and which read credentials.
const CONTROLLERS: &str = "controllers";
const WITH_SYNCHRO: &str = "synchro,controllers";
/// What PediaClusters that are written by hand are called among what rights are for.
const PEDIACLUSTER: &str = "pediacluster";

/// Namespaces whose Secrets Armadex may read.
pub(super) struct Namespaces<'a> {
    /// Its own.
    pub(super) home: &'a str,
    /// Those of --credential-namespaces.
    pub(super) further: &'a [String],
}

/// What is granted, and words about what is not.
#[derive(Debug, Default)]
pub(super) struct Grants {
    all: BTreeMap<Address, Grant>,
    pub(super) notes: Vec<String>,
}

/// The namespace, if it is granted in one alone, and the name of the role.
type Address = (Option<String>, String);

#[derive(Debug, Default)]
struct Grant {
    parts: &'static str,
    rules: Vec<Value>,
    /// What the rights are for, in a word each.
    purposes: BTreeSet<String>,
    /// The same in words.
    why: Vec<String>,
}

impl Grants {
    /// Adds what a policy needs.
    pub(super) fn add_policy(&mut self, policy: &str, needs: &[Need], namespaces: &Namespaces<'_>) {
        let purpose = format!("policy/{policy}");
        let (credentials, others): (Vec<_>, Vec<_>) =
            needs.iter().partition(|need| need.are_credentials);
        for need in credentials {
            for namespace in self.places(&purpose, need, namespaces) {
                if self.may_be_granted(&purpose, &namespace, namespaces) {
                    self.grant(
                        (Some(namespace), CREDENTIALS.to_owned()),
                        WITH_SYNCHRO,
                        &purpose,
                        need,
                    );
                }
            }
        }
        let role = role_of(policy);
        for need in others {
            let place = match &need.place {
                Place::In(namespace) => Some(namespace.clone()),
                Place::Everywhere | Place::Credentials => None,
            };
            let is_granted = match &place {
                Some(namespace) if need.is_of_secrets() => {
                    self.has_credentials(namespace)
                        || !self.may_be_granted(&purpose, namespace, namespaces)
                }
                _ => false,
            };
            if !is_granted {
                self.grant((place, role.clone()), CONTROLLERS, &purpose, need);
            }
        }
    }

    /// Adds what a PediaCluster needs that somebody writes.
    pub(super) fn add_pedia_clusters(&mut self, namespaces: &Namespaces<'_>) {
        let why = "credentials that PediaClusters name by authenticationFrom".to_owned();
        let need = secrets(why, Place::Credentials);
        let home = std::iter::once(namespaces.home);
        for namespace in home.chain(namespaces.further.iter().map(String::as_str)) {
            let address = (Some(namespace.to_owned()), CREDENTIALS.to_owned());
            self.grant(address, WITH_SYNCHRO, PEDIACLUSTER, &need);
        }
    }

    /// Says which of the further namespaces nothing of this needs.
    pub(super) fn tell_unused(&mut self, namespaces: &Namespaces<'_>) {
        let is_unused = |name: &&String| *name != namespaces.home && !self.has_credentials(name);
        let unused = namespaces.further.iter().filter(is_unused);
        let unused: Vec<&str> = unused.map(String::as_str).collect();
        if !unused.is_empty() {
            let unused = unused.join(", ");
            self.note(format!(
                "nothing is granted in {unused}, which --credential-namespaces names: no Secret is read there for any of this"
            ));
        }
    }

    /// Each role and whoever has it, with words about it.
    pub(super) fn objects(&self, grantees: &Grantees) -> Vec<(String, Value)> {
        let grants = self.all.iter().flat_map(|((namespace, name), grant)| {
            let kind = match namespace {
                Some(_) => "Role",
                None => "ClusterRole",
            };
            let mut object =
                json!({"apiVersion": format!("{RBAC}/v1"), "metadata": {"name": name}});
            if let Some(namespace) = namespace {
                object["metadata"]["namespace"] = json!(namespace);
            }
            let (mut role, mut binding) = (object.clone(), object);
            role["kind"] = json!(kind);
            role["rules"] = json!(grant.rules);
            binding["kind"] = json!(format!("{kind}Binding"));
            binding["roleRef"] = json!({"apiGroup": RBAC, "kind": kind, "name": name});
            let purposes: Vec<&str> = grant.purposes.iter().map(String::as_str).collect();
            let purposes = purposes.join(",");
            [
                (grant.why.join("\n"), grantees.role(role, &purposes)),
                (
                    String::new(),
                    grantees.binding(binding, &purposes, grant.parts),
                ),
            ]
        });
        grants.collect()
    }

    /// The namespaces that credentials are read in.
    fn places(&mut self, purpose: &str, need: &Need, namespaces: &Namespaces<'_>) -> Vec<String> {
        if let Place::In(namespace) = &need.place {
            return vec![namespace.clone()];
        }
        let (why, home) = (&need.why, namespaces.home);
        if namespaces.further.is_empty() {
            self.note(format!(
                "{purpose}: {why} are Secrets whose namespaces it does not say in so many words: those of {home} may be read anyway; name the others in \
                 --credential-namespaces, here and where Armadex is started, or nothing is granted there"
            ));
        }
        namespaces.further.to_vec()
    }

    /// Whether a right to read Secrets of a namespace is to be granted for a policy; says so if not.
    fn may_be_granted(&mut self, purpose: &str, name: &str, namespaces: &Namespaces<'_>) -> bool {
        let note = match namespace(name) {
            _ if name == namespaces.home => format!(
                "{purpose}: Secrets of {name} may be read by the rights that its Armadex has anyway, so none is printed for that"
            ),
            Err(refusal) => format!(
                "{purpose}: Secrets of {name} are named and will not be read, so no right is granted for that: --credential-namespaces takes no such namespace ({refusal})"
            ),
            Ok(_) if is_everybodys(name) => format!(
                "{purpose}: Secrets of {name} are named, and others use it too: no right is granted for that, so put them into a namespace of their own"
            ),
            Ok(_) => return true,
        };
        self.note(note);
        false
    }

    fn has_credentials(&self, namespace: &str) -> bool {
        let address = (Some(namespace.to_owned()), CREDENTIALS.to_owned());
        self.all.contains_key(&address)
    }

    fn grant(&mut self, address: Address, parts: &'static str, purpose: &str, need: &Need) {
        let grant = self.all.entry(address).or_default();
        grant.parts = parts;
        grant.purposes.insert(purpose.to_owned());
        let rule = rule(need);
        if !grant.rules.contains(&rule) {
            grant.rules.push(rule);
        }
        let why = format!("{purpose}: {}", need.why);
        if !grant.why.contains(&why) {
            grant.why.push(why);
        }
    }

    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

/// As those of the shipped policies are called, but for a name that Armadex has for itself.
fn role_of(policy: &str) -> String {
    let role = format!("armadex-{policy}");
    match own_roles().contains(&role) {
        true => format!("armadex-policy-{policy}"),
        false => role,
    }
}

fn rule(need: &Need) -> Value {
    let mut rule =
        json!({"apiGroups": [need.group], "resources": [need.resource], "verbs": need.verbs});
    if let Some(name) = &need.name {
        rule["resourceNames"] = json!([name]);
    }
    rule
}
