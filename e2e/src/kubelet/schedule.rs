//! The work of the node: pods are put on it, and each has somebody who runs it. What else a cluster with nodes has is done beside it: claims are bound.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::node::{NAME, Node};
use super::services::Services;
use super::worker;
use crate::progress::note;

/// How often the cluster is looked at.
const LOOK: Duration = Duration::from_millis(150);

/// Makes the node known to its cluster.
pub(super) async fn register(node: &Node) -> Result<()> {
    let object = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NAME, "labels": {"kubernetes.io/hostname": NAME}}});
    let nodes: Api<k8s_openapi::api::core::v1::Node> = Api::all(node.client.clone());
    let how = PatchParams::apply("armadex-e2e").force();
    nodes.patch(NAME, &how, &Patch::Apply(&object)).await?;
    let status = json!({"status": {
        "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        "capacity": {"cpu": "64", "memory": "64Gi", "pods": "110"},
        "allocatable": {"cpu": "64", "memory": "64Gi", "pods": "110"},
    }});
    let how = PatchParams::default();
    nodes
        .patch_status(NAME, &how, &Patch::Merge(&status))
        .await?;
    Ok(())
}

/// Works until it is dropped: Services beside the pods, so that none has to wait for the other.
pub(super) async fn run(node: Arc<Node>, services: Services) {
    tokio::join!(run_pods(&node), lead(&node, services));
}

async fn run_pods(node: &Arc<Node>) {
    let mut pods = Pods::default();
    loop {
        let looked = async {
            pods.look(node).await?;
            bind_claims(node).await
        };
        if let Err(error) = looked.await {
            note(format_args!("the node: {error:#}"));
        }
        tokio::time::sleep(LOOK).await;
    }
}

async fn lead(node: &Arc<Node>, mut services: Services) {
    loop {
        if let Err(error) = services.look(node).await {
            note(format_args!("Services: {error:#}"));
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Those who run pods, and by whom they are told.
#[derive(Default)]
struct Pods {
    told: BTreeMap<String, watch::Sender<Option<Arc<Pod>>>>,
    workers: JoinSet<()>,
}

impl Pods {
    async fn look(&mut self, node: &Arc<Node>) -> Result<()> {
        let all: Api<Pod> = Api::all(node.client.clone());
        let listed = all.list(&ListParams::default()).await?.items;
        let there: BTreeSet<String> = listed.iter().filter_map(ResourceExt::uid).collect();
        self.told.retain(|uid, told| {
            let is_there = there.contains(uid);
            if !is_there {
                told.send_replace(None);
            }
            is_there
        });
        for pod in listed {
            let spec = pod.spec.as_ref().context("a pod without a spec")?;
            match spec.node_name.as_deref() {
                Some(NAME) => self.tell(node, pod),
                Some(_) => {}
                None if pod.metadata.deletion_timestamp.is_none() => bind(node, &pod).await?,
                None => {}
            }
        }
        while self.workers.try_join_next().is_some() {}
        Ok(())
    }

    fn tell(&mut self, node: &Arc<Node>, pod: Pod) {
        let (uid, pod) = (pod.uid().unwrap_or_default(), Some(Arc::new(pod)));
        if let Some(told) = self.told.get(&uid) {
            told.send_replace(pod);
            return;
        }
        let (tell, told) = watch::channel(pod);
        self.workers.spawn(worker::run(Arc::clone(node), told));
        self.told.insert(uid, tell);
    }
}

/// Puts a pod on the node, which has room for all.
async fn bind(node: &Node, pod: &Pod) -> Result<()> {
    let pods: Api<Pod> = Api::namespaced(node.client.clone(), &pod.namespace().unwrap_or_default());
    let name = pod.name_any();
    let binding = json!({
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name},
        "target": {"apiVersion": "v1", "kind": "Node", "name": NAME},
    });
    let how = PostParams::default();
    let bound = pods.create_subresource::<_, Value>("binding", &name, &how, &binding);
    match bound.await {
        // It is gone, or is going.
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if [404, 409].contains(&status.code) => Ok(()),
        Err(error) => Err(error).with_context(|| format!("pod {name} is not bound")),
    }
}

/// A claim is a folder, which is there as soon as somebody needs it.
async fn bind_claims(node: &Node) -> Result<()> {
    let all: Api<PersistentVolumeClaim> = Api::all(node.client.clone());
    for claim in all.list(&ListParams::default()).await? {
        let status = claim.status.as_ref();
        if status.and_then(|status| status.phase.as_deref()) == Some("Bound") {
            continue;
        }
        let namespace = claim.namespace().unwrap_or_default();
        let claims: Api<PersistentVolumeClaim> = Api::namespaced(node.client.clone(), &namespace);
        let bound = json!({"status": {"phase": "Bound"}});
        let how = PatchParams::default();
        claims
            .patch_status(&claim.name_any(), &how, &Patch::Merge(&bound))
            .await?;
    }
    Ok(())
}
