//! The ordinary client: a page and an object each second through the aggregator, and an object over a connection that the aggregator would
//! have to make anew.
//!
//! Every second has its own requests, whether the former ones were answered or not: a client that waits for a slow answer before it asks
//! again would not see how slow the others are.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow, ensure};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior};

use super::requests::PODS;
use super::target::Target;
use crate::percentiles::nearest_rank;

const EVERY: Duration = Duration::from_secs(1);
/// A person has gone away by then.
const PATIENCE: Duration = Duration::from_secs(10);
/// kubectl's own page size.
pub(super) const PAGE: usize = 500;
/// Failures that are told one by one.
const TOLD: usize = 3;

/// Who asks, and for what.
pub(super) struct Callers {
    /// The ordinary user, at the host's kube-apiserver.
    pub(super) client: kube::Client,
    /// Armadex's own port, for connections as the aggregator makes them.
    pub(super) target: Arc<Target>,
    /// The path of an object.
    pub(super) pod: String,
    /// Rows of the first page: as many as are asked for, or all that there are.
    pub(super) rows: usize,
}

/// What the ordinary client asks for each second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Probe {
    /// A page of pods.
    Page,
    /// One pod.
    Object,
    /// One pod, over a new connection of a front proxy.
    NewConnection,
}

impl Probe {
    const ALL: [Self; 3] = [Self::Page, Self::Object, Self::NewConnection];

    /// What it is called in a report.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Page => "page of 500 through the aggregator",
            Self::Object => "object through the aggregator",
            Self::NewConnection => "object over a new connection of a front proxy",
        }
    }

    async fn ask(self, callers: &Callers) -> Result<()> {
        match self {
            Self::Page => {
                let path = format!("{PODS}?limit={PAGE}");
                let list: List = serde_json::from_str(&get(&callers.client, &path).await?)?;
                ensure!(
                    list.items.len() == callers.rows,
                    "a page of {} rows instead of {}",
                    list.items.len(),
                    callers.rows
                );
            }
            Self::Object => is_pod(get(&callers.client, &callers.pod).await?.as_bytes())?,
            Self::NewConnection => {
                let (code, body) = callers.target.as_front_proxy(&callers.pod).await?;
                ensure!(code == http::StatusCode::OK, "answered {code}");
                is_pod(&body)?;
            }
        }
        Ok(())
    }
}

async fn get(client: &kube::Client, path: &str) -> Result<String> {
    let request = http::Request::get(path).body(Vec::new())?;
    let answer = client.request_text(request).await;
    answer.map_err(|error| match error {
        // Its own words repeat the whole status.
        kube::Error::Api(status) => anyhow!("answered {}: {}", status.code, status.message),
        error => error.into(),
    })
}

#[derive(Deserialize)]
struct List {
    items: Vec<IgnoredAny>,
}

#[derive(Deserialize)]
struct Object {
    kind: String,
}

fn is_pod(body: &[u8]) -> Result<()> {
    let object: Object = serde_json::from_slice(body)?;
    ensure!(object.kind == "Pod", "a {}", object.kind);
    Ok(())
}

/// How it went with one question.
#[derive(Debug, Serialize)]
pub(super) struct Experience {
    pub(super) probe: Probe,
    /// Milliseconds to each answer, in order; a failure is no answer.
    pub(super) milliseconds: Vec<f64>,
    pub(super) failed: usize,
    /// The first failures in words.
    pub(super) failures: Vec<String>,
}

impl Experience {
    fn of(probe: Probe) -> Self {
        Self {
            probe,
            milliseconds: vec![],
            failed: 0,
            failures: vec![],
        }
    }

    fn add(&mut self, took: Duration, outcome: Result<()>) {
        match outcome {
            Ok(()) => {
                let milliseconds = took.as_secs_f64() * 1000.0;
                let place = self
                    .milliseconds
                    .partition_point(|&other| other < milliseconds);
                self.milliseconds.insert(place, milliseconds);
            }
            Err(error) => {
                self.failed += 1;
                if self.failures.len() < TOLD {
                    self.failures.push(format!("{error:#}"));
                }
            }
        }
    }

    /// The time within which this many percent of the answers came; nothing without an answer.
    pub(super) fn percentile(&self, percent: usize) -> Option<f64> {
        nearest_rank(&self.milliseconds, percent)
    }
}

/// Asks each second until the end, and tells how it went.
pub(super) async fn run(callers: Callers, until: Instant) -> Result<Vec<Experience>> {
    let callers = Arc::new(callers);
    let mut asking = JoinSet::new();
    let mut second = tokio::time::interval(EVERY);
    second.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while tokio::time::timeout_at(until, second.tick()).await.is_ok() {
        for probe in Probe::ALL {
            let callers = Arc::clone(&callers);
            asking.spawn(async move {
                let begun = Instant::now();
                let answer = tokio::time::timeout(PATIENCE, probe.ask(&callers)).await;
                let outcome = answer
                    .unwrap_or_else(|_| Err(anyhow!("no answer in {} s", PATIENCE.as_secs())));
                (probe, begun.elapsed(), outcome)
            });
        }
    }
    let mut experiences = Probe::ALL.map(Experience::of);
    while let Some(asked) = asking.join_next().await {
        let (probe, took, outcome) = asked?;
        experiences[probe as usize].add(took, outcome);
    }
    Ok(experiences.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_an_answer_that_was_seen() {
        let mut experience = Experience::of(Probe::Page);
        assert_eq!(experience.percentile(99), None);
        for number in (1..=200).rev() {
            experience.add(Duration::from_millis(number), Ok(()));
        }
        experience.add(Duration::from_secs(10), Err(anyhow!("gone")));
        assert_eq!(experience.failed, 1);
        assert_eq!(experience.failures, ["gone"]);
        assert_eq!(experience.percentile(50), Some(100.0));
        assert_eq!(experience.percentile(99), Some(198.0));
        assert_eq!(experience.percentile(100), Some(200.0));
    }
}
