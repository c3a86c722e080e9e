//! Objects below a view: a list of them, or one.

use std::sync::Arc;

use armadex_model::params::{
    GetParams, ListParams, Parsed, PathParams, RawParams, Request, Revision, parse,
};
use armadex_model::{ClusterName, GroupVersionResource, ObjectKey, ResourceType};
use armadex_storage::{Found, Phase, Search};

use super::asked::Asked;
use super::context::Context;
use super::permitted::is_namespaces;
use super::unhealthy::Unhealthy;
use super::view::Seen;
use super::warnings;
use crate::answer::aside::aside;
use crate::answer::encode::{Encoder, Listed, Shape};
use crate::answer::listing::ListStream;
use crate::answer::object::Damaged;
use crate::answer::outbox::{OUTBOX, Outbox};
use crate::answer::reply::Reply;
use crate::answer::searches::Searches;
use crate::answer::status::{ApiError, chain};
use crate::request::negotiate::{self, Arity};
use crate::turns::Asker;

/// Reserved before an object is read: a synchro stores none that is larger, unless told to. What is made of it is there beside it only
/// within one step, of which there are as many at a time as the machine has cores.
const LARGEST_OBJECT: usize = 2 << 20;

/// What an object has in an answer beside what is stored of it: its kind, its version, brackets.
const AROUND_OBJECT: usize = 1 << 10;

impl Context {
    /// Answers a request for the objects of a type.
    pub(super) async fn objects(
        &self,
        seen: &Seen,
        gvr: &GroupVersionResource,
        place: &PathParams,
        asked: &Asked<'_>,
    ) -> Result<Reply, ApiError> {
        let Parsed { request, ignored } =
            parse(gvr.clone(), place, &RawParams::from_query(asked.query))?;
        let reply = match request {
            Request::List(params) => self.list(seen, gvr, place, params, asked).await?,
            Request::Get(params) => self.get(seen, gvr, place, params, asked).await?,
            Request::Watch(_) => {
                return Err(ApiError::method_not_allowed(
                    "GET",
                    "watch is not served: list again, or follow the member itself",
                ));
            }
        };
        let reply = match is_secrets(gvr) {
            true => reply.secret(),
            false => reply,
        };
        Ok(warned(reply, warnings::ignored(&ignored)))
    }

    async fn list(
        &self,
        seen: &Seen,
        gvr: &GroupVersionResource,
        place: &PathParams,
        mut params: ListParams,
        asked: &Asked<'_>,
    ) -> Result<Reply, ApiError> {
        let namespace = place.namespace.as_deref();
        let resource = self
            .permit_list(seen, gvr, namespace, asked.caller, &mut params.query)
            .await?;
        let (form, notation) =
            negotiate::objects(asked.accept.as_deref(), Arity::Many).ok_or_else(not_acceptable)?;
        let clusters = &params.query.clusters;
        let unknown = warnings::unknown_clusters(&seen.catalog, clusters);
        let shape = Shape {
            form,
            notation,
            include: params.include_object,
            only_metadata: params.only_metadata,
            now: (self.clock)(),
        };
        let stream = ListStream::open(
            self.searches_of(asked),
            resource.clone(),
            params,
            shape,
            asked.allowance.clone(),
        )
        .await?;
        let unhealthy = self.unhealthy.of(&seen.catalog, Unhealthy::of);
        let unhealthy = warnings::unhealthy_clusters(&unhealthy, &seen.catalog, &stream.extent());
        Ok(warned(
            Reply::list(stream),
            unhealthy.into_iter().chain(unknown),
        ))
    }

    /// The store, whose searches are shared out among users.
    fn searches_of(&self, asked: &Asked<'_>) -> Searches {
        Searches {
            store: Arc::clone(&self.search),
            turns: Arc::clone(&self.searches),
            asker: asked.asker(),
            seal: Arc::clone(&self.seal),
            tasks: self.tasks.clone(),
            ending: self.cancel.clone(),
        }
    }

    async fn get(
        &self,
        seen: &Seen,
        gvr: &GroupVersionResource,
        place: &PathParams,
        params: GetParams,
        asked: &Asked<'_>,
    ) -> Result<Reply, ApiError> {
        let resource = self.permit_get(seen, gvr, place, asked.caller).await?;
        let (form, notation) =
            negotiate::objects(asked.accept.as_deref(), Arity::One).ok_or_else(not_acceptable)?;
        let PathParams {
            cluster,
            namespace,
            name,
        } = place.clone();
        let cluster = &cluster.ok_or_else(ApiError::no_such_path)?;
        let key = ObjectKey::new(namespace.unwrap_or_default(), name.unwrap_or_default());
        let most = LARGEST_OBJECT + AROUND_OBJECT + OUTBOX;
        let mut held = asked.allowance.reserve(most).await?;
        let outbox = Outbox::out_of(&mut held, asked.allowance.clone());
        let found = if is_namespaces(gvr) && seen.resource(gvr, false).is_none() {
            self.implied_namespace(&asked.asker(), &resource, cluster, &key.name)
                .await?
        } else {
            let object = (cluster, gvr, &key);
            let stored = self.stored(&asked.asker(), object, params.revision).await?;
            stored.ok_or_else(|| ApiError::no_such_object(&gvr.group, &gvr.resource, &key.name))?
        };
        let shape = Shape {
            form,
            notation,
            include: params.include_object,
            only_metadata: false,
            now: (self.clock)(),
        };
        let json = encoded(found, resource, shape).await?;
        self.counters.served(1, 0);
        let entry = seen.entry();
        let unhealthy = entry.and_then(|entry| warnings::unhealthy_cluster(cluster, entry));
        let written = (notation, params.pretty);
        let reply = Reply::object(json, written, held, outbox).await?;
        Ok(warned(reply, unhealthy))
    }

