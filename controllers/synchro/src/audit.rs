//! Whether what is stored of a member is what the member has: now and then, and when somebody asks.
//!
//! An [`Auditor`] goes over the types of one cluster, one after the other. Of each it has the member list what names its objects and their
//! versions, and nothing else, and compares that with the store (`comparison`, by way of `subject`). It writes nothing: a type that differs is
//! listed anew by its stream, which compares and sweeps as ever, and then it is compared once more. Bodies are not compared: an
//! object of the same uid and version is taken for the same.

mod cluster;
mod comparison;
mod item;
mod round;
mod schedule;
mod subject;

use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;
use tracing::error;

use armadex_crds::ClusterAudit;

pub(crate) use crate::audit::cluster::{AuditedCluster, Audits};
use crate::audit::round::Round;

/// Audits one cluster for as long as its session lives.
pub(crate) struct Auditor {
    pub(crate) cluster: Arc<AuditedCluster>,
    /// What somebody asks for; each new value is one audit.
    pub(crate) asked: watch::Receiver<String>,
}

impl Auditor {
    /// Audits whenever it is time, until dropped.
    pub(crate) async fn run(mut self) {
        loop {
            self.until_wanted().await;
            let request = self.asked.borrow_and_update().clone();
            let begun = Instant::now();
            let outcome = self.audit(request).await;
            let AuditedCluster { audits, board, .. } = &*self.cluster;
            audits.again_after(self.cluster.shared.config.audit_every);
            board.update(|facts| facts.audit = Some(outcome));
            tokio::time::sleep(schedule::rest(begun.elapsed())).await;
        }
    }

    /// Whoever asked is told of an audit that broke off as well.
    async fn audit(&self, request: String) -> ClusterAudit {
        let cluster = Arc::clone(&self.cluster);
        let asked = request.clone();
        let round = tokio::spawn(async move { Round::new(&cluster, asked).run().await });
        match AbortOnDropHandle::new(round).await {
            Ok(outcome) => outcome,
            Err(error) => {
                error!(cluster = %self.cluster.name, error = %error, "an audit broke off");
                Round::new(&self.cluster, request).broke_off()
            }
        }
    }

    async fn until_wanted(&mut self) {
        let AuditedCluster { audits, board, .. } = &*self.cluster;
        let answered = board.facts().audit.map(|audit| audit.request);
        let answered = answered.unwrap_or_default();
        let asked = async {
            let new = |asked: &String| !asked.is_empty() && *asked != answered;
            if self.asked.wait_for(new).await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            () = asked => {}
            () = audits.is_due() => {}
        }
    }
}
