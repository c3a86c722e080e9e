//! PediaCluster: one member cluster, how to reach it, what to sync from it, how that goes.

use std::{borrow::Cow, collections::BTreeMap};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use crate::{
    Base64Bytes, GroupResources,
    schema::{self, absent_as_default, is_false, rule},
};

/// How to reach a member and what to sync from it.
///
/// Of the ways to authenticate the first that is set counts: `kubeconfig`, then `apiserver` with
/// `tokenData` or `certData` and `keyData`, then `authenticationFrom`.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "cluster.clusterpedia.io",
    version = "v1alpha2",
    kind = "PediaCluster",
    doc = "A member cluster whose resources are kept for search.",
    schema = "manual",
    status = "PediaClusterStatus",
    shortname = "pcluster",
    category = "clusterpedia",
    derive = "Default",
    derive = "PartialEq",
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type == 'Ready')].status"
    ),
    printcolumn(name = "Version", type_ = "string", json_path = ".status.version"),
    printcolumn(name = "APIServer", type_ = "string", json_path = ".status.apiserver"),
    printcolumn(
        name = "Validated",
        type_ = "string",
        priority = 10,
        json_path = ".status.conditions[?(@.type == 'Validated')].reason"
    ),
    printcolumn(
        name = "SynchroRunning",
        type_ = "string",
        priority = 10,
        json_path = ".status.conditions[?(@.type == 'SynchroRunning')].reason"
    ),
    printcolumn(
        name = "ClusterHealthy",
        type_ = "string",
        priority = 10,
        json_path = ".status.conditions[?(@.type == 'ClusterHealthy')].reason"
    ),
    printcolumn(
        name = "Synced",
        type_ = "string",
        priority = 10,
        json_path = ".status.conditions[?(@.type == 'Synced')].reason"
    ),
    printcolumn(
        name = "Objects",
        type_ = "integer",
        priority = 10,
        json_path = ".status.objects"
    ),
    printcolumn(
        name = "Behind",
        type_ = "date",
        priority = 10,
        json_path = ".status.behindSince"
    ),
    printcolumn(
        name = "ShardingName",
        type_ = "string",
        priority = 10,
        json_path = ".status.shardingName"
    )
)]
#[serde(rename_all = "camelCase", remote = "Self")]
#[schemars(rename = "PediaClusterSpec")]
pub struct PediaClusterSpec {
    /// A whole kubeconfig, base64; wins over every other way.
    #[serde(default, skip_serializing_if = "Base64Bytes::is_empty")]
    pub kubeconfig: Base64Bytes,
    /// URL of the member's API server.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub apiserver: String,
    /// Bearer token, base64.
    #[serde(default, skip_serializing_if = "Base64Bytes::is_empty")]
    pub token_data: Base64Bytes,
    /// CA bundle of the member's API server, base64 of PEM; empty: the system's roots.
    #[serde(default, skip_serializing_if = "Base64Bytes::is_empty")]
    pub ca_data: Base64Bytes,
    /// Client certificate, base64 of PEM.
    #[serde(default, skip_serializing_if = "Base64Bytes::is_empty")]
    pub cert_data: Base64Bytes,
    /// Key of the client certificate, base64 of PEM.
    #[serde(default, skip_serializing_if = "Base64Bytes::is_empty")]
    pub key_data: Base64Bytes,
    /// Credentials that are read from Secrets and followed as these change. They are sent only where a policy rendered it, or where the
    /// annotation `armadex.dev/endpoints` of the Secret, or a kubeconfig in it, says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authentication_from: Option<AuthenticationFrom>,
    /// The way to the API server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<Connection>,
    /// How requests for this cluster's objects are authorised; `inner` unless set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorization_mode: Option<AuthorizationMode>,
    /// Resources to keep a copy of; beside these come what `syncResourcesRefName` and `syncAllCustomResources` say, and where one of them is set there may be none here.
    #[serde(default)]
    pub sync_resources: Vec<GroupResources>,
    /// Every custom resource of the member besides; behind a feature gate.
    #[serde(default, skip_serializing_if = "is_false")]
    pub sync_all_custom_resources: bool,
    /// Name of a ClusterSyncResources whose list is added to `syncResources`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sync_resources_ref_name: String,
    /// Which synchro looks after this cluster.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sharding_name: String,
}

