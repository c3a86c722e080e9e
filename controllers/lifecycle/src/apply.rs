//! Apply: one step on the control plane, by server-side apply, so that a field that leaves the
//! template leaves the PediaCluster and what others set stays, its connection excepted.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Mutex,
};

use armadex_control_plane::{NOT_THERE_YET, Objects, Trouble, TroubleKind, lock};
use armadex_crds::{PediaCluster, conditions::LifecycleReason as Reason};
use armadex_policy::{
    Gates, ReconcileError, controlled_by, controller_of, owned_by, owners_in_words,
};
use kube::{
    ResourceExt,
    api::{ObjectMeta, Patch, PatchParams},
};
use serde_json::{Value, json};
use tracing::info;

use crate::{Step, Stop, added::added, status::Ended};

/// Owner of the fields of PediaClusters.
const FIELD_MANAGER: &str = "armadex-lifecycle";

/// What was last applied, by name, as a hash: enough to see that a template says something else
/// now, even if it says less. Lost on a restart, which costs one request per cluster.
#[derive(Debug, Default)]
pub(crate) struct Applied {
    hashes: Mutex<HashMap<String, u64>>,
}

impl Applied {
    fn is_same(&self, name: &str, hash: u64) -> bool {
        lock(&self.hashes).get(name) == Some(&hash)
    }

    fn remember(&self, name: &str, hash: u64) {
        lock(&self.hashes).insert(name.to_owned(), hash);
    }

    pub(crate) fn forget(&self, name: &str) {
        lock(&self.hashes).remove(name);
    }
}

/// Where PediaClusters are. Each kind of step goes through a gate of its own, as a webhook may hold up one of them alone.
pub(crate) struct Clusters<'a> {
    pub(crate) api: Objects<PediaCluster>,
    pub(crate) gates: &'a Gates,
    /// The uid of the lifecycle.
    pub(crate) owner: &'a str,
}

const CREATING: &str = "creating its PediaCluster";
const UPDATING: &str = "updating its PediaCluster";
pub(crate) const DELETING: &str = "deleting its PediaCluster";

/// Takes the step. That it has to wait for steps of others is no end of it, and not told.
pub(crate) async fn apply(
    clusters: &Clusters<'_>,
    step: Step,
    present: Option<&PediaCluster>,
    applied: &Applied,
) -> Result<Ended, ReconcileError> {
    let (doing, reason, result) = match step {
        Step::Create(cluster) => {
            let created = create(clusters, &cluster).await;
            (CREATING, Reason::CreationFailure, created)
        }
        Step::Update(cluster) => {
            let updated = update(clusters, &cluster, present, applied).await;
            (UPDATING, Reason::FailedPatchPediaCluster, updated)
        }
        Step::Delete(_) => {
            let deleted = match present {
                Some(present) => off_board(clusters, present).await,
                None => Ok(()),
            };
            let deleted = deleted.map(|()| Ended::Deleted);
            (DELETING, Reason::DeletionFailure, deleted)
        }
    };
    result.or_else(|trouble| match trouble.kind {
        TroubleKind::Held => Err(ReconcileError { doing, trouble }),
        _ => Ok(Ended::Stopped(Stop::because(reason, trouble.message))),
    })
}

/// Deletes a PediaCluster if it is still the one that was looked at, and still the lifecycle's: who wants to keep it takes its owner away.
async fn off_board(clusters: &Clusters<'_>, present: &PediaCluster) -> Result<(), Trouble> {
    let delete = delete(clusters, &present.metadata);
    gated(clusters, &present.name_any(), delete).await
}

/// Deletes the PediaCluster of this name as it is now, if it is the lifecycle's. To look at it waits as its deletion does.
pub(crate) async fn take_along(clusters: &Clusters<'_>, name: &str) -> Result<(), Trouble> {
    let delete = async {
        match clusters.api.get_metadata_opt(name).await? {
            Some(present) if owned_by(&present.metadata, clusters.owner) => {
                delete(clusters, &present.metadata).await
            }
            Some(_) | None => Ok(false),
        }
    };
    gated(clusters, name, delete).await
}

