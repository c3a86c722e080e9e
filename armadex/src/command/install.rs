//! `armadex install`: brings to a control plane what Armadex needs there.

mod applying;
mod decision;
mod due;
mod granted;
mod holders;
mod homes;
mod issuing;
mod kubeconfigs;
mod manifests;
mod others;
mod patience;
mod registrations;
mod running;
mod shipped;
mod withdrawing;

use std::time::Duration;

use anyhow::ensure;
use clap::Args;
use clap::builder::{PossibleValuesParser, RangedU64ValueParser};

use crate::api_group::ApiGroupFlag;
use crate::control_plane::ControlPlaneFlags;
use crate::credentials::{NamespaceFlag, SERVING_NAMESPACE, expect_no_others, namespace};
pub(super) use applying::objects_of;
use applying::{Applier, Edited};
pub(super) use decision::{LABELLED_OURS, is_ours, owner};
pub(super) use granted::{Grantees, holders_of};
use holders::Holders;
pub(super) use holders::Subject;
use homes::release;
pub(super) use homes::{Identity, said_release};
pub(super) use issuing::cluster_of_pods;
use issuing::{KubeconfigFlags, Run};
pub(super) use kubeconfigs::{SecretName, secrets_of};
pub(super) use manifests::{Manifest, policy, to_remove};
use manifests::{Share, Wanted};
pub(super) use others::Search;
pub(super) use patience::{Patience, is_the_end};
pub(super) use registrations::{leads_to, registrations};
use running::Installer;
pub(super) use withdrawing::standing;

/// Bring to a control plane what Armadex needs there: its CRDs, its namespaces, its rights, and policies.
///
/// All of it is in this binary, so both are of one release. It may be run again at any time, and is to be run with each new release. Each object is told in a
/// line as kubectl has it; what is to be known of one is told on standard error. A right that is missing stops nothing else, and the exit code is 1.
///
/// Objects are applied by the server as the field manager `armadex-install`. Fields that somebody else has set otherwise are taken over, and it is told from
/// whom: CRDs of a Clusterpedia have the same names, and those of Armadex serve all that they do (docs/compatibility.md). A CRD that serves a version which this
/// release does not know is left alone, and so is what a label says another tool manages, as Helm.
///
/// Rights that it installed before and that are not asked for any more are withdrawn, but for those of a policy that is still there, which is told. An Armadex in
/// another namespace of the same control plane keeps its rights, and so does one of another release (--release): some have the same names, so this one is not installed beside it.
///
/// A policy is yours as soon as you change it. Where somebody has changed a field of a shipped policy, or taken one away, nothing of it is touched, and
/// --edited-policies says whether that is an error. So that releases do not meet your changes, copy the policy under another name, and have its rights by --rights.
///
/// With --kubeconfig-secret it issues the kubeconfigs by which Armadex reaches this control plane from another cluster, and renews them (docs/permissions.md).
#[derive(Debug, Args)]
pub(crate) struct Flags {
    #[command(flatten)]
    control_plane: ControlPlaneFlags,
    #[command(flatten)]
    place: PlaceFlags,
    /// Namespace of the Secret in which the API server keeps its serving certificate, as it is told by its flag of this name; it is made, and no other part has a right in it. A right in another
    /// one that was named before is withdrawn.
    #[arg(long, value_name = "NAME", default_value = SERVING_NAMESPACE, value_parser = namespace)]
    serving_namespace: String,
    #[command(flatten)]
    group: ApiGroupFlag,
    #[command(flatten)]
    holders: HolderFlags,
    #[command(flatten)]
    kubeconfigs: KubeconfigFlags,
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
    /// Give the rights to the holders that are named beside those who have them, and withdraw nothing, no rule of a role either: before an upgrade, while processes of
    /// before still run. Run it without this afterwards. With --only crds,rights policies, too, stay as controllers of before know them.
    #[arg(long)]
    keep_holders: bool,
    /// Take the rights of an Armadex in another namespace of this control plane, or of another release, which then has none. From a release in the same namespace a --release takes them alone: what
    /// says none is its own to remove.
    #[arg(long)]
    take_over: bool,
    /// How long to try again what may pass, and to wait until the CRDs are served, in seconds: of all of it together.
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = seconds())]
    timeout: u64,
    /// Have the API server check everything, and change nothing.
    #[arg(long)]
    dry_run: bool,
}

/// Where it is installed.
#[derive(Clone, Debug, Args)]
pub(super) struct PlaceFlags {
    #[command(flatten)]
    pub(super) own: NamespaceFlag,
    /// Further namespaces, which are there, whose Secrets Armadex may read as credentials of members; those of policies count by themselves.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = namespace)]
    pub(super) credential_namespaces: Vec<String>,
    /// Release of the chart that it is of, with its namespace in the cluster of its pods, as its Jobs say: it is noted on the rights, and what says another one is left alone. What says none is of whoever comes.
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = release)]
    release: Option<String>,
    /// All rights of that release say so, as of one that was never installed without it: what says none is another's as well, and left alone.
    #[arg(long, requires = "release")]
    pub(super) noted: bool,
}

impl PlaceFlags {
    pub(super) fn identity(&self) -> Identity {
        Identity {
            home: self.own.namespace.clone(),
            release: self.release.clone(),
        }
    }
}

