//! The finalizer that lets a PediaCluster go only after its rows are hidden.

use armadex_control_plane::{Objects, Trouble, TroubleKind};
use armadex_crds::{PEDIA_CLUSTER_FINALIZER, PediaCluster};
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use serde_json::json;

/// How often a conflict is met by reading again: the last status of a cluster may still be on its way when it leaves, and others may
/// write. Who has met so many comes back later.
const TRIES: usize = 3;

/// Whether the object carries it.
pub(crate) fn is_set(object: &PediaCluster) -> bool {
    object
        .finalizers()
        .iter()
        .any(|name| name == PEDIA_CLUSTER_FINALIZER)
}

/// Adds it. A conflict is an error: the object that caused it is about to be seen.
pub(crate) async fn add(api: &Objects<PediaCluster>, object: &PediaCluster) -> Result<(), Trouble> {
    let mut names = object.finalizers().to_vec();
    names.push(PEDIA_CLUSTER_FINALIZER.to_owned());
    write(api, object, &names).await
}

/// Takes it away; an object that is gone already is no error.
pub(crate) async fn remove(
    api: &Objects<PediaCluster>,
    name: &str,
    uid: &str,
) -> Result<(), Trouble> {
    for _ in 1..TRIES {
        match remove_once(api, name, uid).await {
            Err(trouble) if trouble.kind == TroubleKind::Conflict => {}
            other => return other,
        }
    }
    remove_once(api, name, uid).await
}

async fn remove_once(api: &Objects<PediaCluster>, name: &str, uid: &str) -> Result<(), Trouble> {
    let Some(object) = api.get_opt(name).await? else {
        return Ok(());
    };
    if object.uid().as_deref() != Some(uid) || !is_set(&object) {
        return Ok(());
    }
    let mut names = object.finalizers().to_vec();
    names.retain(|name| name != PEDIA_CLUSTER_FINALIZER);
    match write(api, &object, &names).await {
        Err(trouble) if trouble.kind == TroubleKind::Missing => Ok(()),
        other => other,
    }
}

/// The version makes a change by somebody else a conflict, so that no other finalizer is lost.
async fn write(
    api: &Objects<PediaCluster>,
    object: &PediaCluster,
    names: &[String],
) -> Result<(), Trouble> {
    let version = object.resource_version();
    let patch = json!({"metadata": {"resourceVersion": version, "finalizers": names}});
    api.patch(
        &object.name_any(),
        &PatchParams::default(),
        &Patch::Merge(patch),
    )
    .await
    .map(|_| ())
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use http::{Method, Request, Response};
    use kube::Client;
    use kube::client::Body;

    use super::*;

    /// How a patch is refused.
    const CONFLICT: (u16, &str) = (409, "Conflict");
    const MISSING: (u16, &str) = (404, "NotFound");

    /// A control plane that has a PediaCluster and refuses so many patches of it; counts all of them.
    fn control_plane(
        refused: usize,
        (code, reason): (u16, &'static str),
    ) -> (Objects<PediaCluster>, Arc<AtomicUsize>) {
        let patches = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&patches);
        let service = tower::service_fn(move |request: Request<Body>| {
            let is_patch = request.method() == Method::PATCH;
            let is_refused = is_patch && counted.fetch_add(1, Ordering::Relaxed) < refused;
            let (code, answer) = match is_refused {
                true => (
                    code,
                    json!({"kind": "Status", "status": "Failure", "code": code, "message": "no", "reason": reason}),
                ),
                false => (
                    200,
                    json!({"apiVersion": "cluster.clusterpedia.io/v1alpha2", "kind": "PediaCluster",
                    "metadata": {"name": "a", "uid": "u", "resourceVersion": "5", "finalizers": [PEDIA_CLUSTER_FINALIZER]},
                    "spec": {"syncResources": []}}),
                ),
            };
            let body = Body::from(serde_json::to_vec(&answer).expect("JSON"));
            let answer = Response::builder().status(code).body(body);
            async move { Ok::<_, Infallible>(answer.expect("an answer")) }
        });
        (Objects::all(Client::new(service, "default")), patches)
    }

    #[tokio::test]
    async fn a_status_that_is_still_on_its_way_keeps_no_cluster_from_leaving() {
        for (conflicts, leaves, patches) in [(0, true, 1), (2, true, 3), (9, false, TRIES)] {
            let (api, counted) = control_plane(conflicts, CONFLICT);
            assert_eq!(remove(&api, "a", "u").await.is_ok(), leaves, "{conflicts}");
            assert_eq!(counted.load(Ordering::Relaxed), patches, "{conflicts}");
        }
    }

    #[tokio::test]
    async fn a_cluster_that_goes_meanwhile_has_left() {
        let (api, counted) = control_plane(9, MISSING);
        assert!(remove(&api, "a", "u").await.is_ok());
        assert_eq!(counted.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn another_cluster_of_that_name_keeps_its_finalizer() {
        let (api, counted) = control_plane(0, CONFLICT);
        assert!(remove(&api, "a", "of another").await.is_ok());
        assert_eq!(counted.load(Ordering::Relaxed), 0);
    }
}
