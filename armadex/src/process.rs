//! A process with a store: what `all`, `synchro` and `apiserver` have in common, from opening to closing it.

use std::sync::Arc;

use anyhow::Context as _;
use armadex_control_plane::Outages;
use armadex_storage::{Head, Search as _, StoreError};
use armadex_storage_sql::SqlStore;
use kube::Client;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::admin::{self, AdminFlags, Checks};
use crate::background::Background;
use crate::continuity;
use crate::control_plane::ControlPlaneFlags;
use crate::expiry;
use crate::metrics::Metrics;
use crate::service::Parts;
use crate::shutdown;
use crate::store::StoreFlags;
use crate::store::replica::ReplicaFlags;

/// A process whose parts are being put together.
pub(crate) struct Process {
    /// The control plane.
    pub(crate) client: Client,
    /// The control plane again, over connections of their own: those are served by the threads that open them, and what callers wait for must
    /// not ride on ones whose threads are busy with a fleet.
    pub(crate) background_client: Client,
    /// The store, as both of its traits; of a process that only searches maybe a replica of it.
    pub(crate) store: Arc<SqlStore>,
    /// What runs in it.
    pub(crate) parts: Parts,
    /// What it counts.
    pub(crate) metrics: Metrics,
    /// What has to hold before it is ready.
    pub(crate) checks: Checks,
    /// The threads of what nobody waits for.
    pub(crate) background: Background,
}

impl Process {
    /// Listens to signals, connects and opens the store. `None`: it was told to stop meanwhile, and has nothing to close.
    pub(crate) async fn begin(
        control_plane: &ControlPlaneFlags,
        store: &StoreFlags,
    ) -> anyhow::Result<Option<Self>> {
        Self::begin_on(control_plane, store, None).await
    }

    /// The same for a process that only searches: where a replica is named it needs no more than that.
    pub(crate) async fn begin_to_search(
        control_plane: &ControlPlaneFlags,
        store: &StoreFlags,
        replica: &ReplicaFlags,
    ) -> anyhow::Result<Option<Self>> {
        Self::begin_on(control_plane, store, Some(replica)).await
    }

    async fn begin_on(
        control_plane: &ControlPlaneFlags,
        store: &StoreFlags,
        replica: Option<&ReplicaFlags>,
    ) -> anyhow::Result<Option<Self>> {
        // Before anything is waited for: a store may be opened behind another's migration, for ten minutes.
        let cancel = shutdown::on_signal()?;
        let opening = Self::open(control_plane, store, replica, cancel.clone());
        shutdown::unless_stopped(&cancel, opening).await
    }

    async fn open(
        control_plane: &ControlPlaneFlags,
        store: &StoreFlags,
        replica: Option<&ReplicaFlags>,
        cancel: CancellationToken,
    ) -> anyhow::Result<Self> {
        let background = Background::start().context("cannot start threads")?;
        let (client, background_client) =
            (control_plane.client().await?, control_plane.client().await?);
        let replica = match replica {
            Some(replica) => replica.open(store).await?,
            None => None,
        };
        let store = match replica {
            Some(replica) => replica,
            None => store.open(background.handle()).await?,
        };
        let mut metrics = Metrics::new();
        metrics.add_store(Arc::clone(&store));
        let mut parts = Parts::new(cancel);
        let token = control_plane.token_file().await?;
        expiry::start(&mut parts, token.clone());
        metrics.add_token(token);
        Ok(Self {
            client,
            background_client,
            store,
            background,
            parts,
            metrics,
            checks: Checks::default(),
        })
    }

    /// Opens the admin port, runs until a signal or a failure, and closes the store.
    pub(crate) async fn run(mut self, admin: AdminFlags) -> anyhow::Result<()> {
        self.needs_its_store();
        continuity::start(&mut self.parts, &self.client);
        admin::start(&mut self.parts, admin, self.checks, self.metrics);
        let ended = self.parts.run().await;
        self.store.shutdown().await;
        ended
    }

    /// It is not ready while its store does not answer, and ends with it: a process whose writer failed looks sound and stores nothing.
    fn needs_its_store(&mut self) {
        let (store, outages) = (Arc::clone(&self.store), Arc::<Outages>::default());
        self.checks.add("store", move || {
            let (store, outages) = (Arc::clone(&store), Arc::clone(&outages));
            async move { ready(store.head().await, &outages) }
        });
        let (cancel, store) = (self.parts.cancel(), Arc::clone(&self.store));
        self.parts.start("store", async move {
            match cancel.run_until_cancelled(store.ended()).await {
                Some(()) if store.is_replica() => Err(anyhow::anyhow!(
                    "it is that of another store now, or of a later release"
                )),
                Some(()) => Err(anyhow::anyhow!("nothing can be written to it any more")),
                None => Ok(()),
            }
        });
    }
}

