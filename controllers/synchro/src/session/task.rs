//! What a session is given.

use std::sync::Arc;

use armadex_member::{Connection, Member};
use armadex_model::ClusterName;
use armadex_storage::ClusterId;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::audit::Audits;
use crate::config::Shared;
use crate::session::new_types::NewTypes;
use crate::session::plan::Scope;
use crate::told::board::Board;

/// What a session is to do; replaced as the PediaCluster and its Secrets change.
#[derive(Clone)]
pub(crate) struct Wanted {
    /// How the member is reached; another one means to begin anew.
    pub(crate) connection: Connection,
    /// The client of that connection.
    pub(crate) member: Arc<Member>,
    /// That of the way by the control plane, if there is one.
    pub(crate) by_control_plane: Option<Arc<Member>>,
    /// What to sync.
    pub(crate) resources: Scope,
}

/// What a session needs to know.
pub(crate) struct Session {
    pub(crate) shared: Arc<Shared>,
    pub(crate) name: ClusterName,
    /// The uid of its PediaCluster.
    pub(crate) incarnation: String,
    pub(crate) cluster: ClusterId,
    pub(crate) board: Arc<Board>,
    pub(crate) wanted: watch::Receiver<Wanted>,
    pub(crate) audits: Arc<Audits>,
    pub(crate) new_types: Arc<NewTypes>,
    /// Which audit is asked for.
    pub(crate) asked: watch::Receiver<String>,
    pub(crate) cancel: CancellationToken,
    /// Cancelled before `cancel` where nobody looks after the cluster from then on.
    pub(crate) released: CancellationToken,
    /// Cancelled by whoever is told by the store that the cluster has left, which ends the session.
    pub(crate) left: CancellationToken,
}
