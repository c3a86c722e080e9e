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
    /// An indexed field has this value; see [`crate::field`].
    Field {
        /// The field's label, for example `status.phase`.
        path: &'static str,
        /// Its value as text.
        value: String,
    },
    /// An indexed field has this value, which hardly any other object has. Nothing leads to it: the object itself tells.
    OwnField {
        /// The field's label, for example `involvedObject.uid`.
        path: &'static str,
        /// Its value as text.
        value: String,
    },
    /// The controller owner reference has this uid.
    Owner {
        /// `metadata.ownerReferences[].uid` of the controller.
        uid: String,
    },
}
