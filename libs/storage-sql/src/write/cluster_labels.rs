//! What is said of the labels of clusters. All that one transaction is told is looked at together, and what is not recorded already is written together, as what
//! is said of their health is. Other labels show, or hide, the rows of a cluster in lists that ask for them: each change takes a revision.

use std::collections::BTreeMap;

use armadex_model::ClusterLabels;
use armadex_storage::{ClusterId, StoreError};

use crate::backend::{Connection, rows};
use crate::sql::cluster_labels::{self, LabelsRow};
use crate::write::session::Session;

/// What somebody says of a cluster.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Labelled<'a> {
    pub(crate) cluster: ClusterId,
    /// Who says it.
    pub(crate) owner: &'a str,
    pub(crate) labels: &'a ClusterLabels,
}

/// What was said last of each cluster, in the order of the clusters, as far as it is not recorded already. It holds nothing.
pub(crate) async fn news(
    connection: &mut dyn Connection,
    said: &[Labelled<'_>],
) -> Result<Vec<LabelsRow>, StoreError> {
    let last = said.iter().map(|said| (said.cluster.0, said.labels));
    let mut last: BTreeMap<i64, &ClusterLabels> = last.collect();
    let dialect = connection.dialect();
    let clusters = Vec::from_iter(last.keys().copied());
    for part in clusters.chunks(dialect.most_values()) {
        let statement = cluster_labels::of(dialect, part);
        for known in rows(connection, statement, cluster_labels::decode).await? {
            if last.get(&known.cluster) == Some(&&known.labels) {
                last.remove(&known.cluster);
            }
        }
    }
    let news = last.into_iter().map(|(cluster, labels)| LabelsRow {
        cluster,
        labels: labels.clone(),
    });
    Ok(news.collect())
}

/// Records what is new. The caller holds the owners, so that the clusters are there.
pub(crate) async fn record(
    session: &mut Session<'_>,
    news: &[LabelsRow],
) -> Result<(), StoreError> {
    let bytes = |row: &LabelsRow| row.labels.as_str().len();
    for piece in session.dialect.pieces_of(news, bytes) {
        let statement = cluster_labels::record(session.dialect, piece);
        session.connection.execute(statement).await?;
    }
    for row in news {
        session.catalog.clusters.insert(row.cluster);
        session.shown.cluster(row.cluster);
    }
    Ok(())
}
