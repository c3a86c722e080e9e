//! The write side of a store.

use std::time::Duration;

use armadex_model::{ClusterLabels, ClusterName, ObjectKey, ResourceType};
use async_trait::async_trait;

use crate::change::{Batch, ClusterId, MemberPosition, Rules, Tenure, TypeId, Written};
use crate::error::StoreError;

/// Whether a member answered its last health check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// Its rows are being kept up to date.
    pub healthy: bool,
    /// Why not, in words; empty when healthy.
    pub reason: String,
}

/// A stream that its writer has opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// The type's number in this store.
    pub resource: TypeId,
    /// The fence: a batch with an older epoch is refused.
    pub epoch: i64,
    /// How many objects it had then. Nobody else adds to them, or takes any away, as long as the epoch is the writer's.
    pub objects: u64,
    /// Where it stood when it was last written; `None` for a stream that has no rows and no position. A stream whose rows were stored by
    /// other rules, or were left by a purge that it was opened again before, stands at [`crate::Phase::Listing`], so that its writer
    /// compares every object anew.
    pub position: Option<MemberPosition>,
    /// Its rows are those of a former cluster ([`Sink::adopt`]), and are shown from the first batch on, which may be an empty one.
    pub hidden: bool,
}

/// A stream that the store knows, for status and for finding those that are no longer wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamState {
    /// The type's number in this store.
    pub id: TypeId,
    /// The type.
    pub resource: ResourceType,
    /// Where it stands.
    pub position: Option<MemberPosition>,
    /// Objects stored.
    pub objects: u64,
    /// It was opened while another version of the resource was shown, or kept to be shown again, and is hidden until it has been listed.
    pub is_beside: bool,
}

/// A cluster that has not left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    /// Its name.
    pub name: ClusterName,
    /// The uid of its PediaCluster.
    pub incarnation: String,
    /// Who looks after it, in the words of its last [`Sink::join`]; empty if it joined a store that did not remember that yet.
    pub owner: String,
    /// Becomes another value whenever something of it is written or its owner is heard.
    pub heard: Heard,
}

/// Whose a cluster is that has not left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The uid of its PediaCluster.
    pub incarnation: String,
    /// Who looks after it; see [`Joined::owner`].
    pub owner: String,
}

/// When something was heard of a cluster last, in seconds since 1970 by the clocks of whoever wrote; 0 if never. To be compared with an earlier
/// value and with no clock: those of others may be wrong, and while all were stopped nobody could be heard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// Something of it was written.
    pub written: i64,
    /// Its owner said that it lives ([`Sink::keep_alive`], [`Sink::join`]).
    pub owner: i64,
}

/// An object as far as a list of its member can confirm it: to be compared, without its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredVersion {
    /// Namespace and name.
    pub key: ObjectKey,
    /// `metadata.uid`.
    pub uid: String,
    /// The member's `metadata.resourceVersion`.
    pub resource_version: String,
    /// How long its body is, as it was handed over, in bytes.
    pub bytes: u64,
}

/// What a purge step did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Purged {
    /// Rows removed.
    pub objects: u64,
    /// Nothing is left to purge now.
    pub finished: bool,
    /// More versions are past than a step removes: whoever rests before the next one may fall behind what is written.
    pub is_behind: bool,
    /// How long others could write nothing because of it: not how long it waited for its turn.
    pub took: Duration,
}

