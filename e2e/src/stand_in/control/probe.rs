//! A member's health, version and APIs, as Karmada's cluster-status controller sees and writes them.

use anyhow::{Context, Result};
use http::{Request, Response, StatusCode};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use super::super::cluster::{ApiEnablement, ApiResource, Cluster, ClusterStatus, NodeSummary};
use super::threshold::Thresholds;
use crate::kubeconfig;

/// How much of a healthy member is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// Its health alone.
    Health,
    /// Its version, APIs and nodes as well.
    Collect,
}

/// Probes the member and writes its status if that changed.
pub(super) async fn update_status(
    host: &Client,
    thresholds: &Thresholds,
    cluster: &Cluster,
    depth: Depth,
) -> Result<()> {
    let before = cluster.status.clone().unwrap_or_default();
    let depth = if before.ready().is_some_and(|ready| ready.status == "True") {
        depth
    } else {
        Depth::Collect
    };
    let now = Timestamp::now();
    let mut after = status(&before, observe(host, cluster, depth).await, now);
    after.conditions = thresholds.hold(cluster, after.conditions, now);
    if after == before {
        return Ok(());
    }
    let clusters: Api<Cluster> = Api::all(host.clone());
    let patch = json!({ "status": after });
    clusters
        .patch_status(
            &cluster.name_any(),
            &PatchParams::default(),
            &Patch::Merge(&patch),
        )
        .await?;
    Ok(())
}

/// What one probe saw.
enum Observed {
    Healthy,
    Collected {
        version: String,
        apis: Vec<ApiEnablement>,
        nodes: NodeSummary,
    },
    /// No answer, or one that is no success: Karmada does not tell them apart.
    Unreachable,
    /// The Cluster or its Secret does not say how to reach the member.
    NoClient(String),
}

async fn observe(host: &Client, cluster: &Cluster, depth: Depth) -> Observed {
    let member = match connect(host, cluster).await {
        Ok(member) => member,
        Err(error) => return Observed::NoClient(format!("{error:#}")),
    };
    match health(&member).await {
        // What cannot be collected is collected the next time.
        Ok(true) if depth == Depth::Collect => collect(&member).await.unwrap_or(Observed::Healthy),
        Ok(true) => Observed::Healthy,
        Ok(false) | Err(_) => Observed::Unreachable,
    }
}

/// A client from what the Cluster and its Secret say, and nothing else: a join that wrote a wrong Secret shows here.
async fn connect(host: &Client, cluster: &Cluster) -> Result<Client> {
    let endpoint = cluster
        .spec
        .api_endpoint
        .as_deref()
        .context("no apiEndpoint")?;
    let reference = cluster.spec.secret_ref.as_ref().context("no secretRef")?;
    let secrets: Api<Secret> = Api::namespaced(host.clone(), &reference.namespace);
    let data = secrets.get(&reference.name).await?.data.unwrap_or_default();
    let token = data.get("token").context("no token in the Secret")?;
    let authority = data.get("caBundle").context("no caBundle in the Secret")?;
    kubeconfig::client_with_token(endpoint, &authority.0, std::str::from_utf8(&token.0)?)
}

/// `/readyz`, or `/healthz` where that is not served.
async fn health(member: &Client) -> Result<bool> {
    let mut answer = get(member, "/readyz").await?;
    if answer.status() == StatusCode::NOT_FOUND {
        answer = get(member, "/healthz").await?;
    }
    Ok(answer.status().is_success())
}

async fn get(member: &Client, path: &str) -> Result<Response<kube::client::Body>> {
    let request = Request::get(path).body(kube::client::Body::empty())?;
    Ok(member.send(request).await?)
}

async fn collect(member: &Client) -> Result<Observed> {
    let version = member.apiserver_version().await?.git_version;
    let nodes: Api<Node> = Api::all(member.clone());
    let nodes = nodes.list(&ListParams::default()).await?.items;
    let ready_num = nodes.iter().filter(|node| node_is_ready(node)).count();
    let nodes = NodeSummary {
        total_num: nodes.len(),
        ready_num,
    };
    Ok(Observed::Collected {
        version,
        apis: enablements(member).await?,
        nodes,
    })
}

