//! What a member serves: aggregated discovery, or the older way of one request per group and version.
//!
//! Reading an answer is pure. A group or version that does not answer is marked as failed and stops nobody else: one APIService
//! that is down must not hide pods.

mod aggregated;
mod legacy;

use std::collections::BTreeMap;

use futures::future::try_join;

use crate::Member;
use crate::error::MemberError;

/// What a member serves, by group; the core group is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discovery {
    /// Groups by name.
    pub groups: BTreeMap<String, Group>,
}

/// One API group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// Versions as the member orders them, the preferred one first.
    pub versions: Vec<Version>,
}

/// One version of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// For example `v1`.
    pub name: String,
    /// What it serves, if that is known.
    pub state: VersionState,
}

/// Whether the resources of a version are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VersionState {
    /// They are these, subresources left out.
    Served(Vec<ServedResource>),
    /// The API behind it does not answer now; why, in words.
    Failed(String),
}

/// One resource of a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedResource {
    /// Plural name.
    pub name: String,
    /// Singular name; may be empty.
    pub singular: String,
    /// Kind of its objects.
    pub kind: String,
    /// Whether they live in namespaces.
    pub namespaced: bool,
    /// For example `list`, `watch`.
    pub verbs: Vec<String>,
    /// For example `deploy`.
    pub short_names: Vec<String>,
    /// For example `all`.
    pub categories: Vec<String>,
}

impl ServedResource {
    /// Whether a copy can be kept of it.
    #[must_use]
    pub fn can_sync(&self) -> bool {
        ["list", "watch"]
            .iter()
            .all(|needed| self.verbs.iter().any(|verb| verb == needed))
    }
}

/// Asks `/api` and `/apis`.
pub(crate) async fn fetch(member: &Member) -> Result<Discovery, MemberError> {
    let (mut core, named) =
        try_join(fetch_root(member, "/api"), fetch_root(member, "/apis")).await?;
    core.groups.extend(named.groups);
    Ok(core)
}

async fn fetch_root(member: &Member, path: &str) -> Result<Discovery, MemberError> {
    let bytes = member.bytes(path, aggregated::ACCEPT).await?;
    match aggregated::parse(path, &bytes)? {
        Some(discovery) => Ok(discovery),
        None => legacy::fetch(member, path, &bytes).await,
    }
}
