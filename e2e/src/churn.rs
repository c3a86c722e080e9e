//! Creates, updates and deletes through a member's apiserver, at a rate, for a while.

use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::json;
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

/// Where churn happens; made when it is not there.
pub const NAMESPACE: &str = "churn";
/// Objects that live at once, so that updates and deletes find some and the namespace stays small.
const LIVING: usize = 200;

/// How much, how fast.
#[derive(Debug, Clone, Copy)]
pub struct Churn {
    /// Changes in a second.
    pub rate: u32,
    /// For how long, unless stopped before.
    pub length: Duration,
    /// Another number makes other choices and other names.
    pub seed: u64,
}

/// What was done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Done {
    /// Objects made.
    pub created: usize,
    /// Objects changed.
    pub updated: usize,
    /// Objects removed.
    pub deleted: usize,
}

impl Churn {
    /// Runs until its time is over or `stop` is cancelled.
    pub async fn run(self, member: &Client, stop: &CancellationToken) -> Result<Done> {
        ensure_namespace(member).await?;
        let mut round = Round::new(member, self.seed);
        let end = Instant::now() + self.length;
        let mut ticks = interval(Duration::from_secs(1) / self.rate.max(1));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        while Instant::now() < end {
            tokio::select! {
                () = stop.cancelled() => break,
                _ = ticks.tick() => round.change().await.context("churn")?,
            }
        }
        Ok(round.done)
    }
}

async fn ensure_namespace(member: &Client) -> Result<()> {
    let wanted = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
    let namespaces: Api<Namespace> = Api::all(member.clone());
    namespaces
        .patch(
            NAMESPACE,
            &PatchParams::apply("armadex-e2e").force(),
            &Patch::Apply(&wanted),
        )
        .await?;
    Ok(())
}

/// An object that churn made and has not removed yet.
#[derive(Debug, Clone)]
enum Living {
    ConfigMap(String),
    Pod(String),
}

struct Round {
    config_maps: Api<ConfigMap>,
    pods: Api<Pod>,
    random: StdRng,
    seed: u64,
    made: usize,
    living: Vec<Living>,
    done: Done,
}

impl Round {
    fn new(member: &Client, seed: u64) -> Self {
        Self {
            config_maps: Api::namespaced(member.clone(), NAMESPACE),
            pods: Api::namespaced(member.clone(), NAMESPACE),
            random: StdRng::seed_from_u64(seed),
            seed,
            made: 0,
            living: Vec::new(),
            done: Done::default(),
        }
    }

    /// One change: half of them updates, the rest balanced around [`LIVING`].
    async fn change(&mut self) -> Result<()> {
        let roll = self.random.random_range(0..4);
        match roll {
            _ if self.living.len() < 10 => self.create().await,
            0 if self.living.len() < LIVING => self.create().await,
            0 | 1 => self.delete().await,
            _ => self.update().await,
        }
    }

    async fn create(&mut self) -> Result<()> {
        self.made += 1;
        let name = format!("churn-{}-{}", self.seed, self.made);
        let metadata = json!({"name": name, "labels": {"made-by": "churn", "turn": "0"}});
        let how = PostParams::default();
        if self.random.random_bool(0.5) {
            let object = json!({"metadata": metadata, "data": {"turn": "0"}});
            self.config_maps
                .create(&how, &serde_json::from_value(object)?)
                .await?;
            self.living.push(Living::ConfigMap(name));
        } else {
            let spec =
                json!({"containers": [{"name": "main", "image": "registry.example.com/churn:v1"}]});
            let object = json!({"metadata": metadata, "spec": spec});
            self.pods
                .create(&how, &serde_json::from_value(object)?)
                .await?;
            self.living.push(Living::Pod(name));
        }
        self.done.created += 1;
        Ok(())
    }

    async fn update(&mut self) -> Result<()> {
        let chosen = self.living[self.random.random_range(0..self.living.len())].clone();
        let turn = self.random.random_range(1..1_000_000).to_string();
        let patch = json!({"metadata": {"labels": {"turn": turn}}});
        let (how, patch) = (PatchParams::default(), Patch::Merge(&patch));
        match chosen {
            Living::ConfigMap(name) => self
                .config_maps
                .patch(&name, &how, &patch)
                .await
                .map(drop)?,
            Living::Pod(name) => self.pods.patch(&name, &how, &patch).await.map(drop)?,
        }
        self.done.updated += 1;
        Ok(())
    }

    async fn delete(&mut self) -> Result<()> {
        let chosen = self
            .living
            .swap_remove(self.random.random_range(0..self.living.len()));
        // A pod without a node goes at once, whatever its grace period.
        let how = DeleteParams::default();
        match chosen {
            Living::ConfigMap(name) => self.config_maps.delete(&name, &how).await.map(drop)?,
            Living::Pod(name) => self.pods.delete(&name, &how).await.map(drop)?,
        }
        self.done.deleted += 1;
        Ok(())
    }
}
