//! Who owns an object, as its owner references have it. A foreign owner is an answer, not an
//! error.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

/// The reference that controls the object, if there is one.
pub fn controller_of(meta: &ObjectMeta) -> Option<&OwnerReference> {
    meta.owner_references
        .iter()
        .flatten()
        .find(|owner| owner.controller == Some(true))
}

/// Whether the object of this uid controls it.
pub fn controlled_by(meta: &ObjectMeta, uid: &str) -> bool {
    controller_of(meta).is_some_and(|owner| owner.uid == uid)
}

/// Everybody who owns the object, for people to read.
pub fn owners_in_words(meta: &ObjectMeta) -> String {
    let owners: Vec<String> = meta
        .owner_references
        .iter()
        .flatten()
        .map(|owner| format!("{} {}", owner.kind, owner.name))
        .collect();
    if owners.is_empty() {
        "nobody".to_owned()
    } else {
        owners.join(" and ")
    }
}

/// Whether the object of this uid is one of its owners.
pub fn owned_by(meta: &ObjectMeta, uid: &str) -> bool {
    meta.owner_references
        .iter()
        .flatten()
        .any(|owner| owner.uid == uid)
}
