//! A kubelet in miniature: what the pods of a cluster say, run as processes of this machine.
//!
//! Pods are read from the API as its controllers make them. Each gets a network of its own and a token of its account, and its containers run in the place of their images, as
//! their user, with their arguments, variables and volumes; their probes are asked, they are started again when they end, and ended as Kubernetes ends them. Limits
//! of resources are not enforced, and what is not known here keeps a pod from running, with a word in its status.

mod container;
mod environment;
mod network;
mod node;
mod probe;
mod sandbox;
mod schedule;
mod services;
mod status;
mod volumes;
mod worker;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use armadex_databases::tell_at_the_end;
use tokio::process::Command;
use tokio_util::task::AbortOnDropHandle;

use crate::cluster::Cluster;
use crate::folder::Folder;
use crate::kubectl::Kubectl;
use crate::limit::output_of;
use network::Network;
use node::{Node, Placed};
use services::Services;
pub(crate) use services::on_loopback as services_on_loopback;

/// That no pods can be run is an error if this variable says `require`.
const WANTED: &str = "ARMADEX_TEST_PODS";
/// What a container takes.
const TRIED: [&str; 5] = [
    "--mount",
    "--propagation=private",
    "sh",
    "-euc",
    "mount -t tmpfs none /mnt; exec setpriv --no-new-privs chroot --userspec=65532:65532 --groups=65532 / true",
];

/// The one node of a cluster. What it runs goes on when it is dropped, and ends with the fleet.
pub struct Kubelet {
    node: Arc<Node>,
    _task: AbortOnDropHandle<()>,
}

/// Whether pods can be run on this machine, and so whatever else has mounts of its own. If not, it is said that the test was not run, or it fails where all have to be.
pub async fn is_possible() -> Result<bool> {
    let Err(why) = tried().await else {
        return Ok(true);
    };
    let wanted = std::env::var(WANTED).unwrap_or_default();
    do_without(&wanted, &why)?;
    Ok(false)
}

fn do_without(wanted: &str, why: &anyhow::Error) -> Result<()> {
    let what = format!(
        "the chart with its pods as processes, and the way around by Karmada's own proxy, which take root, unshare, setpriv, chroot and ip: {why:#}"
    );
    ensure!(
        wanted != "require",
        "${WANTED} is require, and not run: {what}"
    );
    tell_at_the_end(&what)
}

/// What a pod takes, all at once.
async fn tried() -> Result<()> {
    let output = output_of(Command::new("unshare").args(TRIED)).await?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}", complaint.trim());
    let network = Network::create(Ipv4Addr::new(10, 244, 0, 1), &[]);
    network.await.map(drop)
}

impl Kubelet {
    /// Runs the pods of a cluster: `images` says what runs in the place of each, and `reachable` which ports of this machine they reach.
    pub async fn start(
        cluster: &Cluster,
        folder: &Folder,
        images: BTreeMap<String, PathBuf>,
        reachable: &[u16],
    ) -> Result<Self> {
        let client = cluster.client().await?;
        let node = Node::new(client, cluster.port(), folder.clone(), images, reachable);
        let node = Arc::new(node);
        schedule::register(&node).await?;
        let services = Services::named_in(folder.names());
        let task = tokio::spawn(schedule::run(Arc::clone(&node), services));
        Ok(Self {
            node,
            _task: AbortOnDropHandle::new(task),
        })
    }

    /// Ends what a pod runs at once, as a crash would.
    pub fn kill(&self, namespace: &str, pod: &str) -> Result<()> {
        let placed = self.placed(namespace, pod)?;
        let processes = placed.processes().clone();
        ensure!(!processes.is_empty(), "{pod} runs nothing");
        processes.iter().for_each(crate::record::Record::start_kill);
        Ok(())
    }

    fn placed(&self, namespace: &str, pod: &str) -> Result<Arc<Placed>> {
        let placed = self.node.named(namespace, pod);
        placed.with_context(|| format!("no pod {pod} of {namespace} is on the node"))
    }
}

/// The names of the pods of a namespace that a selector selects and that are not ending, in order.
pub async fn pods(kubectl: &Kubectl, namespace: &str, selector: &str) -> Result<Vec<String>> {
    let rows =
        "jsonpath={range .items[*]}{.metadata.name} {.metadata.deletionTimestamp}{\"\\n\"}{end}";
    let get = [
        "get",
        "pods",
        "--namespace",
        namespace,
        "--selector",
        selector,
        "--output",
        rows,
    ];
    let listed = kubectl.run(&get).await?;
    let names = listed.lines().filter_map(|line| line.strip_suffix(' '));
    Ok(names.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn that_no_pods_can_be_run_is_an_error_where_all_have_to_be() {
        let why = anyhow::anyhow!("unshare failed: Operation not permitted");
        let refused = do_without("require", &why).expect_err("it is an error");
        let refused = refused.to_string();
        assert!(refused.contains("$ARMADEX_TEST_PODS"), "{refused}");
        assert!(refused.ends_with("not permitted"), "{refused}");
    }
}