absent_as_default!(PediaClusterSpec);

impl JsonSchema for PediaCluster {
    fn schema_name() -> Cow<'static, str> {
        "PediaCluster".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        schema::object::<PediaClusterSpec, PediaClusterStatus>(
            generator,
            "A member cluster whose resources are kept for search.",
        )
    }
}

/// Keys of Secrets that hold credentials.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuthenticationFrom {
    /// A whole kubeconfig; `spec.apiserver` is ignored then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubeconfig: Option<SecretKeyRef>,
    /// CA bundle, PEM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<SecretKeyRef>,
    /// Client certificate, PEM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cert: Option<SecretKeyRef>,
    /// Key of the client certificate, PEM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<SecretKeyRef>,
    /// Bearer token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<SecretKeyRef>,
}

impl AuthenticationFrom {
    /// All keys that are named, that of a kubeconfig first.
    pub fn named(&self) -> impl Iterator<Item = &SecretKeyRef> {
        let Self {
            kubeconfig,
            ca,
            cert,
            key,
            token,
        } = self;
        [kubeconfig, ca, cert, key, token].into_iter().flatten()
    }
}

/// One key of one Secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretKeyRef {
    /// Namespace of the Secret, one of those that Armadex is allowed to read; empty: its own.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Name of the Secret.
    pub name: String,
    /// Key in the Secret's data.
    pub key: String,
}

/// The way to a member's API server, where it is not a straight one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rule(
    "!has(self.proxyHeader) || size(self.proxyHeader) == 0 || (has(self.proxyURL) && self.proxyURL != '')",
    "proxyHeader is sent to a proxy: set proxyURL too",
)))]
pub struct Connection {
    /// Forward proxy: `http://`, `https://` or `socks5://`.
    #[serde(default, rename = "proxyURL", skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 2048), extend("x-kubernetes-validations" = rule(
        "self == '' || self.startsWith('http://') || self.startsWith('https://') || self.startsWith('socks5://')",
        "proxyURL must begin with http://, https:// or socks5://",
    )))]
    pub proxy_url: String,
    /// Headers of the CONNECT request to the proxy; a value may be a comma-separated list.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64))]
    pub proxy_header: BTreeMap<String, String>,
    /// Do not verify the certificate of the API server. Anyone on the way can then read and
    /// change what is synced and take the credentials.
    #[serde(
        default,
        rename = "insecureSkipTLSVerification",
        skip_serializing_if = "is_false"
    )]
    pub insecure_skip_tls_verification: bool,
    /// The subresource `proxy` of the object that stands for the member on the control plane: the way to it while its API server cannot be
    /// reached from here. Only a policy may render it, and only for the object that it rendered this from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane_proxy: Option<ControlPlaneProxy>,
}

/// An object of the control plane whose subresource `proxy` leads to a member. Never a URL: the synchro asks it with its own rights.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlPlaneProxy {
    /// Its group.
    #[schemars(length(max = 253), regex(pattern = "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"))]
    pub group: String,
    /// Version of the group.
    #[schemars(length(max = 63), regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub version: String,
    /// Plural name of its kind, which lies in no namespace.
    #[schemars(length(max = 63), regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub resource: String,
    /// Its name.
    #[schemars(length(max = 253), regex(pattern = "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"))]
    pub name: String,
}

/// How a request for a member's objects is authorised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AuthorizationMode {
    /// The search permission, and the right to the same request on the control plane.
    #[default]
    Inner,
    /// The search permission alone, as Clusterpedia has it.
    OuterOnly,
}

/// What was found out about a member, and how its sync goes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PediaClusterStatus {
    /// The generation of the object that this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The API server in use.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub apiserver: String,
    /// Kubernetes version of the member.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// By what the member is told from another one at the same address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<IdentitySource>,
    /// Validated, SynchroRunning, ClusterHealthy, Ready, Synced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
    /// State of every synced resource, by group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sync_resources: Vec<GroupResourcesStatus>,
    /// Which synchro looks after this cluster now; empty but present: the unsharded one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sharding_name: Option<String>,
    /// Which process of that synchro does, as far as it has said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub synchro: Option<SynchroProcess>,
    /// Objects that are stored, of all resources of which that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objects: Option<i64>,
    /// Of all `behindSince` of its resources the oldest; absent: none is behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind_since: Option<Time>,
    /// What the last audit of all synced resources found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<ClusterAudit>,
}

