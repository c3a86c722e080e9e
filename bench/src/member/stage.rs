//! The control plane with the PediaClusters, and Armadex.

use std::time::Duration;

use anyhow::Result;
use armadex_e2e::armadex::{self, Armadex, Role};
use armadex_e2e::progress::note;
use armadex_e2e::{Harness, Record, wait_until};
use kube::Client;

use super::server::Playing;
use crate::{pedia_clusters, process};

const PURPOSE: &str = "played";

/// What is there before the members.
pub(super) struct Stage {
    /// One, or all that share the members.
    replicas: Vec<Armadex>,
    host: Client,
    /// Bytes of each one's log before the members.
    logged: Vec<usize>,
}

impl Stage {
    /// Starts so many over an empty control plane.
    pub(super) async fn set(fleet: &Harness, replicas: usize) -> Result<Self> {
        let mut stage = Self {
            replicas: start(fleet, replicas).await?,
            host: fleet.host().client().await?,
            logged: Vec::new(),
        };
        // Until they are served it is said that they are not.
        pedia_clusters::wait_until_served(&stage.host).await?;
        let logs = stage.replicas.iter().map(|one| one.log().len());
        stage.logged = logs.collect();
        Ok(stage)
    }

    /// Creates the PediaClusters of all members; gives how long that took.
    pub(super) async fn create(&self, playing: &Playing) -> Result<Duration> {
        let count: usize = super::role::Role::ALL
            .map(|role| playing.members.count(role))
            .iter()
            .sum();
        note(format_args!("creating {count} PediaClusters"));
        let clusters =
            (0..count).map(|number| (format!("{PURPOSE}-{number:05}"), playing.spec(number)));
        pedia_clusters::create_all(&self.host, PURPOSE, clusters).await
    }

    /// Waits until so many objects are stored.
    pub(super) async fn until_stored(&self, rows: usize, limit: Duration) -> Result<()> {
        wait_until(&format!("{rows} objects are stored"), limit, || async {
            Ok(self.counted("armadex_sync_added_total").await >= rows as f64)
        })
        .await
    }

    /// Objects that changed so far.
    pub(super) async fn changed(&self) -> Result<u64> {
        Ok(self.counted("armadex_sync_changed_total").await as u64)
    }

    /// The sum of a counter, which there is not where nothing was counted.
    async fn counted(&self, counter: &str) -> f64 {
        let mut sum = 0.0;
        for one in &self.replicas {
            sum += one.counter(counter).await.unwrap_or_default();
        }
        sum
    }

    /// Processor time of Armadex so far.
    pub(super) fn cpu_seconds(&self) -> Result<f64> {
        self.sum(|record| process::cpu_seconds(record.pid))
    }

    /// The memory that Armadex holds now.
    pub(super) fn resident_mib(&self) -> Result<f64> {
        self.sum(|record| process::resident_mib(record.pid))
    }

    /// The most memory that Armadex ever held; of several the sum, though each may have had it at another time.
    pub(super) fn peak_mib(&self) -> Result<f64> {
        self.sum(process::peak_mib)
    }

    /// The sockets that Armadex holds now.
    pub(super) fn sockets(&self) -> Result<u64> {
        self.sum(|record| process::sockets(record.pid))
    }

    /// What Armadex has logged since the members are there.
    pub(super) fn log(&self) -> String {
        let replicas = self.replicas.iter().zip(&self.logged);
        replicas
            .map(|(one, logged)| one.log().split_off(*logged))
            .collect()
    }

    fn sum<T: std::iter::Sum>(&self, of: impl Fn(&Record) -> Result<T>) -> Result<T> {
        self.replicas.iter().map(|one| of(one.record())).sum()
    }
}

/// One with all parts in it, or so many that sync.
async fn start(fleet: &Harness, replicas: usize) -> Result<Vec<Armadex>> {
    let words = ["--log-format=json"];
    if replicas == 1 {
        armadex::install(fleet).await?;
        return Ok(vec![Armadex::start(fleet, Role::All, &words).await?]);
    }
    armadex::install_apart(fleet).await?;
    let kubeconfig = fleet.folder().account_kubeconfig(Role::Synchro.account());
    let mut started = Vec::new();
    for number in 0..replicas {
        let name = format!("armadex-synchro-{number}");
        let way = (name.as_str(), kubeconfig.as_path());
        started.push(Armadex::start_as(fleet, Role::Synchro, way, &words).await?);
    }
    Ok(started)
}
