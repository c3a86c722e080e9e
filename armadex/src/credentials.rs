//! Where the credentials of members lie, and what else Armadex has on the control plane.

use armadex_crds::is_subdomain;
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
        env = "CLUSTERPEDIA_NAMESPACE",
        value_parser = namespace
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
        default_value = "clusterpedia-system,karmada-cluster",
        value_parser = namespace
    )]
    pub(crate) credential_namespaces: Vec<String>,
}

/// A namespace whose Secrets are read. In those that every control plane has lie others than of members.
pub(crate) fn namespace(text: &str) -> Result<String, String> {
    if !is_subdomain(text) || text.contains('.') || text.len() > 63 {
        return Err(
            "a namespace has at most 63 lower case letters, digits and dashes between them"
                .to_owned(),
        );
    }
    if text == "default" || text.starts_with("kube-") {
        return Err(
            "Armadex may read all Secrets of this namespace: give it one of its own".to_owned(),
        );
    }
    Ok(text.to_owned())
}