async fn delete(clusters: &Clusters<'_>, present: &ObjectMeta) -> Result<bool, Trouble> {
    let name = present.name.as_deref().unwrap_or_default();
    let uid = present.uid.as_deref().unwrap_or_default();
    let is_ours = |metadata: &ObjectMeta| owned_by(metadata, clusters.owner);
    let version = present.resource_version.clone();
    clusters.api.delete_if(name, uid, version, is_ours).await
}

async fn gated(
    clusters: &Clusters<'_>,
    name: &str,
    delete: impl Future<Output = Result<bool, Trouble>>,
) -> Result<(), Trouble> {
    if clusters.gates.ask(DELETING, name, delete).await? {
        info!(cluster = name, "cluster {name} is off-boarded");
    }
    Ok(())
}

/// Applies as something that must not be there yet, so that one that somebody else makes at this
/// moment stays his, whatever its field manager.
async fn create(clusters: &Clusters<'_>, cluster: &PediaCluster) -> Result<Ended, Trouble> {
    let (name, api) = (cluster.name_any(), &clusters.api);
    let mut cluster = cluster.clone();
    cluster.metadata.resource_version = Some(NOT_THERE_YET.to_owned());
    let params = PatchParams::apply(FIELD_MANAGER);
    let patch = Patch::Apply(&cluster);
    let create = api.patch(&name, &params, &patch);
    match clusters.gates.ask(CREATING, &name, create).await {
        Ok(_) => {
            info!(cluster = name, "cluster {name} is on-boarded");
            Ok(Ended::Created)
        }
        Err(trouble) if trouble.kind == TroubleKind::Conflict => {
            let present = api.get_metadata_opt(&name).await?;
            let owner = controller_of(&cluster.metadata).map(|owner| owner.uid.as_str());
            let is_ours = |metadata| owner.is_some_and(|uid| controlled_by(metadata, uid));
            if present
                .as_ref()
                .is_some_and(|present| is_ours(&present.metadata))
            {
                // By a request whose answer did not come. Whether it is as it should be is for the look that its coming leads to.
                return Ok(Ended::Created);
            }
            let owners = present.map(|present| owners_in_words(&present.metadata));
            let owners = owners.unwrap_or_else(|| "somebody who took it away again".to_owned());
            let message =
                format!("PediaCluster {name} was made in the meantime and is owned by {owners}");
            Ok(Ended::Stopped(Stop::because(
                Reason::PediaClusterNotOwned,
                message,
            )))
        }
        Err(trouble) => Err(trouble),
    }
}

async fn update(
    clusters: &Clusters<'_>,
    cluster: &PediaCluster,
    present: Option<&PediaCluster>,
    applied: &Applied,
) -> Result<Ended, Trouble> {
    let (name, api) = (cluster.name_any(), &clusters.api);
    let desired = serde_json::to_value(cluster).unwrap_or_default();
    let known = serde_json::to_value(present).unwrap_or_default();
    let hash = hash_of(&desired);
    let is_same = applied.is_same(&name, hash) && contains(&known, &desired);
    let surplus = present.and_then(|present| added(&present.spec, &cluster.spec));
    if is_same && surplus.is_none() {
        return Ok(Ended::UpToDate(None));
    }
    let update = put_right(api, &name, cluster);
    clusters.gates.ask(UPDATING, &name, update).await?;
    applied.remember(&name, hash);
    Ok(Ended::UpToDate(None))
}

/// Makes a PediaCluster as it should be. With its uid, so that another one of the same name is refused.
async fn put_right(
    api: &Objects<PediaCluster>,
    name: &str,
    cluster: &PediaCluster,
) -> Result<(), Trouble> {
    let params = PatchParams::apply(FIELD_MANAGER).force();
    let there = api.patch(name, &params, &Patch::Apply(cluster)).await?;
    if let Some(surplus) = added(&there.spec, &cluster.spec) {
        info!(
            cluster = name,
            "what somebody added to the connection of cluster {name} is taken away"
        );
        let patch = json!({"metadata": {"uid": cluster.metadata.uid}, "spec": surplus});
        let params = PatchParams::default();
        api.patch(name, &params, &Patch::Merge(patch)).await?;
    }
    Ok(())
}

fn hash_of(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.to_string().hash(&mut hasher);
    hasher.finish()
}

/// Whether every field of `part` is in `whole` with the same value; lists count as one value.
fn contains(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => part
            .iter()
            .all(|(name, field)| whole.get(name).is_some_and(|there| contains(there, field))),
        _ => whole == part,
    }
}

