//! Realistic objects in bulk, put into an apiserver's etcd as JSON, which it decodes like its own encoding.
//!
//! Each has a version of its own, as an apiserver gives it: watches that begin or are cut within a version lose the rest of it. The same seed
//! and member give the same objects; two members never share one. Everything is consistent enough for the
//! controllers that run: owners exist before what they own, so the garbage collector takes nothing away.

mod metadata;
mod objects;
mod plan;
mod workload;

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use futures::{StreamExt, TryStreamExt, stream};

use crate::cluster::Cluster;
use crate::etcd::Writer;
use metadata::Random;
use objects::Seeded;
pub use plan::Plan;

/// Objects under way at once: enough to keep etcd and the encoder busy on two cores.
const AT_ONCE: usize = 32;

/// What was put, and how long it took.
#[derive(Debug, Clone, Copy)]
pub struct Outcome {
    /// Objects.
    pub objects: usize,
    /// Bytes of JSON.
    pub bytes: usize,
    /// Time.
    pub took: Duration,
}

/// Puts the objects of `plan` into `cluster`.
pub async fn put(cluster: &Cluster, plan: Plan) -> Result<Outcome> {
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
    Ok(Outcome {
        objects: waves.count(),
        bytes,
        took: started.elapsed(),
    })
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
