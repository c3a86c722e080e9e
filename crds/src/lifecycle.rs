//! PediaClusterLifecycle: one source object under one policy, and the PediaCluster of the same
//! name that it becomes. Made by the policy controller; nobody writes one by hand.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use crate::{
    RenderedConnection, SharedText, TemplateEngineName,
    schema::{self, absent_as_default},
};

/// One source object and the templates of its policy.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "policy.clusterpedia.io",
    version = "v1alpha1",
    kind = "PediaClusterLifecycle",
    doc = "One cluster that a ClusterImportPolicy found; made by the policy controller.",
    schema = "manual",
    status = "PediaClusterLifecycleStatus",
    shortname = "pclc",
    category = "clusterpedia",
    derive = "Default",
    derive = "PartialEq",
    printcolumn(
        name = "Created",
        type_ = "string",
        json_path = ".status.conditions[?(@.type == 'Created')].reason"
    ),
    printcolumn(
        name = "Updating",
        type_ = "string",
        json_path = ".status.conditions[?(@.type == 'Updating')].reason"
    )
)]
#[serde(rename_all = "camelCase", remote = "Self")]
#[schemars(rename = "PediaClusterLifecycleSpec")]
pub struct PediaClusterLifecycleSpec {
    /// The object that stands for the cluster.
    pub source: LifecycleSource,
    /// Further objects that the templates need.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["key"],
    ))]
    pub references: Vec<LifecycleReference>,
    /// The PediaCluster, as YAML or JSON.
    pub template: SharedText,
    /// Renders to `true` when the PediaCluster may be created.
    pub creation_condition: SharedText,
    /// Language of all the templates; absent: told from their text. One Go template makes them all Go templates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template_engine: Option<TemplateEngineName>,
}

absent_as_default!(PediaClusterLifecycleSpec);

impl JsonSchema for PediaClusterLifecycle {
    fn schema_name() -> Cow<'static, str> {
        "PediaClusterLifecycle".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        schema::object::<PediaClusterLifecycleSpec, PediaClusterLifecycleStatus>(
            generator,
            "One cluster that a ClusterImportPolicy found; made by the policy controller.",
        )
    }
}

/// An object on the control plane.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LifecycleSource {
    /// API group.
    #[schemars(length(max = 253), extend("pattern" = schema::NAME_OR_EMPTY))]
    pub group: String,
    /// Version in use.
    #[schemars(length(max = 253), extend("pattern" = schema::NAME_OR_EMPTY))]
    pub version: String,
    /// Plural name.
    #[schemars(length(max = 253), extend("pattern" = schema::NAME_OR_EMPTY))]
    pub resource: String,
    /// Namespace; empty for kinds without.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 253), extend("pattern" = schema::NAME_OR_EMPTY))]
    pub namespace: String,
    /// Name.
    pub name: String,
}

/// A reference whose version is chosen and whose name is still a template.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LifecycleReference {
    /// Its name in the templates: `references.<key>`.
    pub key: String,
    /// API group.
    #[schemars(length(max = 253), extend("pattern" = schema::NAME_OR_EMPTY))]
    pub group: String,
    /// Version in use.
    #[schemars(length(max = 253), extend("pattern" = schema::NAME_OR_EMPTY))]
    pub version: String,
    /// Plural name.
    #[schemars(length(max = 253), extend("pattern" = schema::NAME_OR_EMPTY))]
    pub resource: String,
    /// Namespace of the object.
    #[serde(default, skip_serializing_if = "SharedText::is_empty")]
    pub namespace_template: SharedText,
    /// Name of the object.
    pub name_template: SharedText,
}

/// How it goes with a lifecycle.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PediaClusterLifecycleStatus {
    /// The generation of the object that this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Created, Updating.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
    /// The referenced objects as far as their names are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<ResolvedReference>,
    /// Where the credentials of the PediaCluster may go, by what was last rendered; written before the PediaCluster is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<RenderedConnection>,
}

/// A referenced object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResolvedReference {
    /// API group.
    pub group: String,
    /// Version in use.
    pub version: String,
    /// Plural name.
    pub resource: String,
    /// Namespace; empty for kinds without.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Name.
    pub name: String,
}
