//! Rights that somebody grants Armadex beside those that are installed: labelled and bound in the same way, so that `uninstall` finds them, and marked, so that `install`
//! does not take them for what it is to withdraw. Pure.

use kube::core::ObjectMeta;
use serde_json::{Value, json};

use super::decision::labelled;
use super::holders::{Holders, PARTS};
use super::homes::HOME_LABEL;
use super::manifests::CREDENTIALS;
use super::shipped;

/// The annotation that says what a right was granted for.
const GRANTED_FOR: &str = "armadex.dev/granted-for";

/// Who has them.
pub(crate) struct Grantees {
    /// The namespace of Armadex.
    pub(crate) home: String,
    pub(crate) holders: Holders,
}

impl Grantees {
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
}

/// Whether a right was granted for something that `install` knows nothing of.
pub(super) fn is_granted(metadata: &ObjectMeta) -> bool {
    let annotations = metadata.annotations.as_ref();
    annotations.is_some_and(|annotations| annotations.contains_key(GRANTED_FOR))
}

/// The roles that Armadex has for itself, whatever policies there are.
pub(crate) fn own_roles() -> Vec<String> {
    let rights = shipped::rights();
    let roles = rights.iter().filter(|object| object["rules"].is_array());
    let names = roles.filter_map(|role| role.pointer("/metadata/name")?.as_str());
    names.chain([CREDENTIALS]).map(str::to_owned).collect()
}
