//! Where the credentials of members lie.

use clap::Args;

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
