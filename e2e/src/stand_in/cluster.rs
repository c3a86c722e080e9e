//! The Cluster object, as far as the stand-in reads and writes it.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use serde::{Deserialize, Serialize};

/// What `karmadactl join` writes.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "cluster.karmada.io",
    version = "v1alpha1",
    kind = "Cluster",
    status = "ClusterStatus",
    schema = "disabled"
)]
#[serde(rename_all = "camelCase")]
pub struct ClusterSpec {
    /// The uid of the member's kube-system namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// `Push` or `Pull`.
    pub sync_mode: String,
    /// The member's address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_endpoint: Option<String>,
    /// The Secret with `token` and `caBundle`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretReference>,
    /// The Secret with the impersonator's `token`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impersonator_secret_ref: Option<SecretReference>,
    /// Whether the member's certificate is taken unseen.
    #[serde(
        default,
        rename = "insecureSkipTLSVerification",
        skip_serializing_if = "Option::is_none"
    )]
    pub insecure_skip_tls_verification: Option<bool>,
    /// A forward proxy on the way to the member.
    #[serde(default, rename = "proxyURL", skip_serializing_if = "Option::is_none")]
    pub proxy_url: Option<String>,
    /// Headers for the proxy.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub proxy_header: BTreeMap<String, String>,
    /// What keeps workloads away from it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<Taint>,
    /// Who runs the member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Where the member is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Where in the region it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<String>,
}

/// What keeps workloads away.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Taint {
    /// What it is called.
    pub key: String,
    /// More about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// `NoSchedule`, ...
    pub effect: String,
    /// Since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_added: Option<Time>,
}

/// Names a Secret.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretReference {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// What the cluster-status controller writes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterStatus {
    /// The member's version; the last one known while it is away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes_version: Option<String>,
    /// `Ready` and `CompleteAPIEnablements`.
    #[serde(default)]
    pub conditions: Vec<Condition>,
    /// What the member serves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub api_enablements: Vec<ApiEnablement>,
    /// How many nodes it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_summary: Option<NodeSummary>,
}

impl ClusterStatus {
    /// The condition `Ready`.
    pub(super) fn ready(&self) -> Option<&Condition> {
        self.conditions.iter().find(|one| one.type_ == "Ready")
    }
}

/// One group and version that a member serves.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiEnablement {
    /// `v1`, `apps/v1`, ...
    pub group_version: String,
    /// Its resources, subresources left out, in order.
    #[serde(default)]
    pub resources: Vec<ApiResource>,
}

/// One resource that a member serves.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ApiResource {
    /// `pods`, ...
    pub name: String,
    /// `Pod`, ...
    pub kind: String,
}

/// The member's nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeSummary {
    /// All of them.
    pub total_num: usize,
    /// Those that are ready.
    pub ready_num: usize,
}