/// The process that looks after a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SynchroProcess {
    /// By what it holds its Lease, which begins with the name of its host or Pod; empty: it was told to hold none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub identity: String,
    /// Its number among the replicas that share the clusters; absent: it has all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub replica: Option<i32>,
}

/// By what a member is told from another one, the surest first.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum IdentitySource {
    /// The uid of its namespace `kube-system`.
    KubeSystemNamespace,
    /// The uid of its Service `default/kubernetes`, where the namespace may not be read.
    KubernetesService,
    /// The CA bundle by which its API server is believed, its address and the way to it, where neither may be read.
    CertificateAuthority,
}

/// What came of comparing what is stored of a cluster with the member, resource by resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterAudit {
    /// The value of the annotation `armadex.dev/audit` that has been answered; empty: none was asked for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub request: String,
    /// When it ended.
    pub time: Time,
    /// Resources whose keys and versions are the member's.
    pub proved: i64,
    /// Resources of which that could not be found out, or that differ still.
    #[serde(default)]
    pub unproved: i64,
    /// Objects that the member listed.
    pub objects: i64,
    /// Objects that the store had in another version than the member, lacked, or had beyond.
    #[serde(default)]
    pub differences: i64,
    /// Those of them that a new list has put right.
    #[serde(default)]
    pub mended: i64,
    /// What differed and what could not be compared, in words; empty if nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// What came of the last time that a resource was compared with the member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceAudit {
    /// When the keys and versions that are stored were last those of the member; absent: never yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proved_time: Option<Time>,
    /// Objects that the member listed.
    pub objects: i64,
    /// Objects that differed, before they were mended.
    #[serde(default)]
    pub differences: i64,
    /// Those of them that a new list has put right.
    #[serde(default)]
    pub mended: i64,
    /// What differed, or why it could not be compared, in words; empty if nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// Sync state of the resources of one group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GroupResourcesStatus {
    /// API group.
    pub group: String,
    /// Its resources.
    pub resources: Vec<ResourceStatus>,
}

/// Sync state of one resource.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceStatus {
    /// Plural name.
    pub name: String,
    /// Kind.
    pub kind: String,
    /// Whether its objects lie in namespaces.
    pub namespaced: bool,
    /// One entry per synced version.
    pub sync_conditions: Vec<ResourceSyncCondition>,
}

/// Sync state of one version of one resource.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceSyncCondition {
    /// Version that was chosen.
    pub version: String,
    /// Version that is watched, where it is another one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sync_version: String,
    /// Resource that is watched, where it is another one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sync_resource: String,
    /// Version that rows are stored at.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub storage_version: String,
    /// Group and resource that rows are stored at, where they are others.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub storage_resource: String,
    /// State in one word.
    pub status: ResourceSyncStatus,
    /// Why, in one word; often empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Why, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Whether the first list is still being written.
    #[serde(default, skip_serializing_if = "is_false")]
    pub initial_list_phase: bool,
    /// How much of the first list is stored, in steps of five percent; absent where the member does not tell how many objects it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub initial_list_percent: Option<i32>,
    /// Objects that are stored, as they were counted when this status was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objects: Option<i64>,
    /// Bytes of their JSON as it is served, then; the store packs it into less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<i64>,
    /// When the newest of the member's changes was stored, then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_event_time: Option<Time>,
    /// Since when nothing has come from the member that proves that what is stored is what it has: neither a change nor a bookmark of the watch, nor the end of a list.
    /// Absent while that was less than three minutes ago.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind_since: Option<Time>,
    /// When `status` last became another one.
    pub last_transition_time: Time,
    /// What came of comparing it with the member last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<ResourceAudit>,
}

/// State of one stream of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ResourceSyncStatus {
    /// Not watched yet.
    Pending,
    /// Watched.
    Syncing,
    /// Paused or ended.
    Stop,
    /// Nobody looks after it.
    Unknown,
    /// The list or the watch fails.
    Error,
}
