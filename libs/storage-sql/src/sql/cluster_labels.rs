//! The labels of clusters: a column of their rows that nothing but searches reads.

use armadex_model::ClusterLabels;
use armadex_storage::StoreError;

use crate::backend::Row;
use crate::sql::catalog::{ClusterRow, decode_cluster};
use crate::sql::dialect::Dialect;
use crate::sql::lists::{Given, UpdateFrom};
use crate::sql::statement::{Param, Sql, Statement};

/// A cluster, and its labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LabelledRow {
    pub(crate) cluster: ClusterRow,
    pub(crate) labels: ClusterLabels,
}

/// What is recorded of a cluster's labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LabelsRow {
    pub(crate) cluster: i64,
    pub(crate) labels: ClusterLabels,
}

/// Of [`super::catalog::clusters_since`].
pub(crate) fn decode_since(row: &dyn Row) -> Result<LabelledRow, StoreError> {
    Ok(LabelledRow {
        cluster: decode_cluster(row)?,
        labels: labels(row, 4)?,
    })
}

/// What is recorded of these clusters.
pub(crate) fn of(dialect: Dialect, clusters: &[i64]) -> Statement {
    Sql::new(
        dialect,
        "cluster.labels",
        "SELECT id, labels FROM cluster WHERE ",
    )
    .within("id", clusters)
    .build()
}

pub(crate) fn decode(row: &dyn Row) -> Result<LabelsRow, StoreError> {
    Ok(LabelsRow {
        cluster: row.int(0)?,
        labels: labels(row, 1)?,
    })
}

/// Of one that nobody has said any of there are none.
fn labels(row: &dyn Row, column: usize) -> Result<ClusterLabels, StoreError> {
    let text = row.optional_text(column)?;
    Ok(ClusterLabels::parse(text.as_deref().unwrap_or_default()))
}

/// Records labels of clusters.
pub(crate) fn record(dialect: Dialect, said: &[LabelsRow]) -> Statement {
    let tuples = said
        .iter()
        .map(|LabelsRow { cluster, labels }| [Param::from(*cluster), labels.as_str().into()]);
    Sql::new(dialect, "cluster.label", "")
        .update_from(&RECORD, tuples, [])
        .build()
}

const RECORD: UpdateFrom = UpdateFrom {
    table: "cluster",
    given: Given {
        alias: "l",
        columns: &["id", "labels"],
    },
    set: &[("labels", "l.labels")],
    on: "cluster.id = l.id",
};
