//! A control plane for the tests of what is installed and taken away again: every kind that either has to do with.

use armadex_control_plane::testing::{Host, ServedType};

pub(crate) fn host() -> Host {
    let served = ServedType::new;
    let rbac = "rbac.authorization.k8s.io";
    Host::new(&[
        served(
            "apiextensions.k8s.io",
            "v1",
            "customresourcedefinitions",
            "CustomResourceDefinition",
        ),
        served("apiregistration.k8s.io", "v1", "apiservices", "APIService"),
        served("", "v1", "namespaces", "Namespace"),
        served("", "v1", "services", "Service").namespaced(),
        served("", "v1", "serviceaccounts", "ServiceAccount").namespaced(),
        served(rbac, "v1", "clusterroles", "ClusterRole"),
        served(rbac, "v1", "clusterrolebindings", "ClusterRoleBinding"),
        served(rbac, "v1", "roles", "Role").namespaced(),
        served(rbac, "v1", "rolebindings", "RoleBinding").namespaced(),
        served(
            "policy.clusterpedia.io",
            "v1alpha1",
            "clusterimportpolicies",
            "ClusterImportPolicy",
        ),
    ])
}
