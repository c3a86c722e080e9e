//! The Kubernetes API below a view: discovery, lists and objects of the fleet or of one cluster.

use std::sync::Arc;

use armadex_model::params::{Place, RawParams, parse_get, parse_list};
use armadex_model::query::Start;
use armadex_model::{
    ClusterName, GroupVersionResource, NameFilter, ObjectKey, Query, ResourceType,
};
use armadex_storage::{Catalog, ClusterEntry, Found, PageBudget};

use super::asked::Asked;
use super::context::{Context, OWN_VERSION};
use crate::answer::encode::{Encoder, Shape};
use crate::answer::listing::ListStream;
use crate::answer::reply::Reply;
use crate::answer::status::ApiError;
use crate::caller::attributes;
use crate::discovery::{self, Types};
use crate::request::negotiate::{self, Arity, Discovery};
use crate::request::target::{Health, Native, View};

/// What a view is, once the catalog has been asked.
struct Seen {
    catalog: Arc<Catalog>,
    /// The cluster of a cluster's view.
    cluster: Option<ClusterName>,
}

impl Seen {
    fn entry(&self) -> Option<&ClusterEntry> {
        self.catalog.clusters.get(self.cluster.as_ref()?)
    }

    fn types(&self) -> Types<'_> {
        Types::of(&self.catalog, self.entry())
    }

    /// The type, if the view has it and it lives where the path says.
    fn resource(&self, gvr: &GroupVersionResource, namespaced: bool) -> Option<&ResourceType> {
        let found = self.catalog.types.get(gvr)?;
        let is_here = self
            .entry()
            .is_none_or(|entry| entry.resources.contains(gvr));
        (is_here && (found.namespaced || !namespaced)).then_some(found)
    }

    /// What a caller has to know about the health of the cluster it looks at.
    fn warning(&self) -> Option<String> {
        let cluster = self.cluster.as_ref()?;
        let incomplete =
            format!("{cluster} is not ready and the resources obtained may be inaccurate");
        match &self.entry()?.health {
            Some(health) if health.healthy => None,
            Some(health) => Some(format!("{incomplete}, reason: {}", health.reason)),
            None => Some(format!("{incomplete}.")),
        }
    }
}

impl Context {
    pub(super) async fn native(
        &self,
        view: View,
        native: Native,
        asked: &Asked<'_>,
    ) -> Result<Reply, ApiError> {
        let seen = self.see(view).await?;
        match native {
            Native::Health => Ok(self.health(Health::Ready).await),
            Native::Version => asked.document(&discovery::info(version(&seen))),
            Native::CoreVersions => match asked.discovery()? {
                Discovery::Legacy => asked.document(&discovery::core_versions()),
                Discovery::Aggregated => {
                    Ok(asked.aggregated(&discovery::aggregated_core(&seen.types())))
                }
            },
            Native::Groups => match asked.discovery()? {
                Discovery::Legacy => asked.document(&discovery::group_list(&seen.types())),
                Discovery::Aggregated => {
                    Ok(asked.aggregated(&discovery::aggregated_groups(&seen.types())))
                }
            },
            Native::Group(name) => asked.found(discovery::group(&seen.types(), &name)),
            Native::Resources { group, version } => {
                asked.found(discovery::resources(&seen.types(), &group, &version))
            }
            Native::List {
                resource,
                namespace,
            } => self.list(&seen, &resource, namespace, asked).await,
            Native::Get {
                resource,
                namespace,
                name,
            } => self.get(&seen, &resource, namespace, name, asked).await,
            Native::Subresource {
                resource,
                subresource,
            } => Err(ApiError::method_not_allowed(format!(
                "subresource {subresource} of {resource} is not served: ask the member itself"
            ))),
        }
    }

