//! The control plane with the PediaClusters, and Armadex.

use std::time::Duration;

use anyhow::{Context as _, Result};
use armadex_e2e::armadex::{self, Armadex, Role};
use armadex_e2e::progress::note;
use armadex_e2e::{Harness, wait_until};
use kube::Client;

use super::server::Playing;
use crate::{pedia_clusters, process};

const PURPOSE: &str = "played";

/// What is there before the members.
pub(super) struct Stage {
    armadex: Armadex,
    host: Client,
    /// Bytes of Armadex's log before the members.
    logged: usize,
}

impl Stage {
    /// Starts Armadex over an empty control plane.
    pub(super) async fn set(fleet: &Harness) -> Result<Self> {
        armadex::install(fleet).await?;
        let armadex = Armadex::start(fleet, Role::All, &["--log-format=json"]).await?;
        let host = fleet.host().client().await?;
        let mut stage = Self {
            armadex,
            host,
            logged: 0,
        };
        // A control plane that has just got its CRDs may not serve them at once, which is said before this.
        let path = format!("{}?limit=1", pedia_clusters::PATH);
        wait_until(
            "PediaClusters are served",
            Duration::from_secs(60),
            || async {
                let request = http::Request::get(&path).body(Vec::new())?;
                Ok(stage.host.request_text(request).await.is_ok())
            },
        )
        .await?;
        stage.logged = stage.armadex.log().len();
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
            let added = self.armadex.counter("armadex_sync_added_total").await?;
            Ok(added >= rows as f64)
        })
        .await
    }

    /// Objects that changed so far.
    pub(super) async fn changed(&self) -> Result<u64> {
        let changed = self.armadex.counter("armadex_sync_changed_total").await?;
        Ok(changed as u64)
    }

    /// Processor time of Armadex so far.
    pub(super) fn cpu_seconds(&self) -> Result<f64> {
        process::cpu_seconds(self.pid())
    }

    /// The memory that Armadex holds now.
    pub(super) fn resident_mib(&self) -> Result<f64> {
        process::resident_mib(self.pid())
    }

    /// The most memory that Armadex ever held.
    pub(super) fn peak_mib(&self) -> Result<f64> {
        let kib = self.armadex.record().peak_rss_kib();
        Ok(kib.context("Armadex has ended")? as f64 / 1024.0)
    }

    /// The sockets that Armadex holds now.
    pub(super) fn sockets(&self) -> Result<u64> {
        process::sockets(self.pid())
    }

    /// What Armadex has logged since the members are there.
    pub(super) fn log(&self) -> String {
        self.armadex.log().split_off(self.logged)
    }

    fn pid(&self) -> i32 {
        self.armadex.record().pid
    }
}
