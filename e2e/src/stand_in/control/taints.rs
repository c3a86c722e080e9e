//! The taints that follow `Ready`, as Karmada's cluster controller sets them.

use anyhow::Result;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use super::super::cluster::{Cluster, ClusterStatus, Taint};

const NOT_READY: &str = "cluster.karmada.io/not-ready";
const UNREACHABLE: &str = "cluster.karmada.io/unreachable";

/// Writes the taints of a Cluster if `Ready`, as it was last written, asks for others. One that has just joined is not ready.
pub(super) async fn follow(host: &Client, cluster: &Cluster) -> Result<()> {
    let status = cluster.status.as_ref();
    let ready = status.and_then(ClusterStatus::ready);
    let ready = ready.map_or("False", |condition| condition.status.as_str());
    let before = &cluster.spec.taints;
    let after = taints(before, ready, Timestamp::now());
    if after == *before {
        return Ok(());
    }
    let clusters: Api<Cluster> = Api::all(host.clone());
    let patch = Patch::Merge(json!({"spec": {"taints": after}}));
    let name = cluster.name_any();
    clusters
        .patch(&name, &PatchParams::default(), &patch)
        .await?;
    Ok(())
}

/// What others have set stays; what was set before keeps its time.
fn taints(before: &[Taint], ready: &str, now: Timestamp) -> Vec<Taint> {
    let wanted = match ready {
        "True" => None,
        "False" => Some(NOT_READY),
        _ => Some(UNREACHABLE),
    };
    let is_ours = |taint: &Taint| {
        taint.effect == "NoSchedule" && [NOT_READY, UNREACHABLE].contains(&taint.key.as_str())
    };
    let mut after = before.to_vec();
    after.retain(|taint| !is_ours(taint) || Some(taint.key.as_str()) == wanted);
    if let Some(key) = wanted
        && !after.iter().any(is_ours)
    {
        after.push(Taint {
            key: key.to_owned(),
            value: None,
            effect: "NoSchedule".to_owned(),
            time_added: Some(Time(now)),
        });
    }
    after
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(taints: &[Taint]) -> Vec<&str> {
        taints.iter().map(|taint| taint.key.as_str()).collect()
    }

    #[test]
    fn a_taint_comes_and_goes_with_ready_and_others_stay() {
        let own = Taint {
            key: "somebody's".to_owned(),
            effect: "NoExecute".to_owned(),
            ..Taint::default()
        };
        let [first, second] = [1, 2].map(|second| Timestamp::from_second(second).unwrap());
        let away = taints(std::slice::from_ref(&own), "False", first);
        assert_eq!(keys(&away), ["somebody's", NOT_READY]);
        assert_eq!(taints(&away, "False", second), away);
        let unknown = taints(&away, "Unknown", second);
        assert_eq!(keys(&unknown), ["somebody's", UNREACHABLE]);
        assert_eq!(taints(&unknown, "True", second), [own]);
    }
}
