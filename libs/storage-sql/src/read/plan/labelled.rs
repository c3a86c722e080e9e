//! Which clusters have the labels that a query asks for. Told by the catalogue alone, once for all types of a query.

use std::collections::HashSet;

use armadex_model::label::Operator;
use armadex_model::{ClusterName, NameFilter, Query};
use armadex_storage::{Catalog, StoreError};

/// Clusters that a query lets through by their labels.
pub(super) enum Labelled<'a> {
    /// It asks for none.
    All,
    /// These, of those that it names.
    Some(HashSet<&'a ClusterName>),
}

impl<'a> Labelled<'a> {
    /// Those of the catalogue. Of a query that names clusters no other is looked at.
    pub(super) fn of(query: &Query, catalog: &'a Catalog) -> Self {
        if query.cluster_labels.is_empty() {
            return Self::All;
        }
        let clusters: Box<dyn Iterator<Item = _>> = match &query.clusters {
            NameFilter::In(names) => Box::new(names.iter().filter_map(|name| {
                let name = ClusterName::new(name).ok()?;
                catalog.clusters.get_key_value(&name)
            })),
            _ => Box::new(catalog.clusters.iter()),
        };
        let meant = clusters.filter(|(_, entry)| entry.labels.meet(&query.cluster_labels));
        Self::Some(meant.map(|(name, _)| name).collect())
    }

    /// Whether it lets all through.
    pub(super) fn is_all(&self) -> bool {
        matches!(self, Self::All)
    }

    pub(super) fn admits(&self, cluster: &ClusterName) -> bool {
        match self {
            Self::All => true,
            Self::Some(clusters) => clusters.contains(cluster),
        }
    }
}

/// Numbers are compared no more than those of an object's labels.
pub(super) fn check(query: &Query) -> Result<(), StoreError> {
    let compares =
        |operator: &Operator| matches!(operator, Operator::GreaterThan(_) | Operator::LessThan(_));
    let mut requirements = query.cluster_labels.iter();
    match requirements.find(|requirement| compares(&requirement.operator)) {
        Some(requirement) => Err(StoreError::Unsupported {
            what: format!("the requirement {requirement} on a label of clusters is not served"),
        }),
        None => Ok(()),
    }
}

/// How many values the requirements have.
pub(super) fn values(query: &Query) -> usize {
    let values = query
        .cluster_labels
        .iter()
        .map(|requirement| match &requirement.operator {
            Operator::In(values) | Operator::NotIn(values) => values.len(),
            _ => 0,
        });
    values.sum()
}
