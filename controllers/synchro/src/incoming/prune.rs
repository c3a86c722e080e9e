//! From an object as a member sends it to the object as it is stored. Pure.
//!
//! The object is split at its first two levels only; what is kept is copied as text, never decoded and encoded again. Taken out:
//! `managedFields` and the `last-applied-configuration` annotation (unless they are to be kept: [`Unpruned`]), `resourceVersion`, `apiVersion`, `kind` and, at level
//! [`Level::Keys`], the values of a Secret, of its annotations as well. Put in: the annotation that names the cluster.

mod fields;
mod head;
mod members;
mod unpruned;

#[cfg(test)]
mod tests;

use armadex_model::field::{Field, indexed};
use armadex_model::rules::fingerprint;
use armadex_model::{ClusterName, GroupVersionResource, ObjectKey};
use armadex_storage::Object;
use bytes::Bytes;

use head::Head;
pub(crate) use head::{Salvaged, is_fit, salvage};
use members::{Member, last, members};
pub use unpruned::Unpruned;

/// Names the cluster of an object; clients of Clusterpedia read it.
const CLUSTER_ANNOTATION: &str = "shadow.clusterpedia.io/cluster-name";
/// What `kubectl apply` keeps for itself: the whole object once more, Secret values included.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Members of a Secret whose values are secret.
const SECRET_MEMBERS: [&str; 2] = ["data", "stringData"];

/// Annotations of a Secret whose values are kept: they say what it is for and who made it. Those of others are emptied, as whoever
/// applies objects may keep them there as a whole, values included and mostly compressed: `objectset.rio.cattle.io/applied`,
/// `kapp.k14s.io/original`, `banzaicloud.com/last-applied` and what comes after them.
const PLAIN_ANNOTATIONS: [&str; 12] = [
    "argocd.argoproj.io/tracking-id",
    "cert-manager.io/alt-names",
    "cert-manager.io/certificate-name",
    "cert-manager.io/common-name",
    "cert-manager.io/ip-sans",
    "cert-manager.io/issuer-group",
    "cert-manager.io/issuer-kind",
    "cert-manager.io/issuer-name",
    "kubernetes.io/service-account.name",
    "kubernetes.io/service-account.uid",
    "meta.helm.sh/release-name",
    "meta.helm.sh/release-namespace",
];

/// What becomes of objects: the digest of what a test makes of its own, which fails with the number that has to stand here. With
/// another one every stream is listed once more.
const VERSION: u64 = 0x67c1_70ba_4f82_8e42;
/// The same of what becomes of Secrets, so that the other types are not listed for what is stored at [`Level::Keys`] alone.
const KEYS_VERSION: u64 = 0xb01c_6039_ac62_7dd6;

/// How much of an object is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// All of it.
    Full,
    /// The keys of `data`, `stringData` and annotations, with every value emptied but those of [`PLAIN_ANNOTATIONS`].
    Keys,
}

impl Level {
    pub(crate) fn of(resource: &GroupVersionResource) -> Self {
        if resource.group.is_empty() && resource.resource == "secrets" {
            Self::Keys
        } else {
            Self::Full
        }
    }

    /// What of these parts is kept. Where values are taken out they would bring them back: `kubectl apply` writes each value of a Secret into the annotation.
    pub(crate) fn leaves(self, unpruned: Unpruned) -> Unpruned {
        match self {
            Self::Full => unpruned,
            Self::Keys => Unpruned::default(),
        }
    }
}

/// The number of all rules by which objects of a type are pruned and indexed. Rows that were made under another number are made anew.
#[must_use]
pub fn rules_version(resource: &GroupVersionResource) -> i64 {
    let pruning = match Level::of(resource) {
        Level::Full => format!("{VERSION} full"),
        Level::Keys => format!("{VERSION} keys {KEYS_VERSION}"),
    };
    fingerprint(&resource.group, &resource.resource, &pruning)
}

/// How objects of one stream are pruned.
#[derive(Clone, Debug)]
pub struct Rules {
    /// `"shadow.clusterpedia.io/cluster-name":"member1"`.
    annotation: String,
    level: Level,
    /// Beside what is kept always.
    unpruned: Unpruned,
    fields: &'static [Field],
    max_bytes: usize,
}

/// An object that is left out, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Namespace and name, if they could be read.
    pub key: Option<ObjectKey>,
    /// Why, in words; nothing of the object's content.
    pub reason: String,
}

