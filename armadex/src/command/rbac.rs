//! `armadex rbac`: prints the rights that a policy, or a PediaCluster, takes on the control plane, or the synchro in a member.

mod grants;
mod keys;
mod member;
mod needs;
mod printed;
mod written;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use armadex_crds::is_subdomain;
use armadex_synchro::Gates;
use clap::{ArgGroup, Args};
use serde_json::Value;

use super::install::{Grantees, HolderFlags, holders_of};
use super::policy::policies_of;
use crate::control_plane::ControlPlaneFlags;
use crate::credentials::{NamespaceFlag, expect_no_others, namespace};
use crate::feature_gates::FeatureGateFlags;
use crate::visible::{visible, visible_name};
use grants::{Grants, Namespaces};
use printed::{Printed, document};

/// Print the rights that Armadex needs on the control plane for policies of your own, or for PediaClusters that are written by hand; or in a member.
///
/// They are roles and bindings for `kubectl apply -f -`, beside what `armadex install` or helm makes. None of these is changed: each is called
/// armadex:NAMESPACE:policy:NAME, or so, after whose it is and what it is for, and `armadex install` leaves it alone; `armadex uninstall` takes it away. For these nothing is asked
/// but the files. What a policy reads is granted as narrowly as its text says it: a name or a namespace without a tag is that one, and one that is rendered may be any.
/// Secrets are granted in the namespaces of --credential-namespaces, where alone they are read.
///
/// With --for pediacluster/NAME it is the ClusterRole of the account by which that member is asked: what its PediaCluster asks for, by the file of --filename or as it is on the
/// control plane, may be listed and watched there, and nothing else. `kubectl --kubeconfig MEMBER apply -f -` puts it into the member; --subject binds it there.
///
/// On standard error it says who has the rights, which has to be whoever Armadex runs as, what cannot be told from the text, and what needs no right. A policy that would
/// not be followed is told there too: nothing is printed for it, the others are printed all the same, and the exit code is 1.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("purpose").required(true).multiple(true).args(["for_policy", "for"])))]
pub(crate) struct Flags {
    /// File or folder with ClusterImportPolicies; `-` is standard input. May be repeated.
    #[arg(long, value_name = "FILE")]
    for_policy: Vec<PathBuf>,
    /// What else the rights are for: `pediacluster`, for PediaClusters that somebody writes, with credentials in Secrets of --credential-namespaces, or of --namespace if none is
    /// named; or `pediacluster/NAME`, for the synchro in the member of that one.
    #[arg(long = "for", value_parser = what, value_name = "WHAT", id = "for")]
    what: Vec<What>,
    /// File or folder with the PediaCluster of --for pediacluster/NAME, and the ClusterSyncResources that it refers to; `-` is standard input. May be repeated. Default: the control
    /// plane is asked for them, whose status of the PediaCluster also tells what `*` stands for.
    #[arg(long, short, value_name = "FILE", requires = "for", conflicts_with_all = ["kubeconfig", "context"])]
    filename: Vec<PathBuf>,
    #[command(flatten)]
    control_plane: ControlPlaneFlags,
    #[command(flatten)]
    gates: FeatureGateFlags,
    #[command(flatten)]
    own: NamespaceFlag,
    /// Namespaces whose Secrets Armadex may read, as it is started with. Where a policy names another one, that is told and not granted. Default: those that the texts
    /// of the policies name without a tag, each of which is told.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = namespace)]
    credential_namespaces: Vec<String>,
    /// Let the synchro ask the control plane for members in their place, where a template names controlPlaneProxy: read what that opens in docs/permissions.md, "By the control
    /// plane", before.
    #[arg(long, requires = "for_policy")]
    control_plane_proxy: bool,
    #[command(flatten)]
    holders: HolderFlags,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    /// PediaClusters that somebody writes.
    PediaCluster,
    /// The member of the one of this name.
    Member(String),
}

fn what(text: &str) -> Result<What, String> {
    match text.split_once('/') {
        None if text == "pediacluster" => Ok(What::PediaCluster),
        Some(("pediacluster", name)) if is_subdomain(name) => Ok(What::Member(name.to_owned())),
        _ => Err("rights are printed for pediacluster, or for pediacluster/NAME".to_owned()),
    }
}

