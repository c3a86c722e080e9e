//! Record: what a step renders is told in the lifecycle's status before the step is taken, so that a synchro never meets a PediaCluster
//! of a policy that it takes for somebody else's. Until the step has been taken, what the PediaCluster has from before stays beside it: a
//! change that can't be made yet takes nothing from a cluster that works.

use std::sync::Arc;

use armadex_control_plane::{Objects, Trouble};
use armadex_crds::{
    ConnectionFingerprint, PediaCluster, PediaClusterLifecycle, RenderedConnection,
};
use armadex_policy::{ReconcileError, Shared};
use kube::{
    ResourceExt,
    api::{Patch, PatchParams},
};
use serde_json::{Value, json};

use crate::{Planned, Step};

const DOING: &str = "recording what it renders";

/// The lifecycle as it is once its status has what the plan's step renders.
pub(crate) async fn record(
    shared: &Shared,
    lifecycle: &Arc<PediaClusterLifecycle>,
    planned: &Planned,
    present: Option<&PediaCluster>,
) -> Result<Arc<PediaClusterLifecycle>, ReconcileError> {
    let (cluster, present) = match &planned.step {
        Ok(Step::Create(cluster)) => (cluster, None),
        Ok(Step::Update(cluster)) => (cluster, present),
        Ok(Step::Delete(_)) | Err(_) => return Ok(lifecycle.clone()),
    };
    let mut status = lifecycle.status.clone().unwrap_or_default();
    let present = present.map(|present| ConnectionFingerprint::of(&present.spec));
    let rendered = RenderedConnection::of(&cluster.spec);
    let rendered = beside(status.connection.as_ref(), rendered, present.as_ref());
    if status.connection.as_ref() == Some(&rendered) {
        return Ok(lifecycle.clone());
    }
    let api: Objects<PediaClusterLifecycle> = Objects::all(shared.client.clone());
    let (name, write) = (lifecycle.name_any(), write(&api, lifecycle, &rendered));
    let written = shared.gates.ask(DOING, &name, write).await;
    let answer = written.map_err(|trouble| ReconcileError {
        doing: DOING,
        trouble,
    })?;
    status.connection = Some(rendered);
    let mut recorded = PediaClusterLifecycle::clone(lifecycle);
    recorded.metadata.resource_version = answer.metadata.resource_version;
    recorded.status = Some(status);
    Ok(Arc::new(recorded))
}

async fn write(
    api: &Objects<PediaClusterLifecycle>,
    lifecycle: &PediaClusterLifecycle,
    rendered: &RenderedConnection,
) -> Result<PediaClusterLifecycle, Trouble> {
    let patch = Patch::Merge(patch(lifecycle, rendered));
    let (name, params) = (lifecycle.name_any(), PatchParams::default());
    let answer = api.patch_status(&name, &params, &patch).await?;
    let kept = answer.status.as_ref();
    let kept = kept.and_then(|status| status.connection.as_ref());
    let is_kept = |kept: &RenderedConnection| {
        kept.now() == rendered.now() && kept.earlier() == rendered.earlier()
    };
    if !kept.is_some_and(is_kept) {
        return Err(Trouble::unavailable(
            "the control plane drops status.connection of PediaClusterLifecycles, because its CRDs are of an \
             earlier release: install those of this one (armadex crds --install)",
        ));
    }
    Ok(answer)
}

/// The lifecycle once the step has been taken: what was before is no more.
pub(crate) fn settled(mut lifecycle: PediaClusterLifecycle) -> PediaClusterLifecycle {
    if let Some(status) = &mut lifecycle.status {
        let recorded = status.connection.take();
        status.connection = recorded.map(|recorded| recorded.beside(None));
    }
    lifecycle
}

/// What is rendered, and beside it the one of what was recorded that the PediaCluster may still have. What else it may have is
/// somebody's edit, and is not recorded.
fn beside(
    recorded: Option<&RenderedConnection>,
    rendered: RenderedConnection,
    present: Option<&ConnectionFingerprint>,
) -> RenderedConnection {
    let (Some(recorded), Some(present)) = (recorded, present) else {
        return rendered;
    };
    let (now, last) = (rendered.now(), recorded.now());
    let earlier = match recorded.earlier() {
        earlier if last == now => earlier,
        Some(earlier) if !last.allows(present) => Some(earlier),
        _ => Some(last),
    };
    rendered.beside(earlier.filter(|earlier| *earlier != now))
}

