//! ClusterImportPolicy: which objects of the control plane stand for clusters, and what
//! PediaCluster each becomes.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use crate::schema::{self, absent_as_default, needed_template, rule, template};

/// From source objects to PediaClusters.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "policy.clusterpedia.io",
    version = "v1alpha1",
    kind = "ClusterImportPolicy",
    plural = "clusterimportpolicies",
    doc = "On-boards every object of a kind as a member cluster.",
    schema = "manual",
    status = "ClusterImportPolicyStatus",
    shortname = "cip",
    category = "clusterpedia",
    derive = "Default",
    derive = "PartialEq",
    printcolumn(
        name = "Validated",
        type_ = "string",
        json_path = ".status.conditions[?(@.type == 'Validated')].reason"
    ),
    printcolumn(
        name = "Reconciling",
        type_ = "string",
        json_path = ".status.conditions[?(@.type == 'Reconciling')].reason"
    )
)]
#[serde(rename_all = "camelCase", remote = "Self")]
#[schemars(rename = "ClusterImportPolicySpec")]
pub struct ClusterImportPolicySpec {
    /// The objects that stand for clusters.
    pub source: PolicySource,
    /// Further objects that the templates need, found from the source object.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["key"],
    ))]
    pub references: Vec<PolicyReference>,
    /// Name of the PediaCluster. Sees `source`.
    #[schemars(length(max = 16384), extend(
        "x-kubernetes-validations" = needed_template("nameTemplate", "it names the PediaCluster"),
    ))]
    pub name_template: String,
    /// The PediaCluster, as YAML or JSON. Sees `source` and `references`.
    #[schemars(length(max = 262_144), extend(
        "x-kubernetes-validations" = needed_template("template", "it is the PediaCluster"),
    ))]
    pub template: String,
    /// Renders to `true` when the PediaCluster may be created. Sees `source` and `references`.
    #[schemars(length(max = 16384), extend("x-kubernetes-validations" = template("creationCondition")))]
    pub creation_condition: String,
    /// Language of all the templates; absent: told from their text. One Go template makes them all Go templates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template_engine: Option<TemplateEngineName>,
}

absent_as_default!(ClusterImportPolicySpec);

impl JsonSchema for ClusterImportPolicy {
    fn schema_name() -> Cow<'static, str> {
        "ClusterImportPolicy".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        schema::object::<ClusterImportPolicySpec, ClusterImportPolicyStatus>(
            generator,
            "On-boards every object of a kind as a member cluster.",
        )
    }
}

/// A kind of objects that stand for clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicySource {
    /// API group; empty for the core group.
    #[schemars(length(max = 253), extend("pattern" = schema::NAME_OR_EMPTY))]
    pub group: String,
    /// Plural name.
    #[schemars(length(max = 253), extend("pattern" = schema::NAME_OR_EMPTY, "x-kubernetes-validations" = rule(
        "self != ''",
        "source.resource must be a plural resource name, such as clusters",
    )))]
    pub resource: String,
    /// Versions that may be used, best first as the API server has it; empty: its preferred one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(max = 253), regex(pattern = schema::NAME_OR_EMPTY)))]
    pub versions: Vec<String>,
    /// Renders to `true` for the objects that count; empty: all. Sees `source`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 16384), extend(
        "x-kubernetes-validations" = template("source.selectorTemplate"),
    ))]
    pub selector_template: String,
}

/// An object that the templates need besides the source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rule(
    "self.group != '' || !(self.resource in ['secrets', 'configmaps']) || (has(self.namespaceTemplate) && self.namespaceTemplate != '')",
    "references[].namespaceTemplate is missing: Secrets and ConfigMaps lie in namespaces",
)))]
pub struct PolicyReference {
    /// Its name in the templates: `references.<key>`.
    #[schemars(length(max = 253), extend("x-kubernetes-validations" = rule(
        "self != ''",
        "references[].key must not be empty: templates find the object by it",
    )))]
    pub key: String,
    /// API group; empty for the core group.
    #[schemars(length(max = 253), extend("pattern" = schema::NAME_OR_EMPTY))]
    pub group: String,
    /// Plural name.
    #[schemars(length(max = 253), extend("pattern" = schema::NAME_OR_EMPTY, "x-kubernetes-validations" = rule(
        "self != ''",
        "references[].resource must be a plural resource name, such as secrets",
    )))]
    pub resource: String,
    /// Versions that may be used; empty: the preferred one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(max = 253), regex(pattern = schema::NAME_OR_EMPTY)))]
    pub versions: Vec<String>,
    /// Namespace of the object; empty for kinds without. Sees `source` and earlier `references`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 16384), extend(
        "x-kubernetes-validations" = template("references[].namespaceTemplate"),
    ))]
    pub namespace_template: String,
    /// Name of the object. Sees `source` and earlier `references`.
    #[schemars(length(max = 16384), extend(
        "x-kubernetes-validations" = needed_template("references[].nameTemplate", "it names the object"),
    ))]
    pub name_template: String,
}

/// A template language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TemplateEngineName {
    /// Handlebars, the native one.
    Handlebars,
    /// Go's text templates, as policies for Clusterpedia have them, with those functions of sprig that depend on nothing but their arguments.
    GoTemplate,
}

/// How it goes with a policy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterImportPolicyStatus {
    /// The generation of the object that this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Validated, Reconciling.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
}
