//! Who looks after clusters. Whoever tells of a cluster that somebody else looks after, or asks something of it, is refused, and nobody beside him is.

use std::collections::{BTreeSet, HashMap};

use armadex_storage::{ClusterId, StoreError};

use crate::backend::{Connection, rows};
use crate::sql::catalog::{self, OwnerRow};
use crate::sql::dialect::Dialect;
use crate::sql::statement::Statement;

/// What is known of the clusters that were looked for. One that was looked for and is not here is gone.
#[derive(Debug, Default)]
pub(crate) struct Owners(HashMap<i64, OwnerRow>);

impl Owners {
    /// Those of these clusters, as they are at this moment.
    pub(crate) async fn look(
        connection: &mut dyn Connection,
        clusters: impl Iterator<Item = ClusterId>,
    ) -> Result<Self, StoreError> {
        let mut found = Self::default();
        found.find(connection, clusters, catalog::owners).await?;
        Ok(found)
    }

    /// Holds those of these clusters as well: nobody else looks after them, nor do they leave, before the transaction ends.
    pub(crate) async fn hold(
        &mut self,
        connection: &mut dyn Connection,
        clusters: impl Iterator<Item = ClusterId>,
    ) -> Result<(), StoreError> {
        self.find(connection, clusters, catalog::hold_owners).await
    }

    async fn find(
        &mut self,
        connection: &mut dyn Connection,
        clusters: impl Iterator<Item = ClusterId>,
        statement: fn(Dialect, &[i64]) -> Statement,
    ) -> Result<(), StoreError> {
        let clusters = BTreeSet::from_iter(clusters.map(|cluster| cluster.0));
        let clusters = Vec::from_iter(clusters);
        let dialect = connection.dialect();
        for part in clusters.chunks(dialect.most_values()) {
            let found = rows(connection, statement(dialect, part), catalog::decode_owner).await?;
            for cluster in part {
                self.0.remove(cluster);
            }
            self.0
                .extend(found.into_iter().map(|row| (row.cluster, row)));
        }
        Ok(())
    }

    /// Whether the cluster is there and has not left.
    pub(crate) fn is_there(&self, cluster: ClusterId) -> bool {
        self.0.get(&cluster.0).is_some_and(|known| known.active)
    }

    /// Whether this owner may tell of a cluster.
    pub(crate) fn may_tell(&self, cluster: ClusterId, owner: &str) -> bool {
        self.refuses_telling(cluster, owner).is_none()
    }

    /// Why this owner may not tell of a cluster, or open a stream of it: it is not there, or another one's.
    pub(crate) fn refuses_telling(&self, cluster: ClusterId, owner: &str) -> Option<StoreError> {
        match self.is_there(cluster) {
            true => self.refuses_closing(cluster, owner),
            false => Some(left(cluster)),
        }
    }

    /// Why this owner may not close a stream of a cluster: it is another one's, or was when it left. One that is gone is nobody's.
    pub(crate) fn refuses_closing(&self, cluster: ClusterId, owner: &str) -> Option<StoreError> {
        let known = self.0.get(&cluster.0);
        let is_anothers = known.is_some_and(|known| known.owner != owner);
        is_anothers.then(|| StoreError::TakenOver {
            what: format!("cluster {}", cluster.0),
        })
    }
}

pub(crate) fn left(cluster: ClusterId) -> StoreError {
    let what = format!("cluster {}", cluster.0);
    StoreError::Left { what }
}