impl Rules {
    /// The rules for objects of `resource` in `cluster`; what would be stored of one may have `max_bytes`.
    #[must_use]
    pub fn new(cluster: &ClusterName, resource: &GroupVersionResource, max_bytes: usize) -> Self {
        Self {
            // A cluster name is a DNS name and needs no escape.
            annotation: format!("\"{CLUSTER_ANNOTATION}\":\"{cluster}\""),
            level: Level::of(resource),
            unpruned: Unpruned::default(),
            fields: indexed(&resource.group, &resource.resource),
            max_bytes,
        }
    }

    /// The same with these parts kept, where objects are kept as a whole.
    pub(crate) fn leaving(self, unpruned: Unpruned) -> Self {
        let unpruned = self.level.leaves(unpruned);
        Self { unpruned, ..self }
    }
}

/// Prunes one object.
pub fn prune(json: &[u8], rules: &Rules) -> Result<Object, Skipped> {
    let nameless = |reason: String| Skipped { key: None, reason };
    let text = std::str::from_utf8(json).map_err(|_| nameless("it is not UTF-8".to_owned()))?;
    let object = members(text).map_err(|problem| nameless(format!("it {problem}")))?;
    let metadata = last(&object, "metadata").unwrap_or("null");
    let metadata = members(metadata).map_err(|problem| nameless(format!("metadata {problem}")))?;
    let head = Head::of(&metadata).map_err(nameless)?;
    let skipped = |reason: String| Skipped {
        key: Some(head.key.clone()),
        reason,
    };
    let terms = fields::terms(&object, &metadata, rules.fields).map_err(skipped)?;
    let body = write_body(text.len(), &object, &metadata, rules).map_err(skipped)?;
    if body.len() > rules.max_bytes {
        let (size, limit) = (body.len(), rules.max_bytes);
        return Err(skipped(format!(
            "it has {size} bytes, above the limit of {limit}"
        )));
    }
    Ok(Object {
        uid: head.uid,
        resource_version: head.resource_version,
        created: head.created,
        key: head.key,
        terms,
        body: Bytes::from(body),
    })
}

/// The stored form; see [`armadex_model::body`].
fn write_body(
    size: usize,
    object: &[Member<'_>],
    metadata: &[Member<'_>],
    rules: &Rules,
) -> Result<Vec<u8>, String> {
    let mut out = Vec::with_capacity(size);
    for member in metadata {
        let is_kept = match member.name.as_ref() {
            "resourceVersion" | "annotations" => false,
            "managedFields" => rules.unpruned.managed_fields,
            _ => true,
        };
        if is_kept {
            member.write(&mut out);
            out.push(b',');
        }
    }
    write_annotations(&mut out, last(metadata, "annotations"), rules)?;
    out.push(b'}');
    for member in object {
        if ["apiVersion", "kind", "metadata"].contains(&member.name.as_ref()) {
            continue;
        }
        out.push(b',');
        if rules.level == Level::Keys && SECRET_MEMBERS.contains(&member.name.as_ref()) {
            write_keys(&mut out, member);
        } else {
            member.write(&mut out);
        }
    }
    out.push(b'}');
    out.shrink_to_fit();
    Ok(out)
}

fn write_annotations(out: &mut Vec<u8>, found: Option<&str>, rules: &Rules) -> Result<(), String> {
    let found = match found {
        None | Some("null") => Vec::new(),
        Some(value) => {
            members(value).map_err(|problem| format!("metadata.annotations {problem}"))?
        }
    };
    out.extend_from_slice(b"\"annotations\":{");
    for member in found {
        let name = member.name.as_ref();
        let is_pruned = name == LAST_APPLIED && !rules.unpruned.last_applied;
        if is_pruned || name == CLUSTER_ANNOTATION {
            continue;
        }
        if rules.level == Level::Full || PLAIN_ANNOTATIONS.contains(&name) {
            member.write(out);
        } else {
            write_key(out, &member);
        }
        out.push(b',');
    }
    out.extend_from_slice(rules.annotation.as_bytes());
    out.push(b'}');
    Ok(())
}

/// The member with its keys and no value. What is no object (null, or broken) has no keys.
fn write_keys(out: &mut Vec<u8>, member: &Member<'_>) {
    out.extend_from_slice(member.raw_name.as_bytes());
    out.extend_from_slice(b":{");
    let keys = members(member.value).unwrap_or_default();
    for (index, key) in keys.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_key(out, key);
    }
    out.push(b'}');
}

fn write_key(out: &mut Vec<u8>, member: &Member<'_>) {
    out.extend_from_slice(member.raw_name.as_bytes());
    out.extend_from_slice(b":\"\"");
}
