//! What a synchro hands to a store: changes of one stream and the position they lead to.

use armadex_model::{ObjectKey, Term};
use bytes::Bytes;

/// The store's number for one incarnation of a cluster; a cluster that joins again gets another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterId(pub i64);

/// The store's number for a resource type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub i32);

/// What decides which objects of one type a stream stores, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Which parts of an object are cut away, which terms are made of it. Two streams with equal numbers store the same object in the same form; a row of another
    /// number is another one.
    pub form: i64,
    /// The same, and which objects are kept. A stream whose rows are of another number is listed and compared anew; what did not change is
    /// written anew only where its form differs.
    pub stream: i64,
}

impl Rules {
    /// Those of a stream that keeps all objects in this form.
    #[must_use]
    pub const fn of_all(form: i64) -> Self {
        Self { form, stream: form }
    }
}

/// Changes of one stream that are stored together with the position they lead to, or not at all; a large one in parts, the position with the last
/// ([`crate::Sink::write`]).
///
/// A key occurs at most once: the last write of a key wins before the batch is made.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The cluster that the objects live in.
    pub cluster: ClusterId,
    /// Their type.
    pub resource: TypeId,
    /// The writer's fence, from [`crate::Stream::epoch`].
    pub epoch: i64,
    /// By which the objects were made; those that the stream was opened with.
    pub rules: Rules,
    /// Whether all that the member has will be stored with this batch. A stream that is left with `false` stands at [`Phase::Listing`] for whoever
    /// opens it next, since another writer may be able to store what this one could not.
    pub whole: bool,
    /// What changed, in any order.
    pub changes: Vec<Change>,
    /// Where the stream stands after these changes; `None` leaves the stored position as it is.
    pub position: Option<MemberPosition>,
}

/// One change of one object.
#[derive(Clone, Debug)]
pub enum Change {
    /// The object is there, in this form.
    Put(Object),
    /// The object is gone. Deleting an absent object is no error.
    Delete(ObjectKey),
}

impl Change {
    /// The key that changes.
    #[must_use]
    pub fn key(&self) -> &ObjectKey {
        match self {
            Self::Put(object) => &object.key,
            Self::Delete(key) => key,
        }
    }
}

/// An object as it is stored.
#[derive(Clone, Debug)]
pub struct Object {
    /// Namespace and name.
    pub key: ObjectKey,
    /// `metadata.uid`.
    pub uid: String,
    /// The member's `metadata.resourceVersion`.
    pub resource_version: String,
    /// `metadata.creationTimestamp` in seconds since 1970.
    pub created: i64,
    /// What is indexed of it.
    pub terms: Vec<Term>,
    /// The stored form; see [`armadex_model::body`].
    pub body: Bytes,
}

/// Where a stream stands in its member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberPosition {
    /// The collection's resourceVersion, to resume a watch from.
    pub resource_version: String,
    /// The member's identity (the uid of its kube-system namespace, where that may be read): a version of another member means nothing here.
    pub member: String,
    /// How far the stream got.
    pub phase: Phase,
}

/// How far a stream got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The first list has not been finished; the stored rows may be incomplete, and the position cannot be resumed.
    Listing,
    /// The rows are complete as of the position; a watch may resume from it.
    Live,
}

/// The how manieth time it is that a process began to look after what an owner has ([`crate::Sink::begin`]): grows with each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tenure(pub i64);

/// What a batch did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Objects that were new (a new uid under an old key counts here and in `deleted`).
    pub added: u64,
    /// Objects that changed.
    pub changed: u64,
    /// Objects that went away.
    pub deleted: u64,
    /// Objects that were stored already, and deletions of absent ones.
    pub unchanged: u64,
    /// By how much the bodies that are stored have become longer, as they were handed over, in bytes; shorter, if negative.
    pub bytes: i64,
}

impl std::ops::AddAssign for Written {
    fn add_assign(&mut self, more: Self) {
        let Self {
            added,
            changed,
            deleted,
            unchanged,
            bytes,
        } = more;
        self.added += added;
        self.changed += changed;
        self.deleted += deleted;
        self.unchanged += unchanged;
        self.bytes += bytes;
    }
}
