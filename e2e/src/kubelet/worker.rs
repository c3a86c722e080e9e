//! What is done for one pod, from when it is on the node to when it is gone.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::timeout;

use super::container::{self, Contained};
use super::node::{Node, Placed};
use super::status::{self, Known, Since};
use super::volumes;
use crate::progress::note;

/// How often a pod is looked at, unless it changes.
const LOOK: Duration = Duration::from_millis(200);
/// How often its Secrets are looked at. On a real node that takes up to a minute or two.
const FOLLOW: Duration = Duration::from_secs(5);
/// What a pod has that says nothing.
const GRACE: i64 = 30;

/// A pod as it is wanted; nothing when it is gone.
pub(super) type Wanted = watch::Receiver<Option<Arc<Pod>>>;

/// Runs a pod until it is gone.
pub(super) async fn run(node: Arc<Node>, wanted: Wanted) {
    let Some(pod) = wanted.borrow().clone() else {
        return;
    };
    let uid = pod.uid().unwrap_or_default();
    match Worker::new(node.clone(), &pod).await {
        Ok(worker) => worker.run(wanted).await,
        Err(error) => note(format_args!("pod {}: {error:#}", pod.name_any())),
    }
    node.displace(&uid);
}

struct Worker {
    node: Arc<Node>,
    placed: Arc<Placed>,
    began: Timestamp,
    initial: Vec<Contained>,
    containers: Vec<Contained>,
    since: Since,
    told: Value,
    /// When its volumes were last brought up to date.
    followed: Instant,
}

impl Worker {
    async fn new(node: Arc<Node>, pod: &Pod) -> Result<Self> {
        let spec = pod.spec.clone().unwrap_or_default();
        let grace = spec.termination_grace_period_seconds.unwrap_or(GRACE);
        let grace = Duration::from_secs(grace.unsigned_abs());
        let contained = |one| Contained::new(one, grace);
        let initial = spec.init_containers.into_iter().flatten();
        let placed = node.place(pod).await?;
        Ok(Self {
            node,
            placed,
            began: container::now(),
            initial: initial.map(contained).collect(),
            containers: spec.containers.into_iter().map(contained).collect(),
            since: Since::new(),
            told: Value::Null,
            followed: Instant::now(),
        })
    }

    async fn run(mut self, mut wanted: Wanted) {
        loop {
            let pod = wanted.borrow_and_update().clone();
            let Some(pod) = pod else {
                self.all().for_each(|one| one.end(Duration::ZERO));
                self.look();
                return;
            };
            match self.step(&pod).await {
                Ok(true) => return,
                Ok(false) => {}
                Err(error) => note(format_args!("pod {}: {error:#}", self.placed.name)),
            }
            // Whoever tells it may have gone, too: it is looked at again then.
            let _ = timeout(LOOK, wanted.changed()).await;
        }
    }

    fn all(&mut self) -> impl Iterator<Item = &mut Contained> {
        self.initial.iter_mut().chain(&mut self.containers)
    }

    fn look(&mut self) {
        let placed = Arc::clone(&self.placed);
        self.all().for_each(|one| one.look(&placed));
    }

    /// Says whether the pod is gone.
    async fn step(&mut self, pod: &Pod) -> Result<bool> {
        self.look();
        let is_ending = pod.metadata.deletion_timestamp.is_some();
        if is_ending {
            let grace = pod.metadata.deletion_grace_period_seconds.unwrap_or(GRACE);
            let grace = Duration::from_secs(grace.unsigned_abs());
            self.all().for_each(|one| one.end(grace));
        } else {
            self.go_on(pod).await;
            self.follow(pod).await?;
        }
        let has_ended = is_ending && !self.all().any(|one| one.runs());
        self.tell(pod, has_ended).await?;
        if has_ended {
            self.delete(pod).await?;
        }
        Ok(has_ended)
    }

    /// Starts what is to run now: those of the beginning one after the other.
    async fn go_on(&mut self, pod: &Pod) {
        let policy = restart_policy(pod);
        let (node, placed) = (Arc::clone(&self.node), Arc::clone(&self.placed));
        for one in &mut self.initial {
            match one.code() {
                Some(0) => continue,
                Some(_) if policy != "Never" => one.start_again(),
                Some(_) => {}
                None => one.begin(&node, pod, &placed).await,
            }
            return;
        }
        for one in &mut self.containers {
            match one.code() {
                Some(code) if policy == "Always" || (policy == "OnFailure" && code != 0) => {
                    one.start_again();
                }
                Some(_) => {}
                None => one.begin(&node, pod, &placed).await,
            }
        }
    }

    /// What runs finds its files as they are by now.
    async fn follow(&mut self, pod: &Pod) -> Result<()> {
        if self.followed.elapsed() < FOLLOW || !self.all().any(|one| one.runs()) {
            return Ok(());
        }
        self.followed = Instant::now();
        volumes::follow(&self.node, pod, &self.placed).await
    }

    async fn tell(&mut self, pod: &Pod, has_ended: bool) -> Result<()> {
        let known = Known {
            placed: &self.placed,
            began: self.began,
            now: container::now(),
            initial: &self.initial,
            containers: &self.containers,
            is_over: has_ended || restart_policy(pod) != "Always",
        };
        let status = status::of(&known, &mut self.since);
        if status == self.told {
            return Ok(());
        }
        let patch = json!({"metadata": {"uid": pod.uid()}, "status": status});
        let (pods, how, patch) = (self.pods(), PatchParams::default(), Patch::Merge(&patch));
        match pods.patch_status(&self.placed.name, &how, &patch).await {
            Ok(_) => self.told = status,
            // It is gone, or another one has its name: the next look tells.
            Err(kube::Error::Api(status)) if [404, 409, 422].contains(&status.code) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    async fn delete(&self, pod: &Pod) -> Result<()> {
        let how = DeleteParams {
            grace_period_seconds: Some(0),
            preconditions: Some(Preconditions {
                uid: pod.uid(),
                resource_version: None,
            }),
            ..DeleteParams::default()
        };
        match self.pods().delete(&self.placed.name, &how).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if [404, 409].contains(&status.code) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.node.client.clone(), &self.placed.namespace)
    }
}

fn restart_policy(pod: &Pod) -> &str {
    let spec = pod.spec.as_ref();
    spec.and_then(|spec| spec.restart_policy.as_deref())
        .unwrap_or("Always")
}
