//! The trees of all PediaClusters that this synchro looks after: those of its shard, or its share of them.

pub(crate) mod heartbeat;
pub(crate) mod janitor;
pub(crate) mod lease_name;
pub(crate) mod owner;
pub(crate) mod place;
pub(crate) mod run;
pub(crate) mod shares;
pub(crate) mod sharing;
pub(crate) mod strays;
#[cfg(test)]
mod tests;
mod weight;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use armadex_control_plane::Recorder;
use armadex_crds::PediaCluster;
use armadex_model::ClusterName;
use kube::runtime::watcher::Event;
use kube::{Client, ResourceExt};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;
use tracing::{info, warn};

use crate::config::Shared;
use crate::credentials::lifecycles::Lifecycles;
use crate::credentials::secrets::SecretWatches;
use crate::tree::finalizer;
use crate::tree::reference::References;
use crate::tree::{Ending, Order, Tree};

/// Streams write what they hold, statuses are written; who does not manage that in time is cut off, and replays at the next start.
const SHUTDOWN: Duration = Duration::from_secs(8);

/// A synchro that is there lets a cluster go within seconds of being told to. One that is not would keep it for ever; should it be there after
/// all, the store tells it so: whoever takes the cluster over joins it as its owner, and from a former one the store takes nothing any more.
const HANDOVER: Duration = Duration::from_secs(60);

/// The trees by the name of their PediaCluster.
pub(crate) struct Fleet {
    shared: Arc<Shared>,
    client: Client,
    secrets: Arc<SecretWatches>,
    lifecycles: Arc<Lifecycles>,
    references: Arc<References>,
    recorder: Recorder,
    trees: HashMap<String, Planted>,
    /// Trees that were told to end, by name; the next tree of that name waits for them.
    leaving: HashMap<String, AbortOnDropHandle<()>>,
    /// Names in the list that is being read.
    listed: BTreeSet<String>,
    /// Clusters that are ours and that another synchro has not let go, and when they are taken over.
    awaited: HashMap<String, (Instant, PediaCluster)>,
    /// Lets clusters leave that are in the store alone.
    strays: Option<Strays>,
    /// Who shared the clusters when those that were not its own any more were let go.
    members: BTreeMap<u32, u32>,
}

/// The task, and how often it has looked.
struct Strays {
    _task: AbortOnDropHandle<()>,
    #[cfg_attr(not(test), expect(dead_code, reason = "tests wait for it"))]
    looked: watch::Receiver<u64>,
}

struct Planted {
    uid: String,
    orders: watch::Sender<Order>,
    task: AbortOnDropHandle<()>,
}

impl Fleet {
    pub(crate) fn new(shared: Arc<Shared>, client: Client, recorder: Recorder) -> Self {
        Self {
            secrets: Arc::new(SecretWatches::new(
                client.clone(),
                Arc::clone(&shared.parts),
            )),
            lifecycles: Arc::new(Lifecycles::start(
                client.clone(),
                &shared.parts,
                "the watch of PediaClusterLifecycles",
            )),
            references: Arc::new(References::start(
                client.clone(),
                &shared.parts,
                "the watch of ClusterSyncResources",
            )),
            members: shared.sharing.members(),
            shared,
            client,
            recorder,
            trees: HashMap::new(),
            leaving: HashMap::new(),
            listed: BTreeSet::new(),
            awaited: HashMap::new(),
            strays: None,
        }
    }

    /// Takes in what a watch of PediaClusters tells.
    pub(crate) fn handle(&mut self, event: Event<PediaCluster>) {
        match event {
            Event::Apply(object) => self.apply(object),
            Event::Delete(object) => {
                let name = object.name_any();
                self.awaited.remove(&name);
                if !self.trees.contains_key(&name) && self.is_ours(&object) {
                    self.shared.strays.notify_one();
                }
                self.end(&name, Ending::Vanished);
            }
            Event::Init => self.listed.clear(),
            Event::InitApply(object) => {
                self.listed.insert(object.name_any());
                self.apply(object);
            }
            Event::InitDone => {
                let listed = std::mem::take(&mut self.listed);
                self.awaited.retain(|name, _| listed.contains(name));
                let gone: Vec<_> = self
                    .trees
                    .keys()
                    .filter(|name| !listed.contains(*name))
                    .cloned()
                    .collect();
                for name in gone {
                    self.end(&name, Ending::Vanished);
                }
                self.look_for_strays();
                self.shared.listed.cancel();
            }
        }
    }

