//! An object of a file as an API server would have stored it, or why it would not. Values are never told: it may be a Secret.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail, ensure};
use armadex_crds::{Base64Bytes, is_subdomain};
use armadex_policy::{Found, ObjectName};
use kube::core::{DynamicObject, GroupVersionKind};
use serde_json::{Map, Value};

use crate::visible::is_hidden;

const NO_METADATA: &str = "its metadata is none: names, labels and annotations are text";

/// As a watch of it would have it.
pub(super) fn stored(mut object: Value, gvk: &GroupVersionKind) -> anyhow::Result<Found> {
    let name = name(&object)?;
    if let Value::Object(fields) = &mut object {
        let texts = match (gvk.group.as_str(), gvk.kind.as_str()) {
            ("", "Secret") => store_secret(fields),
            ("", "ConfigMap") => store_config_map(fields),
            _ => Ok(()),
        };
        texts.with_context(|| format!("{} {}", gvk.kind, name))?;
    }
    let object: Option<DynamicObject> = serde_json::from_value(object).ok();
    Ok(Found::from(object.context(NO_METADATA)?))
}

fn name(object: &Value) -> anyhow::Result<ObjectName> {
    let text = |path: &str| match object.pointer(path) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => bail!(NO_METADATA),
    };
    let name = text("/metadata/name")?;
    let namespace = text("/metadata/namespace")?;
    ensure!(!name.is_empty(), "metadata.name is missing");
    ensure!(
        is_segment(&name),
        "metadata.name {name:?} can't name an object"
    );
    ensure!(
        namespace.is_empty() || is_subdomain(&namespace),
        "metadata.namespace {namespace:?} can't name a namespace"
    );
    Ok(ObjectName { namespace, name })
}

/// Some kinds have names like `system:node`; none has one that is no segment of a path.
fn is_segment(name: &str) -> bool {
    let is_other = |character: char| {
        is_hidden(character) || character.is_whitespace() || ['/', '%'].contains(&character)
    };
    !name.contains(is_other) && ![".", ".."].contains(&name)
}

/// Nobody ever reads `stringData` from an API server: it is in `data`, which it goes before.
fn store_secret(fields: &mut Map<String, Value>) -> anyhow::Result<()> {
    let mut data = bytes(fields, "data")?;
    for (key, text) in texts(fields, "stringData")? {
        let encoded = serde_json::to_value(Base64Bytes::from_bytes(text.as_bytes()));
        data.insert(key, encoded?);
    }
    put(fields, "data", data);
    Ok(())
}

fn store_config_map(fields: &mut Map<String, Value>) -> anyhow::Result<()> {
    let data = texts(fields, "data")?.into_iter();
    put(fields, "data", data.map(|(key, text)| (key, text.into())));
    let binary = bytes(fields, "binaryData")?;
    put(fields, "binaryData", binary);
    Ok(())
}

fn put(
    fields: &mut Map<String, Value>,
    field: &str,
    values: impl IntoIterator<Item = (String, Value)>,
) {
    let values: Map<String, Value> = values.into_iter().collect();
    if !values.is_empty() {
        fields.insert(field.to_owned(), values.into());
    }
}

/// Takes the values of such a field; an API server reads base64 over the ends of lines.
fn bytes(fields: &mut Map<String, Value>, field: &str) -> anyhow::Result<Map<String, Value>> {
    let texts = texts(fields, field)?.into_iter();
    let read = texts.map(|(key, text)| {
        let text = text.replace(['\r', '\n'], "");
        let is_base64 = Base64Bytes::from_text(&text).decode().is_ok();
        ensure!(is_base64, "{field}.{key} is not base64");
        Ok((key, text.into()))
    });
    read.collect()
}

fn texts(fields: &mut Map<String, Value>, field: &str) -> anyhow::Result<BTreeMap<String, String>> {
    let values = match fields.remove(field) {
        None | Some(Value::Null) => return Ok(BTreeMap::new()),
        Some(Value::Object(values)) => values.into_iter(),
        Some(_) => bail!("{field} has no keys with values"),
    };
    let read = values.map(|(key, value)| match value {
        Value::String(text) => Ok((key, text)),
        _ => bail!("{field}.{key} is no text: put it in quotes"),
    });
    read.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn stored_as(kind: &str, object: Value) -> Result<Value, String> {
        let gvk = GroupVersionKind::gvk("", "v1", kind);
        let found = stored(object, &gvk);
        let found = found.map_err(|error| format!("{error:#}"))?;
        Ok(found.object.read())
    }

    #[test]
    fn a_secret_has_its_texts_where_they_are_read() {
        let secret = json!({
            "metadata": {"namespace": "a", "name": "b"},
            "data": {"one": "b25l\n", "two": "b25l"},
            "stringData": {"two": "hunter2"},
        });
        let stored = stored_as("Secret", secret).expect("a Secret");
        assert_eq!(
            stored["data"],
            json!({"one": "b25l", "two": "aHVudGVyMg=="})
        );
        assert_eq!(stored.get("stringData"), None);
    }

    #[test]
    fn a_value_that_is_none_of_a_kind_is_told_by_its_key_alone() {
        for (kind, field, value, expected) in [
            (
                "Secret",
                "data",
                json!({"k": "hunter2"}),
                "data.k is not base64",
            ),
            (
                "Secret",
                "data",
                json!({"k": 7007}),
                "data.k is no text: put it in quotes",
            ),
            (
                "Secret",
                "stringData",
                json!({"k": true}),
                "stringData.k is no text: put it in quotes",
            ),
            (
                "Secret",
                "stringData",
                json!(["7007"]),
                "stringData has no keys with values",
            ),
            (
                "ConfigMap",
                "data",
                json!({"k": 7007}),
                "data.k is no text: put it in quotes",
            ),
            (
                "ConfigMap",
                "binaryData",
                json!({"k": "?"}),
                "binaryData.k is not base64",
            ),
        ] {
            let object = json!({"metadata": {"namespace": "a", "name": "b"}, field: value});
            let expected = format!("{kind} a/b: {expected}");
            assert_eq!(stored_as(kind, object), Err(expected));
        }
    }

    #[test]
    fn what_no_object_is_called_is_refused() {
        for (name, is_one) in [
            ("one", true),
            ("system:node", true),
            ("One_1", true),
            ("a/b", false),
            ("a b", false),
            ("a\u{1b}[2J", false),
            ("a\u{202e}b", false),
            ("..", false),
        ] {
            let stored = stored_as("Role", json!({"metadata": {"name": name}}));
            assert_eq!(stored.is_ok(), is_one, "{stored:?}");
        }
    }
}
