//! Objects of files in the place of a control plane: which kinds it serves, in which version, and which objects it has of them.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use armadex_crds::ResolvedReference;
use armadex_lifecycle::Lookup;
use armadex_policy::{
    Found, Gvr, ObjectName, ResolveError, Served, allowed_versions, display_name,
};
use kube::core::{ApiResource, GroupVersion, GroupVersionKind, Version};
use serde_json::Value;

use super::files::Document;
use super::stored::stored;

/// Kinds that every control plane serves, all as v1, and whether their objects lie in namespaces.
const CORE: [(&str, bool); 16] = [
    ("componentstatuses", false),
    ("configmaps", true),
    ("endpoints", true),
    ("events", true),
    ("limitranges", true),
    ("namespaces", false),
    ("nodes", false),
    ("persistentvolumeclaims", true),
    ("persistentvolumes", false),
    ("pods", true),
    ("podtemplates", true),
    ("replicationcontrollers", true),
    ("resourcequotas", true),
    ("secrets", true),
    ("serviceaccounts", true),
    ("services", true),
];

/// Whether objects of a kind that every control plane serves lie in namespaces. Of others that is not known.
pub(in crate::command) fn lies_in_namespaces(group: &str, resource: &str) -> bool {
    group.is_empty() && CORE.contains(&(resource, true))
}

/// Every object that was given, and the kinds that are known without one.
pub(super) struct Given {
    /// By group and plural name.
    kinds: BTreeMap<(String, String), Kind>,
}

/// The objects of a kind.
#[derive(Default)]
struct Kind {
    /// The one of its objects; as long as there is none, those that are served.
    versions: Vec<String>,
    /// Whether they lie in namespaces; of a kind that nobody defined, the first object says so.
    namespaced: Option<bool>,
    /// It is there because of an object, or of a definition.
    is_given: bool,
    objects: BTreeMap<ObjectName, Arc<Found>>,
    /// The first object of each name.
    names: BTreeMap<String, ObjectName>,
}

/// What a CustomResourceDefinition says of its kind.
struct Defined {
    plural: String,
    namespaced: bool,
    /// Those that are served, the one that an API server prefers first.
    versions: Vec<String>,
}

/// By group and kind.
type Definitions = BTreeMap<(String, String), Defined>;

impl Given {
    /// Of these documents. A kind's plural name is that of its CustomResourceDefinition if that is given too, else what such names are mostly.
    pub(super) fn new(documents: Vec<Document>) -> anyhow::Result<Self> {
        let definitions = definitions(&documents);
        let mut given = Self {
            kinds: known(&definitions),
        };
        for document in documents {
            given.add(document, &definitions)?;
        }
        Ok(given)
    }

    fn add(&mut self, document: Document, definitions: &Definitions) -> anyhow::Result<()> {
        let place = document.place();
        let (api_version, kind) = document.kind()?;
        let version: GroupVersion = api_version
            .parse()
            .with_context(|| format!("{place} has no sound apiVersion"))?;
        let gvk = version.with_kind(kind);
        let plural = match definitions.get(&(gvk.group.clone(), gvk.kind.clone())) {
            Some(definition) => definition.plural.clone(),
            None => ApiResource::from_gvk(&gvk).plural,
        };
        let found = stored(document.value, &gvk).with_context(|| place.clone())?;
        let kind = self.kinds.entry((gvk.group.clone(), plural)).or_default();
        kind.add(found, &gvk).context(place)
    }

    /// What is served of a resource: of a kind of the core, of which an object was given, or its definition.
    pub(super) fn served(
        &self,
        group: &str,
        resource: &str,
        wanted: &[String],
    ) -> Result<Option<Served>, ResolveError> {
        let kind = self.kind(group, resource);
        let Some(kind) = kind.filter(|kind| !kind.versions.is_empty()) else {
            return Ok(None);
        };
        let allowed = allowed_versions(group, resource, &kind.versions, wanted)?;
        Ok(allowed.into_iter().next().map(|version| Served {
            gvr: Gvr {
                group: group.to_owned(),
                version,
                resource: resource.to_owned(),
            },
            namespaced: kind.namespaced.unwrap_or_default(),
        }))
    }

    /// Every object of a resource, by namespace and name.
    pub(super) fn objects(&self, gvr: &Gvr) -> Vec<Arc<Found>> {
        let kind = self.kind(&gvr.group, &gvr.resource);
        let objects = kind.map(|kind| kind.objects.values().cloned().collect());
        objects.unwrap_or_default()
    }

    /// One object of a resource.
    pub(super) fn object(&self, group: &str, resource: &str, name: &ObjectName) -> Lookup {
        let kind = self.kind(group, resource);
        let found = kind.and_then(|kind| kind.objects.get(name));
        found.map_or(Lookup::Missing, |found| Lookup::Found(found.clone()))
    }

