//! What the writer is asked to do, and what comes of it.

use std::time::Duration;

use armadex_model::{ClusterLabels, ClusterName};
use armadex_storage::{ClusterId, Health, Purged, StoreError, Tenure, TypeId, Written};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::backend::incarnation::Committed;
use crate::write::cluster_labels::Labelled;
use crate::write::clusters::Opened;
use crate::write::dictionaries::Lesson;
use crate::write::health::Said;
use crate::write::joining::Joining;
use crate::write::mend::{Mending, Step};
use crate::write::prepare::Prepared;
use crate::write::types::Opening;

/// Something for the writer to do.
pub(crate) struct Order {
    pub(crate) work: Work,
    /// Where the answer goes. Nobody waiting for it is no error: the work is done all the same, unless it is given back.
    pub(crate) reply: oneshot::Sender<Result<Done, StoreError>>,
}

/// What is to be done.
pub(crate) enum Work {
    Write(Prepared),
    /// The name, the incarnation, the owner.
    Join(ClusterName, String, String),
    Leave(ClusterName, String),
    /// The owner, and when nobody waits for it any more: whoever looks after the owner's clusters by then would be replaced by it.
    Begin(String, CancellationToken),
    KeepAlive(String, Tenure),
    /// The owner, what it says, the version.
    Health(ClusterId, String, Health, Option<String>),
    /// The owner, and what it says.
    Label(ClusterId, String, ClusterLabels),
    Open(Opening),
    /// Whoever the owner is, if none is named.
    Close(ClusterId, Option<String>, TypeId),
    /// The name, the incarnation, the identity of the member.
    Adopt(ClusterName, String, String),
    Purge(u32, Duration),
    Mend(Mending),
    Learn(Lesson),
    /// The store was seen like this and is behind it now.
    Rewound(Committed),
}

impl Work {
    pub(crate) fn batch(&self) -> Option<&Prepared> {
        match self {
            Self::Write(batch) => Some(batch),
            _ => None,
        }
    }

    pub(crate) fn said(&self) -> Option<Said<'_>> {
        match self {
            Self::Health(cluster, owner, health, version) => Some(Said {
                cluster: *cluster,
                owner,
                health,
                version: version.as_deref(),
            }),
            _ => None,
        }
    }

    /// The cluster of which it tells something, and who does.
    pub(crate) fn telling(&self) -> Option<(ClusterId, &str)> {
        match self {
            Self::Health(cluster, owner, ..) | Self::Label(cluster, owner, _) => {
                Some((*cluster, owner))
            }
            _ => None,
        }
    }

    pub(crate) fn labelled(&self) -> Option<Labelled<'_>> {
        match self {
            Self::Label(cluster, owner, labels) => Some(Labelled {
                cluster: *cluster,
                owner,
                labels,
            }),
            _ => None,
        }
    }

    pub(crate) fn joining(&self) -> Option<Joining<'_>> {
        match self {
            Self::Join(name, incarnation, owner) => Some(Joining {
                name,
                incarnation,
                owner,
            }),
            _ => None,
        }
    }

    /// The name of the cluster that it lets go.
    pub(crate) fn leaving(&self) -> Option<&ClusterName> {
        match self {
            Self::Leave(name, _) => Some(name),
            _ => None,
        }
    }

    /// The name of the cluster that it lets come or go.
    pub(crate) fn name(&self) -> Option<&ClusterName> {
        match self {
            Self::Join(name, ..) | Self::Leave(name, _) | Self::Adopt(name, ..) => Some(name),
            _ => None,
        }
    }

    /// The cluster of which it closes a stream, and who has to look after that.
    pub(crate) fn closing(&self) -> Option<(ClusterId, &str)> {
        match self {
            Self::Close(cluster, Some(owner), _) => Some((*cluster, owner)),
            _ => None,
        }
    }

    /// Whether it is for whoever looks after clusters to ask for.
    pub(crate) fn is_for_owners(&self) -> bool {
        match self {
            Self::Join(..) | Self::Leave(..) | Self::Adopt(..) => true,
            Self::Health(..) | Self::Label(..) | Self::Open(_) => true,
            Self::Close(_, owner, _) => owner.is_some(),
            // A batch is fenced by its stream's epoch.
            Self::Write(_) | Self::Begin(..) | Self::KeepAlive(..) => false,
            Self::Purge(..) | Self::Mend(_) | Self::Learn(_) | Self::Rewound(_) => false,
        }
    }

    /// As whom it is asked for, if that is said.
    pub(crate) fn owner(&self) -> Option<&str> {
        match self {
            Self::Join(_, _, owner) => Some(owner),
            _ => {
                let of_cluster = self.telling().or_else(|| self.closing());
                of_cluster
                    .or_else(|| self.taking_over())
                    .map(|(_, owner)| owner)
            }
        }
    }

    /// The owner of which it says that he lives.
    pub(crate) fn living(&self) -> Option<&str> {
        match self {
            Self::Begin(owner, _) | Self::KeepAlive(owner, _) => Some(owner),
            _ => None,
        }
    }

    /// The cluster that it concerns, if it is one by number.
    pub(crate) fn cluster(&self) -> Option<i64> {
        match self {
            Self::Write(batch) => Some(batch.cluster),
            Self::Open(opening) => Some(opening.cluster.0),
            Self::Health(cluster, ..) | Self::Label(cluster, ..) | Self::Close(cluster, ..) => {
                Some(cluster.0)
            }
            _ => None,
        }
    }

    /// The cluster of which it closes a stream.
    pub(crate) fn closed(&self) -> Option<i64> {
        match self {
            Self::Close(cluster, ..) => Some(cluster.0),
            _ => None,
        }
    }

    /// The cluster of which it opens a stream, and who does.
    pub(crate) fn taking_over(&self) -> Option<(ClusterId, &str)> {
        let opening = self.opening()?;
        Some((opening.cluster, &opening.owner))
    }

    pub(crate) fn opening(&self) -> Option<&Opening> {
        match self {
            Self::Open(opening) => Some(opening),
            _ => None,
        }
    }
}

/// What came of it.
#[derive(Debug)]
pub(crate) enum Done {
    Written(Written),
    /// Who asked is not the writer of the stream, or does not look after the cluster, and nothing of it is done.
    Refused(StoreError),
    /// The batch is more than one transaction may take, and is given back.
    TooMuch(Prepared),
    Joined(ClusterId),
    Begun(Tenure),
    /// Whether the tenure lasts.
    Kept(bool),
    Opened(Opened),
    Purged(Purged),
    Mended(Step),
    /// The number of the dictionary, if it was added.
    Learnt(Option<i64>),
    Nothing,
}

impl Done {
    /// What whoever asked for it is told.
    pub(crate) fn told(self) -> Result<Self, StoreError> {
        match self {
            Self::Refused(refused) => Err(refused),
            done => Ok(done),
        }
    }
}