#[cfg(test)]
mod tests {
    use armadex_control_plane::testing::{Host, ServedType};
    use serde_json::json;

    use super::*;

    fn host() -> Host {
        Host::new(&[ServedType::new(
            "cluster.clusterpedia.io",
            "v1alpha2",
            "pediaclusters",
            "PediaCluster",
        )])
    }

    #[tokio::test]
    async fn a_cluster_that_somebody_made_in_the_meantime_stays_his() {
        let host = host();
        let path = "/apis/cluster.clusterpedia.io/v1alpha2/pediaclusters/east";
        host.put(
            path,
            json!({"spec": {"apiserver": "https://his", "syncResources": []}}),
        );
        let before = host.get(path);
        let ours: PediaCluster = serde_json::from_value(
            json!({"metadata": {"name": "east"}, "spec": {"syncResources": []}}),
        )
        .unwrap();
        let clusters = Clusters {
            api: Objects::all(host.client()),
            gates: &Gates::default(),
            owner: "its own",
        };
        let ended = apply(&clusters, Step::Create(ours), None, &Applied::default()).await;
        let ended = ended.unwrap();
        let Ended::Stopped(Stop::Because(problem)) = ended else {
            panic!("{ended:?}");
        };
        assert_eq!(problem.reason, Reason::PediaClusterNotOwned);
        assert_eq!(
            problem.message,
            "PediaCluster east was made in the meantime and is owned by nobody"
        );
        assert_eq!(host.get(path), before);
    }

    #[tokio::test]
    async fn a_cluster_that_changes_meanwhile_goes_unless_it_is_somebody_elses_by_now() {
        let host = host();
        let path = "/apis/cluster.clusterpedia.io/v1alpha2/pediaclusters/east";
        let owned_by = |uid: &str, label: &str| {
            let owner = json!({"apiVersion": "policy.clusterpedia.io/v1alpha1", "kind": "PediaClusterLifecycle",
                "name": "east", "uid": uid});
            json!({"metadata": {"ownerReferences": [owner], "labels": {"a": label}}, "spec": {"syncResources": []}})
        };
        let clusters = Clusters {
            api: Objects::all(host.client()),
            gates: &Gates::default(),
            owner: "its own",
        };
        for (owner, stays) in [("its own", false), ("of another", true)] {
            host.put(path, owned_by("its own", "before"));
            let seen = clusters.api.get("east").await.unwrap();
            let after = owned_by(owner, "after");
            host.ahead("delete", "pediaclusters", move |host| {
                host.put(path, after);
            });
            off_board(&clusters, &seen).await.unwrap();
            assert_eq!(host.get(path).is_some(), stays, "{owner}");
        }
    }

    #[tokio::test]
    async fn what_was_made_by_a_request_without_an_answer_is_ours() {
        let host = host();
        let owned_by = |uid: &str| {
            let owner = json!({"apiVersion": "policy.clusterpedia.io/v1alpha1", "kind": "PediaClusterLifecycle",
                "name": "east", "uid": uid, "controller": true});
            json!({"metadata": {"name": "east", "ownerReferences": [owner]}, "spec": {"syncResources": []}})
        };
        let clusters = Clusters {
            api: Objects::all(host.client()),
            gates: &Gates::default(),
            owner: "its own",
        };
        let create = async |uid: &str| {
            let cluster = serde_json::from_value(owned_by(uid)).unwrap();
            let ended = apply(&clusters, Step::Create(cluster), None, &Applied::default()).await;
            ended.unwrap()
        };
        for _ in 0..2 {
            assert!(matches!(create("its own").await, Ended::Created));
        }
        let ended = create("of another").await;
        assert!(matches!(ended, Ended::Stopped(_)), "{ended:?}");
    }

    #[test]
    fn fields_of_others_do_not_count_and_lists_are_one_value() {
        let whole = json!({"a": {"b": 1, "c": 2}, "list": [1, 2]});
        for (part, expected) in [
            (json!({"a": {"b": 1}}), true),
            (json!({"a": {"b": 2}}), false),
            (json!({"a": {"d": 1}}), false),
            (json!({"list": [1, 2]}), true),
            (json!({"list": [1]}), false),
        ] {
            assert_eq!(contains(&whole, &part), expected, "{part}");
        }
    }
}
