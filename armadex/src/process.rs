//! A process with a store: what `all`, `synchro` and `apiserver` have in common, from opening to closing it.

use std::sync::Arc;

use armadex_storage::Search as _;
use armadex_storage_sql::SqlStore;
use kube::Client;

use crate::admin::{self, AdminFlags, Checks};
use crate::control_plane::ControlPlaneFlags;
use crate::metrics::Metrics;
use crate::service::Parts;
use crate::shutdown;
use crate::store::StoreFlags;

/// A process whose parts are being put together.
pub(crate) struct Process {
    /// The control plane.
    pub(crate) client: Client,
    /// The store, as both of its traits.
    pub(crate) store: Arc<SqlStore>,
    /// What runs in it.
    pub(crate) parts: Parts,
    /// What it counts.
    pub(crate) metrics: Metrics,
}

impl Process {
    /// Connects, opens the store and listens to signals.
    pub(crate) async fn begin(
        control_plane: &ControlPlaneFlags,
        store: &StoreFlags,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            client: control_plane.client().await?,
            store: store.open().await?,
            parts: Parts::new(shutdown::on_signal()?),
            metrics: Metrics::new(),
        })
    }

    /// Opens the admin port, runs until a signal or a failure, and closes the store.
    pub(crate) async fn run(mut self, admin: AdminFlags) -> anyhow::Result<()> {
        let mut checks = Checks::default();
        let store = Arc::clone(&self.store);
        checks.add("store", move || {
            let store = Arc::clone(&store);
            async move {
                store
                    .head()
                    .await
                    .map(drop)
                    .map_err(|error| error.to_string())
            }
        });
        let store = Arc::clone(&self.store);
        // A writer that failed leaves a process that looks sound and stores nothing: better to end it, and be started anew.
        let cancel = self.parts.cancel();
        self.parts.start("store", async move {
            match cancel.run_until_cancelled(store.ended()).await {
                Some(()) => Err(anyhow::anyhow!("nothing can be written to it any more")),
                None => Ok(()),
            }
        });
        let cancel = self.parts.cancel();
        let port = admin::serve(admin, checks, Arc::new(self.metrics), cancel);
        self.parts.start("admin port", port);
        let ended = self.parts.run().await;
        self.store.shutdown().await;
        ended
    }
}
