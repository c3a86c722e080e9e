//! Whether what is stored of a member is what the member has: now and then, and when somebody asks.
//!
//! An [`Auditor`] goes over the types of one cluster, one after the other. Of each it has the member list what names its objects and their
//! versions, and nothing else, and compares that with the store (`comparison`, by way of `subject`). It writes nothing: a type that differs is
//! listed anew by its stream, which compares and sweeps as ever, and then it is compared once more. Bodies are not compared: an
//! object of the same uid and version is taken for the same. One that the end of a session breaks off goes on in the next (`progress`).

mod cluster;
mod comparison;
mod item;
mod progress;
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
use crate::audit::progress::UnderWay;
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
            let AuditedCluster { audits, board, .. } = &*self.cluster;
            let progress = audits.begin(request, self.cluster.compared());
            let outcome = self.audit(progress).await;
            audits.end(self.cluster.shared.config.audit_every);
            board.update(|facts| facts.audit = Some(outcome));
            tokio::time::sleep(schedule::rest(begun.elapsed())).await;
        }
    }

    /// Whoever asked is told of an audit that broke off as well.
    async fn audit(&self, progress: UnderWay) -> ClusterAudit {
        let cluster = Arc::clone(&self.cluster);
        let begun = Arc::clone(&progress);
        let round = tokio::spawn(async move { Round::new(&cluster, begun).run().await });
        match AbortOnDropHandle::new(round).await {
            Ok(outcome) => outcome,
            Err(error) => {
                error!(cluster = %self.cluster.name, error = %error, "an audit broke off");
                Round::new(&self.cluster, progress).broke_off()
            }
        }
    }

    async fn until_wanted(&mut self) {
        let AuditedCluster { audits, board, .. } = &*self.cluster;
        let answered = board.facts().audit.map(|audit| audit.request);
        let answered = answered.unwrap_or_default();
        let broken_off = audits.broken_off();
        let asked = async {
            let new = |asked: &String| {
                !asked.is_empty() && *asked != answered && Some(asked) != broken_off.as_ref()
            };
            if self.asked.wait_for(new).await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            () = asked => {}
            () = self.cluster.is_due() => {}
        }
    }
}