/// What the store's outages are called by.
const STORE: &str = "store";

/// Whoever reaches the port is told no more than that: what went wrong names the database and its user, and is for the log, unless the store has told it there.
/// A probe comes every few seconds, and the same trouble is one line.
fn ready(answered: Result<Head, StoreError>, outages: &Outages) -> Result<(), String> {
    let Err(error) = answered else {
        if outages.ends(STORE) {
            info!("the store answers again, so this process is ready");
        }
        return Ok(());
    };
    if !error.is_told() {
        let error = format!("{:#}", anyhow::Error::from(error));
        if outages.begins(STORE, &error) {
            warn!(
                error,
                "the store does not answer, so this process is not ready"
            );
        }
    }
    Err("the store is not available, the log says more".to_owned())
}

#[cfg(test)]
mod tests {
    use armadex_control_plane::testing::Log;
    use armadex_storage::Outage;
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Flags {
        #[command(flatten)]
        admin: AdminFlags,
    }

    fn away() -> Result<Head, StoreError> {
        Err(StoreError::Unavailable {
            reason: "connecting with postgres://indexer@db.example.com:5432/fleet did not succeed"
                .into(),
            source: "no route".into(),
        })
    }

    fn head() -> Head {
        Head {
            revision: 1,
            incarnation: "first".to_owned(),
        }
    }

    #[test]
    fn who_asks_whether_it_is_ready_is_not_told_where_the_store_is() {
        let told = ready(away(), &Outages::default()).expect_err("it is away");
        assert_eq!(told, "the store is not available, the log says more");
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_does_not_answer_is_a_line_of_the_log_and_not_one_for_each_probe() {
        let (log, outages) = (Log::lines_of("armadex::process"), Outages::default());
        ready(Ok(head()), &outages).expect("it answers");
        assert_eq!(log.told().len(), 0, "nothing was wrong");
        for _ in 0..3 {
            ready(away(), &outages).expect_err("it is away");
        }
        assert_eq!(log.told().len(), 1);
        let damaged = || {
            Err(StoreError::Broken {
                reason: "a table is missing".into(),
            })
        };
        for _ in 0..3 {
            ready(damaged(), &outages).expect_err("it is damaged");
        }
        assert_eq!(log.told().len(), 2, "that is news");
        for _ in 0..3 {
            ready(Ok(head()), &outages).expect("it answers");
        }
        let told = log.told();
        assert_eq!(told.len(), 3, "{told:?}");
        assert_eq!(told[2], "the store answers again, so this process is ready");
    }

    #[tokio::test(start_paused = true)]
    async fn what_the_store_tells_by_itself_is_not_told_here_nor_that_it_is_over() {
        let (log, outages) = (Log::lines_of("armadex::process"), Outages::default());
        let told = Err(StoreError::Unavailable {
            reason: "it did not answer when it was last asked".into(),
            source: Box::new(Outage::new("no route")),
        });
        ready(told, &outages).expect_err("it is away");
        ready(Ok(head()), &outages).expect("it answers");
        assert_eq!(log.told(), [""; 0]);
    }

    #[tokio::test]
    async fn a_store_that_cannot_be_written_any_more_ends_the_process() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("store.db");
        let store = SqlStore::sqlite(&path, &armadex_storage_sql::Options::default()).await;
        let store = Arc::new(store.expect("a store"));
        let nowhere = kube::Config::new("http://127.0.0.1:1".parse().expect("an address"));
        let process = Process {
            client: Client::try_from(nowhere.clone()).expect("a client"),
            background_client: Client::try_from(nowhere).expect("a client"),
            store: Arc::clone(&store),
            parts: Parts::new(CancellationToken::new()),
            metrics: Metrics::new(),
            checks: Checks::default(),
            background: Background::start().expect("threads"),
        };
        let flags = Flags::parse_from(["armadex", "--admin-listen", "127.0.0.1:0"]);
        let running = tokio::spawn(process.run(flags.admin));
        store.shutdown().await;
        let ended = running.await.expect("no panic");
        let ended = ended.expect_err("it must not live on");
        assert!(
            format!("{ended:#}").contains("nothing can be written"),
            "{ended:#}"
        );
    }
}
