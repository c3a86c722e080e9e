//! `armadex install`: brings to a control plane what Armadex needs there.

mod applying;
mod decision;
mod holders;
mod manifests;
mod patience;
mod shipped;

use std::time::Duration;

use armadex_crds::is_subdomain;
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};

use crate::control_plane::ControlPlaneFlags;
use applying::{Edited, Installer};
pub(super) use decision::{is_ours, owner};
use holders::{Holders, Subject};
pub(super) use manifests::{Manifest, policy, to_remove};
use manifests::{Sort, Wanted, definitions};
pub(super) use patience::{Patience, is_the_end};

/// Bring to a control plane what Armadex needs there: its CRDs, its namespace, its rights, and policies.
///
/// All of it is in this binary, so both are of one release. It may be run again at any time, and is to be run with each new release. Each object is told in a
/// line as kubectl has it; what is to be known of one is told on standard error. A right that is missing stops nothing else, and the exit code is 1.
///
/// Objects are applied by the server as the field manager `armadex-install`. Fields that somebody else has set otherwise are taken over, and it is told from
/// whom: CRDs of a Clusterpedia have the same names, and those of Armadex serve all that they do (docs/compatibility.md). A CRD that serves a version which this
/// release does not know is left alone, and so is what a label says another tool manages, as Helm.
///
/// A policy is yours as soon as you change it. Where somebody has changed a field of a shipped policy, or taken one away, nothing of it is touched, and
/// --edited-policies says whether that is an error. So that releases do not meet your changes, copy the policy under another name, and have its rights by --rights.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    #[command(flatten)]
    control_plane: ControlPlaneFlags,
    #[command(flatten)]
    place: PlaceFlags,
    /// Who has the rights, as user:NAME, group:NAME or serviceaccount:NAMESPACE/NAME: whoever the kubeconfig of Armadex is of. May be repeated. Default: the
    /// ServiceAccount `armadex` of --namespace, which is made.
    #[arg(long, value_name = "WHO", conflicts_with = "apart")]
    subject: Vec<Subject>,
    /// Give each part its own rights alone, for parts that run apart: to the ServiceAccounts `armadex-apiserver`, `armadex-synchro` and `armadex-controllers`
    /// of --namespace, which are made.
    #[arg(long)]
    apart: bool,
    /// Policies to install, with the rights that they need.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = policy_names())]
    policies: Vec<String>,
    /// Policies whose rights alone are installed: for one of your own that reads the same.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = policy_names())]
    rights: Vec<String>,
    /// What becomes of a policy that somebody has changed since it was installed.
    #[arg(long, value_enum, default_value_t = Edited::Fail)]
    edited_policies: Edited,
    /// Install some of it only: where something else looks after the rest.
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',')]
    only: Vec<Share>,
    /// How long to try again what may pass, and to wait until the CRDs are served, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    timeout: u64,
    /// Have the API server check everything, and change nothing.
    #[arg(long)]
    dry_run: bool,
}

/// Where it is installed.
#[derive(Clone, Debug, Args)]
pub(super) struct PlaceFlags {
    /// Namespace of Armadex on the control plane, as its processes are told.
    #[arg(
        long,
        value_name = "NAME",
        default_value = shipped::HOME,
        env = "CLUSTERPEDIA_NAMESPACE",
        value_parser = namespace
    )]
    pub(super) namespace: String,
    /// Further namespaces, which are there, whose Secrets Armadex may read as credentials of members; those of policies count by themselves.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = namespace)]
    pub(super) credential_namespaces: Vec<String>,
}

/// A share of what is installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Share {
    /// The CustomResourceDefinitions.
    Crds,
    /// The namespace, accounts, roles and bindings.
    Rights,
    /// The policies, without their rights.
    Policies,
}

/// The names that `--policies` takes.
pub(super) fn policy_names() -> PossibleValuesParser {
    PossibleValuesParser::new(shipped::policies())
}

/// A namespace whose Secrets may be read. In those that every control plane has lie others than of members.
fn namespace(text: &str) -> Result<String, String> {
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

/// Installs and leaves.
pub(crate) async fn run(flags: Flags) -> anyhow::Result<()> {
    let manifests = manifests(&flags);
    let installer = Installer {
        client: flags.control_plane.client().await?,
        edited: flags.edited_policies,
        dry_run: flags.dry_run,
        limit: Duration::from_secs(flags.timeout),
    };
    installer.run(&manifests, &mut std::io::stdout()).await
}

/// The CustomResourceDefinitions alone.
pub(super) async fn install_definitions(
    control_plane: &ControlPlaneFlags,
    limit: Duration,
) -> anyhow::Result<()> {
    let installer = Installer {
        client: control_plane.client().await?,
        edited: Edited::Fail,
        dry_run: false,
        limit,
    };
    installer.run(&definitions(), &mut std::io::stdout()).await
}

fn manifests(flags: &Flags) -> Vec<Manifest> {
    let holders = match (flags.apart, flags.subject.is_empty()) {
        (true, _) => Holders::Apart,
        (false, true) => Holders::One,
        (false, false) => Holders::Named(flags.subject.clone()),
    };
    let wanted = Wanted {
        namespace: flags.place.namespace.clone(),
        credential_namespaces: flags.place.credential_namespaces.clone(),
        holders,
        policies: flags.policies.clone(),
        rights: flags.rights.clone(),
    };
    let mut manifests = wanted.manifests();
    let is_meant =
        |manifest: &Manifest| flags.only.is_empty() || flags.only.contains(&share(manifest.sort));
    manifests.retain(is_meant);
    manifests
}

fn share(sort: Sort) -> Share {
    match sort {
        Sort::Definition => Share::Crds,
        Sort::Policy => Share::Policies,
        Sort::Home | Sort::Elsewhere | Sort::Right | Sort::Registration => Share::Rights,
    }
}

#[cfg(test)]
mod tests;