    async fn see(&self, view: View) -> Result<Seen, ApiError> {
        let catalog = self.catalog().await?;
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

    async fn list(
        &self,
        seen: &Seen,
        gvr: &GroupVersionResource,
        namespace: Option<String>,
        asked: &Asked<'_>,
    ) -> Result<Reply, ApiError> {
        let resource = seen
            .resource(gvr, namespace.is_some())
            .ok_or_else(ApiError::no_such_path)?;
        let form =
            negotiate::objects(asked.accept.as_deref(), Arity::Many).ok_or_else(not_acceptable)?;
        let place = Place {
            cluster: seen.cluster.clone(),
            namespace,
        };
        let params = parse_list(gvr.clone(), &place, &RawParams::from_query(asked.query))?;
        self.authorizer
            .require_list(asked.caller, place.namespace.as_deref(), &params.query)
            .await?;
        let unknown = unknown_clusters(&seen.catalog, &params.query.clusters);
        let shape = Shape {
            form,
            include: params.include_object,
            only_metadata: params.only_metadata,
            now: (self.clock)(),
        };
        let stream =
            ListStream::open(Arc::clone(&self.search), resource.clone(), params, shape).await?;
        let reply = warned(Reply::list(stream), seen.warning());
        Ok(warned(reply, unknown))
    }

    async fn get(
        &self,
        seen: &Seen,
        gvr: &GroupVersionResource,
        namespace: Option<String>,
        name: String,
        asked: &Asked<'_>,
    ) -> Result<Reply, ApiError> {
        let Some(cluster) = &seen.cluster else {
            return Err(ApiError::bad_request(
                "please specify the cluster name when using the resource name to get a specific resource.",
            ));
        };
        let form =
            negotiate::objects(asked.accept.as_deref(), Arity::One).ok_or_else(not_acceptable)?;
        let params = parse_get(&RawParams::from_query(asked.query))?;
        let question = attributes::inner_get(gvr, namespace.as_deref(), &name);
        let key = ObjectKey::new(namespace.unwrap_or_default(), name);
        let lives_in_a_namespace = !key.namespace.is_empty();
        let resource = match seen.resource(gvr, lives_in_a_namespace) {
            Some(resource) if resource.namespaced == lives_in_a_namespace => resource.clone(),
            None if is_namespace(gvr, &key) => namespaces(gvr),
            _ => return Err(ApiError::no_such_path()),
        };
        self.authorizer.require(asked.caller, &question).await?;
        let stored = self.search.get(cluster, gvr, &key).await?;
        let found = match stored {
            Some(found) => found,
            None if is_namespace(gvr, &key) && seen.resource(gvr, false).is_none() => {
                self.implied_namespace(seen, cluster, &key.name).await?
            }
            None => {
                return Err(ApiError::no_such_object(
                    &gvr.group,
                    &gvr.resource,
                    &key.name,
                ));
            }
        };
        let shape = Shape {
            form,
            include: params.include_object,
            only_metadata: false,
            now: (self.clock)(),
        };
        let mut json = Vec::new();
        Encoder::new(&resource, shape)
            .object(&mut json, &found)
            .map_err(|error| {
                tracing::error!(error = %error, "an object cannot be served");
                ApiError::internal()
            })?;
        self.counters.served(1, 0);
        Ok(warned(Reply::json(json, params.pretty), seen.warning()))
    }

    /// A namespace that is not stored but has rows. kubectl asks for it after it has not found an object, and would else say that
    /// the namespace is missing.
    async fn implied_namespace(
        &self,
        seen: &Seen,
        cluster: &ClusterName,
        namespace: &str,
    ) -> Result<Found, ApiError> {
        let resources = seen.entry().into_iter().flat_map(|entry| &entry.resources);
        let namespaced = resources.filter(|gvr| seen.resource(gvr, true).is_some());
        for gvr in namespaced.take(MAX_TYPES_ASKED) {
            let mut query = Query::all(gvr.clone());
            query.clusters = NameFilter::only(cluster.as_str());
            query.namespaces = NameFilter::only(namespace);
            let budget = PageBudget { rows: 1, bytes: 1 };
            let page = self.search.page(&query, &Start::Beginning, budget).await?;
            if let Some(row) = page.rows.into_iter().next() {
                return Ok(namespace_of(row));
            }
        }
        Err(ApiError::no_such_object("", "namespaces", namespace))
    }
}

/// One small read each; a cluster seldom has more namespaced types.
const MAX_TYPES_ASKED: usize = 200;

impl Asked<'_> {
    fn found(&self, document: Option<serde_json::Value>) -> Result<Reply, ApiError> {
        self.document(&document.ok_or_else(ApiError::no_such_path)?)
    }
}

fn warned(reply: Reply, warning: Option<String>) -> Reply {
    match warning {
        Some(text) => reply.warn(&text),
        None => reply,
    }
}

/// The member's version; for the fleet the highest of all, so that a client holds nothing back. While none is known, our own.
fn version(seen: &Seen) -> &str {
    let versions = match &seen.cluster {
        Some(_) => seen.entry().and_then(|entry| entry.version.as_deref()),
        None => {
            let entries = seen.catalog.clusters.values();
            discovery::highest(entries.filter_map(|entry| entry.version.as_deref()))
        }
    };
    versions.unwrap_or(OWN_VERSION)
}

/// At most this many names are put into one warning.
const NAMES_IN_WARNING: usize = 5;

/// Says which of the clusters that were asked for do not exist.
fn unknown_clusters(catalog: &Catalog, asked: &NameFilter) -> Option<String> {
    let NameFilter::In(names) = asked else {
        return None;
    };
    let is_known =
        |name: &str| ClusterName::new(name).is_ok_and(|name| catalog.clusters.contains_key(&name));
    let unknown: Vec<&str> = names
        .iter()
        .map(String::as_str)
        .filter(|name| !is_known(name))
        .collect();
    let (shown, hidden) = unknown.split_at(unknown.len().min(NAMES_IN_WARNING));
    match (shown, hidden.len()) {
        ([], _) => None,
        (shown, 0) => Some(format!("no such cluster: {}", shown.join(", "))),
        (shown, more) => Some(format!(
            "no such cluster: {} and {more} more",
            shown.join(", ")
        )),
    }
}

fn not_acceptable() -> ApiError {
    ApiError::not_acceptable("application/json")
}

fn is_namespace(gvr: &GroupVersionResource, key: &ObjectKey) -> bool {
    key.namespace.is_empty() && *gvr == GroupVersionResource::new("", "v1", "namespaces")
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

/// Says on every object which cluster it lives in.
const CLUSTER_ANNOTATION: &str = "shadow.clusterpedia.io/cluster-name";

/// The namespace that a row lives in, with all that is known of it: its name and its cluster.
fn namespace_of(row: Found) -> Found {
    let metadata = serde_json::json!({
        "name": row.key.namespace,
        "annotations": {CLUSTER_ANNOTATION: row.cluster.as_str()},
    });
    // A body is what follows the opening brace of the metadata.
    let body = format!("{}}}", &metadata.to_string()[1..]);
    Found {
        key: ObjectKey::new("", row.key.namespace),
        resource_version: "0".to_owned(),
        created: 0,
        body: body.into(),
        ..row
    }
}
