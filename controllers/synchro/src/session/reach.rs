//! The first questions to a member: does it answer, which version, who is it, what does it serve; and to the store: what it has of this
//! member.

#[cfg(test)]
mod tests;

use std::time::Duration;

use armadex_crds::conditions::ClusterHealthyReason;
use armadex_crds::member_rights;
use armadex_member::{Etags, Identity, Member, MemberError, StatusDetails};
use armadex_model::ClusterName;
use armadex_storage::{ClusterId, Sink, StoreError};

use crate::session::discoveries::{ClusterDiscovery, Held};
use crate::session::reaching::Asked;
use crate::told::advice::advice;
use crate::told::store;

/// A member that answers.
pub(super) struct Reached {
    /// Or why it may not be asked for it.
    pub(super) version: Result<String, MemberError>,
    pub(super) identity: Identity,
    pub(super) discovery: Held,
    /// By which the member knows that.
    pub(super) etags: Etags,
    /// The store's number for it: that of a cluster which left and was this member, if there is one.
    pub(super) cluster: ClusterId,
}

/// Why the control plane does not lead to a member.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum Around {
    /// It was asked.
    #[error("{0}")]
    Failed(String),
    /// It was asked, and whoever asks may not, be it there or at the member.
    #[error("{0}")]
    Refused(String),
    /// It is asked for as many others as may be.
    #[error(
        "it is asked for {most} members at the same time, and for no more (--max-members-by-control-plane)"
    )]
    Full {
        /// How many may be.
        most: usize,
    },
}

impl Around {
    /// It leads there once somebody grants a right, or another member leaves its place: mostly never. What is away for a moment does sooner.
    pub(super) fn is_shut(&self) -> bool {
        matches!(self, Self::Refused(_) | Self::Full { .. })
    }
}

/// Why a member is not ready to be synced.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unreached {
    /// It does not answer one of the questions.
    #[error("{what}: {source}{advice}")]
    Member {
        /// What was asked.
        what: &'static str,
        /// What came of it.
        #[source]
        source: MemberError,
        /// The way out; empty, or begins with a separator.
        advice: String,
    },
    /// Its API server cannot be reached from here, nor by the control plane.
    #[error("{why}; by the control plane: {around}")]
    Neither {
        /// What came of the straight way.
        why: String,
        /// What came of the other one, now or a while ago.
        around: Around,
    },
    /// The store does not say what it has of the member.
    #[error("the store: {0}")]
    Store(#[source] StoreError),
}

/// What is asked first.
const HEALTH_CHECK: &str = "health check";
/// By the source that is asked first.
const IDENTITY: &str = "identity (uid of namespace kube-system)";

impl Unreached {
    /// In words for everybody.
    pub(super) fn in_a_status(&self) -> String {
        match self {
            Self::Member { .. } | Self::Neither { .. } => self.to_string(),
            Self::Store(error) => store::in_a_status(error),
        }
    }

    /// It is the member that does not answer, and not the store.
    pub(super) fn is_of_member(&self) -> bool {
        !matches!(self, Self::Store(_))
    }

    /// It answers what is small, and has too much to do for what was asked then. What says so of the health check itself may stand before a member that is gone.
    pub(super) fn is_busy(&self) -> bool {
        matches!(self, Self::Member { what, source, .. } if *what != HEALTH_CHECK && source.is_busy())
    }

    /// Nothing came back from where the member is said to be, whatever was asked: a network may let through what is small, and nothing else.
    pub(super) fn is_out_of_reach(&self) -> bool {
        matches!(self, Self::Member { source, .. } if source.is_silence())
    }

    /// It answers what is small, and fell silent with what is large: nothing came, or the connection ended, as HTTP/2 does itself when nothing comes any more.
    pub(super) fn fell_silent(&self) -> bool {
        matches!(self, Self::Member { what, source, .. } if *what != HEALTH_CHECK && source.is_silence())
    }

    /// How long whoever answers asks to be left alone.
    pub(super) fn asks_to_wait(&self) -> Duration {
        match self {
            Self::Member { source, .. } => source.retry_after().unwrap_or_default(),
            Self::Neither { .. } | Self::Store(_) => Duration::ZERO,
        }
    }

    /// Who asks may not.
    pub(super) fn is_forbidden(&self) -> bool {
        matches!(self, Self::Member { source, .. } if source.code() == Some(403))
    }

