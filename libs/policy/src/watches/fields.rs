//! The parts of an object: its fields, and those of its metadata. By a hash of each it is seen that nothing which templates read has changed, and the
//! object is not parsed for it; and where something has, those parts alone are. Pure.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    ops::Range,
};

use serde_json::value::RawValue;

use crate::template::Reads;

pub(super) const METADATA: &str = "metadata";

/// In the order of the names: some 20 of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    metadata: Box<[Part]>,
    /// Where all of the metadata stands.
    whole_metadata: Option<Part>,
    others: Box<[Part]>,
    /// What else the object has.
    left_out: LeftOut,
}

/// Parts that are not kept of an object, by hashes of their names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct LeftOut {
    /// Those of its metadata.
    pub(super) metadata: Box<[u64]>,
    pub(super) others: Box<[u64]>,
    /// More than are named here: whatever is not kept may be there.
    pub(super) more: bool,
}

/// Name and value, each as a hash, and where the value stands in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    name: u64,
    content: u64,
    begins: u32,
    ends: u32,
}

/// Where it stands says nothing of what it is.
impl Hash for Part {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (self.name, self.content).hash(hasher);
    }
}

impl Fields {
    /// Of the text of an object that has nothing else.
    pub(super) fn of(text: &str) -> Self {
        Self::beside(LeftOut::default(), text)
    }

    /// Of the text of what is kept beside this.
    pub(super) fn beside(left_out: LeftOut, text: &str) -> Self {
        let mut all = parts(text);
        let metadata = all.remove_entry(METADATA);
        let whole_metadata = metadata
            .as_ref()
            .map(|(name, value)| Part::of(text, name, value));
        let metadata = metadata.map(|(_, metadata)| parts(metadata.get()));
        Self {
            metadata: in_order(text, &metadata.unwrap_or_default()),
            whole_metadata,
            others: in_order(text, &all),
            left_out,
        }
    }

    /// Whether something that is read may be of a part that is not kept.
    pub(super) fn lack(&self, reads: &Reads) -> bool {
        let LeftOut {
            metadata,
            others,
            more,
        } = &self.left_out;
        let is_among = |names: &[u64], name: &str| *more || names.contains(&hash(name));
        !self.left_out.is_nothing()
            && reads.paths().any(|path| match path {
                [] => true,
                [name] if name == METADATA => *more || !metadata.is_empty(),
                [first, name, ..] if first == METADATA => {
                    is_among(metadata, name) && find(&self.metadata, name).is_none()
                }
                [name, ..] => is_among(others, name) && find(&self.others, name).is_none(),
            })
    }

    /// Bytes that they take.
    pub(super) fn bytes(&self) -> usize {
        let LeftOut {
            metadata, others, ..
        } = &self.left_out;
        (self.metadata.len() + self.others.len()) * size_of::<Part>()
            + (metadata.len() + others.len()) * size_of::<u64>()
    }

    /// A hash of the parts that something is read of. As long as it is the same, so is what is read.
    #[must_use]
    pub fn digest(&self, reads: &Reads) -> u64 {
        let mut hasher = DefaultHasher::new();
        if !self.left_out.is_nothing() {
            self.left_out.hash(&mut hasher);
        }
        for path in reads.paths() {
            match path {
                [] => (&self.metadata, &self.others).hash(&mut hasher),
                [name] if name == METADATA => self.metadata.hash(&mut hasher),
                [first, name, ..] if first == METADATA => {
                    find(&self.metadata, name)
                        .map(|part| part.content)
                        .hash(&mut hasher);
                }
                [name, ..] => find(&self.others, name)
                    .map(|part| part.content)
                    .hash(&mut hasher),
            }
        }
        hasher.finish()
    }