    /// Reads an object that is not older than `asked`; `None` if it is not there at that version or later.
    ///
    /// A client has the version from a list, whose version is the store's revision, or from an object, whose version is the member's. A
    /// store never goes back, so up to the head it is a list's that is satisfied, or the version of an object that was read here once, which is
    /// as well. Above the head it is a member's: as far as the stream has come in the member, what is stored is not older, and what is not
    /// stored is gone.
    async fn stored(
        &self,
        asker: &Asker,
        (cluster, gvr, key): (&ClusterName, &GroupVersionResource, &ObjectKey),
        asked: Revision,
    ) -> Result<Option<Found>, ApiError> {
        let found = || {
            let (cluster, gvr, key) = (cluster.clone(), gvr.clone(), key.clone());
            let read =
                |store: Arc<dyn Search>| async move { store.get(&cluster, &gvr, &key).await };
            self.reads.read(asker, read)
        };
        let (Revision::AtLeast(asked) | Revision::Exactly(asked)) = asked else {
            return Ok(found().await?);
        };
        // Before the object, which is then at least as new.
        let head = |store: Arc<dyn Search>| async move { store.head().await };
        let head = self.reads.read(asker, head).await?;
        let is_reached = u64::try_from(head.revision).is_ok_and(|head| head >= asked)
            || self.has_come_to(asker, cluster, gvr, asked).await?;
        let found = found().await?;
        let is_new = |found: &Found| is_at_least(&found.resource_version, asked);
        if is_reached || found.as_ref().is_some_and(is_new) {
            Ok(found)
        } else {
            Err(ApiError::revision_too_large(asked, head.revision))
        }
    }

    /// Whether all that happened in a member up to this version of its own is stored.
    async fn has_come_to(
        &self,
        asker: &Asker,
        cluster: &ClusterName,
        gvr: &GroupVersionResource,
        asked: u64,
    ) -> Result<bool, ApiError> {
        let (cluster, gvr) = (cluster.clone(), gvr.clone());
        let read = |store: Arc<dyn Search>| async move { store.position(&cluster, &gvr).await };
        let position = self.reads.read(asker, read).await?;
        Ok(position.is_some_and(|position| {
            position.phase == Phase::Live && is_at_least(&position.resource_version, asked)
        }))
    }

    /// A namespace that is not stored but has rows. kubectl asks for it after it has not found an object, and would else say that
    /// the namespace is missing.
    async fn implied_namespace(
        &self,
        asker: &Asker,
        resource: &ResourceType,
        cluster: &ClusterName,
        namespace: &str,
    ) -> Result<Found, ApiError> {
        let of = (cluster.clone(), namespace.to_owned());
        let read = |store: Arc<dyn Search>| async move { store.has_namespace(&of.0, &of.1).await };
        if self.reads.read(asker, read).await? {
            Ok(namespace_of(resource, cluster, namespace))
        } else {
            Err(ApiError::no_such_object("", "namespaces", namespace))
        }
    }
}

/// Whether a member's version is not before another. One that is no number has no order.
fn is_at_least(version: &str, asked: u64) -> bool {
    version.parse().is_ok_and(|version: u64| version >= asked)
}

/// An object as it is answered. As a Table one of 2 MiB takes some milliseconds.
async fn encoded(found: Found, resource: ResourceType, shape: Shape) -> Result<Vec<u8>, ApiError> {
    let stored = found.body.len();
    let encode = || {
        let mut json = Vec::with_capacity(stored + AROUND_OBJECT);
        let listed = Listed::one(resource, shape);
        Encoder::new(&listed, shape).object(&mut json, &found)?;
        // No more than it needs, for what is held is counted by its length.
        json.shrink_to_fit();
        Ok::<_, Damaged>(json)
    };
    let failed = |error: &Damaged| {
        tracing::error!(error = %chain(error), "an object cannot be served");
        ApiError::internal()
    };
    aside(stored, encode).await.map_err(|error| failed(&error))
}

fn is_secrets(gvr: &GroupVersionResource) -> bool {
    gvr.group.is_empty() && gvr.resource == "secrets"
}

fn warned(reply: Reply, warnings: impl IntoIterator<Item = String>) -> Reply {
    let warn = |reply: Reply, text: String| reply.warn(&text);
    warnings.into_iter().fold(reply, warn)
}

fn not_acceptable() -> ApiError {
    ApiError::not_acceptable(negotiate::SERVED)
}

/// Says on every object which cluster it lives in.
const CLUSTER_ANNOTATION: &str = "shadow.clusterpedia.io/cluster-name";

/// A namespace with all that is known of it: its name and its cluster.
fn namespace_of(resource: &ResourceType, cluster: &ClusterName, namespace: &str) -> Found {
    let metadata = serde_json::json!({
        "name": namespace,
        "annotations": {CLUSTER_ANNOTATION: cluster.as_str()},
    });
    // A body is what follows the opening brace of the metadata.
    let body = format!("{}}}", &metadata.to_string()[1..]);
    Found {
        resource: Arc::new(resource.clone()),
        cluster: cluster.clone(),
        key: ObjectKey::new("", namespace),
        resource_version: "0".to_owned(),
        revision: 0,
        created: 0,
        body: body.into(),
    }
}