    /// Waits until others share the clusters than did. Safe to cancel.
    pub(crate) fn is_to_share_anew(&self) -> impl Future<Output = ()> + use<> {
        let (sharing, members) = (self.shared.sharing.clone(), self.members.clone());
        async move { sharing.are_others_than(&members).await }
    }

    /// Lets clusters go that another replica has now, which waits for nobody. Whether some may be its own now that were not, which are in the next list.
    #[must_use]
    pub(crate) fn share_anew(&mut self) -> bool {
        let sharing = &self.shared.sharing;
        let before = std::mem::replace(&mut self.members, sharing.members());
        let may_gain = sharing.may_gain(&before, &self.members);
        let others = self.trees.keys().filter(|name| !sharing.has(name));
        let others: Vec<_> = others.cloned().collect();
        self.awaited.retain(|name, _| sharing.has(name));
        info!(
            replicas = ?self.members,
            moved = others.len(),
            "the clusters are shared anew"
        );
        for name in others {
            self.end(&name, Ending::Released);
        }
        may_gain
    }

    /// Whatever was not seen to leave is not in the list.
    fn look_for_strays(&mut self) {
        if self.strays.is_some() {
            return self.shared.strays.notify_one();
        }
        let (sender, looked) = watch::channel(0);
        let work = strays::look_after(Arc::clone(&self.shared), self.client.clone(), sender);
        self.strays = Some(Strays {
            _task: self
                .shared
                .parts
                .start("the look for clusters that left unseen", work),
            looked,
        });
    }

    #[cfg(test)]
    pub(crate) fn references(&self) -> &References {
        &self.references
    }