    /// The parts that something is read of, by their paths, and where they stand in the text; `None` for all of it.
    pub(super) fn places<'r>(&self, reads: &'r Reads) -> Option<Vec<(&'r [String], Range<usize>)>> {
        let mut places = Vec::new();
        for path in reads.paths() {
            let (path, part) = match path {
                [] => return None,
                [name] if name == METADATA => (path, self.whole_metadata.as_ref()),
                [first, name, ..] if first == METADATA => (&path[..2], find(&self.metadata, name)),
                [name, ..] => (&path[..1], find(&self.others, name)),
            };
            places.extend(part.map(|part| (path, part.place())));
        }
        places.dedup();
        Some(places)
    }
}

impl LeftOut {
    /// All of an object.
    pub(super) fn everything() -> Self {
        Self {
            more: true,
            ..Self::default()
        }
    }

    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

impl Part {
    /// Of a text that it is a part of.
    fn of(text: &str, name: &str, value: &RawValue) -> Self {
        let value = value.get();
        let begins = value.as_ptr().addr() - text.as_ptr().addr();
        let in_text = |place: usize| u32::try_from(place).expect("an object has no gigabytes");
        Self {
            name: hash(name),
            content: hash(value),
            begins: in_text(begins),
            ends: in_text(begins + value.len()),
        }
    }

    const fn place(&self) -> Range<usize> {
        self.begins as usize..self.ends as usize
    }
}

/// The fields of an object; of what is none, none.
pub(super) fn parts(text: &str) -> BTreeMap<String, &RawValue> {
    serde_json::from_str(text).unwrap_or_default()
}

fn in_order(text: &str, parts: &BTreeMap<String, &RawValue>) -> Box<[Part]> {
    let parts = parts.iter();
    let mut parts = Vec::from_iter(parts.map(|(name, value)| Part::of(text, name, value)));
    parts.sort_unstable_by_key(|part| part.name);
    parts.into_boxed_slice()
}

fn find<'p>(parts: &'p [Part], name: &str) -> Option<&'p Part> {
    let place = parts.binary_search_by_key(&hash(name), |part| part.name);
    place.ok().map(|place| &parts[place])
}

pub(super) fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::template::{Scope, TemplateEngine};

    fn digest(template: &str, object: &Value) -> u64 {
        let compiled = TemplateEngine::Handlebars.compile(template, Scope::Source);
        let fields = Fields::of(&object.to_string());
        fields.digest(compiled.expect(template).reads())
    }

    #[test]
    fn a_change_shows_in_the_parts_that_something_is_read_of_and_in_no_others() {
        let before = json!({"apiVersion": "v1", "spec": {"url": "x"}, "status": {"beat": 1},
            "metadata": {"name": "a", "resourceVersion": "1", "labels": {"a": "b"}}});
        let changed = |path: &str, value: Value| {
            let mut object = before.clone();
            let (parent, name) = path.rsplit_once('/').expect("a path");
            object.pointer_mut(parent).expect(path)[name] = value;
            object
        };
        let table = [
            ("text", ""),
            ("{{source.metadata.name}}", "name"),
            ("{{source.spec.url}}{{source.metadata.name}}", "name spec"),
            ("{{source.spec}}{{source.status.other}}", "spec status"),
            ("{{source.metadata.resourceVersion}}", "version"),
            ("{{source.metadata.labels.other}}", "labels"),
            ("{{toJson source.metadata}}", "name version labels"),
            ("{{toJson source}}", "name version labels spec status new"),
            ("{{source.new}}", "new"),
        ];
        for (template, seen) in table {
            let seen: Vec<&str> = seen.split_whitespace().collect();
            for (what, object) in [
                ("name", changed("/metadata/name", json!("b"))),
                ("version", changed("/metadata/resourceVersion", json!("2"))),
                ("labels", changed("/metadata/labels/a", json!("c"))),
                ("spec", changed("/spec/url", json!("y"))),
                ("status", changed("/status/beat", json!(2))),
                ("new", changed("/new", json!(false))),
            ] {
                let shows = digest(template, &before) != digest(template, &object);
                assert_eq!(shows, seen.contains(&what), "{what} in {template}");
            }
        }
    }
}