    /// What that is about, an object of whoever refuses; `None` if nobody refuses, or does not say it.
    pub(super) fn forbidden(&self) -> Option<&StatusDetails> {
        match self {
            Self::Member { source, .. } if self.is_forbidden() => source.details(),
            _ => None,
        }
    }

    /// The word for that in a condition.
    pub(super) fn reason(&self) -> ClusterHealthyReason {
        match self {
            Self::Neither {
                around: Around::Full { .. },
                ..
            } => ClusterHealthyReason::TooManyByControlPlane,
            _ => ClusterHealthyReason::NotReachable,
        }
    }

    /// The member is not there, or was waited for in vain, here or by a gateway before it.
    fn says_nothing(&self) -> bool {
        match self {
            Self::Member { what, source, .. } => *what == HEALTH_CHECK || source.took_long(),
            Self::Neither { .. } => true,
            Self::Store(_) => false,
        }
    }

    /// The member answers, and not as it should; or the store does not.
    pub(super) fn is_no_silence(&self) -> bool {
        match self {
            Self::Member { what, .. } => *what != HEALTH_CHECK,
            Self::Neither { .. } => false,
            Self::Store(_) => true,
        }
    }
}

/// Whether it was the member that took long to fail: it was waited for in vain. One that answers may have stood in a line of others for most of the time, be
/// it behind a store that is slow.
pub(super) fn hangs<T>(tried: &Asked<Result<T, Unreached>>) -> bool {
    tried.took_long && tried.answer.as_ref().is_err_and(Unreached::says_nothing)
}

/// Asks all of them, in this order, so that the error names the first that fails.
pub(super) async fn reach(
    member: &Member,
    sink: &dyn Sink,
    (cluster, incarnation): (&ClusterName, &str),
    discovery: &ClusterDiscovery,
) -> Result<Reached, Unreached> {
    let (version, identity) = introduced(member, cluster).await?;
    let discovered = discovery.ask(member, &Etags::default()).await;
    let failed = of_discovery(member, cluster);
    // Nothing is known before, so there is nothing that could be unchanged.
    let (discovery, etags) = discovered.map_err(failed)?.unwrap_or_default();
    let adopted = sink.adopt(cluster, incarnation, identity.as_str()).await;
    Ok(Reached {
        cluster: adopted.map_err(Unreached::Store)?,
        version,
        identity,
        discovery,
        etags,
    })
}

/// Asks them of a member that is synced on another way, and keeps nothing of what it says.
pub(super) async fn answers(
    member: &Member,
    cluster: &ClusterName,
    discovery: &ClusterDiscovery,
) -> Result<(), Unreached> {
    let (_version, _identity) = introduced(member, cluster).await?;
    let answer = discovery.answers(member).await;
    answer.map_err(of_discovery(member, cluster))
}

/// Those that have small answers: its version, if that may be asked for, and who it is.
async fn introduced(
    member: &Member,
    cluster: &ClusterName,
) -> Result<(Result<String, MemberError>, Identity), Unreached> {
    let failed = |what| move |source| unreached(what, source);
    member.probe(None).await.map_err(failed(HEALTH_CHECK))?;
    let version = match member.version().await {
        Err(error) if !error.is_forbidden() => return Err(failed("version")(error)),
        told => told,
    };
    let identity = member.identity().await;
    let identity = identity.map_err(|source| Unreached::Member {
        what: IDENTITY,
        advice: advice(&source, member, member_rights::of_identity, cluster),
        source,
    })?;
    Ok((version, identity))
}

fn of_discovery(member: &Member, cluster: &ClusterName) -> impl Fn(MemberError) -> Unreached {
    move |source| Unreached::Member {
        what: "discovery",
        advice: advice(&source, member, member_rights::of_discovery, cluster),
        source,
    }
}

fn unreached(what: &'static str, source: MemberError) -> Unreached {
    Unreached::Member {
        what,
        source,
        advice: String::new(),
    }
}

/// Why a member that is synced does not say what it serves.
pub(super) fn undiscovered(error: &MemberError, member: &Member, cluster: &ClusterName) -> String {
    let advice = advice(error, member, member_rights::of_discovery, cluster);
    format!("{error}{advice}")
}
