//! What answers are made from: the store, the reviews of the host, the clock.

use std::sync::Arc;

use armadex_storage::{Catalog, Search};
use http::StatusCode;
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::documents::Documents;
use super::of_catalog::OfCatalog;
use super::readiness::Readiness;
use super::short_reads::ShortReads;
use super::unhealthy::Unhealthy;
use crate::answer::reply::Reply;
use crate::answer::status::ApiError;
use crate::caller::authn::Authenticator;
use crate::caller::authz::Authorizer;
use crate::counters::Counters;
use crate::request::seal::Seal;
use crate::request::target::Health;
use crate::turns::{Asker, Turns};

/// What the server calls its own version.
pub(super) const OWN_VERSION: &str = concat!("v", env!("CARGO_PKG_VERSION"));

/// The server without its sockets and limits.
pub(super) struct Context {
    pub(super) search: Arc<dyn Search>,
    /// What of it takes a moment.
    pub(super) reads: ShortReads,
    /// Whose search is next.
    pub(super) searches: Arc<Turns>,
    /// Of what clients are given to carry.
    pub(super) seal: Arc<Seal>,
    pub(super) authenticator: Authenticator,
    pub(super) authorizer: Authorizer,
    pub(super) counters: Arc<Counters>,
    pub(super) readiness: Readiness,
    pub(super) documents: Documents,
    pub(super) fleet_version: OfCatalog<Option<String>>,
    pub(super) unhealthy: OfCatalog<Unhealthy>,
    /// The tasks that search and send lists.
    pub(super) tasks: TaskTracker,
    /// Ends those tasks.
    pub(super) cancel: CancellationToken,
    /// Says that the server is about to stop.
    pub(super) stopping: CancellationToken,
    /// The time that ages are told from; given in, so that tests can stop it.
    pub(super) clock: fn() -> Timestamp,
    /// The group of the API.
    pub(super) group: String,
}

impl Context {
    pub(super) async fn health(&self, health: Health) -> Reply {
        let reasons = match health {
            Health::Live => Vec::new(),
            Health::Ready => self.not_ready().await,
        };
        if reasons.is_empty() {
            return Reply::text(StatusCode::OK, "ok".to_owned());
        }
        let text = format!("not ready: {}", reasons.join(", "));
        Reply::text(StatusCode::SERVICE_UNAVAILABLE, text)
    }

    /// What keeps the server from answering searches.
    async fn not_ready(&self) -> Vec<&'static str> {
        let mut reasons = Vec::new();
        if self.stopping.is_cancelled() {
            reasons.push("the server is stopping");
        }
        if !self.readiness.store_answers(&self.search).await {
            reasons.push("the store does not answer");
        }
        if !self.authenticator.is_ready() {
            reasons.push("the trusted certificates have not been read");
        }
        reasons
    }

    pub(super) async fn catalog(&self, asker: &Asker) -> Result<Arc<Catalog>, ApiError> {
        let read = |store: Arc<dyn Search>| async move { store.catalog().await };
        Ok(self.reads.read(asker, read).await?)
    }
}
