//! Asks a member for the names of its CustomResourceDefinitions, for whoever syncs all that is custom: page by page, of metadata alone, and of that nothing
//! is kept but the names.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use armadex_crds::member_rights;
use armadex_member::{ListRequest, Member, MemberError};
use armadex_model::{ClusterName, GroupVersionResource};
use tokio::time::timeout;

use crate::incoming::items::{Items, ListMetadata};
use crate::incoming::lines::Piece;
use crate::incoming::memory::ClusterMemory;
use crate::incoming::prune::salvage;
use crate::session::plan::Customs;
use crate::told::advice::advice;

const GROUP: &str = "apiextensions.k8s.io";
const RESOURCE: &str = "customresourcedefinitions";
/// A member reads them whole to tell of their metadata: some 5 MB.
const PAGE: u32 = 100;
/// Metadata with all its managers; of what is longer the beginning is enough.
const ITEM_BYTES: usize = 64 << 10;
/// What a member may serve of resources altogether.
const MOST: usize = 10_000;
/// For all pages. Whoever takes longer is asked again.
const LONGEST: Duration = Duration::from_secs(60);

/// A name by its group, `plural.group`.
type Names = BTreeMap<String, BTreeSet<String>>;

/// Asks the member of a cluster; it holds nothing that others wait for meanwhile.
pub(super) async fn ask(member: &Member, cluster: &ClusterName, memory: &ClusterMemory) -> Customs {
    match timeout(LONGEST, listed(member, memory)).await {
        Ok(Ok(names)) => Customs::Named(names),
        Ok(Err(error)) => {
            let right = || member_rights::of_resources(GROUP, vec![RESOURCE.to_owned()]);
            let advice = advice(&error, member, right, cluster);
            Customs::Untold(format!("{error}{advice}"))
        }
        Err(_) => Customs::Untold(format!("it took longer than {} s", LONGEST.as_secs())),
    }
}

async fn listed(member: &Member, memory: &ClusterMemory) -> Result<Names, MemberError> {
    let resource = GroupVersionResource::new(GROUP, "v1", RESOURCE);
    let (mut names, mut found) = (Names::new(), 0);
    let mut token = None;
    loop {
        let request = ListRequest {
            resource: &resource,
            limit: PAGE,
            continue_token: token.as_deref(),
            field_selector: None,
        };
        let each = |piece: &Piece| {
            if let Some((plural, group)) = name_of(piece) {
                found += 1;
                names.entry(group).or_default().insert(plural);
            }
            found <= MOST
        };
        let page = page(member, memory, &request, each).await?;
        if page.r#continue.is_empty() {
            return Ok(names);
        }
        token = Some(page.r#continue);
    }
}

/// Reads a page, as long as whoever takes its items wants more of them.
async fn page(
    member: &Member,
    memory: &ClusterMemory,
    request: &ListRequest<'_>,
    mut takes: impl FnMut(&Piece) -> bool,
) -> Result<ListMetadata, MemberError> {
    let broken = |problem: &'static str| MemberError::Malformed {
        path: request.resource.list_path(),
        problem: problem.into(),
    };
    let mut body = member.list_metadata(request).await?;
    let mut items = Items::new(ITEM_BYTES);
    let mut unfinished = memory.unfinished.part();
    loop {
        let chunk = tokio::select! {
            chunk = body.next() => chunk.transpose()?,
            error = unfinished.has_to_go() => return Err(error),
        };
        let Some(chunk) = chunk else { break };
        items.push(chunk);
        while let Some(piece) = items.next() {
            if !takes(&piece) {
                return Err(broken("it has more than a member may serve"));
            }
        }
        unfinished.holds(items.unfinished());
    }
    items.finish().ok_or_else(|| broken("it is no whole list"))
}

/// Plural and group; `None` of what has no such name.
fn name_of(piece: &Piece) -> Option<(String, String)> {
    let text: &[u8] = match piece {
        Piece::Whole(json) => json,
        Piece::TooLong { prefix, .. } => prefix,
    };
    let key = salvage(text).key(false)?;
    let (plural, group) = key.name.split_once('.')?;
    Some((plural.to_owned(), group.to_owned()))
}
