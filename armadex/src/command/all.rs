//! `armadex all`: every part in one process.

use clap::Args;

use crate::admin::AdminFlags;
use crate::command::apiserver::{self, ServingFlags};
use crate::command::controllers;
use crate::command::synchro::{self, SynchroFlags};
use crate::control_plane::ControlPlaneFlags;
use crate::feature_gates::FeatureGateFlags;
use crate::process::Process;
use crate::store::StoreFlags;

/// Run everything in one process: controllers, synchro and API server.
///
/// The way to start, and enough for a small fleet. Larger ones run the parts apart: `controllers`, `synchro`, `apiserver`. With --observe no controllers run: whoever
/// looks after the PediaClusters makes them of policies, too.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    #[command(flatten)]
    control_plane: ControlPlaneFlags,
    #[command(flatten)]
    store: StoreFlags,
    #[command(flatten)]
    admin: AdminFlags,
    #[command(flatten)]
    serving: ServingFlags,
    #[command(flatten)]
    synchro: SynchroFlags,
    #[command(flatten)]
    gates: FeatureGateFlags,
}

/// Runs until a signal.
pub(crate) async fn run(flags: Flags) -> anyhow::Result<()> {
    let begun = Process::begin(&flags.control_plane, &flags.store).await?;
    let Some(mut process) = begun else {
        return Ok(());
    };
    let way = flags.control_plane.way_to_members().await?;
    let SynchroFlags {
        leader,
        credentials,
        ..
    } = &flags.synchro;
    if !flags.synchro.observe {
        controllers::start(&mut process, leader, credentials);
    }
    let namespace = leader.own.namespace.clone();
    synchro::start(&mut process, way, flags.synchro, &flags.gates.feature_gates);
    apiserver::start(&mut process, &flags.serving, &namespace)?;
    process.run(flags.admin).await
}
