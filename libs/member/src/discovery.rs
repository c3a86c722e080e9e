//! What a member serves: aggregated discovery, or the older way of one request per group and version.
//!
//! Reading an answer is pure. A group or version that does not answer is marked as failed and stops nobody else: one APIService
//! that is down must not hide pods.

mod aggregated;
mod bounded;
pub(crate) mod holding;
mod legacy;
mod served;

use futures::future::try_join;

pub use holding::Room;
pub use served::{Discovery, Group, ServedResource, Version, VersionState};

use crate::Member;
use crate::error::MemberError;
use holding::Holding;

/// What a member told of what it serves.
#[derive(Debug)]
pub struct Told {
    /// What it serves.
    pub discovery: Discovery,
    /// By which it knows that.
    pub etags: Etags,
    /// Whether its answers were larger than those of usual members.
    pub is_large: bool,
}

/// By which ETags a member knows what it told of `/api` and `/apis`; the older way has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Etags {
    api: Option<String>,
    apis: Option<String>,
}

impl Etags {
    /// Whether a member can be asked by them if anything changed.
    #[must_use]
    pub const fn are_known(&self) -> bool {
        self.api.is_some() && self.apis.is_some()
    }
}

impl Member {
    /// What the member serves, and by which ETags it knows that; `None` if it is still what it was by these. A group that does not
    /// answer is an error of that group alone. Where that is more than there is room for, what has come is dropped, and the error says so.
    pub async fn discover(&self, known: &Etags, room: Room) -> Result<Option<Told>, MemberError> {
        let holding = Holding::new(room);
        let told = fetch(self, known, &holding).await?;
        Ok(told.map(|(discovery, etags)| Told {
            discovery,
            etags,
            is_large: holding.is_large(),
        }))
    }

    /// Whether the member says that it still serves what it did by these ETags. That is a small question; what it serves may be megabytes.
    pub async fn serves_the_same(&self, known: &Etags) -> Result<bool, MemberError> {
        let (Some(api), Some(apis)) = (&known.api, &known.apis) else {
            return Ok(false);
        };
        let core = self.is_still("/api", aggregated::ACCEPT, api);
        let named = self.is_still("/apis", aggregated::ACCEPT, apis);
        let (core, named) = try_join(core, named).await?;
        Ok(core && named)
    }
}

/// Asks `/api` and `/apis`; `None` if neither is another than it was.
async fn fetch(
    member: &Member,
    known: &Etags,
    holding: &Holding,
) -> Result<Option<(Discovery, Etags)>, MemberError> {
    let core = fetch_root(member, "/api", known.api.as_deref(), holding);
    let named = fetch_root(member, "/apis", known.apis.as_deref(), holding);
    // Answers are not kept, so half of one that changed is worth as much as none.
    let (core, named) = match try_join(core, named).await? {
        (None, None) => return Ok(None),
        (Some(core), Some(named)) => (core, named),
        (Some(core), None) => (core, fetch_whole(member, "/apis", holding).await?),
        (None, Some(named)) => (fetch_whole(member, "/api", holding).await?, named),
    };
    let ((mut discovery, api), (named, apis)) = (core, named);
    discovery.groups.extend(named.groups);
    Ok(Some((discovery, Etags { api, apis })))
}

async fn fetch_whole(
    member: &Member,
    path: &str,
    holding: &Holding,
) -> Result<(Discovery, Option<String>), MemberError> {
    let told = fetch_root(member, path, None, holding).await?;
    told.ok_or_else(|| MemberError::malformed(path, "it says that nothing changed, unasked"))
}

async fn fetch_root(
    member: &Member,
    path: &str,
    known: Option<&str>,
    holding: &Holding,
) -> Result<Option<(Discovery, Option<String>)>, MemberError> {
    let answer = member.bytes_unless(path, aggregated::ACCEPT, known, holding);
    let answer = answer.await?;
    let Some((bytes, etag)) = answer else {
        return Ok(None);
    };
    let (discovery, etag) = match aggregated::parse(path, &bytes, holding)? {
        Some(discovery) => (discovery, etag),
        // Its ETag, if any, says nothing of the answers that follow from it.
        None => (legacy::fetch(member, path, &bytes, holding).await?, None),
    };
    Ok(Some((whole(path, discovery)?, etag)))
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
        let holding = Holding::new(Room::Usual);
        let parsed = |json: &[u8]| {
            let parsed = aggregated::parse("/apis", json, &holding);
            parsed.unwrap().unwrap()
        };
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
