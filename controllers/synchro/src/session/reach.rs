//! The first questions to a member: does it answer, which version, who is it, what does it serve.

use armadex_member::{Discovery, Member, MemberError};

/// A member that answers.
pub(super) struct Reached {
    pub(super) version: String,
    pub(super) identity: String,
    pub(super) discovery: Discovery,
}

/// Why a member is not ready to be synced.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {source}")]
pub(super) struct Unreached {
    what: &'static str,
    #[source]
    source: MemberError,
}

/// Asks all of them, in this order, so that the error names the first that fails.
pub(super) async fn reach(member: &Member) -> Result<Reached, Unreached> {
    let failed = |what| move |source| Unreached { what, source };
    member.probe().await.map_err(failed("health check"))?;
    let version = member.version().await.map_err(failed("version"))?;
    let identity = member
        .identity()
        .await
        .map_err(failed("identity (uid of namespace kube-system)"))?;
    let discovery = member.discover().await.map_err(failed("discovery"))?;
    Ok(Reached {
        version,
        identity,
        discovery,
    })
}