/// Reads and prints; fails if nothing is granted for one of the policies.
pub(crate) async fn run(flags: &Flags) -> anyhow::Result<()> {
    expect_no_others(&flags.own, &flags.credential_namespaces)?;
    let printed = match member_of(flags)? {
        Some(name) => in_member(name, flags).await?,
        None => printed(flags)?,
    };
    let written = std::io::stdout().lock().write_all(printed.text.as_bytes());
    written.context("cannot write the rights")?;
    let mut told = std::io::stderr().lock();
    for note in &printed.notes {
        writeln!(told, "{}", visible_name(note))?;
    }
    for refusal in &printed.refused {
        writeln!(told, "{}", visible(refusal.trim_end()))?;
    }
    ensure!(
        printed.refused.is_empty(),
        "nothing is granted for policies that would not be followed, as told above"
    );
    Ok(())
}

/// The member that the rights are for. What is for the control plane goes elsewhere, and is not printed beside that.
fn member_of(flags: &Flags) -> anyhow::Result<Option<&str>> {
    let name = flags.what.iter().find_map(|what| match what {
        What::Member(name) => Some(name.as_str()),
        What::PediaCluster => None,
    });
    let is_alone = flags.for_policy.is_empty() && flags.what.len() == 1;
    ensure!(
        name.is_none() || is_alone,
        "the rights of one member are printed at a time, and without those for the control plane"
    );
    ensure!(
        name.is_some() || flags.filename.is_empty(),
        "--filename is for --for pediacluster/NAME"
    );
    Ok(name)
}

async fn in_member(name: &str, flags: &Flags) -> anyhow::Result<Printed> {
    let asking = match &flags.filename[..] {
        [] => member::of_control_plane(name, &flags.control_plane).await?,
        paths => member::of_files(name, paths)?,
    };
    let gates = Gates {
        allow_sync_all_resources: flags.gates.feature_gates.allow_sync_all_resources,
        allow_sync_all_custom_resources: flags.gates.feature_gates.allow_sync_all_custom_resources,
        ignore_sync_lease: flags.gates.feature_gates.ignore_sync_lease,
    };
    member::printed(&asking, gates, flags.holders.named())
}

fn printed(flags: &Flags) -> anyhow::Result<Printed> {
    let home = &flags.own.namespace;
    let namespaces = Namespaces {
        home,
        named: &flags.credential_namespaces,
    };
    let mut grants = Grants::default();
    let mut found = policies_of(&flags.for_policy)?;
    for other in found.others {
        grants.notes.push(format!(
            "{other} is no ClusterImportPolicy, and nothing is granted for it"
        ));
    }
    for (name, spec) in &found.policies {
        match needs::of_policy(spec) {
            Ok(needs) => {
                grants.add_policy(name, &needs, &namespaces);
                if let Some(need) = needs::of_proxy(spec) {
                    grants.add_proxy(name, &need, flags.control_plane_proxy);
                }
            }
            Err(refusal) => found.refused.push(format!("{name}: {refusal}")),
        }
    }
    if flags.what.contains(&What::PediaCluster) {
        grants.add_pedia_clusters(&namespaces);
    }
    grants.tell_unused(&namespaces);
    let grantees = Grantees {
        home: home.clone(),
        holders: flags.holders.holders(),
    };
    let objects = grants.objects(&grantees);
    let mut text = String::new();
    for (words, object) in &objects {
        text.push_str(&document(words, object)?);
    }
    grants.notes.extend(who_has(&objects));
    if flags.control_plane_proxy {
        grants.notes.extend(unknown_groups(&objects));
    }
    Ok(Printed {
        text,
        notes: grants.notes,
        refused: found.refused,
    })
}

fn holders(objects: &[(String, Value)]) -> BTreeSet<String> {
    let holders = objects.iter().flat_map(|(_, object)| holders_of(object));
    holders.collect()
}

/// Whose groups are in no binding here, and are told to members by Karmada all the same.
fn unknown_groups(objects: &[(String, Value)]) -> Option<String> {
    let mut users = Vec::from_iter(holders(objects));
    users.retain(|holder| holder.starts_with("user:"));
    let users = users.join(", ");
    (!users.is_empty()).then(|| {
        format!(
            "Karmada asks members as the groups of {users} too, which are not known here: bind them to the ClusterRole of that policy whose name ends with :impersonated"
        )
    })
}

/// Who has the rights, if any are printed. Rights of others are of no use.
fn who_has(objects: &[(String, Value)]) -> Option<String> {
    let holders = Vec::from_iter(holders(objects)).join(", ");
    (!holders.is_empty()).then(|| {
        format!(
            "what is printed is granted to {holders}: if Armadex runs as somebody else, say --namespace, --apart or --subject"
        )
    })
}

#[cfg(test)]
mod tests;
