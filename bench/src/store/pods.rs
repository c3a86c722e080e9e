//! Pods as a synchro gives them to the store.

use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use armadex_e2e::seed;
use armadex_model::ClusterName;
use armadex_storage::Object;
use armadex_synchro::{PruneRules, Skipped, prune};

use super::queries::{self, LABEL, LABELLED};
use crate::seeded::with_first;

/// The most pods of a cluster.
const MOST: usize = 20_000;
/// Above what any of them has.
const MOST_BYTES: usize = 1 << 20;

/// A cluster and how many pods it has; each time that they are made they are the same.
pub(super) struct Cluster {
    name: ClusterName,
    pods: usize,
    /// Pods of those before it,
    before: usize,
    /// and of all.
    count: usize,
}

/// So many pods in clusters.
pub(super) fn clusters(count: usize) -> Vec<Cluster> {
    let number = count.div_ceil(MOST);
    let pods = |at: usize| (count - at * MOST).min(MOST);
    let clusters = (0..number).map(|at| Cluster {
        name: ClusterName::new(&format!("member{}", at + 1)).expect("a name"),
        pods: pods(at),
        before: at * MOST,
        count,
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
            .map(|(number, pod)| self.finished(&pod, number))
            .collect::<Result<_>>()?;
        let rules = PruneRules::new(&self.name, &queries::pods().gvr, MOST_BYTES);
        let begun = Instant::now();
        let pods = sent.iter().map(|json| prune(json, &rules));
        let pods = pods.collect::<Result<Vec<_>, Skipped>>();
        let took = begun.elapsed();
        Ok((pods.map_err(|skipped| anyhow!(skipped.reason))?, took))
    }

    /// A pod with the version that a member's etcd gives it, and maybe with the label that few have.
    fn finished(&self, pod: &[u8], number: usize) -> Result<Vec<u8>> {
        let version = format!(r#""resourceVersion":"{}","#, 1_000_000 + number);
        let pod = with_first(pod, r#""metadata":{"#, &version)?;
        if !is_labelled(self.before + number, self.count) {
            return Ok(pod);
        }
        let (key, value) = LABEL;
        with_first(&pod, r#""labels":{"#, &format!(r#""{key}":"{value}","#))
    }
}

/// Whether this one of so many has the label: they are as far from each other as can be, so each is in another namespace.
fn is_labelled(number: usize, count: usize) -> bool {
    let before = |number: usize| number * LABELLED / count;
    before(number) < before(number + 1)
}

#[cfg(test)]
mod tests {
    use armadex_model::Term;

    use super::*;

    #[test]
    fn each_pod_has_a_version() {
        let (pods, _) = clusters(3)[0].pruned().expect("pods");
        let versions: Vec<_> = pods.iter().map(|pod| &pod.resource_version[..]).collect();
        assert_eq!(versions, ["1000000", "1000001", "1000002"]);
    }

    #[test]
    fn a_hundred_pods_have_a_label_of_their_own_however_many_there_are() {
        let labelled = |count| {
            let is_one = |number: &usize| is_labelled(*number, count);
            (0..count).filter(is_one).count()
        };
        assert_eq!([7, 100, 150, 40_000].map(labelled), [7, 100, 100, 100]);
        let label = Term::Label {
            key: LABEL.0.into(),
            value: LABEL.1.into(),
        };
        let (pods, _) = clusters(200)[0].pruned().expect("pods");
        let found = pods.iter().filter(|pod| pod.terms.contains(&label));
        assert_eq!(found.count(), 100);
    }

    #[test]
    fn a_cluster_has_no_more_than_it_may() {
        let pods = |count| -> Vec<_> { clusters(count).iter().map(|one| one.pods).collect() };
        assert_eq!(pods(1), [1]);
        assert_eq!(pods(MOST), [MOST]);
        assert_eq!(pods(2 * MOST + 1), [MOST, MOST, 1]);
    }
}
