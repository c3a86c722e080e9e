//! The control plane, the store, and Armadex in two processes: one that syncs, one that is asked.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use armadex_e2e::armadex::{self, Armadex, Role};
use armadex_e2e::{Harness, wait_until};
use kube::Client;
use serde::Serialize;

use super::playing::Playing;
use crate::store::server_time;
use crate::{pedia_clusters, process, readers};

/// Far above what any machine needs; a run that does not get there is an error, not a result.
const LIMIT: Duration = Duration::from_secs(900);
/// Between two looks at what is measured: seldom enough to cost nothing, often enough for a tenth of a second to be one.
const LOOK: Duration = Duration::from_millis(25);

/// What is there before the members.
pub(super) struct Stage {
    pub(super) synchro: Armadex,
    /// The API, as a reader of the fleet has it.
    pub(super) reader: Client,
    apiserver: Armadex,
    host: Client,
}

/// What was spent so far.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Spent {
    /// Of Armadex's synchro.
    pub(super) cpu_seconds: f64,
    /// Of a database server; nothing where the store is a file.
    pub(super) database_seconds: f64,
    /// Of this process, which plays the members.
    pub(super) members_seconds: f64,
    /// Bytes that the synchro gave to the kernel.
    pub(super) written: u64,
    /// Requests of members.
    pub(super) requests: u64,
}

impl Spent {
    /// What came after `before`.
    pub(super) fn since(self, before: Self) -> Self {
        Self {
            cpu_seconds: self.cpu_seconds - before.cpu_seconds,
            database_seconds: self.database_seconds - before.database_seconds,
            members_seconds: self.members_seconds - before.members_seconds,
            written: self.written.saturating_sub(before.written),
            requests: self.requests - before.requests,
        }
    }
}

impl Stage {
    /// Starts Armadex over an empty control plane and an empty store.
    pub(super) async fn set(fleet: &Harness) -> Result<Self> {
        armadex::install_apart(fleet).await?;
        readers::allow(fleet.host()).await?;
        let synchro = Armadex::start(fleet, Role::Synchro, &["--log-format=json"]).await?;
        let apiserver = Armadex::start(fleet, Role::Apiserver, &[]).await?;
        let stage = Self {
            reader: readers::client(fleet, &apiserver).await?,
            host: fleet.host().client().await?,
            synchro,
            apiserver,
        };
        pedia_clusters::wait_until_served(&stage.host).await?;
        Ok(stage)
    }

    /// Creates the PediaClusters of all members, and waits until all pods are stored and watched; gives how long that took.
    pub(super) async fn sync(&self, playing: &Playing) -> Result<Duration> {
        let stock = &playing.stock;
        let begun = Instant::now();
        let clusters = (0..stock.members()).map(|member| (name(member), playing.spec(member)));
        pedia_clusters::create_all(&self.host, "sync", clusters).await?;
        self.until_stored(stock.pods()).await?;
        let took = begun.elapsed();
        wait_until("all pods are watched", LIMIT, || async {
            Ok(stock.watched() == stock.members())
        })
        .await?;
        Ok(took)
    }

    /// Waits until so many pods were stored.
    async fn until_stored(&self, pods: usize) -> Result<()> {
        let begun = Instant::now();
        #[expect(clippy::cast_precision_loss, reason = "numbers far below 2^52")]
        let wanted = pods as f64;
        loop {
            // There is no counter before something was counted.
            let stored = self.synchro.counter("armadex_sync_added_total").await;
            let stored = stored.unwrap_or_default();
            if stored >= wanted {
                return Ok(());
            }
            ensure!(
                begun.elapsed() < LIMIT,
                "{stored} of {pods} pods are stored"
            );
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Waits until a pod is found with a version that is no older than this one.
    pub(super) async fn until_found(&self, path: &str, version: u64) -> Result<Instant> {
        let begun = Instant::now();
        while begun.elapsed() < LIMIT {
            let request = http::Request::get(path).body(Vec::new())?;
            let pod: serde_json::Value = self.reader.request(request).await?;
            let found = pod.pointer("/metadata/resourceVersion");
            let found = found.and_then(|version| version.as_str()?.parse::<u64>().ok());
            if found.context("a pod without a version")? >= version {
                return Ok(Instant::now());
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        bail!("{path} is not of the version {version}")
    }

    /// What was spent so far.
    pub(super) fn spent(&self, fleet: &Harness, playing: &Playing) -> Result<Spent> {
        let pid = self.synchro.record().pid;
        let server = fleet.store().server();
        let database = server.map(|server| server_time::seconds(server.folder()));
        let own = i32::try_from(std::process::id())?;
        Ok(Spent {
            cpu_seconds: process::cpu_seconds(pid)?,
            database_seconds: database.transpose()?.unwrap_or_default(),
            members_seconds: process::cpu_seconds(own)?,
            written: process::written_bytes(pid)?,
            requests: playing.stock.asked.requests.load(Ordering::Relaxed),
        })
    }

    /// The most memory that the synchro ever held.
    pub(super) fn peak_mib(&self) -> Result<f64> {
        process::peak_mib(self.synchro.record())
    }

    /// Ends both.
    pub(super) fn stop(&self) -> Result<()> {
        self.apiserver.stop()?;
        self.synchro.stop()
    }
}

/// What the cluster of a member is called.
pub(super) fn name(member: usize) -> String {
    format!("stock-{member}")
}

/// Where a pod of a cluster is found.
pub(super) fn path(member: usize, (namespace, pod): &(String, String)) -> String {
    let cluster = name(member);
    format!(
        "/apis/clusterpedia.io/v1beta1/resources/clusters/{cluster}/api/v1/namespaces/{namespace}/pods/{pod}"
    )
}
