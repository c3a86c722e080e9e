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
    let discovery = match aggregated::parse(path, &bytes)? {
        Some(discovery) => discovery,
        None => legacy::fetch(member, path, &bytes).await?,
    };
    whole(path, discovery)
}

/// Every API server has a core group and some others: an answer without any comes from something in between, and must not be taken for
/// the news that all types are gone.
fn whole(path: &str, discovery: Discovery) -> Result<Discovery, MemberError> {
    let is_told = |group: &Group| !group.versions.is_empty();
    match discovery.groups.values().any(is_told) {
        true => Ok(discovery),
        false => Err(MemberError::malformed(path, "it tells no API group")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_without_any_group_is_no_answer() {
        let parsed = |json: &[u8]| aggregated::parse("/apis", json).unwrap().unwrap();
        let empty = parsed(br#"{"kind":"APIGroupDiscoveryList","items":[]}"#);
        let error = whole("/apis", empty).unwrap_err().to_string();
        assert!(error.contains("/apis"), "{error}");
        assert!(whole("/apis", Discovery::default()).is_err());
        let apps = parsed(
            br#"{"kind":"APIGroupDiscoveryList","items":[
              {"metadata":{"name":"apps"},"versions":[{"version":"v1","freshness":"Stale"}]}]}"#,
        );
        assert!(whole("/apis", apps).is_ok());
    }
}
