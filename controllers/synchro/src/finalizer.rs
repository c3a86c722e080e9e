//! The finalizer that lets a PediaCluster go only after its rows are hidden.

use armadex_crds::{PEDIA_CLUSTER_FINALIZER, PediaCluster};
use kube::ResourceExt;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;

/// Whether the object carries it.
pub(crate) fn is_set(object: &PediaCluster) -> bool {
    object
        .finalizers()
        .iter()
        .any(|name| name == PEDIA_CLUSTER_FINALIZER)
}

/// Adds it. A conflict is an error: the object that caused it is about to be seen.
pub(crate) async fn add(api: &Api<PediaCluster>, object: &PediaCluster) -> Result<(), kube::Error> {
    let mut names = object.finalizers().to_vec();
    names.push(PEDIA_CLUSTER_FINALIZER.to_owned());
    write(api, object, &names).await
}

/// Takes it away; an object that is gone already is no error.
pub(crate) async fn remove(
    api: &Api<PediaCluster>,
    name: &str,
    uid: &str,
) -> Result<(), kube::Error> {
    let Some(object) = api.get_opt(name).await? else {
        return Ok(());
    };
    if object.uid().as_deref() != Some(uid) || !is_set(&object) {
        return Ok(());
    }
    let mut names = object.finalizers().to_vec();
    names.retain(|name| name != PEDIA_CLUSTER_FINALIZER);
    match write(api, &object, &names).await {
        Err(kube::Error::Api(error)) if error.code == 404 => Ok(()),
        other => other,
    }
}

/// The version makes a change by somebody else a conflict, so that no other finalizer is lost.
async fn write(
    api: &Api<PediaCluster>,
    object: &PediaCluster,
    names: &[String],
) -> Result<(), kube::Error> {
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
