//! What tests of whole clusters share: members and a control plane that are scripted, and a real store.

mod breaking;
mod control_plane;
mod gate;
mod member;
pub(crate) mod request;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use armadex_control_plane::Recorder;
use armadex_control_plane::testing::Log;
use armadex_crds::PediaCluster;
use armadex_model::{GroupVersionResource, Query, ResourceType};
use armadex_storage::conformance::Fixture;
use armadex_storage::conformance::fixture::{all_pods, name};
use armadex_storage::{Health, Sink};
use armadex_storage_sql::{Options, SqlStore};
use kube::Client;
use kube::runtime::events::Reporter;
use kube::runtime::watcher::Event;
use serde_json::json;

pub(crate) use self::breaking::{BreakingSink, unavailable};
pub(crate) use self::control_plane::ControlPlane;
pub(crate) use self::gate::Gate;
pub(crate) use self::member::{IDENTITY_PATH, ScriptedMember};

use crate::config::{Config, Shared};
use crate::fleet::Fleet;

/// What the synchro tells as warnings while this lives.
pub(crate) fn warnings() -> Log {
    Log::warnings_of("armadex_synchro")
}

/// All lines of its that a log has which nobody asked to have more.
pub(crate) fn lines() -> Log {
    Log::lines_of("armadex_synchro")
}

/// A type of this name, with nothing else to it.
pub(crate) fn named(plural: &str) -> ResourceType {
    ResourceType {
        gvr: GroupVersionResource::new("", "v1", plural),
        kind: String::new(),
        namespaced: true,
        singular: String::new(),
        short_names: Vec::new(),
        categories: Vec::new(),
    }
}

/// A store and a control plane, which synchros come and go between.
pub(crate) struct Stage {
    pub(crate) store: Fixture,
    /// The way of synchros to the store.
    pub(crate) breaking: Arc<BreakingSink>,
    pub(crate) control_plane: ControlPlane,
    path: PathBuf,
}

impl Stage {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("store.db");
        let store = SqlStore::sqlite(&path, &Options::default()).await;
        let store = Arc::new(store.expect("a store"));
        let breaking = Arc::new(BreakingSink::new(Arc::clone(&store) as _));
        Self {
            breaking,
            store: Fixture::of(&store).guarded(folder),
            control_plane: ControlPlane::default(),
            path,
        }
    }

    /// Another process begins to look after what the owner of the one cluster has.
    pub(crate) async fn is_replaced(&self) {
        let joined = self.breaking.clusters().await.expect("clusters");
        let [cluster] = &joined[..] else {
            panic!("{joined:?}")
        };
        let other = SqlStore::sqlite(&self.path, &Options::default()).await;
        let other = other.expect("a store");
        other.begin(&cluster.owner).await.expect("begun");
        other.shutdown().await;
    }

    /// A synchro that has seen nothing yet.
    pub(crate) fn synchro(&self, sharding_name: &str) -> Fleet {
        self.synchro_of("one", sharding_name)
    }

    /// A synchro of the control plane of this uid.
    pub(crate) fn synchro_of(&self, control_plane: &str, sharding_name: &str) -> Fleet {
        let config = Config {
            sharding_name: sharding_name.to_owned(),
            // Only those that a test asks for.
            audit_every: Duration::ZERO,
            ..Config::default()
        };
        self.synchro_with(self.control_plane.client(), control_plane, config)
    }

    /// The same with a client and a configuration of one's own.
    pub(crate) fn synchro_with(
        &self,
        client: Client,
        control_plane: &str,
        config: Config,
    ) -> Fleet {
        self.synchro_of_these(client, &self.shared(control_plane, config))
    }

    /// What the parts of a synchro share.
    pub(crate) fn shared(&self, control_plane: &str, config: Config) -> Arc<Shared> {
        let sink: Arc<dyn Sink> = Arc::clone(&self.breaking) as _;
        Arc::new(Shared::new(sink, control_plane, config))
    }

    /// A synchro whose parts share this.
    pub(crate) fn synchro_of_these(&self, client: Client, shared: &Arc<Shared>) -> Fleet {
        let reporter = Reporter {
            controller: "test".to_owned(),
            instance: None,
        };
        let recorder = Recorder::new(client.clone(), reporter);
        Fleet::new(Arc::clone(shared), client, recorder)
    }

    /// The control plane has these PediaClusters, and a synchro reads their list.
    pub(crate) fn relist(
        &self,
        fleet: &mut Fleet,
        clusters: impl IntoIterator<Item = PediaCluster>,
    ) {
        let clusters = Vec::from_iter(clusters);
        self.control_plane.has(clusters.clone());
        fleet.handle(Event::Init);
        for cluster in clusters {
            fleet.handle(Event::InitApply(cluster));
        }
        fleet.handle(Event::InitDone);
    }

    /// Waits until a search for pods finds these, as `cluster/namespace/name`.
    pub(crate) async fn shows(&self, pods: &[&str]) {
        until(&format!("{pods:?}"), || async {
            self.store.list(&all_pods(), 100).await == pods
        })
        .await;
    }

    /// What a search for config maps finds.
    pub(crate) async fn config_maps(&self) -> Vec<String> {
        let resource = GroupVersionResource::new("", "v1", "configmaps");
        self.store.list(&Query::all(resource), 100).await
    }

    /// What searches are told of the health of a cluster.
    pub(crate) async fn health(&self, cluster: &str) -> Option<Health> {
        let catalog = self.store.search.catalog().await.expect("a catalogue");
        let entry = catalog.clusters.get(&name(cluster))?;
        entry.health.clone()
    }
}

