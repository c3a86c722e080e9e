//! The kinds of the control plane: PediaCluster, ClusterSyncResources, ClusterImportPolicy and
//! PediaClusterLifecycle as Rust types, the words of their conditions, the rights that a member is
//! asked with, and their CustomResourceDefinitions.
//!
//! Names, fields, columns, condition types and reasons are Clusterpedia's, so that its objects
//! apply unchanged; what is ours is an optional field and says so. No IO.

#![expect(
    clippy::duplicated_attributes,
    reason = "every printer column says `type_`"
)]

mod base64_bytes;
mod cluster;
pub mod conditions;
mod definitions;
mod import_policy;
mod lifecycle;
pub mod member_rights;
mod misfits;
mod names;
mod read_yaml;
mod rendered;
mod schema;
mod sensitive;
mod shared_text;
mod sync_resources;

pub use base64_bytes::{Base64Bytes, InvalidBase64};
pub use cluster::{
    AuthenticationFrom, AuthorizationMode, ClusterAudit, Connection, ControlPlaneProxy,
    GroupResourcesStatus, IdentitySource, PediaCluster, PediaClusterSpec, PediaClusterStatus,
    ResourceAudit, ResourceStatus, ResourceSyncCondition, ResourceSyncStatus, SecretKeyRef,
    SynchroProcess,
};
pub use definitions::{all, files, yaml};
pub use import_policy::{
    ClusterImportPolicy, ClusterImportPolicySpec, ClusterImportPolicyStatus, PolicyReference,
    PolicySource, TemplateEngineName,
};
pub use lifecycle::{
    LifecycleReference, LifecycleSource, PediaClusterLifecycle, PediaClusterLifecycleSpec,
    PediaClusterLifecycleStatus, ResolvedReference,
};
pub use misfits::{drop_nulls, empty_texts, misfits, rendered_misfits};
pub use names::{is_serving_secret, is_subdomain};
pub use read_yaml::{Misread, read_yaml, read_yaml_documents};
pub use rendered::{ConnectionFingerprint, RenderedConnection};
pub use sensitive::Sensitive;
pub use shared_text::SharedText;
pub use sync_resources::{ClusterSyncResources, ClusterSyncResourcesSpec, GroupResources};

/// Set on a Secret by whoever looks after it: the endpoints that its credentials may be sent to, separated by commas.
pub const ENDPOINTS_ANNOTATION: &str = "armadex.dev/endpoints";

/// Set on a PediaCluster by the synchro; its rows are purged before it goes.
pub const PEDIA_CLUSTER_FINALIZER: &str = "clusterpedia.io/cluster-synchro-controller";
/// Annotation of a PediaCluster: any value that its status has not answered yet asks for an audit now.
pub const AUDIT_ANNOTATION: &str = "armadex.dev/audit";
/// Characters of that value which are told again in the status.
pub const AUDIT_REQUEST_CHARS: usize = 64;
/// Set on a ClusterImportPolicy by the policy controller.
pub const IMPORT_POLICY_FINALIZER: &str = "clusterpedia.io/cluster-import-policy-controller";
/// Set on a PediaClusterLifecycle by the lifecycle controller.
pub const LIFECYCLE_FINALIZER: &str = "clusterpedia.io/pediacluster-lifecycle-controller";
