//! Where the credentials of members lie, and what else Armadex has on the control plane.

use clap::Args;

/// What is Armadex's own there.
#[derive(Clone, Debug, Args)]
pub(crate) struct NamespaceFlag {
    /// Namespace of Armadex on the control plane: of its Leases, of its serving certificate and its Service, and of Secrets that a PediaCluster names
    /// without a namespace.
    #[arg(
        long,
        value_name = "NAME",
        default_value = "clusterpedia-system",
        env = "CLUSTERPEDIA_NAMESPACE"
    )]
    pub(crate) namespace: String,
}

/// The namespaces that hold them.
#[derive(Clone, Debug, Args)]
pub(crate) struct CredentialFlags {
    /// Namespaces that PediaClusters may take Secrets from, and whose Secrets policies may refer to.
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "clusterpedia-system,karmada-cluster"
    )]
    pub(crate) credential_namespaces: Vec<String>,
}
