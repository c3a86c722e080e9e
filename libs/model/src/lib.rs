//! The words of the domain as values: names, resource types, selectors, index terms, queries and the stored form of an object.
//!
//! Everything here takes values and gives values. There is no input or output, no clock, no Kubernetes client and no SQL, so that
//! both data paths (member to store, request to answer) can share these types and be tested without either.

pub mod body;
pub mod cluster;
pub mod cluster_labels;
mod cluster_selector;
pub mod field;
mod field_selector;
pub mod filter;
pub mod key;
pub mod label;
pub mod params;
pub mod query;
pub mod resource;
pub mod rules;
mod search;
pub mod term;

pub use cluster::ClusterName;
pub use cluster_labels::ClusterLabels;
pub use filter::NameFilter;
pub use key::ObjectKey;
pub use query::Query;
pub use resource::{GroupVersionResource, ResourceType};
pub use term::Term;
