//! From what is needed to the roles and bindings that grant it, each place once. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::needs::{Need, Place, of_impersonated, secrets};
use crate::command::install::Grantees;
use crate::credentials::{SERVING_NAMESPACE, is_everybodys, namespace};

const RBAC: &str = "rbac.authorization.k8s.io";
/// Which parts read what policies name, which go to members, and which read credentials.
const CONTROLLERS: &str = "controllers";
const SYNCHRO: &str = "synchro";
const WITH_SYNCHRO: &str = "synchro,controllers";
/// What PediaClusters that are written by hand are called among what rights are for.
const PEDIACLUSTER: &str = "pediacluster";

/// Namespaces whose Secrets Armadex may read.
pub(super) struct Namespaces<'a> {
    /// Its own.
    pub(super) home: &'a str,
    /// Those of --credential-namespaces.
    pub(super) named: &'a [String],
}

/// What is granted, and words about what is not.
#[derive(Debug, Default)]
pub(super) struct Grants {
    all: BTreeMap<Address, Vec<Grant>>,
    pub(super) notes: Vec<String>,
}

/// What one role is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Address {
    /// None where it is granted in all of them.
    namespace: Option<String>,
    /// As the annotation of the role says it.
    purpose: String,
    of: Of,
}

/// What is asked by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Of {
    /// What policies name.
    Named,
    /// Members, by the control plane.
    Members,
    /// Nothing: the groups of whoever asks for members.
    Nothing,
    /// Credentials of members.
    Credentials,
}

/// A rule, and what it is for.
#[derive(Debug)]
struct Grant {
    rule: Value,
    is_of_secrets: bool,
    why: String,
}

impl Grants {
    /// Adds what a policy needs.
    pub(super) fn add_policy(&mut self, policy: &str, needs: &[Need], namespaces: &Namespaces<'_>) {
        let purpose = format!("policy/{policy}");
        let (credentials, others): (Vec<_>, Vec<_>) =
            needs.iter().partition(|need| need.are_credentials);
        for need in credentials.into_iter().chain(others) {
            for namespace in self.places(&purpose, need, namespaces) {
                self.grant(namespace, &purpose, need);
            }
        }
    }

    /// Adds what a synchro asks the control plane for on the way to members, if that is wished for.
    pub(super) fn add_proxy(&mut self, policy: &str, need: &Need, is_wished_for: bool) {
        let purpose = format!("policy/{policy}");
        if need.group.is_empty() {
            // What Kubernetes serves so of its own kinds are kubelets, pods and services.
            self.note(format!(
                "{purpose}: its template names controlPlaneProxy, which is never made of a source without a group: nothing is granted for that"
            ));
            return;
        }
        if !is_wished_for {
            let resource = &need.resource;
            self.note(format!(
                "{purpose}: members may be asked by {resource} of the control plane (controlPlaneProxy), and no right is printed for that: it is with \
                 --control-plane-proxy; read what that opens in docs/permissions.md, \"By the control plane\""
            ));
            return;
        }
        let address = |of| Address {
            namespace: None,
            purpose: purpose.clone(),
            of,
        };
        self.grant_at(address(Of::Members), need);
        if let Some(need) = of_impersonated(need) {
            self.grant_at(address(Of::Nothing), &need);
        }
    }

    /// Adds what a PediaCluster needs that somebody writes.
    pub(super) fn add_pedia_clusters(&mut self, namespaces: &Namespaces<'_>) {
        let why = "credentials that PediaClusters name by authenticationFrom".to_owned();
        let need = secrets(why, Place::Credentials);
        let home = [namespaces.home.to_owned()];
        let all = match namespaces.named {
            [] => &home,
            named => named,
        };
        for namespace in all {
            self.grant(Some(namespace.clone()), PEDIACLUSTER, &need);
        }
    }

    /// Says in which of the namespaces nothing of this is read.
    pub(super) fn tell_unused(&mut self, namespaces: &Namespaces<'_>) {
        let is_unused = |name: &&String| !self.reads_secrets_in(name);
        let unused = namespaces.named.iter().filter(is_unused);
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
        let pairs = self.all.iter();
        let pairs = pairs.flat_map(|(address, grants)| pair(address, grants, grantees));
        pairs.collect()
    }

    /// Where a need is granted: in these namespaces, or in all.
    fn places(
        &mut self,
        purpose: &str,
        need: &Need,
        namespaces: &Namespaces<'_>,
    ) -> Vec<Option<String>> {
        let places = match &need.place {
            Place::Everywhere => return vec![None],
            Place::In(namespace) if !need.is_of_secrets() => return vec![Some(namespace.clone())],
            Place::In(namespace) if self.may_be_read(purpose, namespace, namespaces) => {
                vec![namespace.clone()]
            }
            Place::In(_) => Vec::new(),
            Place::Credentials => self.of_credentials(purpose, need, namespaces),
        };
        places.into_iter().map(Some).collect()
    }

