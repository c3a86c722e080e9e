//! Where a plan looks for a type: clusters by name, and in each the namespaces that may be shown. What is not restricted cluster by cluster is
//! not copied for a page, however many clusters there are.

use std::sync::Arc;

use armadex_model::{ClusterName, NameFilter};

use crate::catalog::holders::Holders;

/// What may be shown of a type in one cluster.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Space<'a> {
    pub(crate) name: &'a ClusterName,
    pub(crate) id: i64,
    pub(crate) namespaces: &'a NameFilter,
}

impl Space<'_> {
    /// Whether the same namespaces are shown of both.
    pub(crate) fn is_like(&self, other: &Space<'_>) -> bool {
        std::ptr::eq(self.namespaces, other.namespaces) || self.namespaces == other.namespaces
    }
}

/// Clusters by name.
#[derive(Clone, Debug)]
pub(crate) struct Spaces {
    clusters: Arc<Holders>,
    namespaces: Namespaces,
}

#[derive(Clone, Debug)]
enum Namespaces {
    /// The same in all clusters.
    Same(Arc<NameFilter>),
    /// One for each cluster.
    Each(Vec<Arc<NameFilter>>),
}

impl Spaces {
    /// The same namespaces of all of these clusters.
    pub(super) fn all(clusters: Arc<Holders>, namespaces: &Arc<NameFilter>) -> Self {
        Self {
            clusters,
            namespaces: Namespaces::Same(Arc::clone(namespaces)),
        }
    }

    /// These clusters, in the order of their names, each with its namespaces.
    pub(super) fn some(spaces: impl Iterator<Item = (ClusterName, i64, Arc<NameFilter>)>) -> Self {
        let (clusters, namespaces): (Vec<_>, Vec<_>) = spaces
            .map(|(name, id, namespaces)| ((name, id), namespaces))
            .unzip();
        Self {
            clusters: Arc::new(clusters.into_iter().collect()),
            namespaces: Namespaces::Each(namespaces),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn len(&self) -> usize {
        self.clusters.len()
    }

    /// The cluster at a place.
    pub(crate) fn get(&self, at: usize) -> Option<Space<'_>> {
        let (name, id) = self.clusters.get(at)?;
        let namespaces = match &self.namespaces {
            Namespaces::Same(namespaces) => namespaces,
            Namespaces::Each(namespaces) => namespaces.get(at)?,
        };
        Some(Space {
            name,
            id,
            namespaces,
        })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Space<'_>> {
        (0..self.len()).filter_map(|at| self.get(at))
    }

    /// The place of the cluster with a number.
    pub(crate) fn at(&self, id: i64) -> Option<usize> {
        self.clusters.at(id)
    }

    /// How many come before a name.
    pub(crate) fn before(&self, name: &str) -> usize {
        self.clusters.before(name)
    }

    /// Whether no cluster is restricted to some of its namespaces.
    pub(crate) fn is_whole(&self) -> bool {
        let is_any = |namespaces: &Arc<NameFilter>| **namespaces == NameFilter::Any;
        match &self.namespaces {
            Namespaces::Same(namespaces) => is_any(namespaces),
            Namespaces::Each(namespaces) => namespaces.iter().all(is_any),
        }
    }

    /// What all pages of the fleet share.
    #[cfg(test)]
    pub(super) fn shares_clusters_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.clusters, &other.clusters)
    }
}
