//! What is indexed of an object: labels, hot fields, the controller's uid.

use std::collections::BTreeMap;

use armadex_model::Term;
use serde::Deserialize;

use super::last;
use super::members::{Member, members};

/// The terms of an object; an error is a reason to leave the object out, because it could not be found again.
pub(super) fn terms(
    object: &[Member<'_>],
    metadata: &[Member<'_>],
    fields: &'static [&'static str],
) -> Result<Vec<Term>, String> {
    let mut terms = Vec::new();
    for (key, value) in labels(metadata)? {
        terms.push(Term::LabelKey { key: key.clone() });
        terms.push(Term::Label { key, value });
    }
    for &path in fields {
        let value = scalar(object, path);
        terms.push(Term::Field { path, value });
    }
    terms.extend(owner(metadata)?.map(|uid| Term::Owner { uid }));
    Ok(terms)
}

fn labels(metadata: &[Member<'_>]) -> Result<BTreeMap<String, String>, String> {
    match last(metadata, "labels") {
        None => Ok(BTreeMap::new()),
        Some(json) => serde_json::from_str::<Option<_>>(json)
            .map(Option::unwrap_or_default)
            .map_err(|_| "metadata.labels is not a map of texts".to_owned()),
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

/// The scalar at a dotted path as text; empty if it is absent, null or no scalar.
fn scalar(object: &[Member<'_>], path: &str) -> String {
    let Some((name, rest)) = path.split_once('.') else {
        return last(object, path).map(as_text).unwrap_or_default();
    };
    let inner = last(object, name).and_then(|value| members(value).ok());
    inner.map(|inner| scalar(&inner, rest)).unwrap_or_default()
}

fn as_text(json: &str) -> String {
    match json.as_bytes().first() {
        Some(b'"') => serde_json::from_str(json).unwrap_or_default(),
        Some(b'{' | b'[' | b'n') | None => String::new(),
        Some(_) => json.to_owned(),
    }
}