    /// The namespaces that credentials are read in.
    fn of_credentials(
        &mut self,
        purpose: &str,
        need: &Need,
        namespaces: &Namespaces<'_>,
    ) -> Vec<String> {
        if namespaces.named.is_empty() {
            let (why, home) = (&need.why, namespaces.home);
            self.note(format!(
                "{purpose}: {why} are Secrets whose namespaces it does not say in so many words: `armadex install` grants those of {home}; name the others in \
                 --credential-namespaces, here and where Armadex is started, or nothing is granted there"
            ));
        }
        namespaces.named.to_vec()
    }

    /// Whether Secrets of a namespace that a policy's text names may be read for it; says what is to be known of that.
    fn may_be_read(&mut self, purpose: &str, name: &str, namespaces: &Namespaces<'_>) -> bool {
        let asked_for = namespaces.named.iter().any(|named| named == name);
        let (is_granted, note) = match namespace(name) {
            _ if asked_for => return true,
            _ if name == namespaces.home => (
                false,
                format!(
                    "Secrets of {name} may be read by what `armadex install` grants, so no right is printed for that: where helm has Armadex in the cluster \
                     that it serves, name {name} in --credential-namespaces"
                ),
            ),
            Err(refusal) => (
                false,
                format!("Secrets of {name} are named, and there is no such namespace ({refusal})"),
            ),
            Ok(_) if name == SERVING_NAMESPACE => (
                false,
                format!(
                    "Secrets of {name} are named, and there lies the serving certificate of Armadex: no right is granted for that, so put them into another namespace"
                ),
            ),
            Ok(_) if is_everybodys(name) => (
                false,
                format!(
                    "Secrets of {name} are named, and others use it too: no right is granted for that, so put them into a namespace of their own"
                ),
            ),
            Ok(_) if namespaces.named.is_empty() => (
                true,
                format!(
                    "Secrets of {name} may be read by what is printed, as the text of the policy names it: --credential-namespaces holds policies to the \
                     namespaces that you mean"
                ),
            ),
            Ok(_) => (
                false,
                format!(
                    "Secrets of {name} are named, and --credential-namespaces does not name it: no right is granted for that"
                ),
            ),
        };
        self.note(format!("{purpose}: {note}"));
        is_granted
    }

    fn reads_secrets_in(&self, name: &str) -> bool {
        let mut all = self.all.iter();
        all.any(|(address, grants)| {
            address.namespace.as_deref() == Some(name)
                && grants.iter().any(|grant| grant.is_of_secrets)
        })
    }

    /// Each rule once. Whoever reads all Secrets of a namespace as credentials needs no other right to them.
    fn grant(&mut self, namespace: Option<String>, purpose: &str, need: &Need) {
        let mut address = Address {
            namespace,
            purpose: purpose.to_owned(),
            of: Of::Credentials,
        };
        if need.is_of_secrets() && !need.are_credentials && self.all.contains_key(&address) {
            return;
        }
        if !need.are_credentials {
            address.of = Of::Named;
        }
        self.grant_at(address, need);
    }

    fn grant_at(&mut self, address: Address, need: &Need) {
        let grant = Grant {
            rule: rule(need),
            is_of_secrets: need.is_of_secrets(),
            why: format!("{}: {}", address.purpose, need.why),
        };
        self.all.entry(address).or_default().push(grant);
    }

    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

/// A role, and who has it.
fn pair(address: &Address, grants: &[Grant], grantees: &Grantees) -> [(String, Value); 2] {
    let Address {
        namespace,
        purpose,
        of,
    } = address;
    let (tail, parts) = match of {
        Of::Named => ("", CONTROLLERS),
        Of::Members => (":proxy", SYNCHRO),
        Of::Nothing => (":impersonated", SYNCHRO),
        Of::Credentials => (":credentials", WITH_SYNCHRO),
    };
    let name = grantees.name(&format!("{}{tail}", purpose.replace('/', ":")));
    let kind = match namespace {
        Some(_) => "Role",
        None => "ClusterRole",
    };
    let mut object = json!({"apiVersion": format!("{RBAC}/v1"), "metadata": {"name": name}});
    if let Some(namespace) = namespace {
        object["metadata"]["namespace"] = json!(namespace);
    }
    let (mut role, mut binding) = (object.clone(), object);
    let mut rules: Vec<&Value> = Vec::new();
    for grant in grants {
        if !rules.contains(&&grant.rule) {
            rules.push(&grant.rule);
        }
    }
    role["kind"] = json!(kind);
    role["rules"] = json!(rules);
    binding["kind"] = json!(format!("{kind}Binding"));
    binding["roleRef"] = json!({"apiGroup": RBAC, "kind": kind, "name": name});
    let binding = match of {
        Of::Nothing => grantees.group_binding(binding, purpose, parts),
        Of::Named | Of::Members | Of::Credentials => grantees.binding(binding, purpose, parts),
    };
    let why: BTreeSet<&str> = grants.iter().map(|grant| grant.why.as_str()).collect();
    let why: Vec<&str> = why.into_iter().collect();
    [
        (why.join("\n"), grantees.role(role, purpose)),
        (String::new(), binding),
    ]
}

fn rule(need: &Need) -> Value {
    let mut rule =
        json!({"apiGroups": [need.group], "resources": [need.resource], "verbs": need.verbs});
    if let Some(name) = &need.name {
        rule["resourceNames"] = json!([name]);
    }
    rule
}