fn node_is_ready(node: &Node) -> bool {
    let conditions = node
        .status
        .iter()
        .flat_map(|status| status.conditions.iter().flatten());
    conditions
        .into_iter()
        .any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// What the member serves: every version of every group, in order, subresources left out.
async fn enablements(member: &Client) -> Result<Vec<ApiEnablement>> {
    let mut found = vec![enablement(
        "v1",
        member.list_core_api_resources("v1").await?.resources,
    )];
    let groups = member.list_api_groups().await?.groups;
    for version in groups.into_iter().flat_map(|group| group.versions) {
        let served = member.list_api_group_resources(&version.group_version);
        found.push(enablement(&version.group_version, served.await?.resources));
    }
    found.sort_by(|one, other| one.group_version.cmp(&other.group_version));
    Ok(found)
}

fn enablement(
    group_version: &str,
    served: Vec<k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResource>,
) -> ApiEnablement {
    let whole = served
        .into_iter()
        .filter(|resource| !resource.name.contains('/'));
    let mut resources: Vec<_> = whole
        .map(|resource| ApiResource {
            name: resource.name,
            kind: resource.kind,
        })
        .collect();
    resources.sort();
    ApiEnablement {
        group_version: group_version.to_owned(),
        resources,
    }
}

const READY: (&str, &str, &str) = (
    "True",
    "ClusterReady",
    "cluster is healthy and ready to accept workloads",
);
const AWAY: (&str, &str, &str) = ("False", "ClusterNotReachable", "cluster is not reachable");
const COMPLETE: (&str, &str, &str) = (
    "True",
    "Complete",
    "collected complete APIEnablements from the cluster",
);

/// The status after a probe: what is known of a member that is away stays.
fn status(before: &ClusterStatus, observed: Observed, now: Timestamp) -> ClusterStatus {
    let mut after = before.clone();
    let message;
    let ready = match observed {
        Observed::Healthy => READY,
        Observed::Collected {
            version,
            apis,
            nodes,
        } => {
            after.kubernetes_version = Some(version);
            after.api_enablements = apis;
            after.node_summary = Some(nodes);
            let kind = "CompleteAPIEnablements";
            set_condition(&mut after.conditions, kind, COMPLETE, now);
            READY
        }
        Observed::Unreachable => AWAY,
        Observed::NoClient(reason) => {
            message = format!("failed to create a ClusterClient: {reason}");
            ("False", "StatusCollectionFailed", message.as_str())
        }
    };
    set_condition(&mut after.conditions, "Ready", ready, now);
    after
}

/// Sets a condition; the time of the last transition moves only when the status does.
fn set_condition(
    conditions: &mut Vec<Condition>,
    kind: &str,
    said: (&str, &str, &str),
    now: Timestamp,
) {
    let (status, reason, message) = said;
    let before = conditions
        .iter()
        .find(|condition| condition.type_ == kind && condition.status == status);
    let since = before.map_or(Time(now), |condition| {
        condition.last_transition_time.clone()
    });
    conditions.retain(|condition| condition.type_ != kind);
    conditions.push(Condition {
        last_transition_time: since,
        message: message.to_owned(),
        observed_generation: None,
        reason: reason.to_owned(),
        status: status.to_owned(),
        type_: kind.to_owned(),
    });
    conditions.sort_by(|a, b| a.type_.cmp(&b.type_));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn healthy() -> Observed {
        Observed::Collected {
            version: "v1.36.3".to_owned(),
            apis: Vec::new(),
            nodes: NodeSummary::default(),
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn the_same_observation_changes_nothing() {
        let first = status(&ClusterStatus::default(), healthy(), at(1));
        assert_eq!(status(&first, healthy(), at(2)), first);
    }

    #[test]
    fn a_member_that_is_away_keeps_its_last_known_version() {
        let first = status(&ClusterStatus::default(), healthy(), at(1));
        let away = status(&first, Observed::Unreachable, at(2));
        assert_eq!(away.kubernetes_version.as_deref(), Some("v1.36.3"));
        let ready = away
            .conditions
            .iter()
            .find(|condition| condition.type_ == "Ready")
            .unwrap();
        assert_eq!(
            (ready.status.as_str(), ready.reason.as_str()),
            ("False", "ClusterNotReachable")
        );
        assert_eq!(ready.last_transition_time, Time(at(2)));
    }

    #[test]
    fn a_cluster_without_a_way_to_its_member_is_told_from_one_that_is_away() {
        let observed = Observed::NoClient("no secretRef".to_owned());
        let lost = status(&ClusterStatus::default(), observed, at(1));
        let ready = lost.ready().unwrap();
        assert_eq!(
            (ready.status.as_str(), ready.reason.as_str()),
            ("False", "StatusCollectionFailed")
        );
        assert!(ready.message.ends_with("no secretRef"), "{}", ready.message);
    }
}
