//! What a synchro is told when it starts, and what all its streams share.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use armadex_control_plane::{LeaseTerms, Members};
use armadex_member::{AllowList, ControlPlane, SecretScope};
use armadex_storage::{Sink, StoreError};
use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::fleet::owner::Owner;
use crate::fleet::sharing::Sharing;
use crate::incoming::budget::Budget;
use crate::incoming::memory::ClusterMemory;
use crate::incoming::prune::Unpruned;
use crate::incoming::unfinished::Unfinished;
use crate::parts::Parts;
use crate::session::by_control_plane::ByControlPlane;
use crate::session::discoveries::DiscoveriesByWay;
use crate::session::plan::Gates;
use crate::session::reaching::Reaching;
use crate::stream::turns::{Turns, Width};
use crate::told::last_words::LastWords;
use crate::told::metrics::Metrics;
use crate::told::outages::{Outages, Refusals};
use crate::told::pace::Pace;
use crate::types::Types;

/// Between two statuses that are written, over all clusters: 50 in a second are a fifth of a core of a control plane, where one
/// takes 4 ms. With a thousand clusters that all have something to tell each has a turn every 20 s.
pub(crate) const STATUS_PERIOD: Duration = Duration::from_millis(20);

/// Types that are compared with their member at the same time, each of another cluster.
const AUDITS: Width = Width {
    parallel: 4,
    asking: 4,
    of_cluster: 1,
    doubtful: 1,
    long: 2,
    waiting: 12,
    slow: 4,
};

/// Types that are being compared of which much is held: of which there are many, at up to 33 bytes an object while the member lists, or of which so much differs
/// that it takes megabytes, up to six, to wait for their streams. Twice as many as are read: a member may let its own wait.
const LARGE_AUDITS: usize = 8;
/// The same of members whose lists are slow.
const LARGE_SLOW_AUDITS: usize = 4;

/// Pages of keys that sweeps ask the store for at the same time. After a release with other rules all streams are swept, and the store gives one page after the other:
/// more would only stand in its line, where sessions and audits wait as well, and be told that it does not answer.
const SWEEPS: usize = 4;

/// One part in so many of the memory is for objects that have not come in as a whole.
const UNFINISHED: usize = 4;

/// Of one cluster, unless something else is said: what it has as resources that are synced,
const MOST_RESOURCES: usize = 1_000;
/// and as objects in the store. Kubernetes itself is tried with a tenth of that.
const MOST_OBJECTS: u64 = 5_000_000;

/// Members that the control plane is asked for at the same time, unless something else is said: at sixty types each 12,000 watches there. Where it would be more, it is
/// rather the synchro that lost its way.
const MOST_BY_CONTROL_PLANE: usize = 200;

