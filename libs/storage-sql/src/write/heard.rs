//! What is told of clusters, and asked of them, by who looks after them: their health, their labels, and that streams of theirs are closed. All that one transaction is
//! told is looked at together, before anything else is. Whoever is not the owner is refused, and costs the others nothing.

use std::collections::HashMap;

use armadex_storage::{ClusterId, StoreError};

use crate::backend::Connection;
use crate::sql::catalog::HealthRow;
use crate::sql::cluster_labels::LabelsRow;
use crate::write::owners::Owners;
use crate::write::session::Session;
use crate::write::unanswered::Unanswered;
use crate::write::work::Work;
use crate::write::{cluster_labels, health};

/// What is to be recorded, and who is refused.
pub(crate) struct Heard {
    owners: Owners,
    health: Vec<HealthRow>,
    labels: Vec<LabelsRow>,
}

impl Heard {
    /// Holds whoever tells something new or closes a stream. What is said of health is known nearly always, and then nobody is held for it. But what was said of
    /// these clusters before may still be under way, for its commit was not answered: it comes to its end before anything is compared.
    pub(crate) async fn of(
        connection: &mut dyn Connection,
        work: &[Work],
        unanswered: &Unanswered,
    ) -> Result<Self, StoreError> {
        let mut said = Vec::from_iter(work.iter().filter_map(Work::said));
        let mut labelled = Vec::from_iter(work.iter().filter_map(Work::labelled));
        let clusters = said.iter().map(|said| said.cluster);
        let mut owners = Owners::look(connection, clusters.clone()).await?;
        let before = clusters.filter(|cluster| unanswered.may_say(cluster.0));
        owners.hold(connection, before).await?;
        said.retain(|said| owners.refuses_telling(said.cluster, said.owner).is_none());
        let mut health = health::news(connection, &said).await?;
        let telling = health.iter().map(|row| ClusterId(row.cluster));
        let telling = telling.chain(labelled.iter().map(|said| said.cluster));
        let closing = work.iter().filter_map(Work::closing);
        let closing = closing.map(|(cluster, _)| cluster);
        owners.hold(connection, telling.chain(closing)).await?;
        let teller = said.iter().map(|said| (said.cluster.0, said.owner));
        let teller: HashMap<i64, &str> = teller.collect();
        health.retain(|row| {
            let (cluster, owner) = (ClusterId(row.cluster), teller[&row.cluster]);
            owners.refuses_telling(cluster, owner).is_none()
        });
        labelled.retain(|said| owners.refuses_telling(said.cluster, said.owner).is_none());
        let labels = cluster_labels::news(connection, &labelled).await?;
        Ok(Self {
            owners,
            health,
            labels,
        })
    }

    /// Why that is not done, if so.
    pub(crate) fn refuses(&self, work: &Work) -> Option<StoreError> {
        let telling = work.said().map(|said| (said.cluster, said.owner));
        let telling = telling.or_else(|| work.labelled().map(|said| (said.cluster, said.owner)));
        match (telling, work.closing()) {
            (Some((cluster, owner)), _) => self.owners.refuses_telling(cluster, owner),
            (None, Some((cluster, owner))) => self.owners.refuses_closing(cluster, owner),
            (None, None) => None,
        }
    }

    /// Records what is new.
    pub(crate) async fn record(&self, session: &mut Session<'_>) -> Result<(), StoreError> {
        health::record(session, &self.health).await?;
        cluster_labels::record(session, &self.labels).await
    }
}
