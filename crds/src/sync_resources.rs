//! ClusterSyncResources: a list of resources that several PediaClusters share.

use std::borrow::Cow;

use kube::CustomResource;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use crate::schema::{self, absent_as_default};

/// What to sync, for every PediaCluster that names this object.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "cluster.clusterpedia.io",
    version = "v1alpha2",
    kind = "ClusterSyncResources",
    plural = "clustersyncresources",
    singular = "clustersyncresources",
    doc = "A list of resources that PediaClusters refer to by `spec.syncResourcesRefName`.",
    schema = "manual",
    shortname = "clustersync",
    category = "clusterpedia",
    derive = "Default",
    derive = "PartialEq"
)]
#[serde(rename_all = "camelCase", remote = "Self")]
#[schemars(rename = "ClusterSyncResourcesSpec")]
pub struct ClusterSyncResourcesSpec {
    /// Resources to keep a copy of.
    pub sync_resources: Vec<GroupResources>,
}

absent_as_default!(ClusterSyncResourcesSpec);

impl JsonSchema for ClusterSyncResources {
    fn schema_name() -> Cow<'static, str> {
        "ClusterSyncResources".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        schema::object_without_status::<ClusterSyncResourcesSpec>(
            generator,
            "A list of resources that PediaClusters refer to by `spec.syncResourcesRefName`.",
        )
    }
}

/// Resources of one API group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GroupResources {
    /// API group; empty for the core group, `*` for every resource of every group.
    pub group: String,
    /// Versions to sync, for kinds that are not built into Kubernetes; empty: chosen by
    /// discovery; `*`: every one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<String>,
    /// Plural or singular names in any case; `*` for all of the group.
    #[schemars(length(min = 1))]
    pub resources: Vec<String>,
    /// Those of `resources`, or `*`, whose Events are kept beside the objects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events_involved_resources: Vec<String>,
}
