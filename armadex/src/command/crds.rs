//! `armadex crds`: prints the CustomResourceDefinitions, or installs them on the control plane.

use std::io::Write as _;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;

use super::install::install_definitions;
use crate::control_plane::ControlPlaneFlags;

/// An apiserver establishes a definition within a second; this is for one that has just started.
const ESTABLISHED_WITHIN: Duration = Duration::from_secs(30);

/// Print or install the CustomResourceDefinitions.
///
/// They accept objects written for Clusterpedia unchanged. Installing them is a share of `armadex install`, and safe to repeat.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    /// Install on the control plane and wait until they are served, instead of printing.
    #[arg(long)]
    install: bool,
    #[command(flatten)]
    control_plane: ControlPlaneFlags,
}

/// Prints YAML to standard output, or installs.
pub(crate) async fn run(flags: Flags) -> anyhow::Result<()> {
    if !flags.install {
        let yaml = armadex_crds::yaml();
        return std::io::stdout()
            .write_all(yaml.as_bytes())
            .context("cannot write the YAML");
    }
    install_definitions(&flags.control_plane, ESTABLISHED_WITHIN).await
}
