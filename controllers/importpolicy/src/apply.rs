//! Apply: carries a plan out by server-side apply. What fails is a problem of one lifecycle and
//! does not stop the others.

use armadex_crds::PediaClusterLifecycle;
use armadex_policy::{Trouble, TroubleKind};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, Preconditions},
};
use tracing::info;

use crate::{Plan, Problem};

/// Owner of the fields of lifecycles.
const FIELD_MANAGER: &str = "armadex-importpolicy";

/// Carries the plan out and tells what failed.
pub(crate) async fn apply(api: &Api<PediaClusterLifecycle>, plan: &Plan) -> Vec<Problem> {
    let mut failures = Vec::new();
    for lifecycle in &plan.create {
        // Without force, one that somebody else has just made is a conflict and stays his.
        let result = patch(api, lifecycle, &PatchParams::apply(FIELD_MANAGER)).await;
        note(&mut failures, &lifecycle.name_any(), "created", result);
    }
    for lifecycle in &plan.update {
        let result = patch(api, lifecycle, &PatchParams::apply(FIELD_MANAGER).force()).await;
        note(&mut failures, &lifecycle.name_any(), "updated", result);
    }
    for (name, uid) in &plan.delete {
        note(&mut failures, name, "deleted", delete(api, name, uid).await);
    }
    failures
}

/// Deletes a lifecycle if it is still the one that was looked at.
pub(crate) async fn delete(
    api: &Api<PediaClusterLifecycle>,
    name: &str,
    uid: &str,
) -> Result<(), Trouble> {
    let same = Preconditions {
        uid: Some(uid.to_owned()),
        resource_version: None,
    };
    let params = DeleteParams {
        preconditions: Some(same),
        ..DeleteParams::background()
    };
    match api.delete(name, &params).await.map_err(Trouble::from) {
        // Gone, or another one by now: either way this one is no more.
        Err(Trouble {
            kind: TroubleKind::Missing | TroubleKind::Conflict,
            ..
        })
        | Ok(_) => Ok(()),
        Err(trouble) => Err(trouble),
    }
}

async fn patch(
    api: &Api<PediaClusterLifecycle>,
    lifecycle: &PediaClusterLifecycle,
    params: &PatchParams,
) -> Result<(), Trouble> {
    api.patch(&lifecycle.name_any(), params, &Patch::Apply(lifecycle))
        .await?;
    Ok(())
}

fn note(failures: &mut Vec<Problem>, name: &str, done: &str, result: Result<(), Trouble>) {
    match result {
        Ok(()) => info!(cluster = name, "lifecycle {name} {done}"),
        Err(trouble) => failures.push(Problem {
            subject: format!("PediaClusterLifecycle {name}"),
            message: format!("could not be {done}: {trouble}"),
            may_pass: true,
        }),
    }
}