/// With the version, so that another lifecycle that took the name meanwhile does not answer for this one: a uid would not do, an API
/// server drops it unseen with all else that a patch of a status says of the metadata.
fn patch(lifecycle: &PediaClusterLifecycle, rendered: &RenderedConnection) -> Value {
    let RenderedConnection {
        apiserver,
        digest,
        control_plane_proxy,
        before,
        before_control_plane_proxy,
    } = rendered;
    let or_none = |text: &String| (!text.is_empty()).then(|| text.clone());
    json!({
        "metadata": {"resourceVersion": lifecycle.metadata.resource_version},
        "status": {"connection": {
            "apiserver": or_none(apiserver), "digest": digest, "controlPlaneProxy": control_plane_proxy,
            "before": or_none(before), "beforeControlPlaneProxy": before_control_plane_proxy,
        }},
    })
}

#[cfg(test)]
mod tests {
    use armadex_crds::ControlPlaneProxy;

    use super::*;

    fn recorded(digest: &str, before: &str) -> RenderedConnection {
        RenderedConnection {
            digest: digest.into(),
            before: before.into(),
            ..RenderedConnection::default()
        }
    }

    fn fingerprint(digest: &str, cluster: &str) -> ConnectionFingerprint {
        let proxy = ControlPlaneProxy {
            name: cluster.into(),
            ..ControlPlaneProxy::default()
        };
        ConnectionFingerprint {
            digest: digest.into(),
            control_plane_proxy: (!cluster.is_empty()).then(|| Box::new(proxy)),
        }
    }

    #[test]
    fn what_the_pediacluster_may_still_have_of_the_policy_is_kept_and_nothing_else() {
        let table = [
            // recorded, present, rendered, beside it
            (None, "a", "a", ""),
            (Some(recorded("a", "")), "a", "a", ""),
            (Some(recorded("a", "")), "a", "b", "a"),
            // It could not be changed yet, and is rendered anew.
            (Some(recorded("b", "a")), "a", "b", "a"),
            (Some(recorded("b", "a")), "a", "c", "a"),
            (Some(recorded("b", "a")), "a", "a", ""),
            // It was changed, which was not recorded any more.
            (Some(recorded("b", "a")), "b", "c", "b"),
            // Somebody edits it meanwhile.
            (Some(recorded("a", "")), "theirs", "b", "a"),
            (Some(recorded("b", "a")), "theirs", "c", "a"),
        ];
        for (before, present, rendered, expected) in table {
            let there = fingerprint(present, "");
            let found = beside(before.as_ref(), recorded(rendered, ""), Some(&there));
            assert_eq!(found, recorded(rendered, expected), "{before:?} {present}");
        }
        let made_anew = beside(Some(&recorded("a", "")), recorded("b", ""), None);
        assert_eq!(made_anew, recorded("b", ""));
    }

    #[test]
    fn the_way_by_the_control_plane_is_recorded_with_the_digest_that_it_was_rendered_with() {
        let rendered = |digest: &str, cluster: &str| {
            let ConnectionFingerprint {
                digest,
                control_plane_proxy,
            } = fingerprint(digest, cluster);
            RenderedConnection {
                digest,
                control_plane_proxy,
                ..RenderedConnection::default()
            }
        };
        let east = fingerprint("a", "east");
        let recorded = rendered("a", "east");
        // The way alone is another one, or none any more.
        for now in [
            rendered("a", ""),
            rendered("a", "west"),
            rendered("b", "east"),
        ] {
            let found = beside(Some(&recorded), now.clone(), Some(&east));
            assert_eq!(found, now.beside(Some(east.clone())));
        }
        // A release that does not know it took it away meanwhile.
        let waiting = rendered("b", "east").beside(Some(east.clone()));
        let found = beside(
            Some(&waiting),
            rendered("c", "east"),
            Some(&fingerprint("b", "")),
        );
        assert_eq!(
            found,
            rendered("c", "east").beside(Some(fingerprint("b", "east")))
        );
    }

    /// A merge patch leaves what it does not name.
    #[test]
    fn what_is_not_rendered_any_more_is_taken_out_of_the_record() {
        let found = patch(&PediaClusterLifecycle::default(), &recorded("a", ""));
        let expected = json!({"apiserver": null, "digest": "a", "controlPlaneProxy": null, "before": null, "beforeControlPlaneProxy": null});
        assert_eq!(found["status"]["connection"], expected);
    }
}
