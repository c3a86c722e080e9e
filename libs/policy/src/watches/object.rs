//! What is watched and what was seen of it, as values.

use std::fmt;

use armadex_crds::{LifecycleSource, ResolvedReference};
use kube::{ResourceExt, core::DynamicObject};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    excerpt::excerpt,
    fields::{Fields, LeftOut},
    packed::Packed,
};
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
    /// The whole of it, unless it is too large or there are too many.
    pub object: Kept,
}

impl Found {
    /// The same, of which nothing is kept but its name.
    pub(super) fn without_room(self) -> Self {
        Self {
            object: Kept::nothing(self.bytes()),
            ..self
        }
    }

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        let ObjectName { namespace, name } = &self.name;
        Self::PLACE + 2 * (namespace.len() + name.len()) + self.object.bytes()
    }

    /// Bytes of it and of its place among others: of a table that grows some of its places are free, and what it has is in some ten pieces.
    const PLACE: usize = 2 * size_of::<Self>() + 10 * size_of::<[usize; 2]>();
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

/// An object as its text: a Karmada Cluster with 150 kinds has 12 KB, packed 3, as a tree 170, and is parsed as fast as that is copied. It may be a Secret.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    text: Packed,
    fields: Fields,
    /// Why that is not all of it.
    cut: Option<Cut>,
}

/// Bytes of an object that is kept whole: twenty times a Karmada Cluster with 150 kinds, and four times a kubeconfig with its certificates at their longest. All
/// that a policy reads is parsed, to some ten times as much.
const LARGEST: usize = 256 << 10;

/// Why not all of an object is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    /// It has so many bytes.
    Size(usize),
    /// There are too many others for the bytes that it has.
    Room(usize),
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size(bytes) => write!(
                f,
                "it has {} KiB, and of an object of more than {} its smallest fields alone are kept, which are not all that is read",
                bytes >> 10,
                LARGEST >> 10
            ),
            Self::Room(_) => f.write_str(
                "there is no room for it beside the others that policies read: it is taken when there is again",
            ),
        }
    }
}

impl Kept {
    /// Of an object.
    pub fn of(object: &impl Serialize) -> Self {
        let text = serde_json::to_string(object).unwrap_or_else(|_| Value::Null.to_string());
        if text.len() <= LARGEST {
            return Self {
                fields: Fields::of(&text),
                text: Packed::of(text),
                cut: None,
            };
        }
        let (kept, left_out) = excerpt(&text);
        let cut = Some(Cut::Size(text.len()));
        Self {
            fields: Fields::beside(left_out, &kept),
            text: Packed::of(kept),
            cut,
        }
    }

    /// Nothing of an object, for want of room.
    fn nothing(bytes: usize) -> Self {
        let text = "{}";
        Self {
            fields: Fields::beside(LeftOut::everything(), text),
            text: Packed::of(text.to_owned()),
            cut: Some(Cut::Room(bytes)),
        }
    }

    /// Why all that is read of it is not known, if it is not.
    #[must_use]
    pub fn lacks(&self, reads: &Reads) -> Option<String> {
        let cut = self.cut.filter(|_| self.fields.lack(reads));
        cut.map(|cut| cut.to_string())
    }

    /// Why not all of it is known, if not.
    #[must_use]
    pub fn lacks_some(&self) -> Option<String> {
        self.cut.map(|cut| cut.to_string())
    }

    /// Whether nothing of it is kept, for want of room.
    #[must_use]
    pub const fn has_no_room(&self) -> bool {
        matches!(self.cut, Some(Cut::Room(_)))
    }

    /// Bytes that it would have, with its name, if there is no room for them.
    pub(super) const fn wants(&self) -> Option<usize> {
        match self.cut {
            Some(Cut::Room(bytes)) => Some(bytes),
            Some(Cut::Size(_)) | None => None,
        }
    }

    /// The object. Takes its time.
    pub fn read(&self) -> Value {
        serde_json::from_str(&self.text.text()).unwrap_or_default()
    }

