//! What a member serves: aggregated discovery, or the older way of one request per group and version.
//!
//! Reading an answer is pure. A group or version that does not answer is marked as failed and stops nobody else: one APIService
//! that is down must not hide pods.

mod aggregated;
mod legacy;
mod served;

use futures::future::try_join;

pub use served::{Discovery, Group, ServedResource, Version, VersionState};

use crate::Member;
use crate::error::MemberError;

/// Asks `/api` and `/apis`.
pub(crate) async fn fetch(member: &Member) -> Result<Discovery, MemberError> {
    let (mut core, named) =
        try_join(fetch_root(member, "/api"), fetch_root(member, "/apis")).await?;
    core.groups.extend(named.groups);
    core.keep_named();
    Ok(core)
}

async fn fetch_root(member: &Member, path: &str) -> Result<Discovery, MemberError> {
    let bytes = member.bytes(path, aggregated::ACCEPT).await?;
    match aggregated::parse(path, &bytes)? {
        Some(discovery) => Ok(discovery),
        None => legacy::fetch(member, path, &bytes).await,
    }
}
