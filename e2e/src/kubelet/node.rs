//! The node: what its pods share, and which of them are on it.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Pod;
use kube::{Client, ResourceExt};

use super::network::Network;
use crate::folder::Folder;
use crate::record::Record;

/// What it is called.
pub(super) const NAME: &str = "this-machine";

/// What the pods of a node share.
pub(super) struct Node {
    /// The cluster that it is of.
    pub(super) client: Client,
    /// Where that cluster's apiserver is.
    pub(super) apiserver: u16,
    pub(super) folder: Folder,
    /// What runs in the place of each image.
    pub(super) images: BTreeMap<String, PathBuf>,
    /// The ports of this machine that pods reach.
    pub(super) reachable: Vec<u16>,
    placed: Mutex<BTreeMap<String, Arc<Placed>>>,
    last: AtomicU16,
}

/// A pod that is on the node.
#[derive(Debug)]
pub(super) struct Placed {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) network: Network,
    /// The containers that run.
    pub(super) processes: Mutex<Vec<Record>>,
}

impl Node {
    pub(super) fn new(
        client: Client,
        apiserver: u16,
        folder: Folder,
        images: BTreeMap<String, PathBuf>,
        reachable: &[u16],
    ) -> Self {
        let reachable = [reachable, &[apiserver]].concat();
        Self {
            client,
            apiserver,
            folder,
            images,
            reachable,
            placed: Mutex::default(),
            last: AtomicU16::new(0),
        }
    }

    /// Takes a pod in: it has a network of its own from now on.
    pub(super) async fn place(&self, pod: &Pod) -> Result<Arc<Placed>> {
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let [high, low] = number.to_be_bytes();
        let address = Ipv4Addr::new(10, 244, high, low);
        let uid = pod.uid().context("a pod without a uid")?;
        let placed = Arc::new(Placed {
            namespace: pod.namespace().unwrap_or_default(),
            name: pod.name_any(),
            network: Network::create(address, &self.reachable).await?,
            processes: Mutex::default(),
        });
        self.all().insert(uid, Arc::clone(&placed));
        Ok(placed)
    }

    /// Lets it go.
    pub(super) fn displace(&self, uid: &str) {
        self.all().remove(uid);
    }

    /// The pod that has an address.
    pub(super) fn at(&self, address: Ipv4Addr) -> Option<Arc<Placed>> {
        let has = |placed: &&Arc<Placed>| placed.network.address == address;
        self.all().values().find(has).cloned()
    }

    /// The pod of a name.
    pub(super) fn named(&self, namespace: &str, name: &str) -> Option<Arc<Placed>> {
        let is = |placed: &&Arc<Placed>| placed.namespace == namespace && placed.name == name;
        self.all().values().find(is).cloned()
    }

    fn all(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Arc<Placed>>> {
        self.placed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Placed {
    /// Its processes now.
    pub(super) fn processes(&self) -> std::sync::MutexGuard<'_, Vec<Record>> {
        self.processes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