    #[cfg(test)]
    pub(crate) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }

    /// Waits until the store has been compared with the control plane so often.
    #[cfg(test)]
    async fn has_looked(&mut self, times: u64) {
        let strays = self.strays.as_mut().expect("the first list was read");
        let looked = strays.looked.wait_for(|looked| *looked >= times);
        looked.await.expect("no panic");
    }

    /// The process ends.
    #[cfg(test)]
    pub(crate) async fn shutdown(&mut self) {
        self.end_all(Ending::Shutdown).await;
    }

    /// Ends all trees, within a limit.
    pub(crate) async fn end_all(&mut self, ending: Ending) {
        let trees = std::mem::take(&mut self.trees);
        for planted in trees.values() {
            planted.order_end(ending);
        }
        let leaving = std::mem::take(&mut self.leaving).into_values();
        let tasks = trees.into_values().map(|planted| planted.task);
        let all = futures::future::join_all(tasks.chain(leaving));
        if tokio::time::timeout(SHUTDOWN, all).await.is_err() {
            warn!("not every cluster ended in time");
        }
    }

    fn apply(&mut self, object: PediaCluster) {
        let name = object.name_any();
        let uid = object.uid().unwrap_or_default();
        if self
            .trees
            .get(&name)
            .is_some_and(|planted| planted.is_dead(&uid))
        {
            self.end(&name, Ending::Replaced);
        }
        if !self.is_ours(&object) {
            self.awaited.remove(&name);
            let ending = match self.is_held(&object) {
                true => Ending::TakenOver,
                false => Ending::Released,
            };
            self.end(&name, ending);
            return;
        }
        // A tree that was planted is ours, whatever the status says before it is written.
        if !self.trees.contains_key(&name) && self.is_held(&object) {
            let due = Instant::now() + HANDOVER;
            let (_, awaited) = self
                .awaited
                .entry(name)
                .or_insert_with(|| (due, object.clone()));
            *awaited = object;
            return;
        }
        self.awaited.remove(&name);
        self.look_after(name, uid, object);
    }

    /// Takes over the next cluster that another synchro should have let go by now. Safe to cancel.
    pub(crate) async fn hand_over(&mut self) {
        let next = self.awaited.iter().min_by_key(|(_, (due, _))| *due);
        let Some((name, due)) = next.map(|(name, (due, _))| (name.clone(), *due)) else {
            return std::future::pending().await;
        };
        tokio::time::sleep_until(due).await;
        if let Some((_, object)) = self.awaited.remove(&name) {
            warn!(
                cluster = name,
                "another synchro did not let the cluster go, it is taken over"
            );
            let uid = object.uid().unwrap_or_default();
            self.look_after(name, uid, object);
        }
    }

    fn look_after(&mut self, name: String, uid: String, object: PediaCluster) {
        match self.trees.get(&name) {
            Some(planted) => planted.look_after(object),
            // It goes as soon as others let it; there is nothing left to do.
            None if object.metadata.deletion_timestamp.is_some() && !finalizer::is_set(&object) => {
            }
            None => self.plant(name, uid, object),
        }
    }

    fn plant(&mut self, name: String, uid: String, object: PediaCluster) {
        let cluster_name = match ClusterName::new(&name) {
            Ok(cluster_name) => cluster_name,
            Err(error) => {
                warn!(cluster = name, error = %error, "a PediaCluster is passed over");
                return;
            }
        };
        info!(cluster = name, "looking after a cluster");
        let (orders, receiver) = watch::channel(Order::new(object));
        let tree = Tree {
            shared: Arc::clone(&self.shared),
            client: self.client.clone(),
            secrets: Arc::clone(&self.secrets),
            lifecycles: Arc::clone(&self.lifecycles),
            references: Arc::clone(&self.references),
            recorder: self.recorder.clone(),
            _counted: self.shared.metrics.of(&cluster_name),
            name: cluster_name,
            uid: uid.clone(),
            orders: receiver,
        };
        let former = self.leaving.remove(&name);
        let shared = Arc::clone(&self.shared);
        let task = AbortOnDropHandle::new(tokio::spawn(async move {
            if let Some(former) = former
                && tokio::time::timeout(SHUTDOWN, former).await.is_err()
            {
                warn!(cluster = %tree.name, "the former tree did not end in time");
                // It may have been about to let its cluster leave.
                shared.strays.notify_one();
            }
            tree.run_to_its_end().await;
        }));
        self.trees.insert(name, Planted { uid, orders, task });
    }

    /// Tells a tree to end and waits for nobody. One that off-boarded its cluster itself has ended already.
    fn end(&mut self, name: &str, ending: Ending) {
        self.leaving.retain(|_, task| !task.is_finished());
        if let Some(planted) = self.trees.remove(name) {
            planted.order_end(ending);
            self.leaving.insert(name.to_owned(), planted.task);
        }
    }

    fn is_ours(&self, object: &PediaCluster) -> bool {
        object.spec.sharding_name == self.shared.config.sharding_name
            && self.shared.sharing.has(&object.name_any())
    }

    /// Whether another synchro has not let the cluster go yet.
    fn is_held(&self, object: &PediaCluster) -> bool {
        let status = object.status.as_ref();
        let holder = status.and_then(|status| status.sharding_name.as_ref());
        holder.is_some_and(|holder| *holder != self.shared.config.sharding_name)
    }
}

impl Planted {
    fn look_after(&self, object: PediaCluster) {
        self.orders.send_modify(|order| {
            *order = Order {
                ending: order.ending,
                ..Order::new(object)
            };
        });
    }

    fn order_end(&self, ending: Ending) {
        self.orders.send_modify(|order| order.ending = Some(ending));
    }

    /// Whether the tree is not the one of this uid, or has ended.
    fn is_dead(&self, uid: &str) -> bool {
        self.uid != uid || self.task.is_finished()
    }
}
