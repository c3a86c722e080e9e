//! What the store indexes of an object. The writer makes terms from objects, the reader makes terms from selectors; they meet
//! in equality, so both must build them here.

/// One indexed fact of an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Term {
    /// The object carries this label with this value.
    Label {
        /// Label key.
        key: String,
        /// Label value.
        value: String,
    },
    /// The object carries a label with this key.
    LabelKey {
        /// Label key.
        key: String,
    },
    /// A hot field has this value; see [`hot_fields`].
    Field {
        /// Dotted path, for example `status.phase`.
        path: &'static str,
        /// The scalar as text.
        value: String,
    },
    /// The controller owner reference has this uid.
    Owner {
        /// `metadata.ownerReferences[].uid` of the controller.
        uid: String,
    },
}

/// The fields that are indexed for a type: those that a kube-apiserver accepts in a field selector and that people ask for.
///
/// A path names scalars only. An absent scalar is indexed as the empty text, as a kube-apiserver compares it.
#[must_use]
pub fn hot_fields(group: &str, resource: &str) -> &'static [&'static str] {
    match (group, resource) {
        ("", "pods") => &["spec.nodeName", "spec.serviceAccountName", "status.phase"],
        ("", "events") => &[
            "involvedObject.kind",
            "involvedObject.name",
            "involvedObject.namespace",
            "involvedObject.uid",
            "reason",
            "type",
        ],
        ("", "namespaces") => &["status.phase"],
        ("", "nodes") => &["spec.unschedulable"],
        ("", "secrets") => &["type"],
        _ => &[],
    }
}