/// What a synchro is told when it starts.
#[derive(Clone, Debug)]
pub struct Config {
    /// The namespace of Secrets whose reference names none.
    pub namespace: String,
    /// The namespaces whose Secrets may be used for credentials besides.
    pub credential_namespaces: BTreeSet<String>,
    /// Where members and their proxies may be.
    pub member_addresses: AllowList,
    /// The way to members by the control plane; without it those are not reached whose API servers are not.
    pub control_plane: Option<ControlPlane>,
    /// Members that it is asked for at the same time.
    pub max_by_control_plane: usize,
    /// Bytes that all streams together may hold on the way to the store.
    pub memory_budget: usize,
    /// Bytes that one object may have.
    pub max_object_bytes: usize,
    /// Resources that are synced of one cluster.
    pub max_resources: usize,
    /// Objects that one cluster may have in the store; 0: any number.
    pub max_objects: u64,
    /// Only PediaClusters with this `shardingName` are looked after; empty: those without one.
    pub sharding_name: String,
    /// The first of the Leases by which several processes with this `shardingName` share them; `None`: there is one process alone.
    pub lease: Option<LeaseTerms>,
    /// Another program looks after the PediaClusters: they are read, and nothing is written to the control plane but the Lease.
    pub observes: bool,
    /// How long the rows of a cluster that left are kept, hidden, in case it comes back.
    pub purge_after: Duration,
    /// How often what is stored of a cluster is compared with its member; zero: only when somebody asks.
    pub audit_every: Duration,
    /// Lists are asked for as the beginning of a watch, where a member knows that.
    pub streaming_lists: bool,
    /// What may be asked for.
    pub gates: Gates,
    /// What is kept of objects that is taken out otherwise.
    pub unpruned: Unpruned,
    /// No Secret is read for what a PediaCluster refers to in `authenticationFrom`, which is ignored.
    pub ignores_secrets: bool,
    /// Where the process counts; keep a reference to serve it.
    pub metrics: Arc<Metrics>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            namespace: "clusterpedia-system".to_owned(),
            credential_namespaces: BTreeSet::new(),
            member_addresses: AllowList::default(),
            control_plane: None,
            max_by_control_plane: MOST_BY_CONTROL_PLANE,
            memory_budget: 64 << 20,
            max_object_bytes: 2 << 20,
            max_resources: MOST_RESOURCES,
            max_objects: MOST_OBJECTS,
            sharding_name: String::new(),
            lease: None,
            observes: false,
            purge_after: Duration::from_secs(15 * 60),
            audit_every: Duration::from_secs(6 * 60 * 60),
            streaming_lists: false,
            gates: Gates::default(),
            unpruned: Unpruned::default(),
            ignores_secrets: false,
            metrics: Arc::default(),
        }
    }
}

impl Config {
    /// What may come in for one object: fields that are pruned away are mostly less than what is kept.
    pub(crate) fn incoming_limit(&self) -> usize {
        2 * self.max_object_bytes + (64 << 10)
    }

    /// What may be held of all objects that have not come in as a whole: of one at least, twice as much as it has while it grows.
    fn unfinished_bytes(&self) -> usize {
        let one = 2 * self.incoming_limit();
        (self.memory_budget / UNFINISHED).max(one)
    }
}

/// What all clusters of a process share.
pub(crate) struct Shared {
    /// Where changes go.
    pub(crate) sink: Arc<dyn Sink>,
    /// What may be held on the way there.
    budget: Budget,
    /// What may be held of objects that have not come in as a whole.
    pub(crate) unfinished: Arc<Unfinished>,
    /// Members that may be asked their first questions now.
    pub(crate) reaching: Reaching,
    /// Members that the control plane may be asked for now.
    pub(crate) by_control_plane: ByControlPlane,
    /// Lists that may be read now.
    pub(crate) lists: Arc<Turns>,
    /// What their streams are of.
    pub(crate) types: Types,
    /// Members that may be asked now what they serve.
    pub(crate) discoveries: DiscoveriesByWay,
    /// What the store fails with now, and whose writes.
    pub(crate) store_outages: Outages,
    /// What the control plane refuses now, and of which cluster.
    pub(crate) refusals: Refusals,
    /// Statuses that are written.
    pub(crate) statuses: Pace,
    /// Last statuses that may be written now.
    pub(crate) last_words: LastWords,
    /// Audits that may compare now.
    pub(crate) audits: Arc<Turns>,
    /// Those of which much is held.
    pub(crate) large_audits: Semaphore,
    /// The same, of members whose lists are slow.
    pub(crate) large_slow_audits: Semaphore,
    /// Sweeps that may ask for keys now.
    pub(crate) sweeps: Semaphore,
    /// What is counted.
    pub(crate) metrics: Arc<Metrics>,
    /// What runs beside the trees.
    pub(crate) parts: Arc<Parts>,
    /// Something was hidden and can be purged.
    pub(crate) purge: Notify,
    /// Cancelled once the PediaClusters have been listed.
    pub(crate) listed: CancellationToken,
    /// Something may have left unseen.
    pub(crate) strays: Notify,
    /// Who looks after its clusters.
    pub(crate) owner: Owner,
    /// Which of those of its shard are its own.
    pub(crate) sharing: Sharing,
    /// Another process took a stream or a cluster over: perhaps all of them.
    pub(crate) fenced: Notify,
    /// The CRD of PediaClusters lacks fields of their status.
    pub(crate) old_schema: AtomicBool,
    /// From here on whole seconds are counted, at which all streams store what can wait for that.
    pub(crate) begun: Instant,
    /// What the process was told.
    pub(crate) config: Config,
}

