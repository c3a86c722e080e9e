//! Pods as a synchro gives them to the store.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};
use armadex_e2e::seed;
use armadex_model::ClusterName;
use armadex_storage::Object;
use armadex_synchro::{PruneRules, Skipped, prune};

use super::queries;

/// The most pods of a cluster.
const MOST: usize = 20_000;
/// Above what any of them has.
const MOST_BYTES: usize = 1 << 20;

/// A cluster and how many pods it has; each time that they are made they are the same.
pub(super) struct Cluster {
    name: ClusterName,
    pods: usize,
}

/// So many pods in clusters.
pub(super) fn clusters(count: usize) -> Vec<Cluster> {
    let number = count.div_ceil(MOST);
    let pods = |at: usize| (count - at * MOST).min(MOST);
    let clusters = (0..number).map(|at| Cluster {
        name: ClusterName::new(&format!("member{}", at + 1)).expect("a name"),
        pods: pods(at),
    });
    clusters.collect()
}

impl Cluster {
    pub(super) fn name(&self) -> &ClusterName {
        &self.name
    }

    /// Its pods, and how long it took to prune them.
    pub(super) fn pruned(&self) -> Result<(Vec<Object>, Duration)> {
        let sent: Vec<_> = seed::pods(self.name.as_str(), self.pods, 1)
            .enumerate()
            .map(|(number, pod)| with_version(&pod, number))
            .collect::<Result<_>>()?;
        let rules = PruneRules::new(&self.name, &queries::pods().gvr, MOST_BYTES);
        let begun = Instant::now();
        let pods = sent.iter().map(|json| prune(json, &rules));
        let pods = pods.collect::<Result<Vec<_>, Skipped>>();
        let took = begun.elapsed();
        Ok((pods.map_err(|skipped| anyhow!(skipped.reason))?, took))
    }
}

/// A member's etcd gives each object a version.
fn with_version(pod: &[u8], number: usize) -> Result<Vec<u8>> {
    let metadata = br#""metadata":{"#;
    let at = pod
        .windows(metadata.len())
        .position(|part| part == metadata);
    let at = at.context("a seeded pod has no metadata")? + metadata.len();
    let version = format!(r#""resourceVersion":"{}","#, 1_000_000 + number);
    Ok([&pod[..at], version.as_bytes(), &pod[at..]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pod_has_a_version() {
        let (pods, _) = clusters(3)[0].pruned().expect("pods");
        let versions: Vec<_> = pods.iter().map(|pod| &pod.resource_version[..]).collect();
        assert_eq!(versions, ["1000000", "1000001", "1000002"]);
    }

    #[test]
    fn a_cluster_has_no_more_than_it_may() {
        let pods = |count| -> Vec<_> { clusters(count).iter().map(|one| one.pods).collect() };
        assert_eq!(pods(1), [1]);
        assert_eq!(pods(MOST), [MOST]);
        assert_eq!(pods(2 * MOST + 1), [MOST, MOST, 1]);
    }
}
