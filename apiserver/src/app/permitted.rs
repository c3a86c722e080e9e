//! What a request for objects has to be granted before they are looked up: the type that it names, in a view that has it there, and the
//! inner questions about it. Reviews of the caller ask the same.

use armadex_model::params::PathParams;
use armadex_model::{GroupVersionResource, Query, ResourceType};

use super::context::Context;
use super::view::Seen;
use crate::answer::status::ApiError;
use crate::caller::attributes;
use crate::caller::identity::Caller;

impl Context {
    /// The type of a list that the caller may have. Each type of the query is restricted to what the caller may see of it.
    pub(super) async fn permit_list<'a>(
        &self,
        seen: &'a Seen,
        gvr: &GroupVersionResource,
        namespace: Option<&str>,
        caller: &Caller,
        query: &mut Query,
    ) -> Result<&'a ResourceType, ApiError> {
        let resource = seen
            .resource(gvr, namespace.is_some())
            .ok_or_else(ApiError::no_such_path)?;
        for index in 0..query.types.len() {
            let scope = self
                .authorizer
                .require_list(caller, namespace, query, &query.types[index].resource)
                .await?;
            query.types[index].scope = scope;
        }
        Ok(resource)
    }

    /// The type of an object that the caller may have.
    pub(super) async fn permit_get(
        &self,
        seen: &Seen,
        gvr: &GroupVersionResource,
        place: &PathParams,
        caller: &Caller,
    ) -> Result<ResourceType, ApiError> {
        let (namespace, name) = (place.namespace.as_deref(), place.name.as_deref());
        let resource = gettable(seen, gvr)?;
        if resource.namespaced != namespace.is_some() {
            return Err(ApiError::no_such_path());
        }
        self.may_get(gvr, namespace, name.unwrap_or_default(), caller)
            .await?;
        Ok(resource)
    }

    /// Grants the inner question of a get, or refuses it.
    pub(super) async fn may_get(
        &self,
        gvr: &GroupVersionResource,
        namespace: Option<&str>,
        name: &str,
        caller: &Caller,
    ) -> Result<(), ApiError> {
        let question = attributes::inner_get(gvr, namespace, name);
        self.authorizer.require(caller, &question).await
    }
}

/// The type of a view's single objects. A namespace can be had where namespaces are not stored: it is there if something is in it.
pub(super) fn gettable(seen: &Seen, gvr: &GroupVersionResource) -> Result<ResourceType, ApiError> {
    if seen.cluster.is_none() {
        return Err(ApiError::bad_request(
            "please specify the cluster name when using the resource name to get a specific resource.",
        ));
    }
    match seen.resource(gvr, false) {
        Some(resource) => Ok(resource.clone()),
        None if is_namespaces(gvr) => Ok(namespaces(gvr)),
        None => Err(ApiError::no_such_path()),
    }
}

/// Whether these are the namespaces of a cluster.
pub(super) fn is_namespaces(gvr: &GroupVersionResource) -> bool {
    *gvr == GroupVersionResource::new("", "v1", "namespaces")
}

fn namespaces(gvr: &GroupVersionResource) -> ResourceType {
    ResourceType {
        gvr: gvr.clone(),
        kind: "Namespace".to_owned(),
        namespaced: false,
        singular: "namespace".to_owned(),
        short_names: vec!["ns".to_owned()],
        categories: Vec::new(),
    }
}