impl Shared {
    /// What is shared on the control plane of this uid.
    pub(crate) fn new(sink: Arc<dyn Sink>, control_plane: &str, config: Config) -> Self {
        Self {
            sink,
            budget: Budget::new(config.memory_budget - config.memory_budget / UNFINISHED),
            unfinished: Arc::new(Unfinished::new(config.unfinished_bytes())),
            reaching: Reaching::default(),
            by_control_plane: ByControlPlane::new(
                config.max_by_control_plane,
                Arc::clone(&config.metrics),
            ),
            lists: Arc::default(),
            types: Types::default(),
            discoveries: DiscoveriesByWay::default(),
            store_outages: Outages::default(),
            refusals: Refusals::default(),
            statuses: Pace::new(STATUS_PERIOD),
            last_words: LastWords::default(),
            audits: Arc::new(Turns::new(AUDITS)),
            large_audits: Semaphore::new(LARGE_AUDITS),
            large_slow_audits: Semaphore::new(LARGE_SLOW_AUDITS),
            sweeps: Semaphore::new(SWEEPS),
            metrics: Arc::clone(&config.metrics),
            owner: Owner::new(control_plane, &config.sharding_name),
            sharing: Sharing::alone(),
            fenced: Notify::new(),
            parts: Arc::default(),
            purge: Notify::new(),
            listed: CancellationToken::new(),
            strays: Notify::new(),
            old_schema: AtomicBool::new(false),
            begun: Instant::now(),
            config,
        }
    }

    /// The same of one of several replicas.
    pub(crate) fn of_replica(self, number: u32, members: watch::Receiver<Members>) -> Self {
        Self {
            owner: self.owner.replica(number),
            sharing: Sharing::of_replica(number, members),
            ..self
        }
    }

    /// What one cluster may hold of both.
    pub(crate) fn memory_of_cluster(&self) -> Arc<ClusterMemory> {
        Arc::new(ClusterMemory {
            budget: self.budget.share(),
            unfinished: self.unfinished.of_cluster(),
        })
    }

    /// Whether the store says that a cluster is not this synchro's any more: it has left, or somebody else looks after it. Of all clusters that may be another
    /// process of the same shard, which is found out at once.
    pub(crate) fn has_lost(&self, error: &StoreError) -> bool {
        if let StoreError::TakenOver { .. } = error {
            self.fenced.notify_one();
        }
        matches!(
            error,
            StoreError::Left { .. } | StoreError::TakenOver { .. }
        )
    }

    /// The store failed for somebody: what to say of it, unless it has told of that itself or somebody else was told of.
    pub(crate) fn store_fails(&self, who: &str, error: &StoreError) -> Option<String> {
        let words = error.to_string();
        let is_news = !error.is_told() && self.store_outages.begins(who, &words);
        is_news.then_some(words)
    }

    /// It works for him, or he wants nothing of it any more. Whether that ends what was told.
    pub(crate) fn store_works(&self, who: &str) -> bool {
        self.store_outages.ends(who)
    }

    /// Where credentials may be read.
    pub(crate) fn secret_scope(&self) -> SecretScope {
        SecretScope {
            default_namespace: self.config.namespace.clone(),
            allowed_namespaces: self.config.credential_namespaces.clone(),
            ignored: self.config.ignores_secrets,
        }
    }
}
