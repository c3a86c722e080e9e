//! A view, once the catalog has been asked: the fleet or one cluster, with its types.

use std::sync::Arc;

use armadex_model::{ClusterName, GroupVersionResource, ResourceType};
use armadex_storage::{Catalog, ClusterEntry};

use super::asked::Asked;
use super::context::{Context, OWN_VERSION};
use super::fleet_version::fleet_version;
use crate::answer::status::ApiError;
use crate::discovery::{Types, stored_of};
use crate::request::target::View;

/// What a view is, once the catalog has been asked.
pub(super) struct Seen {
    pub(super) catalog: Arc<Catalog>,
    /// The cluster of a cluster's view.
    pub(super) cluster: Option<ClusterName>,
}

impl Seen {
    pub(super) fn entry(&self) -> Option<&ClusterEntry> {
        let entry = self.catalog.clusters.get(self.cluster.as_ref()?)?;
        Some(entry)
    }

    pub(super) fn types(&self) -> Types<'_> {
        Types::of(&self.catalog, self.entry())
    }

    /// The types of the view, by group, version and name.
    pub(super) fn resources(&self) -> impl Iterator<Item = &ResourceType> {
        let entry = self.entry();
        let all = self.catalog.types.values().map(|one| &**one);
        all.filter(move |one| entry.is_none_or(|entry| entry.resources.contains(&one.gvr)))
    }

    /// Those of one group, or of one version of it.
    pub(super) fn types_in(&self, group: &str, version: Option<&str>) -> Types<'_> {
        Types::of_group((&self.catalog, self.entry()), group, version)
    }

    /// How many of these are stored of the whole fleet: no fewer than the view has.
    pub(super) fn stored_in(&self, group: &str, version: Option<&str>) -> usize {
        stored_of(&self.catalog, group, version).count()
    }

    /// Its types of one group and name, in all versions.
    pub(super) fn types_of(
        &self,
        group: &str,
        resource: &str,
    ) -> impl Iterator<Item = &ResourceType> {
        self.resources()
            .filter(move |one| one.gvr.group == group && one.gvr.resource == resource)
    }

    /// The type, if the view has it and it lives where the path says.
    pub(super) fn resource(
        &self,
        gvr: &GroupVersionResource,
        namespaced: bool,
    ) -> Option<&ResourceType> {
        let found = self.catalog.types.get(gvr)?;
        let is_here = self
            .entry()
            .is_none_or(|entry| entry.resources.contains(gvr));
        (is_here && (found.namespaced || !namespaced)).then_some(&**found)
    }
}

impl Context {
    pub(super) async fn see(&self, view: View, asked: &Asked<'_>) -> Result<Seen, ApiError> {
        let catalog = self.catalog(&asked.asker()).await?;
        let cluster = match view {
            View::Fleet => None,
            View::Cluster(name) if catalog.clusters.contains_key(&name) => Some(name),
            View::Cluster(name) => {
                return Err(ApiError::no_such_object(
                    "cluster.clusterpedia.io",
                    "pediaclusters",
                    name.as_str(),
                ));
            }
        };
        Ok(Seen { catalog, cluster })
    }

    /// The member's version; for the fleet the highest of all, so that a client holds nothing back. While none is known, our own.
    pub(super) fn version_of(&self, seen: &Seen) -> String {
        let version = match &seen.cluster {
            Some(_) => seen.entry().and_then(|entry| entry.version.clone()),
            None => (*self.fleet_version.of(&seen.catalog, fleet_version)).clone(),
        };
        version.unwrap_or_else(|| OWN_VERSION.to_owned())
    }
}
