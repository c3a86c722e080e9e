//! `armadex all`: every part in one process.

use std::sync::Arc;

use clap::Args;

use crate::admin::{self, AdminFlags, Checks};
use crate::command::apiserver::{self, ServingFlags};
use crate::command::controllers;
use crate::command::synchro::{self, SynchroFlags, add_store_check};
use crate::control_plane::ControlPlaneFlags;
use crate::feature_gates::FeatureGateFlags;
use crate::metrics::Metrics;
use crate::service::Parts;
use crate::shutdown;
use crate::store::StoreFlags;

/// Run everything in one process: controllers, synchro and API server.
///
/// The way to start, and enough for a small fleet. Larger ones run the parts apart: `controllers`, `synchro`, `apiserver`.
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
    let client = flags.control_plane.client().await?;
    let store = flags.store.open().await?;
    let mut parts = Parts::new(shutdown::on_signal()?);
    let mut metrics = Metrics::new();
    controllers::start(&mut parts, &client);
    synchro::start(
        &mut parts,
        &client,
        store.clone(),
        flags.synchro,
        flags.gates.feature_gates,
        &mut metrics,
    );
    apiserver::start(
        &mut parts,
        &client,
        store.clone(),
        &flags.serving,
        &mut metrics,
    )?;
    let mut checks = Checks::default();
    add_store_check(&mut checks, store.clone());
    let cancel = parts.cancel();
    parts.start(
        "admin port",
        admin::serve(flags.admin, checks, Arc::new(metrics), cancel),
    );
    let ended = parts.run().await;
    store.shutdown().await;
    ended
}
