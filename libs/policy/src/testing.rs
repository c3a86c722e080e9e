//! A controller of policies that runs against a control plane for tests.

use std::{sync::Arc, time::Duration};

use armadex_control_plane::testing::Host;
use kube::Client;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::{CounterValues, Counters, ReconcileError, SecretNamespaces, Watches};

/// Far more than a controller takes to end on a paused clock.
const LIMIT: Duration = Duration::from_secs(600);

/// A controller that runs against a [`Host`].
pub struct Running {
    task: JoinHandle<()>,
    cancel: CancellationToken,
    counters: Arc<Counters>,
}

impl Running {
    /// Runs a controller, whose policies may read the Secrets of `karmada-cluster`.
    pub fn on<F>(
        host: &Host,
        controller: impl FnOnce(
            Client,
            Watches,
            SecretNamespaces,
            Arc<Counters>,
            CancellationToken,
        ) -> F,
    ) -> Self
    where
        F: Future<Output = Result<(), ReconcileError>> + Send + 'static,
    {
        let (client, cancel) = (host.client(), CancellationToken::new());
        let watches = Watches::new(client.clone());
        let secrets = SecretNamespaces::new(["karmada-cluster"]);
        let counters = Arc::<Counters>::default();
        let running = controller(
            client,
            watches.clone(),
            secrets,
            counters.clone(),
            cancel.clone(),
        );
        let task = tokio::spawn(async move {
            running.await.expect("the controller runs");
            watches.shutdown().await;
        });
        Self {
            task,
            cancel,
            counters,
        }
    }

    /// What it has cost so far.
    #[must_use]
    pub fn counted(&self) -> CounterValues {
        self.counters.values()
    }

    /// Tells it to end, and waits until it has.
    pub async fn end(self) {
        self.cancel.cancel();
        let ended = tokio::time::timeout(LIMIT, self.task).await;
        ended.expect("it ends in time").expect("no panic");
    }
}
