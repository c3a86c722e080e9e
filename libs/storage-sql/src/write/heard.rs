//! What is told of clusters, and asked of them, by who looks after them: their health, their labels, and that streams of theirs are opened or closed. All that one transaction is
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
    /// Holds whoever tells something new, or opens or closes a stream. What is said is known nearly always, and then nobody is held for it. But what was said of
    /// these clusters before may still be under way, for its commit was not answered: it comes to its end before anything is compared.
    pub(crate) async fn of(
        connection: &mut dyn Connection,
        work: &[&Work],
        unanswered: &Unanswered,
    ) -> Result<Self, StoreError> {
        let work = work.iter().copied();
        let telling = work.clone().filter_map(Work::telling);
        let clusters = telling.clone().map(|(cluster, _)| cluster);
        let mut owners = Owners::look(connection, clusters.clone()).await?;
        let before = clusters.filter(|cluster| unanswered.may_say(cluster.0));
        owners.hold(connection, before).await?;
        let teller = telling.filter(|(cluster, owner)| owners.may_tell(*cluster, owner));
        let teller = teller.map(|(cluster, owner)| (cluster.0, owner));
        let teller: HashMap<i64, &str> = teller.collect();
        let said = work.clone().filter_map(Work::said);
        let said = said.filter(|said| owners.may_tell(said.cluster, said.owner));
        let mut health = health::news(connection, &Vec::from_iter(said)).await?;
        let labelled = work.clone().filter_map(Work::labelled);
        let labelled = labelled.filter(|said| owners.may_tell(said.cluster, said.owner));
        let mut labels = cluster_labels::news(connection, &Vec::from_iter(labelled)).await?;
        let news = health.iter().map(|row| row.cluster);
        let news = news.chain(labels.iter().map(|row| row.cluster));
        let asked = work.filter_map(|one| one.closing().or_else(|| one.taking_over()));
        let held = news.map(ClusterId).chain(asked.map(|(cluster, _)| cluster));
        owners.hold(connection, held).await?;
        let stays = |cluster: i64| owners.may_tell(ClusterId(cluster), teller[&cluster]);
        health.retain(|row| stays(row.cluster));
        labels.retain(|row| stays(row.cluster));
        Ok(Self {
            owners,
            health,
            labels,
        })
    }

    /// Why that is not done, if so.
    pub(crate) fn refuses(&self, work: &Work) -> Option<StoreError> {
        match (
            work.telling().or_else(|| work.taking_over()),
            work.closing(),
        ) {
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
