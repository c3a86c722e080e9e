//! Since when nobody has proved that what is stored of a cluster is what its member has, as far as the status of its PediaCluster tells: a process that has just
//! started has proved nothing, and others have before it. Pure.

use armadex_crds::{PediaCluster, PediaClusterStatus, ResourceSyncCondition};
use jiff::Timestamp;

/// When each resource that was ever proved had been; where none of them was, when the PediaCluster was made, from when on a proof is owed. Of one that is new among
/// others the audits tell by themselves.
pub(crate) fn unproved_since(object: &PediaCluster) -> Timestamp {
    let made = object.metadata.creation_timestamp.as_ref();
    let made = made.map_or_else(Timestamp::now, |made| made.0);
    object.status.as_ref().and_then(proved).unwrap_or(made)
}

fn proved(status: &PediaClusterStatus) -> Option<Timestamp> {
    // Where nothing is asked for, an audit has nothing to compare, and is a proof.
    if status.sync_resources.is_empty() {
        let audit = status.audit.as_ref().filter(|audit| audit.unproved == 0);
        return audit.map(|audit| audit.time.0);
    }
    let audits = conditions(status).filter_map(|condition| condition.audit.as_ref());
    let proofs = audits.filter_map(|audit| audit.proved_time.as_ref().map(|time| time.0));
    proofs.min()
}

fn conditions(status: &PediaClusterStatus) -> impl Iterator<Item = &ResourceSyncCondition> {
    let resources = status.sync_resources.iter();
    let resources = resources.flat_map(|group| &group.resources);
    resources.flat_map(|resource| &resource.sync_conditions)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const MADE: &str = "2026-01-01T00:00:00Z";

    fn condition(audit: &Value) -> Value {
        json!({"version": "v1", "status": "Syncing", "lastTransitionTime": MADE, "audit": audit})
    }

    fn of(sync_resources: &Value) -> String {
        let object = json!({
            "apiVersion": "cluster.clusterpedia.io/v1alpha2",
            "kind": "PediaCluster",
            "metadata": {"name": "m", "creationTimestamp": MADE},
            "spec": {"syncResources": []},
            "status": {
                "syncResources": sync_resources,
                "audit": {"time": "2026-01-09T00:00:00Z", "proved": 2, "objects": 2},
            },
        });
        let object: PediaCluster = serde_json::from_value(object).expect("a PediaCluster");
        unproved_since(&object).to_string()
    }

    fn of_conditions(audits: &[Value]) -> String {
        let conditions = Vec::from_iter(audits.iter().map(condition));
        let resource = json!({"name": "pods", "kind": "Pod", "namespaced": true, "syncConditions": conditions});
        of(&json!([{"group": "", "resources": [resource]}]))
    }

    #[test]
    fn a_proof_is_as_old_as_that_of_the_resource_that_was_proved_first() {
        let proved =
            |day: &str| json!({"objects": 1, "provedTime": format!("2026-01-{day}T00:00:00Z")});
        let never = json!({"objects": 0, "message": "not compared: forbidden"});
        let unaudited = Value::Null;
        for (audits, expected) in [
            (vec![proved("08"), proved("05")], "2026-01-05T00:00:00Z"),
            // It is newer than the last audit.
            (
                vec![proved("08"), unaudited.clone()],
                "2026-01-08T00:00:00Z",
            ),
            (vec![proved("08"), never.clone()], "2026-01-08T00:00:00Z"),
            (vec![never], MADE),
            (vec![unaudited], MADE),
        ] {
            assert_eq!(of_conditions(&audits), expected, "{audits:?}");
        }
    }

    #[test]
    fn an_audit_of_a_cluster_that_nothing_is_asked_of_is_a_proof() {
        assert_eq!(of(&json!([])), "2026-01-09T00:00:00Z");
    }
}
