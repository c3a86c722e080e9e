//! What is watched and what was seen of it, as values.

use std::fmt;

use armadex_crds::{LifecycleSource, ResolvedReference, Sensitive};
use kube::{ResourceExt, core::DynamicObject};
use serde::Serialize;
use serde_json::{Map, Value};

use super::fields::Fields;
use crate::{Gvr, template::Reads};

/// Namespace and name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectName {
    /// Namespace; empty for kinds without.
    pub namespace: String,
    /// Name.
    pub name: String,
}

/// `namespace/name`, or the name alone.
impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace.as_str() {
            "" => f.write_str(&self.name),
            namespace => write!(f, "{namespace}/{}", self.name),
        }
    }
}

impl From<&ResolvedReference> for ObjectName {
    fn from(reference: &ResolvedReference) -> Self {
        Self {
            namespace: reference.namespace.clone(),
            name: reference.name.clone(),
        }
    }
}

impl From<&LifecycleSource> for ObjectName {
    fn from(source: &LifecycleSource) -> Self {
        Self {
            namespace: source.namespace.clone(),
            name: source.name.clone(),
        }
    }
}

/// What is watched.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WatchKey {
    /// Kind.
    pub gvr: Gvr,
    /// Which of its objects.
    pub scope: WatchScope,
}

/// Which objects of a kind are watched.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum WatchScope {
    /// Every one.
    All,
    /// Those of one namespace.
    Namespace(String),
    /// One; it need not exist.
    Object(ObjectName),
}

impl WatchKey {
    /// Whether a request can be made of it that leads to nothing else; what is wrong, if not.
    pub(super) fn check(&self) -> Result<(), String> {
        self.gvr.check()?;
        let is_named = |part: &str, text: &str| match is_segment(text) {
            true => Ok(()),
            false => Err(format!("{text:?} is not the name of {part}")),
        };
        match &self.scope {
            WatchScope::All => Ok(()),
            WatchScope::Namespace(namespace) => is_named("a namespace", namespace),
            WatchScope::Object(ObjectName { namespace, name }) => {
                if !namespace.is_empty() {
                    is_named("a namespace", namespace)?;
                }
                is_named("an object", name)
            }
        }
    }
}

/// Whether it is one segment of a path, and one value of a selector.
fn is_segment(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte);
    text.bytes().any(|byte| byte != b'.') && text.len() <= 253 && text.bytes().all(allowed)
}

/// Something about a watch is other than before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The watch.
    pub watch: WatchKey,
    /// The object; none when it is many of them, or the watch itself.
    pub object: Option<ObjectName>,
}

/// An object as it was last seen, without its managed fields.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Its name.
    pub name: ObjectName,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// The whole of it.
    pub object: Kept,
}

impl From<&DynamicObject> for ObjectName {
    fn from(object: &DynamicObject) -> Self {
        Self {
            namespace: object.namespace().unwrap_or_default(),
            name: object.name_any(),
        }
    }
}

impl From<DynamicObject> for Found {
    fn from(mut object: DynamicObject) -> Self {
        object.metadata.managed_fields = None;
        Self {
            name: ObjectName::from(&object),
            deleting: object.metadata.deletion_timestamp.is_some(),
            object: Kept::of(&object),
        }
    }
}

/// An object as its text: a Karmada Cluster with 150 kinds has 12 KB, as a tree 170, and is parsed as fast as that is copied. It may be a Secret.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    text: Sensitive<Box<str>>,
    fields: Fields,
}

impl Kept {
    /// Of an object.
    pub fn of(object: &impl Serialize) -> Self {
        let text = serde_json::to_string(object).unwrap_or_else(|_| Value::Null.to_string());
        Self {
            fields: Fields::of(&text),
            text: text.into_boxed_str().into(),
        }
    }

    /// The object. Takes its time.
    pub fn read(&self) -> Value {
        serde_json::from_str(self.text.expose()).unwrap_or_default()
    }

    /// As much of it as has all that is read; mostly that is little: of a Karmada Cluster its labels, and not the kinds that it serves.
    pub fn read_of(&self, reads: &Reads) -> Value {
        let Some(places) = self.fields.places(reads) else {
            return self.read();
        };
        let mut object = Value::Object(Map::new());
        for (path, place) in places {
            let part = serde_json::from_str(&self.text.expose()[place]).unwrap_or_default();
            match path {
                [name] => object[name] = part,
                [parent, name] => object[parent][name] = part,
                _ => return self.read(),
            }
        }
        object
    }

    /// Its parts, to see without reading it whether it says something else.
    pub const fn fields(&self) -> &Fields {
        &self.fields
    }

    /// Bytes of its text.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.text.expose().len()
    }
}

impl From<Value> for Kept {
    fn from(object: Value) -> Self {
        Self::of(&object)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::template::{Scope, TemplateData, TemplateEngine};

    #[test]
    fn templates_say_the_same_of_what_is_read_as_of_the_whole() {
        let object = json!({"apiVersion": "v1", "kind": "A", "spec": {"url": "x\"y", "zones": ["a", "b"]},
            "status": {"beat": 1}, "metadata": {"name": "a", "labels": {"a": "b"}, "uid": "u"}});
        let kept = Kept::from(object.clone());
        for (template, is_read) in [
            ("text", json!({})),
            ("{{source.spec.url}}", json!({"spec": object["spec"]})),
            (
                "{{source.metadata.name}}",
                json!({"metadata": {"name": "a"}}),
            ),
            (
                "{{toJson source.metadata}}",
                json!({"metadata": object["metadata"]}),
            ),
            (
                "{{source.metadata.labels.a}}{{toJson source.metadata}}{{source.metadata.name}}",
                json!({"metadata": object["metadata"]}),
            ),
            (
                "{{#each source.spec.zones}}{{this}}{{/each}}",
                json!({"spec": object["spec"]}),
            ),
            ("{{source.none.at.all}}{{source.metadata.none}}", json!({})),
            (
                "{{source.spec.none.x}}{{source.kind}}",
                json!({"spec": object["spec"], "kind": "A"}),
            ),
            ("{{toJson source}}", object.clone()),
            ("{{#with source}}{{kind}}{{/with}}", object.clone()),
        ] {
            let compiled = TemplateEngine::Handlebars.compile(template, Scope::Source);
            let compiled = compiled.expect(template);
            let read = kept.read_of(compiled.reads());
            assert_eq!(read, is_read, "{template}");
            let said = |object| compiled.render(&TemplateData::of(object));
            assert_eq!(said(read), said(object.clone()), "{template}");
        }
    }
}
