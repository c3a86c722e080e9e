//! What is in a store when a test begins: clusters, types and objects, written as a synchro writes them into a real store.

use std::sync::Arc;

use armadex_model::{GroupVersionResource, ResourceType, field};
use armadex_storage::Health;
use armadex_storage::conformance::fixture::name;
use armadex_storage::conformance::{Fixture, ObjectBuilder, object};
use armadex_storage_sql::{Options, SqlStore};
use serde_json::{Value, json};

use super::still::Still;
use super::watched::{Touched, Watched};

/// `2026-03-01T10:59:00Z`.
const CREATED: i64 = 1_772_362_740;

/// What is to be in a store.
#[derive(Default)]
pub(crate) struct Contents {
    clusters: Vec<Cluster>,
    /// How many objects there are.
    objects: usize,
}

struct Cluster {
    name: String,
    version: String,
    /// Why it is unhealthy; empty if it is not.
    reason: String,
    types: Vec<(ResourceType, Vec<ObjectBuilder>)>,
}

/// A type.
pub(crate) fn resource(
    group: &str,
    version: &str,
    name: &str,
    kind: &str,
    namespaced: bool,
) -> ResourceType {
    ResourceType {
        gvr: GroupVersionResource::new(group, version, name),
        kind: kind.to_owned(),
        namespaced,
        singular: kind.to_lowercase(),
        short_names: Vec::new(),
        categories: Vec::new(),
    }
}

impl Contents {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds a cluster. A reason makes it unhealthy.
    pub(crate) fn cluster(mut self, name: &str, version: &str, reason: &str) -> Self {
        self.clusters.push(Cluster {
            name: name.to_owned(),
            version: version.to_owned(),
            reason: reason.to_owned(),
            types: Vec::new(),
        });
        self
    }

    /// Adds a type to a cluster.
    pub(crate) fn synced(mut self, cluster: &str, resource: &ResourceType) -> Self {
        self.objects_of(cluster, resource);
        self
    }

    /// Adds an object of a type: its metadata gets name, namespace, cluster and the labels that stand beside it.
    pub(crate) fn object(
        mut self,
        cluster: &str,
        resource: &ResourceType,
        namespace: &str,
        name: &str,
        value: Value,
    ) -> Self {
        self.objects += 1;
        let version = (1000 + self.objects).to_string();
        let built = built(cluster, resource, (namespace, name), value).version(&version);
        self.objects_of(cluster, resource).push(built);
        self
    }

    fn objects_of(&mut self, cluster: &str, resource: &ResourceType) -> &mut Vec<ObjectBuilder> {
        let mut clusters = self.clusters.iter_mut();
        let found = clusters.find(|one| one.name == cluster);
        let types = &mut found.expect("the cluster is added first").types;
        let index = types.iter().position(|(one, _)| one.gvr == resource.gvr);
        let index = index.unwrap_or_else(|| {
            types.push((resource.clone(), Vec::new()));
            types.len() - 1
        });
        &mut types[index].1
    }

    /// A store with these contents.
    pub(crate) async fn store(self) -> Arc<Watched> {
        let _still = Still::begin();
        let fixture = empty().await;
        let mut touched = None;
        for cluster in self.clusters {
            let id = fixture
                .sink
                .join(&name(&cluster.name), "incarnation-1", "")
                .await;
            let health = Health {
                healthy: cluster.reason.is_empty(),
                reason: cluster.reason,
            };
            let id = id.expect("joined");
            let set = fixture
                .sink
                .set_health(id, "", &health, Some(&cluster.version))
                .await;
            set.expect("described");
            for (resource, objects) in cluster.types {
                let writer = fixture.writer(&cluster.name, &resource).await;
                fixture.put(&writer, objects.iter().cloned()).await;
                if let Some(object) = objects.into_iter().next_back() {
                    touched = Some(Touched { writer, object });
                }
            }
        }
        Arc::new(Watched::new(fixture, touched))
    }
}

/// An empty store in a directory of its own: in memory, where the machine has such a place. No test here is about a disk, and hundreds of
/// stores at once would wait for one.
async fn empty() -> Fixture {
    let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let directory = directory.expect("a directory");
    let path = directory.path().join("store.db");
    let store = SqlStore::sqlite(&path, &Options::default()).await;
    let store = Arc::new(store.expect("a store"));
    Fixture::of(&store).guarded(directory)
}

/// An object as it is stored, with what is indexed of it.
fn built(
    cluster: &str,
    resource: &ResourceType,
    (namespace, name): (&str, &str),
    mut value: Value,
) -> ObjectBuilder {
    let fields = value.as_object_mut().expect("an object");
    let labels = fields.remove("labels").unwrap_or_default();
    let mut metadata =
        json!({"name": name, "annotations": {"shadow.clusterpedia.io/cluster-name": cluster}});
    if !namespace.is_empty() {
        metadata["namespace"] = json!(namespace);
    }
    if labels.is_object() {
        metadata["labels"] = labels.clone();
    }
    let rest = value.to_string();
    let separator = if rest == "{}" { "" } else { "," };
    // A body is what follows the opening brace of the metadata.
    let body = format!("{}{separator}{}", &metadata.to_string()[1..], &rest[1..]);
    let mut built = object(namespace, name).created(CREATED).body(body);
    for (key, label) in labels.as_object().into_iter().flatten() {
        built = built.label(key, label.as_str().expect("a label is text"));
    }
    for field in field::indexed(&resource.gvr.group, &resource.gvr.resource) {
        built = built.field(field.label, &field_of(&value, field));
    }
    built
}

/// The value of a field, as its label compares it.
fn field_of(value: &Value, field: &field::Field) -> String {
    let at = |path: &str| match value.pointer(&format!("/{}", path.replace('.', "/"))) {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.clone()).filter(|text| !text.is_empty()),
        Some(other) => Some(other.to_string()),
    };
    at(field.path)
        .or_else(|| at(field.fallback?))
        .unwrap_or_else(|| field.absent.to_owned())
}
