//! A search as a value: what `parse` makes of a request and what a store plans from.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;

use crate::label::Requirement;
use crate::{GroupVersionResource, NameFilter};

/// One search over one resource type. All restrictions hold together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The type that is searched.
    pub resource: GroupVersionResource,
    /// What this caller may see; applied before counting, sorting and paging.
    pub scope: Scope,
    /// Clusters asked for.
    pub clusters: NameFilter,
    /// Namespaces asked for; the namespace of a cluster-scoped object is empty.
    pub namespaces: NameFilter,
    /// Object names asked for.
    pub names: NameFilter,
    /// Label requirements.
    pub labels: Vec<Requirement>,
    /// Requirements on indexed fields ([`crate::field`]); the key is the label.
    pub fields: Vec<Requirement>,
    /// Sort order; cluster, namespace and name follow as tie-breakers in the store's page order.
    pub order: Vec<OrderBy>,
}

impl Query {
    /// Everything of one type that anybody may see, in page order.
    #[must_use]
    pub fn all(resource: GroupVersionResource) -> Self {
        Self {
            resource,
            scope: Scope::Everything,
            clusters: NameFilter::Any,
            namespaces: NameFilter::Any,
            names: NameFilter::Any,
            labels: Vec::new(),
            fields: Vec::new(),
            order: Vec::new(),
        }
    }
}

/// The clusters and namespaces that a caller may see of the type that is searched.
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
    /// Right after this row.
    After(Position),
    /// After this many rows: Clusterpedia's integer `continue` and the `offset` label.
    Offset(u64),
}

/// The place of a row in the total order of a query: its sort values, then the store's page order.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Position {
    /// One value for each key of the query's order.
    pub keys: Vec<SortValue>,
    /// The store's number for (cluster, namespace).
    pub namespace_id: i64,
    /// The object's name.
    pub name: String,
}

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
