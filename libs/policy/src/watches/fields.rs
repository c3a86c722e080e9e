//! The parts of an object as hashes: its fields, and those of its metadata. By these it is seen that nothing which templates read has changed, and the
//! object is not parsed for it. Pure.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
};

use serde_json::value::RawValue;

use crate::template::Reads;

const METADATA: &str = "metadata";

/// Names and values, each as a hash, in the order of the names: some 20 of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    metadata: Box<[(u64, u64)]>,
    others: Box<[(u64, u64)]>,
}

impl Fields {
    /// Of the text of an object.
    pub(super) fn of(text: &str) -> Self {
        let mut all = parts(text);
        let metadata = all.remove(METADATA).map(|metadata| parts(metadata.get()));
        Self {
            metadata: hashed(&metadata.unwrap_or_default()),
            others: hashed(&all),
        }
    }

    /// A hash of the parts that something is read of. As long as it is the same, so is what is read.
    #[must_use]
    pub fn digest(&self, reads: &Reads) -> u64 {
        let mut hasher = DefaultHasher::new();
        for path in reads.paths() {
            match path {
                [] => (&self.metadata, &self.others).hash(&mut hasher),
                [name] if name == METADATA => self.metadata.hash(&mut hasher),
                [first, name, ..] if first == METADATA => {
                    find(&self.metadata, name).hash(&mut hasher);
                }
                [name, ..] => find(&self.others, name).hash(&mut hasher),
            }
        }
        hasher.finish()
    }
}

/// The fields of an object; of what is none, none.
fn parts(text: &str) -> BTreeMap<String, &RawValue> {
    serde_json::from_str(text).unwrap_or_default()
}

fn hashed(parts: &BTreeMap<String, &RawValue>) -> Box<[(u64, u64)]> {
    let parts = parts.iter();
    let mut hashed = Vec::from_iter(parts.map(|(name, value)| (hash(name), hash(value.get()))));
    hashed.sort_unstable();
    hashed.into_boxed_slice()
}

fn find(parts: &[(u64, u64)], name: &str) -> Option<u64> {
    let place = parts.binary_search_by_key(&hash(name), |(name, _)| *name);
    place.ok().map(|place| parts[place].1)
}

fn hash(text: &str) -> u64 {
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
