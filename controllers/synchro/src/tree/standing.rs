//! How a cluster is told of: its board and whoever writes its status. Both outlive the work of its tree, so that of work that breaks off it is told that it did.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use armadex_control_plane::{Objects, Recorder};
use armadex_crds::{PediaCluster, SynchroProcess};
use armadex_model::ClusterName;
use armadex_storage::{Health, StoreError};
use jiff::Timestamp;
use kube::{Client, Resource};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tracing::warn;

use crate::config::Shared;
use crate::lock::lock;
use crate::session::new_types::NewTypes;
use crate::told::applied::Applied;
use crate::told::board::{Board, Facts};
use crate::told::keeper::{Claims, StatusKeeper};
use crate::told::refresh::Refresh;
use crate::told::unproved::unproved_since;

/// For whoever searches.
const BROKE_OFF: &str = "its synchro broke off and begins anew";
/// For that word: what broke off does not wait for a store that is away.
const WITHIN: Duration = Duration::from_secs(5);

/// How one cluster is told of.
pub(super) struct Standing {
    pub(super) board: Arc<Board>,
    /// A session that begins anew has no more of them.
    pub(super) new_types: Arc<NewTypes>,
    shared: Arc<Shared>,
    name: ClusterName,
    keeper: Mutex<Option<Keeper>>,
}

/// Who writes the status.
struct Keeper {
    task: AbortOnDropHandle<()>,
    cancel: CancellationToken,
}

impl Standing {
    /// Begins with what the object says.
    pub(super) fn new(
        shared: &Arc<Shared>,
        name: &ClusterName,
        (client, recorder): (&Client, &Recorder),
        object: &PediaCluster,
    ) -> Self {
        // What was said of it by others, who go on saying so, is not gone on with.
        let status = object.status.clone().filter(|_| !shared.config.observes);
        let status = status.unwrap_or_default();
        if !shared.config.audit_every.is_zero() {
            let metrics = shared.metrics.of(name);
            metrics.unproved_since.set_time(unproved_since(object));
        }
        let board = Arc::new(Board::default());
        board.found(&status, Timestamp::now());
        board.update(|facts| {
            *facts = Facts {
                generation: object.metadata.generation,
                apiserver: status.apiserver.clone(),
                version: status.version.clone(),
                sharding_name: Some(shared.config.sharding_name.clone()),
                synchro: process(shared),
                audit: status.audit.clone(),
                ..Facts::default()
            };
        });
        let keeper = StatusKeeper {
            shared: Arc::clone(shared),
            applied: Applied::new(Arc::clone(shared), Objects::all(client.clone()), object),
            name: name.to_string(),
            reference: object.object_ref(&()),
            recorder: recorder.clone(),
            board: Arc::clone(&board),
            found: status.sync_resources.clone(),
            written: status,
            claims: Claims::default(),
            refresh: Refresh::new(Instant::now(), rand::random()),
            untold: VecDeque::new(),
        };
        let cancel = CancellationToken::new();
        let keeper = Keeper {
            task: AbortOnDropHandle::new(tokio::spawn(keeper.run(cancel.clone()))),
            cancel,
        };
        Self {
            board,
            new_types: Arc::new(NewTypes::new(shared.config.max_resources)),
            shared: Arc::clone(shared),
            name: name.clone(),
            keeper: Mutex::new(Some(keeper)),
        }
    }

    /// What was done for the cluster broke off: nothing of it runs, and its rows are not kept up to date.
    pub(super) async fn broke_off(&self, words: &str) {
        self.board.broke_off(words);
        let metrics = self.shared.metrics.of(&self.name);
        metrics.healthy.set(0);
        metrics.streams.set(0);
        metrics.failing_streams.set(0);
        metrics.waiting_types.set(0);
        let Some(cluster) = self.board.entry() else {
            return;
        };
        let shared = Arc::clone(&self.shared);
        // What broke off may have done so in this very call.
        let told = AbortOnDropHandle::new(tokio::spawn(async move {
            let health = Health {
                healthy: false,
                reason: BROKE_OFF.to_owned(),
            };
            let owner = shared.owner.text();
            shared.sink.set_health(cluster, &owner, &health, None).await
        }));
        let news = match tokio::time::timeout(WITHIN, told).await {
            // Whoever looks after the cluster now says how it is.
            Ok(Ok(Ok(()) | Err(StoreError::TakenOver { .. }))) => return,
            Ok(Ok(Err(error))) => self.shared.store_fails(self.name.as_str(), &error),
            Ok(Err(error)) => Some(error.to_string()),
            // Whoever else waits for it says so.
            Err(_) => return,
        };
        if let Some(words) = news {
            warn!(cluster = %self.name, error = words, "the store was not told that a cluster is not kept up to date; others that fail alike are not told of");
        }
    }

    /// Nothing more is written.
    pub(super) fn silence(&self) {
        lock(&self.keeper).take();
    }

    /// What is known now is written as the last word.
    pub(super) async fn last_word(&self) {
        let Some(Keeper { task, cancel }) = lock(&self.keeper).take() else {
            return;
        };
        cancel.cancel();
        if let Err(error) = task.await {
            warn!(cluster = %self.name, error = %error, "the last status was not written");
        }
    }
}

/// By what the process is known; `None` where it was told to hold no Lease.
fn process(shared: &Shared) -> Option<SynchroProcess> {
    let lease = shared.config.lease.as_ref()?;
    Some(SynchroProcess {
        identity: lease.holder.clone(),
        replica: shared
            .sharing
            .number()
            .and_then(|number| number.try_into().ok()),
    })
}