/// What a synchro may do to a store. Every method is safe to repeat.
#[async_trait]
pub trait Sink: Send + Sync + 'static {
    /// Finds or makes the cluster. `incarnation` is the uid of its PediaCluster: another one under the same name is a new
    /// cluster with no rows and no positions, and the former one leaves. One that has left and was not purged is shown again, with the
    /// rows and positions that it had. `owner` is who looks after it from now on, instead of whoever did.
    async fn join(
        &self,
        cluster: &ClusterName,
        incarnation: &str,
        owner: &str,
    ) -> Result<ClusterId, StoreError>;

    /// Hides the cluster from every search at once, fences its writers, and leaves its rows to [`Sink::purge`], which lets it come back
    /// for a time. Unknown clusters are no error.
    async fn leave(&self, cluster: &ClusterName, incarnation: &str) -> Result<(), StoreError>;

    /// Says that one process begins to look after what this owner has. Whoever did before learns it from [`Sink::keep_alive`], also one that
    /// does not see any more what they agree by; what else it asks for as whoever looks after clusters is refused by [`StoreError::TakenOver`], and what it
    /// writes by the epochs of the streams that the other one opens.
    async fn begin(&self, owner: &str) -> Result<Tenure, StoreError>;

    /// Says that this owner lives, for [`Sink::clusters`]: whoever shares the store tells by it a synchro whose members are silent from one
    /// that is no more. `false` if a later tenure of this owner has begun: its clusters are another's. A store that knows of none, as one that
    /// was restored, or of a former one only, goes on with this one.
    async fn keep_alive(&self, owner: &str, tenure: Tenure) -> Result<bool, StoreError>;

    /// Gives a cluster that has joined and has no stream yet the rows and positions of the one that left last under its name and was
    /// read from the member of this identity and no other; its number from now on, which is another one then. A control plane that was
    /// restored makes PediaClusters anew, for members that are the old ones. What the new PediaCluster may read is not known yet, so each type
    /// stays hidden until somebody writes to its stream.
    async fn adopt(
        &self,
        cluster: &ClusterName,
        incarnation: &str,
        member: &str,
    ) -> Result<ClusterId, StoreError>;

    /// The clusters that have not left, whoever looks after them, by their numbers.
    async fn clusters(&self) -> Result<Vec<Joined>, StoreError>;

    /// Whose the cluster of this name is; `None` if there is none, or it has left.
    async fn holder(&self, cluster: &ClusterName) -> Result<Option<Holder>, StoreError>;

    /// Records the labels by which searches choose the cluster ([`armadex_model::Query::cluster_labels`]). What is recorded already costs a look; others change what
    /// lists show, and take a revision. One that is adopted has those of whoever adopts it.
    async fn set_labels(
        &self,
        cluster: ClusterId,
        owner: &str,
        labels: &ClusterLabels,
    ) -> Result<(), StoreError>;

    /// Records whether the member answers, and its version (`gitVersion`) when it is known. What is recorded already costs a look.
    ///
    /// Here, in [`Sink::set_labels`], in [`Sink::open`] and in [`Sink::close`] `owner` is who says so: once somebody else has joined the cluster as its owner, it is refused by
    /// [`StoreError::TakenOver`].
    async fn set_health(
        &self,
        cluster: ClusterId,
        owner: &str,
        health: &Health,
        version: Option<&str>,
    ) -> Result<(), StoreError>;

    /// Takes the stream of one type over: from now on only the returned epoch may write it, by these rules. What the type is, its kind and whether it
    /// lives in namespaces, is for the first cluster to say; as long as another one has the type, who says something else is refused by
    /// [`StoreError::Differs`], and what was stored of it is hidden. Who has it alone may say anew what it is. Where the cluster has listed another version of the
    /// resource, this one is hidden until it is live.
    async fn open(
        &self,
        cluster: ClusterId,
        owner: &str,
        resource: &ResourceType,
        rules: Rules,
    ) -> Result<Stream, StoreError>;

    /// Stores a batch in one transaction: rows, index, counters, position and revision, or nothing. One that is more than one transaction may take is stored in
    /// several, each whole, of which the last says that the rows are complete as of its position: where it is refused in between, or nobody answers, some of its changes are stored.
    async fn write(&self, batch: Batch) -> Result<Written, StoreError>;

    /// The stored keys of a stream, at most `limit` after `after`, in a total order of the store's choosing; fewer only at the end.
    async fn keys(
        &self,
        cluster: ClusterId,
        resource: TypeId,
        after: Option<&ObjectKey>,
        limit: u32,
    ) -> Result<Vec<ObjectKey>, StoreError>;

    /// What [`Sink::keys`] gives, each with its version.
    async fn versions(
        &self,
        cluster: ClusterId,
        resource: TypeId,
        after: Option<&ObjectKey>,
        limit: u32,
    ) -> Result<Vec<StoredVersion>, StoreError>;

    /// All streams of a cluster.
    async fn streams(&self, cluster: ClusterId) -> Result<Vec<StreamState>, StoreError>;

    /// Hides a type of a cluster from every search at once, forgets its position and leaves its rows to [`Sink::purge`].
    async fn close(
        &self,
        cluster: ClusterId,
        owner: &str,
        resource: TypeId,
    ) -> Result<(), StoreError>;

    /// Removes at most `limit` rows of clusters and types that have left, and of versions that are past, in one small transaction; of clusters only
    /// once they left `grace` ago. Of several processes one at a time does so: the others have nothing to purge while it does, and if it has done
    /// nothing for a while, the first that asks takes its place.
    async fn purge(&self, limit: u32, grace: Duration) -> Result<Purged, StoreError>;
}
