//! What a transaction changes of the catalogue. It is collected while the transaction works and stamped once, at its end: one count for
//! all, by which readers find what is new to them.

use std::collections::BTreeSet;

use armadex_storage::StoreError;

use crate::backend::{Connection, head_row};
use crate::sql::dialect::Dialect;
use crate::sql::head::HeadRow;
use crate::sql::{catalog, gone, head, stream, unposted};
use crate::write::label_keys::TypeKey;

/// Rows that changed.
#[derive(Debug, Default)]
pub(crate) struct CatalogChange {
    pub(crate) clusters: BTreeSet<i64>,
    pub(crate) health: BTreeSet<i64>,
    pub(crate) types: BTreeSet<i32>,
    /// Types that none has any more, whose rows are deleted.
    pub(crate) dropped_types: BTreeSet<i64>,
    /// Cluster and type of streams that were opened or closed.
    pub(crate) streams: BTreeSet<(i64, i32)>,
    /// Label keys whose values are not posted from now on.
    pub(crate) unposted: BTreeSet<TypeKey>,
    /// Something was made anew that no reader keeps: whoever copies the store sees that it was written.
    pub(crate) is_mended: bool,
}

impl CatalogChange {
    fn is_empty(&self) -> bool {
        let Self {
            clusters,
            health,
            types,
            dropped_types,
            streams,
            unposted,
            is_mended,
        } = self;
        let streams = streams.is_empty() && unposted.is_empty() && dropped_types.is_empty();
        clusters.is_empty() && health.is_empty() && types.is_empty() && streams && !is_mended
    }

    /// Counts the change and stamps its rows; gives the head, if there was a change. The head row comes last: every writer waits for it.
    pub(crate) async fn stamp(
        self,
        connection: &mut dyn Connection,
        dialect: Dialect,
    ) -> Result<Option<HeadRow>, StoreError> {
        if self.is_empty() {
            return Ok(None);
        }
        let Self {
            clusters,
            health,
            types,
            dropped_types,
            streams,
            unposted,
            is_mended: _,
        } = self;
        connection.execute(head::bump_catalog()).await?;
        let head = head_row::read(connection).await?;
        let seq = head.catalog;
        let types = types.into_iter().map(i64::from);
        for (stamp, ids) in [
            (
                catalog::stamp_clusters as fn(Dialect, i64, &[i64]) -> _,
                Vec::from_iter(clusters),
            ),
            (catalog::stamp_health, Vec::from_iter(health)),
            (catalog::stamp_types, Vec::from_iter(types)),
        ] {
            for part in ids.chunks(dialect.most_values()) {
                connection.execute(stamp(dialect, seq, part)).await?;
            }
        }
        for part in Vec::from_iter(streams).chunks(dialect.most_values()) {
            connection
                .execute(stream::stamp(dialect, seq, part))
                .await?;
        }
        for piece in dialect.pieces(&Vec::from_iter(dropped_types)) {
            connection
                .execute(gone::note_types(dialect, seq, piece))
                .await?;
        }
        for piece in dialect.pieces(&Vec::from_iter(unposted)) {
            connection
                .execute(unposted::insert(dialect, &head, piece))
                .await?;
        }
        Ok(Some(head))
    }
}
