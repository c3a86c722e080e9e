//! Pods as a synchro gives them to the store.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};
use armadex_e2e::seed;
use armadex_model::ClusterName;
use armadex_storage::Object;
use armadex_synchro::{PruneRules, Skipped, prune};
use serde_json::{Value, json};

use super::queries;

/// Whose they are.
const MEMBER: &str = "member1";
/// Above what any of them has.
const MOST_BYTES: usize = 1 << 20;

/// So many pods, and how long it took to prune them.
pub(super) fn pruned(count: usize) -> Result<(Vec<Object>, Duration)> {
    let sent: Vec<_> = seed::pods(MEMBER, count, 1)
        .enumerate()
        .map(|(number, pod)| with_version(&pod, number))
        .collect::<Result<_>>()?;
    let rules = PruneRules::new(&ClusterName::new(MEMBER)?, &queries::pods().gvr, MOST_BYTES);
    let begun = Instant::now();
    let pods = sent.iter().map(|json| prune(json, &rules));
    let pods = pods.collect::<Result<Vec<_>, Skipped>>();
    let took = begun.elapsed();
    Ok((pods.map_err(|skipped| anyhow!(skipped.reason))?, took))
}

/// A member's etcd gives each object a version.
fn with_version(pod: &[u8], number: usize) -> Result<Vec<u8>> {
    let mut pod: Value = serde_json::from_slice(pod).context("a seeded pod is no JSON")?;
    pod["metadata"]["resourceVersion"] = json!((1_000_000 + number).to_string());
    Ok(pod.to_string().into_bytes())
}
