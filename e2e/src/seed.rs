//! Realistic objects in bulk, put into an apiserver's etcd as JSON, which it decodes like its own encoding.
//!
//! Each has a version of its own, as an apiserver gives it: watches that begin or are cut within a version lose the rest of it. The same seed
//! and member give the same objects; two members never share one. Everything is consistent enough for the
//! controllers that run: owners exist before what they own, so the garbage collector takes nothing away.

mod events;
mod metadata;
mod objects;
mod plan;
mod workload;

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use futures::{StreamExt, TryStreamExt, stream};

use crate::cluster::Cluster;
use crate::etcd::Writer;
pub use events::Events;
use metadata::Random;
use objects::Seeded;
pub use objects::{SECRET, SECRET_ENCODED};
pub use plan::Plan;

/// Objects under way at once: enough to keep etcd and the encoder busy on two cores.
const AT_ONCE: usize = 32;

/// Objects of other kinds that the fewest pods come with.
const MOST_OTHERS: usize = 10;

/// What was put, and how long it took.
#[derive(Debug, Clone, Copy)]
pub struct Put {
    /// Objects.
    pub objects: usize,
    /// The pods among them.
    pub pods: usize,
    /// Bytes of JSON.
    pub bytes: usize,
    /// Time.
    pub took: Duration,
}

/// Puts the objects of `plan` into `cluster`.
pub async fn put(cluster: &Cluster, plan: Plan) -> Result<Put> {
    ensure!(
        !cluster.is_foreign(),
        "somebody else runs {}, and its etcd is not known here",
        cluster.name
    );
    let started = Instant::now();
    let writer = Writer::new(cluster.etcd().clone());
    let mut random = Random::new(&cluster.name, plan.seed);
    let waves = objects::generate(&cluster.name, plan, &mut random);
    let mut bytes = 0;
    for wave in waves.in_order() {
        bytes += put_wave(&writer, wave).await?;
    }
    Ok(Put {
        objects: waves.count(),
        pods: waves.rest.iter().filter(|seeded| seeded.is_pod()).count(),
        bytes,
        took: started.elapsed(),
    })
}

/// So many pods of such a member as JSON, without a version, which a store gives them.
pub fn pods(member: &str, count: usize, seed: u64) -> impl Iterator<Item = Vec<u8>> {
    // Half of all objects are pods; of the last ones some make room for nodes and namespaces.
    let plan = Plan {
        count: 2 * count + count / 10 + 2 * MOST_OTHERS,
        seed,
    };
    let waves = objects::generate(member, plan, &mut Random::new(member, seed));
    let pods = waves.rest.into_iter().filter(Seeded::is_pod);
    pods.map(|pod| pod.json).take(count)
}

async fn put_wave(writer: &Writer, wave: &[Seeded]) -> Result<usize> {
    let puts = stream::iter(wave).map(|seeded| async move {
        writer.put(&seeded.key, &seeded.json).await?;
        anyhow::Ok(seeded.json.len())
    });
    puts.buffer_unordered(AT_ONCE)
        .try_fold(0, |sum, bytes| async move { Ok(sum + bytes) })
        .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_pods_as_are_asked_for() {
        for count in [1, 7, 999, 2_000] {
            let pods: Vec<_> = pods("member1", count, 1).collect();
            assert_eq!(pods.len(), count);
        }
    }
}