/// Who has the rights.
#[derive(Clone, Debug, Args)]
pub(super) struct HolderFlags {
    /// Who has the rights, as user:NAME, group:NAME or serviceaccount:NAMESPACE/NAME: whoever the kubeconfig of Armadex is of. May be repeated. Default: the
    /// ServiceAccount `armadex` of --namespace, which `armadex install` makes.
    #[arg(long, value_name = "WHO", conflicts_with = "apart")]
    subject: Vec<Subject>,
    /// Give each part its own rights alone, for parts that run apart: to the ServiceAccounts `armadex-apiserver`, `armadex-synchro` and `armadex-controllers`
    /// of --namespace, which `armadex install` makes.
    #[arg(long)]
    apart: bool,
}

impl HolderFlags {
    /// Those who are named.
    pub(super) fn named(&self) -> &[Subject] {
        &self.subject
    }

    pub(super) fn holders(&self) -> Holders {
        match (self.apart, self.subject.is_empty()) {
            (true, _) => Holders::Apart,
            (false, true) => Holders::One,
            (false, false) => Holders::Named(self.subject.clone()),
        }
    }
}

/// What `--timeout` takes: a day is more than anybody waits.
pub(super) fn seconds() -> RangedU64ValueParser {
    clap::value_parser!(u64).range(1..=86_400)
}

/// The names that `--policies` takes.
pub(super) fn policy_names() -> PossibleValuesParser {
    PossibleValuesParser::new(shipped::policies())
}

/// Installs and leaves.
pub(crate) async fn run(flags: Flags) -> anyhow::Result<()> {
    let place = &flags.place;
    expect_no_others(&place.own, &place.credential_namespaces)?;
    let wanted = wanted(&flags);
    ensure!(
        !flags.only.contains(&Share::Kubeconfigs) || flags.kubeconfigs.are_wanted(),
        "--only kubeconfigs: name the Secret that they are kept in by --kubeconfig-secret"
    );
    let (client, server) = flags.control_plane.client_and_server().await?;
    // Whoever is no place for it is told so before anything is changed.
    let issuer = match wanted.has(Share::Kubeconfigs) {
        true => flags.kubeconfigs.issuer(issuing(&flags, &wanted)).await?,
        false => None,
    };
    let installer = Installer {
        applier: Applier {
            client,
            edited: flags.edited_policies,
            keeps_holders: flags.keep_holders,
            dry_run: flags.dry_run,
        },
        server,
        takes_over: flags.take_over,
        is_noted: flags.place.noted,
        limit: Duration::from_secs(flags.timeout),
    };
    installer.run(&wanted, &mut std::io::stdout()).await?;
    match issuer {
        Some(issuer) => issuer.run(&mut std::io::stdout()).await,
        None => Ok(()),
    }
}

fn issuing<'a>(flags: &'a Flags, wanted: &'a Wanted) -> Run<'a> {
    Run {
        control_plane: &flags.control_plane,
        home: &wanted.namespace,
        holders: &wanted.holders,
        dry_run: flags.dry_run,
        limit: Duration::from_secs(flags.timeout),
    }
}

/// The CustomResourceDefinitions alone.
pub(super) async fn install_definitions(
    control_plane: &ControlPlaneFlags,
    limit: Duration,
) -> anyhow::Result<()> {
    let (client, server) = control_plane.client_and_server().await?;
    let installer = Installer {
        applier: Applier {
            client,
            edited: Edited::Fail,
            keeps_holders: false,
            dry_run: false,
        },
        server,
        takes_over: false,
        is_noted: false,
        limit,
    };
    installer
        .run(&Wanted::definitions(), &mut std::io::stdout())
        .await
}

fn wanted(flags: &Flags) -> Wanted {
    Wanted {
        namespace: flags.place.own.namespace.clone(),
        release: flags.place.release.clone(),
        serving_namespace: flags.serving_namespace.clone(),
        api_group: flags.group.api_group.clone(),
        credential_namespaces: flags.place.credential_namespaces.clone(),
        holders: flags.holders.holders(),
        policies: flags.policies.clone(),
        rights: flags.rights.clone(),
        only: flags.only.clone(),
    }
}

/// What is installed with a shipped policy beside what always is.
#[cfg(test)]
pub(super) fn rights_of_shipped(
    policy: &str,
    home: &str,
    further: &[String],
    holders: &Holders,
) -> Vec<serde_json::Value> {
    let wanted = |rights: &[String], further: &[String]| Wanted {
        namespace: home.to_owned(),
        release: None,
        serving_namespace: SERVING_NAMESPACE.to_owned(),
        api_group: armadex_apiserver::API_GROUP.to_owned(),
        credential_namespaces: further.to_vec(),
        holders: holders.clone(),
        policies: Vec::new(),
        rights: rights.to_vec(),
        only: Vec::new(),
    };
    let always = wanted(&[], &[]).manifests();
    let always: Vec<_> = always.iter().map(Manifest::address).collect();
    let mut all = wanted(&[policy.to_owned()], further).manifests();
    all.retain(|right| !always.contains(&right.address()) && right.kind.kind != "Namespace");
    all.into_iter().map(|right| right.object).collect()
}

#[cfg(test)]
pub(super) mod testing;
#[cfg(test)]
mod tests;