/// A PediaCluster that asks for the pods of a member.
pub(crate) fn pedia_cluster(name: &str, uid: &str, member: &ScriptedMember) -> PediaCluster {
    let object = json!({
        "apiVersion": "cluster.clusterpedia.io/v1alpha2",
        "kind": "PediaCluster",
        "metadata": {"name": name, "uid": uid, "resourceVersion": "5", "generation": 1,
            "finalizers": [armadex_crds::PEDIA_CLUSTER_FINALIZER]},
        "spec": {"apiserver": member.address(), "tokenData": "dG9rZW4=",
            "connection": {"insecureSkipTLSVerification": true},
            "syncResources": [{"group": "", "resources": ["pods"]}]},
    });
    serde_json::from_value(object).expect("a PediaCluster")
}

/// Waits for something that takes its time, half a second of which pass at each look: short beside what a request may take.
pub(crate) async fn in_time<F: Future<Output = bool>>(what: &str, holds: impl Fn() -> F) {
    for _ in 0..4000 {
        if holds().await {
            return;
        }
        tokio::time::pause();
        tokio::time::advance(Duration::from_millis(500)).await;
        tokio::time::resume();
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{what} did not come");
}

/// Waits for something that has to come before so much time has passed. The clock stands still while the member, the store and the synchro do what they have to
/// do, and goes on by steps in between: how long a busy machine takes for that is no part of it.
pub(crate) async fn within<F: Future<Output = bool>>(
    limit: Duration,
    what: &str,
    holds: impl Fn() -> F,
) {
    const STEP: Duration = Duration::from_millis(500);
    const LOOKS: usize = 20;
    let look = || tokio::task::spawn_blocking(|| std::thread::sleep(Duration::from_millis(10)));
    // While something blocks a clock that stands still does not go on by itself.
    let (stays, blocks) = std::sync::mpsc::channel::<()>();
    let blocking = tokio::task::spawn_blocking(move || blocks.recv());
    tokio::time::pause();
    let begun = tokio::time::Instant::now();
    let mut looks = 0;
    while !holds().await {
        let passed = begun.elapsed();
        assert!(passed < limit, "{what} did not come within {limit:?}");
        look().await.expect("a look");
        looks += 1;
        if looks % LOOKS == 0 {
            tokio::time::advance(STEP).await;
        }
    }
    tokio::time::resume();
    drop(stays);
    // It ends because nobody can tell it anything any more.
    let _ = blocking.await.expect("it blocked");
}

/// Waits for something that nobody tells.
pub(crate) async fn until<F: Future<Output = bool>>(what: &str, holds: impl Fn() -> F) {
    let wait = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(30), wait).await;
    assert!(waited.is_ok(), "{what} did not come");
}
