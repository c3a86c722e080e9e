//! A search as a value: what `parse` makes of a request and what a store plans from.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;

use crate::label::Requirement;
use crate::{GroupVersionResource, NameFilter};

/// One search over one or several resource types. All restrictions hold together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// What is searched, each type once; rows without another order come type by type as they stand here.
    pub types: Vec<Searched>,
    /// Clusters asked for.
    pub clusters: NameFilter,
    /// Namespaces asked for; the namespace of a cluster-scoped object is empty.
    pub namespaces: NameFilter,
    /// Object names asked for.
    pub names: NameFilter,
    /// Requirements on the labels of clusters ([`crate::ClusterLabels`]): only clusters of which all hold are searched.
    pub cluster_labels: Vec<Requirement>,
    /// Label requirements.
    pub labels: Vec<Requirement>,
    /// Requirements on indexed fields ([`crate::field`]); the key is the label.
    pub fields: Vec<Requirement>,
    /// Sort order; type, cluster, namespace and name follow as tie-breakers: the page order.
    pub order: Vec<OrderBy>,
}

impl Query {
    /// Everything of one type that anybody may see, in page order.
    #[must_use]
    pub fn all(resource: GroupVersionResource) -> Self {
        Self {
            types: vec![Searched {
                resource,
                scope: Scope::Everything,
            }],
            clusters: NameFilter::Any,
            namespaces: NameFilter::Any,
            names: NameFilter::Any,
            cluster_labels: Vec::new(),
            labels: Vec::new(),
            fields: Vec::new(),
            order: Vec::new(),
        }
    }

    /// The same search by a caller who may see no more than this of each of its types.
    #[must_use]
    pub fn scoped(mut self, scope: &Scope) -> Self {
        for searched in &mut self.types {
            searched.scope = scope.clone();
        }
        self
    }
}

/// A type that is searched, and what the caller may see of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Searched {
    /// The type.
    pub resource: GroupVersionResource,
    /// Applied before counting, sorting and paging.
    pub scope: Scope,
}

/// The clusters and namespaces that a caller may see of one type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Authorised for every cluster and namespace.
    Everything,
    /// Authorised for these clusters, each with what is allowed in it.
    Clusters(BTreeMap<String, NamespaceScope>),
}

/// What a caller may see inside one cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamespaceScope {
    /// Every namespace, and cluster-scoped objects.
    All,
    /// These namespaces only.
    Only(BTreeSet<String>),
}

/// One key of a sort order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderBy {
    /// What is compared.
    pub field: OrderField,
    /// From the greatest to the least.
    pub descending: bool,
}

/// The closed set of sortable fields; text is compared as bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OrderField {
    /// The cluster's name.
    Cluster,
    /// The namespace.
    Namespace,
    /// The object's name.
    Name,
    /// `metadata.creationTimestamp`.
    CreatedAt,
    /// The member's resourceVersion, as a number.
    ResourceVersion,
    /// `metadata.uid`.
    Uid,
}

/// Where a page begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// With the first row.
    Beginning,
    /// Right after this place, whether a row is there or not.
    After(Position),
    /// After this many rows: Clusterpedia's integer `continue` and the `offset` label.
    Offset(u64),
}

/// A place in the total order of a query: its sort values, then the page order. It is made of names alone, so it outlives every
/// number of a store; no row has to be there, because a page may end where nothing was found.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Position {
    /// One value for each key of the query's order.
    #[serde(rename = "k", default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<SortValue>,
    /// The type.
    #[serde(rename = "t")]
    pub resource: GroupVersionResource,
    /// The cluster.
    #[serde(rename = "c")]
    pub cluster: String,
    /// The namespace; empty for cluster-scoped objects.
    #[serde(rename = "s")]
    pub namespace: String,
    /// The object's name, or [`END`].
    #[serde(rename = "n")]
    pub name: String,
}

/// Stands for the end of a namespace: no name of an object comes after it.
pub const END: &str = "\u{10FFFF}";

/// A value that rows are sorted by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(untagged)]
pub enum SortValue {
    /// Times (seconds since 1970) and resource versions.
    Number(i64),
    /// Names and uids.
    Text(String),
}

/// How much of an answer a client asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Rows in this response: the URL's `limit`. `None` means all.
    pub page: Option<NonZeroU64>,
    /// Rows in the whole answer, over all pages: the search label `limit`. `None` means all.
    pub total: Option<NonZeroU64>,
}
