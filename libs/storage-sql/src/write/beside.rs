//! Streams that are opened while their cluster shows another version of the same resource: who names no version is sent to one of them, and the new one has
//! little to show before it has been listed. So it is hidden until then.

use std::collections::{BTreeSet, HashMap};

use armadex_storage::{MemberPosition, Phase, StoreError};

use crate::backend::rows;
use crate::sql::catalog::{self, TypeRow};
use crate::sql::stream::{self, Fence, StreamRow};
use crate::write::session::Session;

/// Those of these openings that are of a resource of which their cluster shows or keeps another version, and has listed that, or has rows of it.
pub(super) async fn beside(
    session: &mut Session<'_>,
    fences: &[Fence],
) -> Result<BTreeSet<(i64, i32)>, StoreError> {
    let types: BTreeSet<i64> = fences.iter().map(|fence| fence.resource.into()).collect();
    let others = others(&versions(session, &Vec::from_iter(types)).await?);
    let others = |fence: &Fence| {
        let cluster = fence.cluster;
        let others = others.get(&fence.resource).into_iter().flatten();
        others.map(move |other| (cluster, *other))
    };
    let asked: BTreeSet<(i64, i32)> = fences.iter().flat_map(others).collect();
    let told = told(session, &Vec::from_iter(asked)).await?;
    let here = fences
        .iter()
        .filter(|fence| others(fence).any(|other| told.contains(&other)));
    Ok(here.map(|fence| (fence.cluster, fence.resource)).collect())
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

/// The other versions of the resource of each type.
fn others(versions: &[TypeRow]) -> HashMap<i32, Vec<i32>> {
    let mut resources: HashMap<(&str, &str), BTreeSet<i32>> = HashMap::new();
    for TypeRow { id, resource, .. } in versions {
        let (group, name) = (&resource.gvr.group, &resource.gvr.resource);
        resources.entry((group, name)).or_default().insert(*id);
    }
    let mut others = HashMap::new();
    for ids in resources.values() {
        for id in ids {
            let rest = ids.iter().copied().filter(|other| other != id);
            others.insert(*id, rest.collect());
        }
    }
    others
}

/// Those of these streams that tell something of their resource.
async fn told(
    session: &mut Session<'_>,
    keys: &[(i64, i32)],
) -> Result<BTreeSet<(i64, i32)>, StoreError> {
    let mut told = BTreeSet::new();
    for part in keys.chunks(session.dialect.most_values()) {
        let statement = stream::several(session.dialect, part);
        let found = rows(session.connection, statement, stream::decode).await?;
        let telling = found.iter().filter(|stream| tells(stream));
        told.extend(telling.map(|stream| (stream.cluster, stream.resource)));
    }
    Ok(told)
}

/// Whether its rows are those of its member, or the most that there is of them: whoever lists anew has rows meanwhile. Of one that was closed what is left
/// has no position.
fn tells(stream: &StreamRow) -> bool {
    let position = stream.position.as_ref();
    let has_told = |position: &MemberPosition| is_live(position) || stream.objects > 0;
    (stream.is_open || stream.is_kept) && position.is_some_and(has_told)
}

/// Whether it is the position of a stream that has been listed to its end.
pub(super) fn is_live(position: &MemberPosition) -> bool {
    position.phase == Phase::Live
}
