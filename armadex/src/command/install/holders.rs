//! Who has the roles of Armadex on a control plane: an account for all of them, one for each part, or whoever is named. Pure.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use armadex_crds::is_subdomain;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// The account that has all roles, as the manifests call it.
pub(super) const ACCOUNT: &str = "armadex";
/// Groups that nobody means: whoever is in them may do too little for it to be a right, or everything already.
const EVERYBODY: [&str; 4] = [
    "system:authenticated",
    "system:unauthenticated",
    "system:serviceaccounts",
    "system:masters",
];

/// Who has the roles.
#[derive(Clone, Debug)]
pub(crate) enum Holders {
    /// The account, which is made.
    One,
    /// An account for each part, which are made.
    Apart,
    /// These alone, and no account is made.
    Named(Vec<Subject>),
}

/// Bytes of a digest: nobody has so many holders that two are told by the same.
const MARK: usize = 4;

/// A part of Armadex that may run apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Apiserver,
    Synchro,
    Controllers,
}

use Part::{Apiserver, Controllers, Synchro};

/// The annotation of a binding that says which parts have its role, separated by commas.
pub(super) const PARTS: &str = "armadex.dev/parts";

impl Part {
    /// As the annotation calls it.
    const fn name(self) -> &'static str {
        match self {
            Apiserver => "apiserver",
            Synchro => "synchro",
            Controllers => "controllers",
        }
    }

    const fn account(self) -> &'static str {
        match self {
            Apiserver => "armadex-apiserver",
            Synchro => "armadex-synchro",
            Controllers => "armadex-controllers",
        }
    }

    fn is_in(self, binding: &Value) -> bool {
        let said = binding["metadata"]["annotations"][PARTS].as_str();
        let mut parts = said.unwrap_or_default().split(',');
        parts.any(|part| part == self.name())
    }
}

impl Holders {
    /// The accounts that are made.
    pub(super) fn accounts(&self) -> Vec<&'static str> {
        match self {
            Self::One => vec![ACCOUNT],
            Self::Apart => [Apiserver, Synchro, Controllers].map(Part::account).into(),
            Self::Named(_) => Vec::new(),
        }
    }

    /// What tells them from other holders, at the end of a word; nothing for the account.
    pub(super) fn mark(&self) -> String {
        match self {
            Self::One => String::new(),
            Self::Apart => ":apart".to_owned(),
            Self::Named(subjects) => {
                let subjects = subjects.iter().map(Subject::to_value);
                let told: BTreeSet<String> = subjects.map(|it| Told(&it).to_string()).collect();
                let told = Vec::from_iter(told).join("\n");
                let digest = Sha256::digest(told).into_iter().take(MARK);
                digest.fold(":".to_owned(), |mark, byte| format!("{mark}{byte:02x}"))
            }
        }
    }

    /// The subjects of a binding, with accounts of this namespace.
    pub(super) fn subjects(&self, binding: &Value, namespace: &str) -> Vec<Value> {
        let account = |name: &str| Subject::ServiceAccount {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        };
        let subjects = match self {
            Self::One => vec![account(ACCOUNT)],
            Self::Apart => {
                let parts = [Apiserver, Synchro, Controllers].into_iter();
                let parts = parts.filter(|part| part.is_in(binding));
                parts.map(|part| account(part.account())).collect()
            }
            Self::Named(subjects) => subjects.clone(),
        };
        subjects.iter().map(Subject::to_value).collect()
    }
}

/// Somebody whom a control plane knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    User(String),
    Group(String),
    ServiceAccount { namespace: String, name: String },
}

impl Subject {
    /// As a binding names it.
    pub(in crate::command) fn to_value(&self) -> Value {
        let of_rbac = |kind: &str, name: &str| json!({"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name});
        match self {
            Self::User(name) => of_rbac("User", name),
            Self::Group(name) => of_rbac("Group", name),
            Self::ServiceAccount { namespace, name } => {
                json!({"kind": "ServiceAccount", "namespace": namespace, "name": name})
            }
        }
    }
}

impl FromStr for Subject {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, name) = text.split_once(':').unwrap_or_default();
        let subject = match kind {
            "user" => Self::User(name.to_owned()),
            "group" if EVERYBODY.contains(&name) => {
                return Err(format!(
                    "{name} is no group to give these rights to: they read the credentials of members"
                ));
            }
            "group" => Self::Group(name.to_owned()),
            "serviceaccount" => {
                let (namespace, name) = name.split_once('/').unwrap_or_default();
                if !is_subdomain(namespace) || !is_subdomain(name) {
                    return Err("a ServiceAccount is named NAMESPACE/NAME".to_owned());
                }
                let (namespace, name) = (namespace.to_owned(), name.to_owned());
                Self::ServiceAccount { namespace, name }
            }
            _ => {
                return Err(
                    "expected user:NAME, group:NAME or serviceaccount:NAMESPACE/NAME".to_owned(),
                );
            }
        };
        match name {
            "" => Err(format!("the name of the {kind} is missing")),
            "system:anonymous" => Err("nobody is to have these rights unasked".to_owned()),
            _ => Ok(subject),
        }
    }
}