    /// The object that is referred to.
    pub(super) fn look_up(&self, reference: &ResolvedReference) -> Lookup {
        let name = ObjectName::from(reference);
        self.object(&reference.group, &reference.resource, &name)
    }

    /// An object that may be meant with one that is missing: of its name in another namespace, or in none.
    pub(super) fn namesake(&self, reference: &ResolvedReference) -> Option<&ObjectName> {
        let kind = self.kind(&reference.group, &reference.resource)?;
        kind.names.get(&reference.name)
    }

    /// Whether the files say anything of a kind.
    pub(super) fn has_kind(&self, group: &str, resource: &str) -> bool {
        self.kind(group, resource).is_some_and(|kind| kind.is_given)
    }

    /// The resources that were given, for people to read.
    pub(super) fn resources(&self) -> String {
        let given = self.kinds.iter().filter(|(_, kind)| kind.is_given);
        let names = given.map(|((group, resource), _)| display_name(group, resource));
        match names.collect::<Vec<_>>().join(", ") {
            none if none.is_empty() => "nothing is there".to_owned(),
            some => format!("{some} are there"),
        }
    }

    fn kind(&self, group: &str, resource: &str) -> Option<&Kind> {
        self.kinds.get(&(group.to_owned(), resource.to_owned()))
    }
}

impl Kind {
    fn add(&mut self, found: Found, gvk: &GroupVersionKind) -> anyhow::Result<()> {
        self.check(&found.name, gvk)?;
        self.versions = vec![gvk.version.clone()];
        self.is_given = true;
        let is_namespaced = !found.name.namespace.is_empty();
        self.namespaced.get_or_insert(is_namespaced);
        let name = self.names.entry(found.name.name.clone());
        let name = name.or_insert_with(|| found.name.clone());
        if found.name < *name {
            *name = found.name.clone();
        }
        match self.objects.entry(found.name.clone()) {
            Entry::Vacant(free) => drop(free.insert(Arc::new(found))),
            Entry::Occupied(_) => {
                anyhow::bail!("{} {} is given twice", gvk.kind, found.name)
            }
        }
        Ok(())
    }

    /// Whether an object goes with what is known of the kind.
    fn check(&self, name: &ObjectName, gvk: &GroupVersionKind) -> anyhow::Result<()> {
        let (kind, object) = (&gvk.kind, name);
        let lies_in_one = !name.namespace.is_empty();
        ensure!(
            !(lies_in_one && self.namespaced == Some(false)),
            "{kind} {object} has a metadata.namespace, and no other {kind} lies in one"
        );
        let Some(other) = self.objects.keys().next() else {
            return Ok(());
        };
        ensure!(
            lies_in_one != other.namespace.is_empty(),
            "{kind} {object} has no metadata.namespace, and {other} has one"
        );
        let known = self.versions.join(", ");
        ensure!(
            known == gvk.version,
            "{kind} {object} is of the version {}, and others of its kind are of {known}: give all in one, as a control plane has them",
            gvk.version,
        );
        Ok(())
    }
}

/// What is served without an object of it.
fn known(definitions: &Definitions) -> BTreeMap<(String, String), Kind> {
    let core = CORE.iter().map(|(plural, namespaced)| {
        let kind = Kind {
            versions: vec!["v1".to_owned()],
            namespaced: Some(*namespaced),
            ..Kind::default()
        };
        ((String::new(), (*plural).to_owned()), kind)
    });
    let defined = definitions.iter().map(|((group, _), defined)| {
        let kind = Kind {
            versions: defined.versions.clone(),
            namespaced: Some(defined.namespaced),
            is_given: true,
            ..Kind::default()
        };
        ((group.clone(), defined.plural.clone()), kind)
    });
    core.chain(defined).collect()
}

fn definitions(documents: &[Document]) -> Definitions {
    let definitions = documents.iter().filter_map(|document| {
        let text = |path: &str| document.value.pointer(path).and_then(Value::as_str);
        if text("/kind") != Some("CustomResourceDefinition") {
            return None;
        }
        let (group, kind) = (text("/spec/group")?, text("/spec/names/kind")?);
        let defined = Defined {
            plural: text("/spec/names/plural")?.to_owned(),
            namespaced: text("/spec/scope") == Some("Namespaced"),
            versions: served_versions(&document.value),
        };
        Some(((group.to_owned(), kind.to_owned()), defined))
    });
    definitions.collect()
}

fn served_versions(definition: &Value) -> Vec<String> {
    let versions = definition.pointer("/spec/versions");
    let versions = versions.and_then(Value::as_array).into_iter().flatten();
    let served = versions.filter(|version| version.get("served") != Some(&Value::Bool(false)));
    let names = served.filter_map(|version| version.get("name")?.as_str());
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    names.sort_by_key(|name| Reverse(Version::parse(name).priority()));
    names
}
