//! What the cases know of a store: which names there are, what is known of an object, and the map that has it.

use std::collections::BTreeMap;

use armadex_model::{ObjectKey, ResourceType};

use crate::Change;
use crate::conformance::fixture::{object, resource};

/// The types of objects, by plural and kind; `status.phase` is indexed of both.
pub(super) const KINDS: [(&str, &str); 2] = [("pods", "Pod"), ("namespaces", "Namespace")];
pub(super) const CLUSTERS: [&str; 3] = ["alpha", "beta", "gamma"];
/// Names that dictionaries sort otherwise than bytes do, by case and by the signs between words.
pub(super) const NAMESPACES: [&str; 6] = ["", "B", "a", "a-b", "b", "default"];
pub(super) const NAMES: [&str; 12] = [
    "B", "Z", "a", "a-b", "a.b", "a1", "a:b", "ab", "b", "c", "d", "e",
];
pub(super) const KEYS: [&str; 3] = ["app", "tier", "zone"];
/// A label that most objects have a value of their own for.
pub(super) const ID: &str = "id";
pub(super) const VALUES: [&str; 4] = ["", "x", "y", "z"];
pub(super) const PHASES: [&str; 3] = ["Pending", "Running", "Failed"];
/// Who the members say they are; a cluster that is made anew may be any of them.
pub(super) const MEMBERS: [&str; 2] = ["red", "blue"];

/// What is known of an object.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) uid: String,
    pub(super) version: i64,
    pub(super) created: i64,
    pub(super) labels: BTreeMap<&'static str, String>,
    pub(super) phase: &'static str,
}

/// Cluster, namespace, name: the page order within one type.
pub(super) type Path = (&'static str, &'static str, &'static str);
/// A place in [`KINDS`], and the path.
pub(super) type Key = (usize, Path);
pub(super) type Model = BTreeMap<Key, Known>;
/// What becomes of a key: an object, or none.
pub(super) type Changed = (Key, Option<Known>);

pub(super) fn described(kind: usize) -> ResourceType {
    let (plural, kind) = KINDS[kind];
    resource("", plural, kind, true)
}

/// As it is told to a store.
pub(super) fn change((key, known): &Changed) -> Change {
    let (_, namespace, name) = key.1;
    let Some(known) = known else {
        return Change::Delete(ObjectKey::new(namespace, name));
    };
    let plain = object(namespace, name)
        .uid(&known.uid)
        .version(&known.version.to_string())
        .created(known.created)
        .field("status.phase", known.phase);
    let labels = known.labels.iter();
    let labelled = labels.fold(plain, |object, (key, value)| object.label(key, value));
    Change::Put(labelled.build())
}
