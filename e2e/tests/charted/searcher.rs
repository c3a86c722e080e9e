//! Somebody who searches all the time, and what that was like.

use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use armadex_e2e::kubeconfig;
use http::Request;
use kube::Client;
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
}

/// Searches in a row that failed.
#[derive(Debug)]
struct Failure {
    after: Duration,
    tries: usize,
    why: String,
}

impl Searched {
    /// Each search that failed went well when it was asked once more.
    pub(crate) fn was_answered_by_a_retry(&self) -> Result<()> {
        let longest = self.failures.iter().map(|failure| failure.tries).max();
        ensure!(longest.unwrap_or(0) <= 1, "{self}");
        Ok(())
    }
}

impl fmt::Display for Searched {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "{} searches, of which failed {}",
            self.times,
            self.failures.len()
        )?;
        for Failure { after, tries, why } in &self.failures {
            write!(
                out,
                "\n  after {:.1} s, {tries} in a row: {why}",
                after.as_secs_f32()
            )?;
        }
        Ok(())
    }
}

/// Searches as the user of a kubeconfig until it is stopped.
pub(crate) async fn search(kubeconfig: &Path, stop: &CancellationToken) -> Result<Searched> {
    let client = kubeconfig::client(kubeconfig).await?;
    let (begun, mut searched) = (Instant::now(), Searched::default());
    let mut tries = 0;
    while !stop.is_cancelled() {
        searched.times += 1;
        let asked = tokio::time::timeout(LIMIT, once(&client)).await;
        let pause = match asked.context("no answer").flatten() {
            Ok(()) => {
                tries = 0;
                PAUSE
            }
            Err(error) => {
                tries += 1;
                if tries > 1 {
                    searched.failures.pop();
                }
                searched.failures.push(Failure {
                    after: begun.elapsed(),
                    tries,
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
    Ok(searched)
}

/// A page of pods, which has some on it.
async fn once(client: &Client) -> Result<()> {
    let path = format!("{FLEET}/api/v1/pods?limit=20");
    let text = client
        .request_text(Request::get(&path).body(Vec::new())?)
        .await?;
    ensure!(text.contains("\"uid\""), "nothing is found: {text}");
    Ok(())
}
