//! Where the credentials of members lie, and what else Armadex has on the control plane.

use std::collections::BTreeSet;

use anyhow::bail;
use armadex_crds::is_subdomain;
use clap::Args;
use tracing::warn;

/// Where the Secret of the serving certificate lies unless it is said otherwise to whoever installs: in a namespace that no part but the API server has a right in.
pub(crate) const SERVING_NAMESPACE: &str = "armadex-serving";

/// What is Armadex's own there.
#[derive(Clone, Debug, Args)]
pub(crate) struct NamespaceFlag {
    /// Namespace of Armadex on the control plane: of its Leases and its Service, of Secrets that a PediaCluster names without a namespace, and of the
    /// serving certificate where no other one is named for it.
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

/// The name of a namespace.
pub(crate) fn namespace(text: &str) -> Result<String, String> {
    if !is_subdomain(text) || text.contains('.') || text.len() > 63 {
        return Err(
            "a namespace has at most 63 lower case letters, digits and dashes between them"
                .to_owned(),
        );
    }
    Ok(text.to_owned())
}

/// Whether every control plane has it, with other Secrets than of members.
pub(crate) fn is_everybodys(namespace: &str) -> bool {
    namespace == "default" || namespace.starts_with("kube-")
}

/// Fails if that is so of one of these: what is granted there is to read all of their Secrets.
pub(crate) fn expect_no_others(own: &NamespaceFlag, further: &[String]) -> anyhow::Result<()> {
    let mut namespaces = further.iter().chain([&own.namespace]);
    match namespaces.find(|namespace| is_everybodys(namespace)) {
        Some(namespace) => bail!(
            "Armadex may read all Secrets of its namespaces, and {namespace} has others than of members: give it one of its own"
        ),
        None => Ok(()),
    }
}

/// Says of which of these that is so. Whoever has run so goes on: a process that does not start serves nobody.
pub(crate) fn warn_of_everybodys<'a>(namespaces: impl IntoIterator<Item = &'a String>) {
    let namespaces: BTreeSet<&String> = namespaces.into_iter().collect();
    for namespace in namespaces.into_iter().filter(|name| is_everybodys(name)) {
        warn!(
            namespace,
            "Armadex reads Secrets of the namespace {namespace}, which others use too: give it one of its own, for `armadex install` refuses this one"
        );
    }
}

#[cfg(test)]
mod tests {
    use armadex_control_plane::testing::Log;

    use super::*;

    #[test]
    fn each_namespace_that_others_use_is_told_once() {
        let log = Log::warnings_of("armadex");
        let names = ["kube-system", "fleet", "default", "kube-system"].map(str::to_owned);
        warn_of_everybodys(&names);
        let told = log.told();
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].contains("namespace default") && told[1].contains("namespace kube-system"));
    }
}
