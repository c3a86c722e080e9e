//! `armadex rbac`: prints the rights that a policy, or a PediaCluster, takes on the control plane.

mod grants;
mod keys;
mod needs;
mod written;

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use clap::{ArgGroup, Args, ValueEnum};
use serde_json::Value;

use super::install::{Grantees, HolderFlags, PlaceFlags};
use super::policy::policies_of;
use crate::visible::{visible, visible_name};
use grants::{Grants, Namespaces};

/// Print the rights that Armadex needs on the control plane for policies of your own, or for PediaClusters that are written by hand.
///
/// They are roles and bindings for `kubectl apply -f -`, beside what `armadex install` makes, which leaves them alone; `armadex uninstall` takes them away. Nothing is
/// asked but the files. What a policy reads is granted as narrowly as its text says it: a name or a namespace without a tag is that one, and one that is rendered may be any. Secrets are granted in
/// the namespaces that the text names, and otherwise in those of --credential-namespaces, where alone they are read. What cannot be told from the text, and what needs no right, is told
/// on standard error. So is a policy that would not be followed: nothing is printed for it, the others are printed all the same, and the exit code is 1.
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
    place: PlaceFlags,
    #[command(flatten)]
    holders: HolderFlags,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// PediaClusters that somebody writes, with credentials in Secrets of --namespace and --credential-namespaces.
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
    flags.place.expect_its_own()?;
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
    let (home, further) = (
        &flags.place.own.namespace,
        &flags.place.credential_namespaces,
    );
    let namespaces = Namespaces { home, further };
    let mut grants = Grants::default();
    let found = policies_of(&flags.for_policy)?;
    for other in found.others {
        grants.notes.push(format!(
            "{other} is no ClusterImportPolicy, and nothing is granted for it"
        ));
    }
    for (name, spec) in &found.policies {
        grants.add_policy(name, &needs::of_policy(spec), &namespaces);
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
    Ok(Printed {
        text,
        notes: grants.notes,
        refused: found.refused,
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
