//! Record: what a step renders is told in the lifecycle's status before the step is taken, so that a synchro never meets a PediaCluster
//! of a policy that it takes for somebody else's.

use std::sync::Arc;

use armadex_crds::{PediaClusterLifecycle, RenderedConnection};
use armadex_policy::{ReconcileError, Trouble};
use kube::{
    Api, Client, ResourceExt,
    api::{Patch, PatchParams},
};
use serde_json::{Value, json};

use crate::{Planned, Step};

/// The lifecycle as it is once its status has what the plan's step renders.
pub(crate) async fn record(
    client: &Client,
    lifecycle: &Arc<PediaClusterLifecycle>,
    planned: &Planned,
) -> Result<Arc<PediaClusterLifecycle>, ReconcileError> {
    let (Ok(Step::Create(cluster)) | Ok(Step::Update(cluster))) = &planned.step else {
        return Ok(lifecycle.clone());
    };
    let mut status = lifecycle.status.clone().unwrap_or_default();
    let rendered = Some(RenderedConnection::of(&cluster.spec));
    if status.connection == rendered {
        return Ok(lifecycle.clone());
    }
    status.connection = rendered;
    let mut recorded = PediaClusterLifecycle::clone(lifecycle);
    let api: Api<PediaClusterLifecycle> = Api::all(client.clone());
    let patch = Patch::Merge(patch(lifecycle, status.connection.as_ref()));
    api.patch_status(&lifecycle.name_any(), &PatchParams::default(), &patch)
        .await
        .map_err(|error| ReconcileError {
            doing: "recording what it renders",
            trouble: Trouble::from(error),
        })?;
    recorded.status = Some(status);
    Ok(Arc::new(recorded))
}

/// With the uid, so that another lifecycle that took the name meanwhile does not answer for this one.
fn patch(lifecycle: &PediaClusterLifecycle, rendered: Option<&RenderedConnection>) -> Value {
    let shown = rendered.map(|rendered| &rendered.apiserver);
    let digest = rendered.map(|rendered| &rendered.digest);
    json!({
        "metadata": {"uid": lifecycle.metadata.uid},
        "status": {"connection": {"apiserver": shown, "digest": digest}},
    })
}
