//! What is indexed of an object: labels, fields, the controller's uid.

use std::collections::BTreeMap;

use armadex_model::Term;
use armadex_model::field::Field;
use serde::Deserialize;

use super::members::{Member, last, members};

/// Labels of one object: nodes that tell each feature of their machine have some hundreds. Each is two entries in the index, at a random place
/// of it, so a single object of a hundred thousand would hold up the writes of all members.
const MOST_LABELS: usize = 1024;

/// The terms of an object; an error is a reason to leave the object out, because it could not be found again.
pub(super) fn terms(
    object: &[Member<'_>],
    metadata: &[Member<'_>],
    fields: &'static [Field],
) -> Result<Vec<Term>, String> {
    let mut terms = Vec::new();
    for (key, value) in labels(metadata)? {
        terms.push(Term::LabelKey { key: key.clone() });
        terms.push(Term::Label { key, value });
    }
    let mut parts = Parts::new(object);
    for field in fields {
        terms.push(field.term(parts.value(field)));
    }
    terms.extend(owner(metadata)?.map(|uid| Term::Owner { uid }));
    Ok(terms)
}

fn labels(metadata: &[Member<'_>]) -> Result<BTreeMap<String, String>, String> {
    let Some(json) = last(metadata, "labels") else {
        return Ok(BTreeMap::new());
    };
    let labels: Option<BTreeMap<String, String>> = serde_json::from_str(json)
        .map_err(|_| "metadata.labels is not a map of texts".to_owned())?;
    let labels = labels.unwrap_or_default();
    match labels.len() {
        0..=MOST_LABELS => Ok(labels),
        many => Err(format!(
            "it has {many} labels, above the limit of {MOST_LABELS}"
        )),
    }
}

/// The uid of the owner that controls the object.
fn owner(metadata: &[Member<'_>]) -> Result<Option<String>, String> {
    #[derive(Deserialize)]
    struct Owner {
        #[serde(default)]
        uid: String,
        #[serde(default)]
        controller: Option<bool>,
    }
    let Some(json) = last(metadata, "ownerReferences") else {
        return Ok(None);
    };
    let owners: Option<Vec<Owner>> = serde_json::from_str(json)
        .map_err(|_| "metadata.ownerReferences is not a list of owners".to_owned())?;
    let controller = owners
        .unwrap_or_default()
        .into_iter()
        .find(|owner| owner.controller == Some(true));
    Ok(controller.map(|owner| owner.uid))
}

/// An object whose parts (`spec`, `status`) are split at most once, when the first field of each is read.
struct Parts<'o, 'a> {
    object: &'o [Member<'a>],
    split: Vec<(&'static str, Vec<Member<'a>>)>,
}

impl<'o, 'a> Parts<'o, 'a> {
    fn new(object: &'o [Member<'a>]) -> Self {
        Self {
            object,
            split: Vec::new(),
        }
    }

    /// What a kube-apiserver compares a field selector with.
    fn value(&mut self, field: &Field) -> String {
        let mut value = self.scalar(field.path);
        if let Some(path) = field.fallback.filter(|_| value.is_empty()) {
            value = self.scalar(path);
        }
        if value.is_empty() {
            field.absent.to_owned()
        } else {
            value
        }
    }

    /// The scalar at a dotted path as text; empty if it is absent, null or no scalar.
    fn scalar(&mut self, path: &'static str) -> String {
        match path.split_once('.') {
            None => at(self.object, path),
            Some((part, rest)) => at(self.part(part), rest),
        }
    }

    fn part(&mut self, name: &'static str) -> &[Member<'a>] {
        let known = self.split.iter().position(|(part, _)| *part == name);
        let index = known.unwrap_or_else(|| {
            let part = last(self.object, name).and_then(|value| members(value).ok());
            self.split.push((name, part.unwrap_or_default()));
            self.split.len() - 1
        });
        &self.split[index].1
    }
}

fn at(object: &[Member<'_>], path: &str) -> String {
    let Some((name, rest)) = path.split_once('.') else {
        return last(object, path).map(as_text).unwrap_or_default();
    };
    let inner = last(object, name).and_then(|value| members(value).ok());
    inner.map(|inner| at(&inner, rest)).unwrap_or_default()
}

fn as_text(json: &str) -> String {
    match json.as_bytes().first() {
        Some(b'"') => text(json),
        Some(b'{' | b'[' | b'n') | None => String::new(),
        Some(_) => json.to_owned(),
    }
}

/// A JSON text without its quotes; only one with escapes needs to be decoded.
fn text(json: &str) -> String {
    match json.get(1..json.len() - 1) {
        Some(plain) if !plain.contains('\\') => plain.to_owned(),
        _ => serde_json::from_str(json).unwrap_or_default(),
    }
}
