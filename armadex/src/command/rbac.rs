//! `armadex rbac`: prints the rights that a policy, or a PediaCluster, takes on the control plane.

mod grants;
mod keys;
mod needs;
mod written;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use clap::{ArgGroup, Args, ValueEnum};
use serde_json::Value;

use super::install::{Grantees, HolderFlags, holders_of};
use super::policy::policies_of;
use crate::credentials::{NamespaceFlag, expect_no_others, namespace};
use crate::visible::{visible, visible_name};
use grants::{Grants, Namespaces};

/// Print the rights that Armadex needs on the control plane for policies of your own, or for PediaClusters that are written by hand.
///
/// They are roles and bindings for `kubectl apply -f -`, beside what `armadex install` or helm makes. None of these is changed: each is called
/// armadex:NAMESPACE:policy:NAME, or so, after whose it is and what it is for, and `armadex install` leaves it alone; `armadex uninstall` takes it away. Nothing is asked
/// but the files. What a policy reads is granted as narrowly as its text says it: a name or a namespace without a tag is that one, and one that is rendered may be any.
/// Secrets are granted in the namespaces of --credential-namespaces, where alone they are read.
///
/// On standard error it says who has the rights, which has to be whoever Armadex runs as, what cannot be told from the text, and what needs no right. A policy that would
/// not be followed is told there too: nothing is printed for it, the others are printed all the same, and the exit code is 1.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("purpose").required(true).multiple(true).args(["for_policy", "for"])))]
pub(crate) struct Flags {
    /// File or folder with ClusterImportPolicies; `-` is standard input. May be repeated.
    #[arg(long, value_name = "FILE")]
    for_policy: Vec<PathBuf>,
    /// What else the rights are for.
    #[arg(long = "for", value_enum, value_name = "WHAT", id = "for")]
    what: Vec<What>,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// PediaClusters that somebody writes, with credentials in Secrets of --credential-namespaces, or of --namespace if none is named.
    #[value(name = "pediacluster")]
    PediaCluster,
}

/// What comes of it.
struct Printed {
    /// The objects as YAML.
    text: String,
    /// What is to be known besides.
    notes: Vec<String>,
    /// What is wrong with each policy that nothing is granted for.
    refused: Vec<String>,
}

/// Reads and prints; fails if nothing is granted for one of the policies.
pub(crate) fn run(flags: &Flags) -> anyhow::Result<()> {
    expect_no_others(&flags.own, &flags.credential_namespaces)?;
    let printed = printed(flags)?;
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

fn document(words: &str, object: &Value) -> anyhow::Result<String> {
    let comment = visible(words);
    let comment: String = comment.lines().map(|line| format!("# {line}\n")).collect();
    let object = serde_saphyr::to_string(object).context("cannot write YAML")?;
    Ok(format!("---\n{comment}{object}"))
}

#[cfg(test)]
mod tests;