    /// As much of it as has all that is read; mostly that is little: of a Karmada Cluster its labels, and not the kinds that it serves.
    pub fn read_of(&self, reads: &Reads) -> Value {
        let Some(places) = self.fields.places(reads) else {
            return self.read();
        };
        let (text, mut object) = (self.text.text(), Value::Object(Map::new()));
        for (path, place) in places {
            let part = serde_json::from_str(&text[place]).unwrap_or_default();
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

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        self.text.bytes() + self.fields.bytes()
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
    use crate::watches::shared::{REFERENCES, SOURCES};

    /// Parts of an object that has more of them, or larger ones, than is kept.
    #[test]
    fn of_a_large_object_is_known_what_is_small_and_that_the_rest_is_not() {
        let reads = |template: &str| {
            let compiled = TemplateEngine::Handlebars.compile(template, Scope::Source);
            compiled.expect(template).reads().clone()
        };
        let many = |from: u32, to: u32| {
            let fields = (from..to).map(|field| (format!("f{field}"), json!("x".repeat(1000))));
            Value::Object(fields.collect())
        };
        let labelled = json!({"metadata": {"name": "a", "labels": {"a": "b"}}, "type": "t", "data": many(0, 1000)});
        let mut wide = many(0, 1000);
        wide["metadata"] = json!({"name": "a", "labels": many(0, 1000)});
        let small = json!({"metadata": {"labels": {"a": "b"}}, "type": "t"});
        let name_alone = json!({"metadata": {"name": "a"}});
        for (object, template, known) in [
            (
                &labelled,
                "{{source.metadata.labels.a}}{{source.type}}",
                Some(&small),
            ),
            (
                &labelled,
                "{{source.metadata.annotations.a}}{{source.metadata.name}}",
                Some(&name_alone),
            ),
            (&labelled, "{{source.data.f1}}", None),
            (&labelled, "{{toJson source}}", None),
            (&labelled, "{{toJson source.metadata}}{{source.data}}", None),
            (&wide, "{{source.metadata.name}}", Some(&name_alone)),
            (&wide, "{{source.metadata.labels.f1}}", None),
            (&wide, "{{toJson source.metadata}}", None),
            (&wide, "{{source.f999}}", None),
            (&wide, "{{source.none}}", None),
        ] {
            let (kept, reads) = (Kept::of(object), reads(template));
            assert!(kept.bytes() < 32 << 10, "{} bytes", kept.bytes());
            let lacks = kept.lacks(&reads);
            assert_eq!(lacks.is_none(), known.is_some(), "{template}: {lacks:?}");
            if let Some(known) = known {
                assert_eq!(kept.read_of(&reads), *known, "{template}");
            }
        }
        let of_type = reads("{{source.data.a}}");
        let digest = |object: &Value| Kept::of(object).fields().digest(&of_type);
        assert_ne!(
            digest(&labelled),
            digest(&small),
            "it is not known to be there"
        );
        let words = Kept::of(&labelled).lacks_some();
        assert!(words.is_some_and(|words| {
            words.starts_with("it has 986 KiB, and of an object of more than 256 ")
        }));
    }

    /// As Karmada lists on each Cluster what its member serves.
    fn cluster() -> DynamicObject {
        let kinds = (0..150).map(
            |number| json!({"kind": format!("Kind{number}"), "name": format!("kind{number}s")}),
        );
        let kinds = Vec::from_iter(kinds);
        let groups = kinds.chunks(10).enumerate();
        let enabled = groups.map(|(number, kinds)| {
            json!({"groupVersion": format!("group{number}.example.com/v1"), "resources": kinds})
        });
        let cluster = json!({"metadata": {"name": "member", "uid": "1c0c0a9c-3e6f-4d8e-9f3c-0d4a5b6c7d8e"},
            "spec": {"apiEndpoint": "https://10.0.0.1:6443", "syncMode": "Push", "id": "x".repeat(2000)},
            "status": {"apiEnablements": Vec::from_iter(enabled), "conditions": [{"type": "Ready", "message": "y".repeat(2000)}]}});
        serde_json::from_value(cluster).expect("an object")
    }

    #[test]
    fn ten_thousand_usual_clusters_have_room_and_so_have_their_secrets() {
        let each = Found::from(cluster()).bytes();
        assert!(10_000 * each <= SOURCES, "{each} bytes");
        // Of base64 a fourth is saved, of a token that is encoded twice more.
        let mut noise = 7u64;
        let mut random = |long: usize| {
            let letters = (0..long).map(|_| {
                noise = noise
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                char::from(
                    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
                        [(noise >> 58) as usize],
                )
            });
            String::from_iter(letters)
        };
        let secret = json!({"metadata": {"namespace": "karmada-cluster", "name": "member"}, "type": "Opaque",
            "data": {"token": random(1600), "caBundle": random(2000)}});
        let secret: DynamicObject = serde_json::from_value(secret).expect("an object");
        let each = Found::from(secret).bytes();
        assert!(10_000 * each <= REFERENCES, "{each} bytes");
    }

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
