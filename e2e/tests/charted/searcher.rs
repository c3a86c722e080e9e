//! Somebody who searches all the time, and what that was like: no change of a release is felt, and of a pod that is killed at most the connection that it had.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use armadex_e2e::progress::note;
use armadex_e2e::{Harness, kubeconfig};
use http::Request;
use kube::Client;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// The whole fleet, as helm's notes grant it.
pub(crate) const FLEET: &str = "/apis/clusterpedia.io/v1beta1/fleets/all/proxy";
/// Somebody who reads what is on a page and asks for the next.
const PAUSE: Duration = Duration::from_millis(100);
/// After which somebody asks again: a Service leads to a pod that was killed for up to a second, and a busy machine takes as long to say so.
const RETRY: Duration = Duration::from_secs(2);
/// No search of a few hundred objects takes longer, not on a busy machine either.
const LIMIT: Duration = Duration::from_secs(10);

/// What somebody found who searched all the time.
#[derive(Debug, Default)]
pub(crate) struct Searched {
    pub(crate) times: usize,
    failures: Vec<Failure>,
    /// From a search that found all to the next one that did, at the longest.
    longest_gap: Duration,
}

/// A search that failed.
#[derive(Debug)]
struct Failure {
    after: Duration,
    /// The pod that was killed meanwhile, if one was.
    killed: Option<String>,
    why: String,
}

impl Searched {
    /// For how long nobody could search, at the longest.
    pub(crate) fn longest_gap(&self) -> Duration {
        self.longest_gap
    }

    /// At most one for each pod that was killed, and none else.
    pub(crate) fn failed_by_kills_alone(&self) -> Result<()> {
        let killed = self.failures.iter().map(|failure| failure.killed.as_ref());
        let killed: Option<Vec<&String>> = killed.collect();
        let killed = killed.with_context(|| format!("{self}"))?;
        let pods: BTreeSet<&String> = killed.iter().copied().collect();
        ensure!(pods.len() == killed.len(), "{self}");
        Ok(())
    }
}

impl fmt::Display for Searched {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "{} searches, of which failed {}; the longest time between two that found all is {:.1} s",
            self.times,
            self.failures.len(),
            self.longest_gap.as_secs_f32()
        )?;
        for Failure { after, killed, why } in &self.failures {
            let killed = killed.as_deref().unwrap_or("no pod");
            let after = after.as_secs_f32();
            write!(out, "\n  after {after:.1} s, {killed} was killed: {why}")?;
        }
        Ok(())
    }
}

/// Lets something become of a release while bob searches, who has to find all these clusters each time. Which pod is killed just then is told by whoever does it.
pub(crate) async fn searched_during(
    fleet: &Harness,
    clusters: &[&str],
    killed: &watch::Receiver<Option<String>>,
    changes: impl Future<Output = Result<()>>,
) -> Result<Searched> {
    let bob = fleet.host().kubeconfig_for("bob", None)?;
    let stop = CancellationToken::new();
    let changed = async {
        let changed = changes.await;
        stop.cancel();
        changed
    };
    let (searched, ()) = tokio::try_join!(search(&bob, clusters, killed, &stop), changed)?;
    note(&searched);
    Ok(searched)
}

/// Searches as the user of a kubeconfig until it is stopped.
async fn search(
    kubeconfig: &Path,
    clusters: &[&str],
    killed: &watch::Receiver<Option<String>>,
    stop: &CancellationToken,
) -> Result<Searched> {
    let client = kubeconfig::client(kubeconfig).await?;
    let (begun, mut searched) = (Instant::now(), Searched::default());
    let mut found = begun;
    while !stop.is_cancelled() {
        searched.times += 1;
        let before = killed.borrow().clone();
        let asked = tokio::time::timeout(LIMIT, once(&client, clusters)).await;
        let pause = match asked.context("no answer").flatten() {
            Ok(()) => {
                searched.longest_gap = searched.longest_gap.max(found.elapsed());
                found = Instant::now();
                PAUSE
            }
            Err(error) => {
                searched.failures.push(Failure {
                    after: begun.elapsed(),
                    killed: killed.borrow().clone().or(before),
                    why: format!("{error:#}"),
                });
                RETRY
            }
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
    searched.longest_gap = searched.longest_gap.max(found.elapsed());
    Ok(searched)
}

/// All pods, which are of all these clusters. Where there are none nobody serves pods, and it is asked what is served.
async fn once(client: &Client, clusters: &[&str]) -> Result<()> {
    let what = if clusters.is_empty() { "" } else { "/pods" };
    let path = format!("{FLEET}/api/v1{what}");
    let text = client
        .request_text(Request::get(&path).body(Vec::new())?)
        .await?;
    for cluster in clusters {
        ensure!(is_of(&text, cluster), "nothing of {cluster} is found");
    }
    Ok(())
}

/// Whether a list has something of a cluster.
pub(crate) fn is_of(list: &str, cluster: &str) -> bool {
    list.contains(&format!(
        "\"shadow.clusterpedia.io/cluster-name\":\"{cluster}\""
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_may_fail_once_for_each_pod_that_is_killed() {
        let failures = |killed: &[Option<&str>]| Searched {
            times: 100,
            longest_gap: Duration::ZERO,
            failures: killed
                .iter()
                .map(|killed| Failure {
                    after: Duration::ZERO,
                    killed: killed.map(str::to_owned),
                    why: "no answer".to_owned(),
                })
                .collect(),
        };
        for (killed, is_fine) in [
            (&[][..], true),
            (&[Some("a"), Some("b")], true),
            (&[Some("a"), Some("a")], false),
            (&[Some("a"), None], false),
        ] {
            let judged = failures(killed).failed_by_kills_alone();
            assert_eq!(judged.is_ok(), is_fine, "{killed:?}");
        }
    }
}
