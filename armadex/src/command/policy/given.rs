//! Objects of files in the place of a control plane: which kinds it serves, in which version, and which objects it has of them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use armadex_crds::{Base64Bytes, ResolvedReference};
use armadex_lifecycle::Lookup;
use armadex_policy::{Found, Gvr, ObjectName, ResolveError, Served, allowed_versions};
use kube::core::{ApiResource, DynamicObject, GroupVersion, GroupVersionKind};
use serde_json::Value;

use super::files::Document;

/// Every object that was given.
#[derive(Default)]
pub(super) struct Given {
    /// By group and plural name.
    kinds: BTreeMap<(String, String), Kind>,
}

/// The objects of a kind.
struct Kind {
    version: String,
    namespaced: bool,
    objects: BTreeMap<ObjectName, Arc<Found>>,
}

/// What a CustomResourceDefinition says of its kind.
struct Defined {
    plural: String,
    namespaced: bool,
}

impl Given {
    /// Of these documents. A kind's plural name is that of its CustomResourceDefinition if that is given too, else what such names are mostly.
    pub(super) fn new(documents: Vec<Document>) -> anyhow::Result<Self> {
        let defined = definitions(&documents);
        let mut given = Self::default();
        for document in documents {
            given.add(document, &defined)?;
        }
        Ok(given)
    }

    fn add(
        &mut self,
        document: Document,
        defined: &BTreeMap<(String, String), Defined>,
    ) -> anyhow::Result<()> {
        let place = document.place();
        let (api_version, kind) = document.kind()?;
        let version: GroupVersion = api_version
            .parse()
            .with_context(|| format!("{place} has no sound apiVersion"))?;
        let gvk = version.with_kind(kind);
        let definition = defined.get(&(gvk.group.clone(), gvk.kind.clone()));
        let plural = match definition {
            Some(definition) => definition.plural.clone(),
            None => ApiResource::from_gvk(&gvk).plural,
        };
        let found = found(document.value, &gvk).with_context(|| place.clone())?;
        let known = self.kinds.entry((gvk.group.clone(), plural));
        let known = known.or_insert_with(|| Kind {
            version: gvk.version.clone(),
            namespaced: definition.is_some_and(|definition| definition.namespaced),
            objects: BTreeMap::new(),
        });
        ensure!(
            known.version == gvk.version,
            "{place} is of the version {}, and others of its kind are of {}: give all in one, as a control plane has them",
            gvk.version,
            known.version
        );
        known.namespaced |= !found.name.namespace.is_empty();
        let name = in_words(&found.name);
        match known.objects.entry(found.name.clone()) {
            Entry::Vacant(free) => drop(free.insert(Arc::new(found))),
            Entry::Occupied(_) => anyhow::bail!("{place}: {} {name} is given twice", gvk.kind),
        }
        Ok(())
    }

    /// What is served of a resource; nothing if no object of it was given, and whoever asks finds none.
    pub(super) fn served(
        &self,
        group: &str,
        resource: &str,
        wanted: &[String],
    ) -> Result<Option<Served>, ResolveError> {
        let Some(kind) = self.kind(group, resource) else {
            return Ok(None);
        };
        let served = std::slice::from_ref(&kind.version);
        allowed_versions(group, resource, served, wanted)?;
        Ok(Some(Served {
            gvr: Gvr {
                group: group.to_owned(),
                version: kind.version.clone(),
                resource: resource.to_owned(),
            },
            namespaced: kind.namespaced,
        }))
    }

    /// Every object of a resource, by namespace and name.
    pub(super) fn objects(&self, gvr: &Gvr) -> Vec<Arc<Found>> {
        let kind = self.kind(&gvr.group, &gvr.resource);
        let objects = kind.map(|kind| kind.objects.values().cloned().collect());
        objects.unwrap_or_default()
    }

    /// The object that is referred to.
    pub(super) fn look_up(&self, reference: &ResolvedReference) -> Lookup {
        let name = ObjectName {
            namespace: reference.namespace.clone(),
            name: reference.name.clone(),
        };
        let kind = self.kind(&reference.group, &reference.resource);
        let found = kind.and_then(|kind| kind.objects.get(&name));
        found.map_or(Lookup::Missing, |found| Lookup::Found(found.clone()))
    }

    /// An object that may be meant with one that is missing: of its name in another namespace, or in none.
    pub(super) fn namesake(&self, reference: &ResolvedReference) -> Option<&ObjectName> {
        let kind = self.kind(&reference.group, &reference.resource)?;
        kind.objects
            .keys()
            .find(|known| known.name == reference.name)
    }

    /// The resources that were given, for people to read.
    pub(super) fn resources(&self) -> String {
        let names = self
            .kinds
            .keys()
            .map(|(group, resource)| match group.as_str() {
                "" => resource.clone(),
                group => format!("{resource}.{group}"),
            });
        names.collect::<Vec<_>>().join(", ")
    }

    fn kind(&self, group: &str, resource: &str) -> Option<&Kind> {
        self.kinds.get(&(group.to_owned(), resource.to_owned()))
    }
}

/// `namespace/name`, or the name alone.
pub(super) fn in_words(object: &ObjectName) -> String {
    let ObjectName { namespace, name } = object;
    match namespace.as_str() {
        "" => name.clone(),
        namespace => format!("{namespace}/{name}"),
    }
}

fn definitions(documents: &[Document]) -> BTreeMap<(String, String), Defined> {
    let definitions = documents.iter().filter_map(|document| {
        let text = |path: &str| document.value.pointer(path).and_then(Value::as_str);
        if text("/kind") != Some("CustomResourceDefinition") {
            return None;
        }
        let (group, kind) = (text("/spec/group")?, text("/spec/names/kind")?);
        let defined = Defined {
            plural: text("/spec/names/plural")?.to_owned(),
            namespaced: text("/spec/scope") == Some("Namespaced"),
        };
        Some(((group.to_owned(), kind.to_owned()), defined))
    });
    definitions.collect()
}

/// As a watch of it would have it. Its fields are not told: it may be a Secret.
fn found(mut object: Value, gvk: &GroupVersionKind) -> anyhow::Result<Found> {
    if gvk.group.is_empty() && gvk.kind == "Secret" {
        encode(&mut object);
    }
    let object: Option<DynamicObject> = serde_json::from_value(object).ok();
    let object = object.context("its metadata is none: names, labels and annotations are text")?;
    ensure!(
        object
            .metadata
            .name
            .as_ref()
            .is_some_and(|name| !name.is_empty()),
        "metadata.name is missing"
    );
    Ok(Found::from(object))
}

/// As an API server does with `stringData`, which nobody ever reads from it.
fn encode(secret: &mut Value) {
    let Some(fields) = secret.as_object_mut() else {
        return;
    };
    let Some(Value::Object(texts)) = fields.remove("stringData") else {
        return;
    };
    let data = fields.entry("data").or_insert(Value::Null);
    if data.is_null() {
        *data = Value::Object(serde_json::Map::new());
    }
    for (key, text) in texts {
        if let (Some(data), Some(text)) = (data.as_object_mut(), text.as_str()) {
            let encoded = serde_json::to_value(Base64Bytes::from_bytes(text.as_bytes()));
            data.insert(key, encoded.unwrap_or_default());
        }
    }
}
