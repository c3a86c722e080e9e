//! etcd: one for most apiservers, a prefix each, and the JSON gateway through which bulk data is put.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::folder::Folder;
use crate::http::Http;
use crate::ports::free_port;
use crate::process::{Program, last_words};
use crate::record::Record;
use crate::tools::Tools;
use crate::wait::wait_until;

/// Above one object of 1.5 MB, the most that an apiserver takes.
const LARGEST_REQUEST: usize = 2 << 20;

/// What the etcd of a cluster is called that has one of its own.
pub(crate) fn of(cluster: &str) -> String {
    format!("etcd-{cluster}")
}

/// Where an apiserver keeps its objects.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Etcd {
    /// The client URL.
    pub url: String,
    /// The prefix of every key, with its leading slash.
    pub prefix: String,
}

/// Starts an etcd of its own called `name`; gives its client URL when it answers.
pub async fn start(folder: &Folder, tools: &Tools, name: &str) -> Result<String> {
    let url = format!("http://127.0.0.1:{}", free_port()?);
    start_at(folder, tools, name, &url).await?;
    Ok(url)
}

/// Starts the etcd called `name` at this client URL, over the data that are in its folder, and waits until it answers.
pub async fn start_at(folder: &Folder, tools: &Tools, name: &str, url: &str) -> Result<()> {
    let peer = format!("http://127.0.0.1:{}", free_port()?);
    let program = Program::new(name, &tools.etcd, arguments(folder, name, url, &peer));
    let record = program.start(folder)?;
    let http = Http::default();
    wait_until(
        &format!("{name} is healthy"),
        Duration::from_secs(30),
        || async {
            ensure_alive(folder, &record)?;
            Ok(http
                .get(&format!("{url}/health"))
                .await?
                .contains("\"true\""))
        },
    )
    .await
    .with_context(|| last_words(folder, name))
}

fn ensure_alive(folder: &Folder, record: &Record) -> Result<()> {
    ensure!(
        record.is_alive(),
        "{} ended; {}",
        record.name,
        last_words(folder, &record.name)
    );
    Ok(())
}

/// Nothing here outlives the machine, so nothing is flushed to disk.
fn arguments(folder: &Folder, name: &str, client_url: &str, peer_url: &str) -> Vec<String> {
    vec![
        format!("--name={name}"),
        format!("--data-dir={}", folder.etcd(name).display()),
        format!("--listen-client-urls={client_url}"),
        format!("--advertise-client-urls={client_url}"),
        format!("--listen-peer-urls={peer_url}"),
        format!("--initial-advertise-peer-urls={peer_url}"),
        format!("--initial-cluster={name}={peer_url}"),
        "--unsafe-no-fsync".to_owned(),
        format!("--max-request-bytes={LARGEST_REQUEST}"),
        "--quota-backend-bytes=8589934592".to_owned(),
        "--log-level=warn".to_owned(),
    ]
}

/// Forgets all that was before now: who would go on from there is told that it is gone.
pub async fn compact(etcd: &Etcd) -> Result<()> {
    let http = Http::default();
    let read = json!({"key": STANDARD.encode("x")});
    let url = format!("{}/v3/kv/range", etcd.url);
    let answer = http.post(&url, serde_json::to_vec(&read)?).await?;
    let answer: serde_json::Value = serde_json::from_str(&answer)?;
    let revision = &answer["header"]["revision"];
    let order = json!({"revision": revision, "physical": true});
    let url = format!("{}/v3/kv/compaction", etcd.url);
    let compacted = http.post(&url, serde_json::to_vec(&order)?).await;
    compacted.with_context(|| format!("etcd was not compacted to {revision}"))?;
    Ok(())
}

/// Writes straight into the keys of one apiserver.
#[derive(Debug, Clone)]
pub struct Writer {
    http: Http,
    etcd: Etcd,
}

impl Writer {
    /// A writer below the prefix of `etcd`.
    #[must_use]
    pub fn new(etcd: Etcd) -> Self {
        Self {
            http: Http::default(),
            etcd,
        }
    }

    /// Puts the JSON of one object under a key below the prefix, at a version of its own.
    pub async fn put(&self, key: &str, value: &[u8]) -> Result<()> {
        let path = STANDARD.encode(format!("{}/{key}", self.etcd.prefix));
        let body = serde_json::to_vec(&json!({"key": path, "value": STANDARD.encode(value)}))?;
        let url = format!("{}/v3/kv/put", self.etcd.url);
        let answer = self.http.post(&url, body).await;
        answer.with_context(|| format!("etcd did not take {key}"))?;
        Ok(())
    }
}
