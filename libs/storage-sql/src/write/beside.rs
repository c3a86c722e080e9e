//! Streams that are opened while their cluster shows another version of the same resource: who names no version is sent to one of them, and the new one has
//! little to show before it has been listed. So it is hidden until then.

use std::collections::BTreeSet;

use armadex_storage::{MemberPosition, Phase, StoreError};

use crate::backend::rows;
use crate::sql::catalog::{self, TypeRow};
use crate::sql::stream::{self, Fence, StreamRow};
use crate::write::session::Session;

/// Those of these openings that are of a resource of which their cluster has listed another version, and shows it or keeps it.
pub(super) async fn beside(
    session: &mut Session<'_>,
    fences: &[Fence],
) -> Result<BTreeSet<(i64, i32)>, StoreError> {
    let types: BTreeSet<i64> = fences.iter().map(|fence| fence.resource.into()).collect();
    let versions = versions(session, &Vec::from_iter(types)).await?;
    let has_others = |fence: &&Fence| {
        let others = others(&versions, fence.resource);
        others.count() > 0
    };
    let fences = Vec::from_iter(fences.iter().filter(has_others));
    let clusters: BTreeSet<i64> = fences.iter().map(|fence| fence.cluster).collect();
    let mut found = BTreeSet::new();
    for cluster in clusters {
        let streams = stream::of_cluster(cluster);
        let streams = rows(session.connection, streams, stream::decode).await?;
        let listed: BTreeSet<i32> = streams
            .iter()
            .filter(|stream| is_listed(stream))
            .map(|stream| stream.resource)
            .collect();
        let here = fences.iter().filter(|fence| fence.cluster == cluster);
        let here = here.filter(|fence| {
            let mut others = others(&versions, fence.resource);
            others.any(|other| listed.contains(&other))
        });
        found.extend(here.map(|fence| (fence.cluster, fence.resource)));
    }
    Ok(found)
}

/// All versions of the resources of these types that there are.
async fn versions(session: &mut Session<'_>, types: &[i64]) -> Result<Vec<TypeRow>, StoreError> {
    let mut found = Vec::new();
    for part in types.chunks(session.dialect.most_values()) {
        let statement = catalog::versions_of(session.dialect, part);
        found.extend(rows(session.connection, statement, catalog::decode_type).await?);
    }
    Ok(found)
}

/// The other versions of the resource of a type.
fn others(versions: &[TypeRow], resource: i32) -> impl Iterator<Item = i32> {
    let key = |row: &TypeRow| {
        let gvr = &row.resource.gvr;
        (gvr.group.clone(), gvr.resource.clone())
    };
    let own = versions.iter().find(|row| row.id == resource).map(key);
    let same = versions.iter().filter(move |row| Some(key(row)) == own);
    same.map(|row| row.id).filter(move |id| *id != resource)
}

fn is_listed(stream: &StreamRow) -> bool {
    let position = stream.position.as_ref();
    (stream.is_open || stream.is_kept) && position.is_some_and(is_live)
}

/// Whether it is the position of a stream that has been listed to its end.
pub(super) fn is_live(position: &MemberPosition) -> bool {
    position.phase == Phase::Live
}
