//! Searches that go on while the fleet comes and goes, asked of Armadex directly: a page of 500 pods as JSON, a label that nothing
//! has, one object.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use kube::Client;
use serde::Serialize;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::percentiles::Percentiles;

const FLEET: &str = "/apis/clusterpedia.io/v1beta1/resources";
/// Between two rounds: enough of them for a p99 within half a minute, few enough to cost Armadex a tenth of a core.
const PAUSE: Duration = Duration::from_millis(150);
/// Failures that are told in words.
const TOLD: usize = 3;

/// Where searches go.
#[derive(Clone)]
pub(super) struct Target {
    client: Client,
    queries: [Query; 3],
}

/// One search.
#[derive(Clone)]
struct Query {
    name: &'static str,
    path: String,
    /// Whether there is something to be found: the cluster that stays has pods.
    finds: bool,
}

/// How long answers took, in milliseconds, by query.
#[derive(Debug, Default, Serialize)]
pub(super) struct Latencies {
    pub(super) queries: BTreeMap<&'static str, Percentiles>,
    pub(super) failures: usize,
    /// The first of them in words.
    pub(super) words: Vec<String>,
}

/// Searches that are under way.
pub(super) struct Searches {
    cancel: CancellationToken,
    task: JoinHandle<Latencies>,
}

impl Target {
    /// The API at `client`, which has `cluster` all the while.
    pub(super) fn new(client: Client, cluster: &str) -> Self {
        let one = format!("{FLEET}/clusters/{cluster}/api/v1/namespaces/kube-system");
        Self {
            client,
            queries: [
                Query {
                    name: "page of 500 pods",
                    path: format!("{FLEET}/api/v1/pods?limit=500"),
                    finds: true,
                },
                Query {
                    name: "label without a match",
                    path: format!("{FLEET}/api/v1/pods?limit=500&labelSelector=nobody%3Dhas-this"),
                    finds: false,
                },
                Query {
                    name: "one object",
                    path: one,
                    finds: true,
                },
            ],
        }
    }

    /// Whether everything is found that is to be found.
    pub(super) async fn try_all(&self) -> Result<()> {
        for query in &self.queries {
            self.ask(query).await?;
        }
        Ok(())
    }

    async fn ask(&self, query: &Query) -> Result<Duration> {
        let request = http::Request::get(&query.path).body(Vec::new())?;
        let begun = Instant::now();
        let answer = self.client.request_text(request).await?;
        let took = begun.elapsed();
        let finds = !answer.contains("\"items\":[]");
        anyhow::ensure!(
            finds == query.finds,
            "an answer that cannot be: {answer:.200}"
        );
        Ok(took)
    }
}

impl Searches {
    /// Asks again and again until [`Self::finish`].
    pub(super) fn start(target: Target) -> Self {
        let cancel = CancellationToken::new();
        let task = tokio::spawn(ask_all(target, cancel.clone()));
        Self { cancel, task }
    }

    /// Ends them and says how long they took.
    pub(super) async fn finish(self) -> Result<Latencies> {
        self.cancel.cancel();
        self.task.await.context("the searches broke off")
    }
}

async fn ask_all(target: Target, cancel: CancellationToken) -> Latencies {
    let mut took: BTreeMap<&'static str, Vec<Duration>> = BTreeMap::new();
    let mut latencies = Latencies::default();
    while !cancel.is_cancelled() {
        for query in &target.queries {
            let name = query.name;
            match target.ask(query).await {
                Ok(time) => took.entry(name).or_default().push(time),
                Err(error) => {
                    latencies.failures += 1;
                    if latencies.words.len() < TOLD {
                        latencies.words.push(format!("{name}: {error:#}"));
                    }
                }
            }
        }
        tokio::select! {
            () = cancel.cancelled() => {}
            () = tokio::time::sleep(PAUSE) => {}
        }
    }
    let told = took
        .into_iter()
        .map(|(name, times)| (name, Percentiles::of(times)));
    latencies.queries = told.collect();
    latencies
}
