//! Rights that somebody grants Armadex beside those that are installed: labelled and bound in the same way, so that `uninstall` finds them, and marked, so that `install`
//! does not take them for what it is to withdraw. Pure.

use std::collections::BTreeSet;

use kube::core::ObjectMeta;
use serde_json::{Value, json};

use super::decision::labelled;
use super::holders::{Holders, PARTS, Subject, Told};
use super::homes::HOME_LABEL;

/// The annotation that says what a right was granted for.
const GRANTED_FOR: &str = "armadex.dev/granted-for";
/// The group of all accounts, and the beginning of that of the accounts of one namespace.
const ACCOUNTS: &str = "system:serviceaccounts";

/// Who has them.
pub(crate) struct Grantees {
    /// The namespace of Armadex.
    pub(crate) home: String,
    pub(crate) holders: Holders,
}

impl Grantees {
    /// What a role for a purpose is called, and its binding. What is installed has no colon in its name, be it by helm, and what others are granted for the same purpose
    /// has another name: whoever applies or deletes one of them leaves the rest as it is.
    pub(crate) fn name(&self, purpose: &str) -> String {
        let (home, mark) = (&self.home, self.holders.mark());
        format!("armadex:{home}{mark}:{purpose}")
    }

    /// A role for a purpose.
    pub(crate) fn role(&self, mut role: Value, purpose: &str) -> Value {
        role["metadata"]["labels"][HOME_LABEL] = json!(self.home);
        role["metadata"]["annotations"][GRANTED_FOR] = json!(purpose);
        labelled(role)
    }

    /// The binding of such a role, for these parts of Armadex.
    pub(crate) fn binding(&self, binding: Value, purpose: &str, parts: &str) -> Value {
        let mut binding = self.role(binding, purpose);
        binding["metadata"]["annotations"][PARTS] = json!(parts);
        binding["subjects"] = self.holders.subjects(&binding, &self.home).into();
        binding
    }

    /// The binding of a role that is for the groups which these parts are in, as far as they are known, and for no part.
    pub(crate) fn group_binding(&self, binding: Value, purpose: &str, parts: &str) -> Value {
        let bound = self.binding(binding.clone(), purpose, parts);
        let mut binding = self.role(binding, purpose);
        binding["subjects"] = groups_of(&bound["subjects"]).into();
        binding
    }
}

/// Whether a right was granted for something that `install` knows nothing of.
pub(super) fn is_granted(metadata: &ObjectMeta) -> bool {
    let annotations = metadata.annotations.as_ref();
    annotations.is_some_and(|annotations| annotations.contains_key(GRANTED_FOR))
}

/// Those that the accounts among the subjects of a binding are in.
fn groups_of(subjects: &Value) -> Vec<Value> {
    let subjects = subjects.as_array().into_iter().flatten();
    let namespaces: BTreeSet<&str> = subjects.filter_map(|it| it["namespace"].as_str()).collect();
    let all = namespaces.first().map(|_| ACCOUNTS.to_owned());
    let each = namespaces.iter().map(|it| format!("{ACCOUNTS}:{it}"));
    let names = all.into_iter().chain(each);
    names.map(|name| Subject::Group(name).to_value()).collect()
}

/// Who has the role of a binding as a part of Armadex, as it is said on the command line.
pub(crate) fn holders_of(binding: &Value) -> Vec<String> {
    if binding["metadata"]["annotations"][PARTS].is_null() {
        return Vec::new();
    }
    let subjects = binding["subjects"].as_array().into_iter().flatten();
    subjects.map(|subject| Told(subject).to_string()).collect()
}
