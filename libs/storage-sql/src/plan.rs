//! From a query to a plan: which namespace ids to read, along which index, in which order. Pure; a plan prints itself.

mod space;

use armadex_model::{NameFilter, Query};
use armadex_storage::StoreError;

use crate::snapshot::Snapshot;
use crate::sql::namespace::NamespaceRow;

pub(crate) use space::{Segment, named_namespaces, space};

/// How a query is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) resource: i32,
    /// Where to look, in page order.
    pub(crate) segments: Vec<Segment>,
    /// Which names pass.
    pub(crate) names: NameFilter,
}

/// Plans a query; `named` are the namespaces of [`named_namespaces`] that are stored.
pub(crate) fn plan(
    query: &Query,
    resource: i32,
    snapshot: &Snapshot,
    named: &[NamespaceRow],
) -> Result<Plan, StoreError> {
    let unsupported = |what: &str| Err(StoreError::Unsupported { what: what.into() });
    if let Some(requirement) = query.labels.iter().chain(&query.fields).next() {
        return unsupported(&requirement.to_string());
    }
    if let Some(key) = query.order.first() {
        return unsupported(&format!("{:?}", key.field));
    }
    Ok(Plan {
        resource,
        segments: space(query, resource, snapshot, named),
        names: query.names.clone(),
    })
}