/// As it is said on the command line; of a binding's subject.
pub(super) struct Told<'a>(pub(super) &'a Value);

impl fmt::Display for Told<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |field: &str| self.0[field].as_str().unwrap_or_default();
        let kind = word("kind").to_lowercase();
        match word("namespace") {
            "" => write!(out, "{kind}:{}", word("name")),
            namespace => write!(out, "{kind}:{namespace}/{}", word("name")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::install::shipped;

    #[test]
    fn a_subject_is_said_as_it_is_told() {
        for text in [
            "user:karmada-armadex",
            "user:CN=a:b/c",
            "group:platform:armadex",
            "serviceaccount:fleet/armadex.one",
        ] {
            let subject: Subject = text.parse().expect(text);
            assert_eq!(Told(&subject.to_value()).to_string(), text);
        }
        for (text, word) in [
            ("", "expected"),
            ("armadex", "expected"),
            ("role:a", "expected"),
            ("User:a", "expected"),
            ("user:", "missing"),
            ("user:system:anonymous", "nobody"),
            ("group:", "missing"),
            ("group:system:authenticated", "no group"),
            ("serviceaccount:a", "NAMESPACE/NAME"),
            ("serviceaccount:a/b/c", "NAMESPACE/NAME"),
            ("serviceaccount:/b", "NAMESPACE/NAME"),
        ] {
            let refused = text.parse::<Subject>().expect_err(text);
            assert!(refused.contains(word), "{text}: {refused}");
        }
    }

    #[test]
    fn holders_are_told_from_others_however_they_are_said() {
        let named = |subjects: &[&str]| {
            let subjects = subjects.iter().map(|text| text.parse().expect("one"));
            Holders::Named(subjects.collect()).mark()
        };
        let both = named(&["user:a", "group:b"]);
        assert_eq!(both, named(&["group:b", "user:a", "user:a"]));
        let marks = [
            Holders::One.mark(),
            Holders::Apart.mark(),
            named(&["user:a"]),
            named(&["group:a"]),
            both,
        ];
        assert_eq!(marks[..2], ["", ":apart"]);
        assert_eq!(BTreeSet::from(marks.clone()).len(), 5, "{marks:?}");
        assert!(marks[2..].iter().all(|mark| mark.len() == 9), "{marks:?}");
    }

    fn bindings() -> Vec<Value> {
        let mut all = shipped::rights();
        for policy in shipped::policies() {
            all.extend(shipped::rights_of(policy));
        }
        all.retain(|object| object["roleRef"].is_object());
        all
    }

    /// One that says nothing would be nobody's where parts run apart.
    #[test]
    fn every_binding_of_the_manifests_says_whose_it_is() {
        let bindings = bindings();
        assert!(bindings.len() > 12);
        for binding in bindings {
            let said = binding["metadata"]["annotations"][PARTS].as_str();
            let known = |part: &str| {
                [Apiserver, Synchro, Controllers]
                    .iter()
                    .any(|known| known.name() == part)
            };
            assert!(
                said.is_some_and(|said| said.split(',').all(known)),
                "{binding}"
            );
        }
    }

    #[test]
    fn parts_that_run_apart_have_their_own_roles_and_no_others() {
        let told = |role: &str| {
            let bindings = bindings().into_iter();
            let mut of_role = bindings.filter(|binding| binding["roleRef"]["name"] == role);
            let binding = of_role.next().expect(role);
            let subjects = Holders::Apart.subjects(&binding, "a");
            let told = subjects.iter().map(|subject| Told(subject).to_string());
            told.collect::<Vec<_>>()
        };
        assert_eq!(
            told("armadex-apiserver"),
            ["serviceaccount:a/armadex-apiserver"]
        );
        assert_eq!(
            told("armadex-credentials"),
            [
                "serviceaccount:a/armadex-synchro",
                "serviceaccount:a/armadex-controllers"
            ]
        );
        assert_eq!(
            told("armadex-karmada"),
            ["serviceaccount:a/armadex-controllers"]
        );
        assert_eq!(told("armadex-control-plane").len(), 3);
    }
}
