//! What a walk goes over: namespaces of clusters, and the objects in them.

use std::sync::Arc;

use armadex_model::ClusterName;

use crate::sql::select::Candidate;

/// A namespace of a cluster in which a type has objects. Places of one type compare as pages do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The type's place among the query's.
    pub(crate) index: usize,
    pub(crate) cluster: ClusterName,
    pub(crate) namespace: Arc<str>,
    pub(crate) nsid: i64,
    /// At most so many objects are of interest here: all of the type, or those with the term that led here.
    pub(crate) objects: i64,
}

/// An object where it lives.
#[derive(Clone, Debug)]
pub(crate) struct Located {
    pub(crate) place: Arc<Place>,
    pub(crate) object: Candidate,
}
