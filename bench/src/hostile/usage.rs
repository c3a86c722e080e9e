//! What Armadex holds and uses, as the kernel and its own metrics tell.

use std::time::Duration;

use anyhow::{Context as _, Result};
use armadex_e2e::armadex::Armadex;
use serde::Serialize;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::process::{cpu_seconds, forget_peak, open_files};

/// How often it is looked at.
pub(super) const SAMPLE: Duration = Duration::from_millis(500);
/// Metrics come from a port of their own; a process that does not give them for so long is not well, and the sample is left out.
const PATIENCE: Duration = Duration::from_secs(5);
/// The aggregator may hold a connection more than before: it keeps an old one for a while when it makes a new one.
const SPARE_CONNECTIONS: u64 = 2;
/// A user's lists never take all connections to the database, so that some are first opened under attack: four, each with its log.
const SPARE_FILES: u64 = SPARE_CONNECTIONS + 8;

/// What has to be given back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Holdings {
    pub(super) connections: u64,
    pub(super) in_flight: u64,
    /// Bytes that are kept for clients.
    pub(super) bytes: u64,
    /// Sockets included.
    pub(super) files: u64,
}

impl Holdings {
    /// What it holds now.
    pub(super) async fn of(armadex: &Armadex) -> Result<Self> {
        let asked = tokio::time::timeout(PATIENCE, async {
            let connections = armadex.counter("armadex_apiserver_connections").await?;
            let in_flight = armadex.counter("armadex_apiserver_in_flight").await?;
            let bytes = armadex.counter("armadex_apiserver_held_bytes").await?;
            anyhow::Ok((connections as u64, in_flight as u64, bytes as u64))
        });
        let (connections, in_flight, bytes) =
            asked.await.context("the admin port does not answer")??;
        Ok(Self {
            connections,
            in_flight,
            bytes,
            files: open_files(armadex.record().pid)?,
        })
    }

    /// Whether nothing is left of what was taken since `start`.
    pub(super) fn returned_to(&self, start: &Self) -> bool {
        self.connections <= start.connections + SPARE_CONNECTIONS
            && self.in_flight <= start.in_flight
            && self.bytes <= start.bytes
            && self.files <= start.files + SPARE_FILES
    }

    /// The most of each.
    fn most(self, other: Self) -> Self {
        Self {
            connections: self.connections.max(other.connections),
            in_flight: self.in_flight.max(other.in_flight),
            bytes: self.bytes.max(other.bytes),
            files: self.files.max(other.files),
        }
    }
}

/// What a round cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct Load {
    /// When the round began.
    pub(super) rss_before_mib: f64,
    pub(super) peak_rss_mib: f64,
    pub(super) cpu_seconds: f64,
    /// The most that was held at any sample.
    pub(super) most: Holdings,
}

/// Looks at Armadex while a round is played.
pub(super) struct Watch {
    armadex: Armadex,
    rss_before_mib: f64,
    cpu_before: f64,
    stop: CancellationToken,
    samples: JoinHandle<Holdings>,
}

impl Watch {
    /// Begins.
    pub(super) fn start(armadex: Armadex) -> Result<Self> {
        let pid = armadex.record().pid;
        forget_peak(pid)?;
        let stop = CancellationToken::new();
        Ok(Self {
            // The peak since a moment ago is what it holds now.
            rss_before_mib: peak_rss_mib(&armadex)?,
            cpu_before: cpu_seconds(pid)?,
            samples: tokio::spawn(sample(armadex.clone(), stop.clone())),
            armadex,
            stop,
        })
    }

    /// Ends and tells.
    pub(super) async fn stop(self) -> Result<Load> {
        self.stop.cancel();
        let most = self.samples.await?;
        let pid = self.armadex.record().pid;
        Ok(Load {
            rss_before_mib: self.rss_before_mib,
            peak_rss_mib: peak_rss_mib(&self.armadex)?,
            cpu_seconds: cpu_seconds(pid)? - self.cpu_before,
            most,
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "sizes far below 2^52")]
fn peak_rss_mib(armadex: &Armadex) -> Result<f64> {
    let kib = armadex.record().peak_rss_kib().context("armadex ended")?;
    Ok(kib as f64 / 1024.0)
}

async fn sample(armadex: Armadex, stop: CancellationToken) -> Holdings {
    let mut most = Holdings::default();
    loop {
        if let Ok(now) = Holdings::of(&armadex).await {
            most = most.most(now);
        }
        let pause = stop.run_until_cancelled(tokio::time::sleep(SAMPLE));
        if pause.await.is_none() {
            return most;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_behind_is_seen() {
        let start = Holdings {
            connections: 2,
            in_flight: 0,
            bytes: 0,
            files: 40,
        };
        assert!(start.returned_to(&start));
        let left = |change: fn(&mut Holdings)| {
            let mut now = start;
            change(&mut now);
            !now.returned_to(&start)
        };
        assert!(left(|now| now.connections = 5));
        assert!(left(|now| now.in_flight = 1));
        assert!(left(|now| now.bytes = 1));
        assert!(left(|now| now.files = 51));
        assert!(!left(|now| now.files = 30));
    }
}
