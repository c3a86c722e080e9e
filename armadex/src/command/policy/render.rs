//! `armadex policy render`: prints what policies would make.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use armadex_policy::SecretNamespaces;
use clap::{Args, ValueEnum};

use super::files;
use super::found::found;
use super::given::Given;
use super::made::{Outcome, make};
use super::printed;
use super::room::Rooms;
use crate::credentials::CredentialFlags;
use crate::visible::visible;

/// Print what a ClusterImportPolicy would make of objects in files, without a control plane.
///
/// For each source object that is the PediaClusterLifecycle and the PediaCluster that it leads to, to be looked at and compared. Apply the policy
/// and not these: applied, they belong to nobody, and are in the way of the policy. What a policy renders into a PediaCluster is printed as it
/// would be in the object: if that is a token or a kubeconfig, so is this. A Secret that the PediaCluster refers to is not printed.
///
/// What does not come about is told on standard error with the condition that the controllers would set, and the exit code is 1. A source object
/// that source.selectorTemplate leaves out is told too, and is no failure. The files stand for a control plane that has nothing else: a source
/// object or a reference that is missing there has to be given. They have 64 MiB at most, and what is made of them 256 MiB.
///
/// Not checked is what only an API server knows: whether the controllers have the rights to read what the policy names, which defaults it would fill
/// in, the schema's CEL rules and lengths, and the rules for labels and annotations.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    /// File or folder with the ClusterImportPolicy, or several; `-` is standard input. Other objects in it count as given with --from.
    #[arg(long, short, value_name = "FILE", required = true)]
    filename: Vec<PathBuf>,
    /// File or folder with source objects and what the policy refers to, of any kind; `-` is standard input. May be repeated.
    ///
    /// A kind whose plural name is not the usual one is known by its CustomResourceDefinition, if that is given too.
    #[arg(long, value_name = "FILE")]
    from: Vec<PathBuf>,
    /// Form of what is printed.
    #[arg(long, short, value_enum, default_value_t = Output::Yaml)]
    output: Output,
    #[command(flatten)]
    credentials: CredentialFlags,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// A document for each object.
    Yaml,
    /// A list of all objects.
    Json,
}

/// Reads, renders and prints; fails if anything does not come about.
pub(crate) fn run(flags: &Flags) -> anyhow::Result<()> {
    let paths = flags.filename.iter().chain(&flags.from);
    let dashes = paths.filter(|path| path.as_os_str() == "-").count();
    ensure!(
        dashes < 2,
        "- stands for standard input, which can be read once: name it once"
    );
    let secrets = SecretNamespaces::new(&flags.credentials.credential_namespaces);
    let outcome = rendered(
        &flags.filename,
        &flags.from,
        &secrets,
        &mut Rooms::default(),
    )?;
    let objects = printed::objects(&outcome)?;
    let text = match flags.output {
        Output::Yaml => printed::yaml(&objects)?,
        Output::Json => printed::json(&objects),
    };
    let written = std::io::stdout().lock().write_all(text.as_bytes());
    written.context("cannot write what was rendered")?;
    let mut told = std::io::stderr().lock();
    for refusal in &outcome.refused {
        told.write_all(visible(&refusal.in_full()).as_bytes())?;
    }
    ensure!(
        outcome.refused.iter().all(|refusal| refusal.is_choice),
        "what is told above does not come about"
    );
    Ok(())
}

/// What the policies of these files make of what is given in them and in those.
pub(super) fn rendered(
    policies: &[PathBuf],
    from: &[PathBuf],
    secrets: &SecretNamespaces,
    rooms: &mut Rooms,
) -> anyhow::Result<Outcome> {
    let (found, mut given) = found(policies, rooms)?;
    given.extend(files::read(from, &mut rooms.read)?);
    make(&found, &Given::new(given)?, secrets, &mut rooms.made)
}
