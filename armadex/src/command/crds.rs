//! `armadex crds`: prints the CustomResourceDefinitions, or installs them on the control plane.

use std::io::Write as _;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client, ResourceExt};

use crate::control_plane::ControlPlaneFlags;

/// An apiserver establishes a definition within a second; this is for one that has just started.
const ESTABLISHED_WITHIN: Duration = Duration::from_secs(30);

/// Print or install the CustomResourceDefinitions.
///
/// They accept objects written for Clusterpedia unchanged. Installing is safe to repeat: it is a server-side apply.
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
    let client = flags.control_plane.client().await?;
    for crd in armadex_crds::all() {
        install(&client, &crd).await?;
    }
    Ok(())
}

async fn install(client: &Client, crd: &CustomResourceDefinition) -> anyhow::Result<()> {
    let api = Api::<CustomResourceDefinition>::all(client.clone());
    let name = crd.name_any();
    let params = PatchParams::apply("armadex").force();
    api.patch(&name, &params, &Patch::Apply(crd))
        .await
        .with_context(|| format!("cannot install the CustomResourceDefinition {name}"))?;
    let established = await_condition(api, &name, conditions::is_crd_established());
    tokio::time::timeout(ESTABLISHED_WITHIN, established)
        .await
        .with_context(|| format!("{name} was installed but is not served yet"))?
        .with_context(|| format!("cannot see whether {name} is served"))?;
    tracing::info!(crd = name, "installed");
    Ok(())
}
