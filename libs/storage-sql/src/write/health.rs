//! What is said of the health of clusters. All that one transaction is told is looked at together, and what is not recorded already is written together:
//! each synchro says it of each of its clusters every few minutes, and nothing is written, or held, of what is known.

use std::collections::BTreeMap;

use armadex_storage::{ClusterId, Health, StoreError};

use crate::backend::{Connection, rows};
use crate::sql::catalog::{self, HealthRow};
use crate::write::session::Session;

/// What somebody says of a cluster.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Said<'a> {
    pub(crate) cluster: ClusterId,
    /// Who says it.
    pub(crate) owner: &'a str,
    pub(crate) health: &'a Health,
    pub(crate) version: Option<&'a str>,
}

/// What was said last of each cluster, in the order of the clusters, as far as it is not recorded already. It holds nothing.
pub(crate) async fn news(
    connection: &mut dyn Connection,
    said: &[Said<'_>],
) -> Result<Vec<HealthRow>, StoreError> {
    let mut last = last_of_each(said);
    let clusters = Vec::from_iter(last.keys().copied());
    for known in recorded(connection, &clusters).await? {
        let row = last.get(&known.cluster);
        if row.is_some_and(|row| says_no_more(row, &known)) {
            last.remove(&known.cluster);
        }
    }
    Ok(last.into_values().collect())
}

/// Records what is new. The caller holds the owners, so that the clusters are there: what is said of one that is gone would be left behind.
pub(crate) async fn record(
    session: &mut Session<'_>,
    news: &[HealthRow],
) -> Result<(), StoreError> {
    let bytes = |row: &HealthRow| row.health.reason.len();
    let pieces = session.dialect.pieces_of(news, bytes);
    for piece in pieces {
        let statement = catalog::record_health(session.dialect, piece);
        session.connection.execute(statement).await?;
    }
    let clusters = news.iter().map(|row| row.cluster);
    session.catalog.health.extend(clusters);
    Ok(())
}

async fn recorded(
    connection: &mut dyn Connection,
    clusters: &[i64],
) -> Result<Vec<HealthRow>, StoreError> {
    let dialect = connection.dialect();
    let mut recorded = Vec::with_capacity(clusters.len());
    for part in clusters.chunks(dialect.most_values()) {
        let statement = catalog::health_of(dialect, part);
        recorded.extend(rows(connection, statement, catalog::decode_health).await?);
    }
    Ok(recorded)
}

/// What was said last of each cluster, with the version that was said last.
fn last_of_each(said: &[Said<'_>]) -> BTreeMap<i64, HealthRow> {
    let mut last: BTreeMap<i64, HealthRow> = BTreeMap::new();
    for said in said {
        let before = last.remove(&said.cluster.0);
        let version = said.version.map(String::from);
        let row = HealthRow {
            cluster: said.cluster.0,
            health: said.health.clone(),
            version: version.or_else(|| before?.version),
        };
        last.insert(row.cluster, row);
    }
    last
}

/// Who says no version says nothing against the one that is known.
fn says_no_more(row: &HealthRow, known: &HealthRow) -> bool {
    row.health == known.health && (row.version.is_none() || row.version == known.version)
}
