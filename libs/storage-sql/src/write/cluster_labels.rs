//! What is said of the labels of clusters. All that one transaction is told is looked at together, and what is not recorded already is written together, as what
//! is said of their health is. Other labels show, or hide, the rows of a cluster in lists that ask for them: each change takes a revision.

use std::collections::BTreeMap;

use armadex_model::ClusterLabels;
use armadex_storage::{ClusterId, StoreError};

use crate::backend::{Connection, rows};
use crate::sql::cluster_labels::{self, LabelsRow};
use crate::write::clusters::check_owners;
use crate::write::session::Session;

/// What somebody says of a cluster.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Labelled<'a> {
    pub(crate) cluster: ClusterId,
    /// Who says it.
    pub(crate) owner: &'a str,
    pub(crate) labels: &'a ClusterLabels,
}

/// What is not recorded already.
#[derive(Debug, Default)]
pub(crate) struct News<'a> {
    /// Whose clusters that is of, as they who said it think.
    pub(crate) owners: Vec<(ClusterId, &'a str)>,
    /// What was said last of each cluster, in the order of the clusters.
    rows: Vec<LabelsRow>,
}

/// What is new of what is said, by the owners of the clusters alone.
pub(crate) async fn look<'a>(
    connection: &mut dyn Connection,
    said: &[Labelled<'a>],
) -> Result<News<'a>, StoreError> {
    let mut owners = Vec::from_iter(said.iter().map(|said| (said.cluster, said.owner)));
    check_owners(connection, &owners).await?;
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
    owners.retain(|(cluster, _)| last.contains_key(&cluster.0));
    let rows = last.into_iter().map(|(cluster, labels)| LabelsRow {
        cluster,
        labels: labels.clone(),
    });
    Ok(News {
        owners,
        rows: rows.collect(),
    })
}

/// Records what is new. The caller holds the owners, so that the clusters are there.
pub(crate) async fn record(session: &mut Session<'_>, news: &News<'_>) -> Result<(), StoreError> {
    let bytes = |row: &LabelsRow| row.labels.as_str().len();
    for piece in session.dialect.pieces_of(&news.rows, bytes) {
        let statement = cluster_labels::record(session.dialect, piece);
        session.connection.execute(statement).await?;
    }
    for row in &news.rows {
        session.catalog.clusters.insert(row.cluster);
        session.shown.cluster(row.cluster);
    }
    Ok(())
}
