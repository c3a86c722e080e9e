//! Clusters whose synchro is no more: one of another `shardingName`, of which the store has heard nothing for a while. Nobody looks after them, and who did cannot
//! say so, so their statuses would go on telling that all is well.
//!
//! Replicas of one `shardingName` take over what one of them had. Where nobody else is left nobody can write it.

use armadex_control_plane::{Objects, Trouble, TroubleKind};
use armadex_crds::PediaCluster;
use armadex_crds::conditions::{
    self, ClusterCondition, ClusterReadyReason, ClusterSyncedReason, ConditionStatus, NewCondition,
    SynchroRunningReason,
};
use armadex_storage::Joined;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use tracing::{info, warn};

use crate::config::Shared;
use crate::fleet::owner::SILENT;
use crate::told::applied::MANAGER;
use crate::told::outages;

/// Says of each of these that nobody looks after it, unless its status does not tell otherwise. Who does after all writes it over.
pub(super) async fn tell(shared: &Shared, api: &Objects<PediaCluster>, lost: &[Joined]) {
    if shared.config.observes {
        return;
    }
    for cluster in lost {
        let name = cluster.name.as_str();
        match tell_of(shared, api, cluster).await {
            Ok(false) => {}
            Ok(true) => info!(
                cluster = name,
                owner = cluster.owner,
                "nobody looks after a cluster"
            ),
            Err(error) => {
                let statuses = &shared.refusals.statuses;
                if statuses.begins(name, outages::class_of(&error)) {
                    warn!(cluster = name, error = %error, "it was not written that nobody looks after a cluster; others that are refused alike are not told of");
                }
            }
        }
    }
}

/// Whether that was written.
async fn tell_of(
    shared: &Shared,
    api: &Objects<PediaCluster>,
    cluster: &Joined,
) -> Result<bool, Trouble> {
    let Some(object) = api.get_opt(cluster.name.as_str()).await? else {
        return Ok(false);
    };
    if object.uid().as_deref() != Some(&cluster.incarnation) {
        return Ok(false);
    }
    let Some(conditions) = without_synchro(&object, Timestamp::now()) else {
        return Ok(false);
    };
    let patch = json!({
        "metadata": {"resourceVersion": object.resource_version()},
        "status": {"conditions": conditions},
    });
    let bytes = patch.to_string().len();
    let _turn = shared.statuses.turn(bytes).await;
    let parameters = PatchParams::apply(MANAGER);
    let patch = Patch::Merge(patch);
    match api
        .patch_status(cluster.name.as_str(), &parameters, &patch)
        .await
    {
        Ok(_) => Ok(true),
        // Somebody looks after it.
        Err(error) if error.kind == TroubleKind::Conflict => Ok(false),
        Err(error) => Err(error),
    }
}

/// The conditions of an object whose status tells that a synchro runs which does not; `None` where it tells no such thing. Pure.
fn without_synchro(object: &PediaCluster, now: Timestamp) -> Option<Vec<Condition>> {
    let mut list = object.status.as_ref()?.conditions.clone();
    let running = ClusterCondition::SynchroRunning;
    let known = conditions::find(&list, running.as_str())?;
    if known.status != ConditionStatus::True.as_str() {
        return None;
    }
    let message = format!(
        "nothing was heard for {} minutes of the synchro whose shardingName is {:?}",
        SILENT.as_secs() / 60,
        object.spec.sharding_name
    );
    let observed_generation = known.observed_generation;
    let lost: [(_, String); 3] = [
        (running, SynchroRunningReason::SynchroLost.into()),
        (
            ClusterCondition::Ready,
            ClusterReadyReason::SynchroLost.into(),
        ),
        (
            ClusterCondition::Synced,
            ClusterSyncedReason::SynchroNotRunning.into(),
        ),
    ];
    for (type_, reason) in lost {
        let new = NewCondition {
            type_: type_.into(),
            status: ConditionStatus::Unknown,
            reason,
            message: message.clone(),
            observed_generation,
        };
        conditions::set(&mut list, new, now);
    }
    Some(list)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use armadex_model::ClusterName;
    use armadex_storage::Heard;

    use super::*;
    use crate::config::Config;
    use crate::testing::{ScriptedMember, Stage, pedia_cluster};

    /// As its synchro left it.
    async fn left(name: &str) -> PediaCluster {
        let member = ScriptedMember::start("uid", &[]).await;
        let mut object = pedia_cluster(name, &format!("uid-{name}"), &member);
        let condition = |type_: ClusterCondition| {
            json!({"type": type_.as_str(), "status": "True", "reason": type_.as_str(), "message": "",
                "lastTransitionTime": "2026-01-02T03:04:05Z"})
        };
        let conditions = Vec::from_iter(ClusterCondition::ALL.iter().copied().map(condition));
        let status = json!({"conditions": conditions, "version": "v1.36.0"});
        object.status = Some(serde_json::from_value(status).expect("a status"));
        object
    }

    fn joined(name: &str, incarnation: &str) -> Joined {
        Joined {
            name: ClusterName::new(name).expect("a name"),
            incarnation: incarnation.to_owned(),
            owner: "one/other".to_owned(),
            heard: Heard::default(),
        }
    }

    fn said(stage: &Stage, name: &str, type_: ClusterCondition) -> (String, String) {
        let status = stage.control_plane.cluster(name).status.expect("a status");
        let found = conditions::find(&status.conditions, type_.as_str()).expect("a condition");
        (found.status.clone(), found.reason.clone())
    }

    #[tokio::test]
    async fn a_cluster_whose_synchro_is_no_more_does_not_go_on_saying_that_it_is_ready() {
        let stage = Stage::new().await;
        stage
            .control_plane
            .has([left("m").await, left("anew").await]);
        let shared = Shared::new(Arc::clone(&stage.breaking) as _, "one", Config::default());
        let api = Objects::all(stage.control_plane.client());
        let lost = [
            joined("m", "uid-m"),
            joined("anew", "former"),
            joined("gone", ""),
        ];
        for _ in 0..2 {
            tell(&shared, &api, &lost).await;
            let unknown = |reason: &str| ("Unknown".to_owned(), reason.to_owned());
            let of = |type_| said(&stage, "m", type_);
            assert_eq!(of(ClusterCondition::Ready), unknown("SynchroLost"));
            assert_eq!(of(ClusterCondition::SynchroRunning), unknown("SynchroLost"));
            assert_eq!(of(ClusterCondition::Synced), unknown("SynchroNotRunning"));
            assert_eq!(of(ClusterCondition::Validated).0, "True");
            assert_eq!(said(&stage, "anew", ClusterCondition::Ready).0, "True");
            assert_eq!(stage.control_plane.writes(), 1, "it is said once");
        }
    }

    #[tokio::test]
    async fn who_observes_says_nothing() {
        let stage = Stage::new().await;
        stage.control_plane.has([left("m").await]);
        let config = Config {
            observes: true,
            ..Config::default()
        };
        let shared = Shared::new(Arc::clone(&stage.breaking) as _, "one", config);
        let api = Objects::all(stage.control_plane.client());
        tell(&shared, &api, &[joined("m", "uid-m")]).await;
        assert_eq!(stage.control_plane.writes(), 0);
    }
}
