//! The rights that the synchro takes in a member, as the role of its account there.

use std::path::PathBuf;

use anyhow::{Context as _, bail, ensure};
use armadex_crds::{ClusterSyncResources, PediaCluster, drop_nulls, misfits};
use armadex_synchro::{Gates, MemberRights, member_rights_of};
use k8s_openapi::serde::de::DeserializeOwned;
use kube::{Api, CustomResourceExt, Resource, ResourceExt as _};
use serde_json::{Value, json};

use super::printed::{Printed, document};
use crate::command::install::Subject;
use crate::command::policy::objects_of;
use crate::control_plane::ControlPlaneFlags;

/// A PediaCluster and what it refers to, as far as that is there.
pub(super) struct Asking {
    pub(super) cluster: PediaCluster,
    pub(super) referred: Option<ClusterSyncResources>,
}

/// Those of files.
pub(super) fn of_files(name: &str, paths: &[PathBuf]) -> anyhow::Result<Asking> {
    let (mut clusters, mut lists) = (Vec::new(), Vec::new());
    for (place, value) in objects_of(paths)? {
        clusters.extend(read::<PediaCluster>(&place, &value)?);
        lists.extend(read::<ClusterSyncResources>(&place, &value)?);
    }
    let is_named = |cluster: &PediaCluster| cluster.name_any() == name;
    clusters.retain(is_named);
    let cluster = clusters.pop();
    let cluster = cluster.with_context(|| format!("no PediaCluster {name} in these files"))?;
    ensure!(
        clusters.is_empty(),
        "the PediaCluster {name} is given twice"
    );
    let wanted = &cluster.spec.sync_resources_ref_name;
    let referred = lists.into_iter().find(|list| list.name_any() == *wanted);
    Ok(Asking { cluster, referred })
}

/// An object of a file, if it is of this kind. A file may hold credentials, so what is wrong is said by its place.
fn read<K>(place: &str, value: &Value) -> anyhow::Result<Option<K>>
where
    K: CustomResourceExt + Resource<DynamicType = ()> + DeserializeOwned,
{
    let is_one = value["kind"] == *K::kind(&()) && value["apiVersion"] == *K::api_version(&());
    if !is_one {
        return Ok(None);
    }
    let mut value = value.clone();
    drop_nulls(&mut value);
    let misfits = misfits(&K::crd(), &value);
    if !misfits.is_empty() {
        bail!(
            "{place}: an API server takes no such {}: {}",
            K::kind(&()),
            misfits.join("; ")
        );
    }
    let object = serde_json::from_value(value);
    let object = object.map_err(|_| anyhow::anyhow!("{place} is not understood"))?;
    Ok(Some(object))
}

/// Those of the control plane.
pub(super) async fn of_control_plane(
    name: &str,
    control_plane: &ControlPlaneFlags,
) -> anyhow::Result<Asking> {
    let client = control_plane.client().await?;
    let cluster = Api::<PediaCluster>::all(client.clone()).get(name).await;
    let cluster = cluster.with_context(|| format!("cannot read the PediaCluster {name}"))?;
    let referred = match cluster.spec.sync_resources_ref_name.as_str() {
        "" => None,
        list => {
            let found = Api::<ClusterSyncResources>::all(client).get_opt(list).await;
            found.with_context(|| format!("cannot read the ClusterSyncResources {list}"))?
        }
    };
    Ok(Asking { cluster, referred })
}

/// The role, and who has it if that is said.
pub(super) fn printed(
    asking: &Asking,
    gates: Gates,
    subjects: &[Subject],
) -> anyhow::Result<Printed> {
    let name = asking.cluster.name_any();
    let rights = member_rights_of(&asking.cluster, asking.referred.as_ref(), gates);
    let rights = rights.map_err(|error| anyhow::anyhow!("the PediaCluster {name}: {error}"))?;
    let MemberRights { rules, mut notes } = rights;
    let role = format!("armadex:pediacluster:{name}");
    let rbac = "rbac.authorization.k8s.io";
    let object = json!({"apiVersion": format!("{rbac}/v1"), "kind": "ClusterRole", "metadata": {"name": role}, "rules": rules});
    let words = format!("In the member {name}: what the synchro asks it for, and nothing else");
    let mut text = document(&words, &object)?;
    if subjects.is_empty() {
        notes.push(format!(
            "bind it in the member, to the account whose credential the PediaCluster has: kubectl create clusterrolebinding {role} --clusterrole {role} --serviceaccount \
             NAMESPACE:NAME, or name that account by --subject"
        ));
    } else {
        let subjects: Vec<Value> = subjects.iter().map(Subject::to_value).collect();
        let binding = json!({"apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": role},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": role}, "subjects": subjects});
        text.push_str(&document("Whoever the synchro is there", &binding)?);
    }
    notes.push(format!(
        "what is printed is for the member {name}, and not for the control plane"
    ));
    Ok(Printed {
        text,
        notes,
        refused: Vec::new(),
    })
}

#[cfg(test)]
mod tests;
