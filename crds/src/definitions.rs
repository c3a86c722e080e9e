//! The CustomResourceDefinitions, as values and as the YAML that is committed and shipped.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{CustomResourceExt, ResourceExt};

use crate::{ClusterImportPolicy, ClusterSyncResources, PediaCluster, PediaClusterLifecycle};

const HEADER: &str = "# Generated from the types of the armadex-crds crate; edit those.\n";

/// All four, in the order in which they should be installed.
pub fn all() -> Vec<CustomResourceDefinition> {
    vec![
        PediaCluster::crd(),
        ClusterSyncResources::crd(),
        ClusterImportPolicy::crd(),
        PediaClusterLifecycle::crd(),
    ]
}

/// All four as one YAML stream.
pub fn yaml() -> String {
    all()
        .iter()
        .map(|crd| format!("---\n{}", document(crd)))
        .collect()
}

/// File name and text of each, as committed beside this crate.
pub fn files() -> Vec<(String, String)> {
    all()
        .iter()
        .map(|crd| {
            let name = format!("{}_{}.yaml", crd.spec.group, crd.spec.names.plural);
            (name, format!("{HEADER}{}", document(crd)))
        })
        .collect()
}

fn document(crd: &CustomResourceDefinition) -> String {
    serde_saphyr::to_string(crd)
        .unwrap_or_else(|error| panic!("{} is plain data: {error}", crd.name_any()))
}
