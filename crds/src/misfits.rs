//! Where an object and the schema of its CRD disagree, said by path and never by value: an API
//! server's own answer quotes values, and these may be credentials.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use serde_json::Value;

use crate::schema::NAME_OR_EMPTY;
use crate::{Base64Bytes, is_subdomain};

/// Whether names of fields are told that the schema does not have.
#[derive(Clone, Copy)]
enum Names {
    Told,
    /// Where they are nearly those of fields that there are, and else not.
    Guarded,
}

/// Unknown fields, wrong types, missing fields, words outside an enum, text that is not base64
/// and what is no name, one line each, sorted. `apiVersion`, `kind` and `metadata` are not looked at.
pub fn misfits(crd: &CustomResourceDefinition, object: &Value) -> Vec<String> {
    all(crd, object, Names::Told)
}

/// The same of what a template has rendered: what is the name of a field there may have been a value, as a line of a Secret.
pub fn rendered_misfits(crd: &CustomResourceDefinition, object: &Value) -> Vec<String> {
    all(crd, object, Names::Guarded)
}

fn all(crd: &CustomResourceDefinition, object: &Value, names: Names) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(schema) = schema_of(crd) {
        compare(schema, object, "", names, &mut found);
    }
    found.sort();
    found
}

/// Makes the empty text of a group that has no value, where the CRD requires one, as Go's decoder does: `group:` with nothing behind it is the core group. Of other
/// texts Go makes the same, and the empty text would be put in the place of a Secret's name.
pub fn empty_texts(crd: &CustomResourceDefinition, object: &mut Value) {
    if let Some(schema) = schema_of(crd) {
        fill(schema, object);
    }
}

fn fill(schema: &JSONSchemaProps, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let is_text = |property: &JSONSchemaProps| property.type_.as_deref() == Some("string");
            let is_required = |name| schema.required.iter().flatten().any(|one| one == name);
            for (name, property) in schema.properties.iter().flatten() {
                match fields.get_mut(name) {
                    Some(field)
                        if name == "group"
                            && field.is_null()
                            && is_text(property)
                            && is_required(name) =>
                    {
                        *field = Value::String(String::new());
                    }
                    Some(field) => fill(property, field),
                    None => {}
                }
            }
        }
        Value::Array(items) => {
            if let Some(JSONSchemaPropsOrArray::Schema(each)) = &schema.items {
                items.iter_mut().for_each(|item| fill(each, item));
            }
        }
        _ => {}
    }
}

fn schema_of(crd: &CustomResourceDefinition) -> Option<&JSONSchemaProps> {
    let version = crd.spec.versions.first()?;
    version.schema.as_ref()?.open_api_v3_schema.as_ref()
}

/// Removes what has no value, as an API server does with fields that may not be null. [`misfits`] takes a null for a value.
pub fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

fn compare(
    schema: &JSONSchemaProps,
    value: &Value,
    path: &str,
    names: Names,
    found: &mut Vec<String>,
) {
    let kind = schema.type_.as_deref().unwrap_or("object");
    if !is_a(kind, value) {
        return found.push(format!("{path}: not of type {kind}"));
    }
    match value {
        Value::Object(fields) => compare_fields(schema, fields, path, names, found),
        Value::Array(items) => compare_items(schema, items, path, names, found),
        Value::String(text) => compare_text(schema, text, path, found),
        _ => {}
    }
}

fn is_a(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64(),
        _ => false,
    }
}

fn compare_fields(
    schema: &JSONSchemaProps,
    fields: &serde_json::Map<String, Value>,
    path: &str,
    names: Names,
    found: &mut Vec<String>,
) {
    for (name, field) in fields {
        let here = join(path, name);
        let property = schema.properties.as_ref().and_then(|known| known.get(name));
        match (property, &schema.additional_properties) {
            _ if path.is_empty() && ["apiVersion", "kind", "metadata"].contains(&name.as_str()) => {
            }
            (Some(property), _) => compare(property, field, &here, names, found),
            (None, Some(JSONSchemaPropsOrBool::Schema(rest))) => {
                compare(rest, field, &join(path, names.shown(name)), names, found);
            }
            _ => found.push(names.unknown(schema, path, name)),
        }
    }
    for name in schema
        .required
        .iter()
        .flatten()
        .filter(|name| !fields.contains_key(*name))
    {
        found.push(format!("{}: required", join(path, name)));
    }
}

impl Names {
    /// That of an entry of a map.
    fn shown(self, name: &str) -> &str {
        match self {
            Self::Told => name,
            Self::Guarded => "*",
        }
    }

    fn unknown(self, schema: &JSONSchemaProps, path: &str, name: &str) -> String {
        let mut known = schema.properties.iter().flatten();
        let meant = known.find(|(known, _)| is_slip(known, name));
        match (self, meant) {
            (Self::Told, _) | (_, Some(_)) => format!("{}: unknown field", join(path, name)),
            (Self::Guarded, None) if path.is_empty() => "a field beside spec: unknown".to_owned(),
            (Self::Guarded, None) => format!("{path}: an unknown field"),
        }
    }
}

/// Whether a name is written with no more than two signs that are wrong, missing or too many.
fn is_slip(known: &str, name: &str) -> bool {
    const MOST: usize = 2;
    let (known, name) = (known.as_bytes(), name.as_bytes());
    if known.len() <= 2 * MOST || known.len().abs_diff(name.len()) > MOST {
        return false;
    }
    let mut above: Vec<usize> = (0..=name.len()).collect();
    for (row, sign) in known.iter().enumerate() {
        let mut line = vec![row + 1];
        for (column, other) in name.iter().enumerate() {
            let changed = above[column] + usize::from(sign != other);
            let shorter = above[column + 1].min(line[column]) + 1;
            line.push(changed.min(shorter));
        }
        above = line;
    }
    above.last().is_some_and(|slips| *slips <= MOST)
}

fn compare_items(
    schema: &JSONSchemaProps,
    items: &[Value],
    path: &str,
    names: Names,
    found: &mut Vec<String>,
) {
    if schema
        .min_items
        .is_some_and(|least| (items.len() as i64) < least)
    {
        found.push(format!("{path}: too few items"));
    }
    let Some(JSONSchemaPropsOrArray::Schema(each)) = &schema.items else {
        return;
    };
    for (index, item) in items.iter().enumerate() {
        compare(each, item, &join(path, &index.to_string()), names, found);
    }
}

fn compare_text(schema: &JSONSchemaProps, text: &str, path: &str, found: &mut Vec<String>) {
    if schema
        .enum_
        .as_ref()
        .is_some_and(|words| !words.iter().any(|word| word.0 == text))
    {
        found.push(format!("{path}: not one of the words that it may be"));
    }
    let is_base64 = || Base64Bytes::from_text(text).decode().is_ok();
    if schema.format.as_deref() == Some("byte") && !is_base64() {
        found.push(format!("{path}: not base64"));
    }
    let is_name = text.is_empty() || is_subdomain(text);
    if schema.pattern.as_deref() == Some(NAME_OR_EMPTY) && !is_name {
        found.push(format!(
            "{path}: not a name of lower case letters, digits, dashes and dots"
        ));
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

#[cfg(test)]
mod tests {
    use kube::CustomResourceExt;
    use serde_json::json;

    use super::*;
    use crate::{ClusterImportPolicy, PediaCluster};

    #[test]
    fn misfits_of_what_was_rendered_are_named_by_path_and_never_by_value() {
        let object = json!({
            "metadata": {"anything": "goes"},
            "spec": {
                "tokenData": "s3cret!",
                "authorizationMode": "s3cret",
                "connection": {"proxyHeader": {"a": {"b": "s3cret"}}},
                "syncResources": [{"group": ["s3cret"], "resorces": "s3cret", "resources": []}, {}],
                "s3cret": "s3cret",
                "s3cretCA": "s3cret",
            },
            "s3cret": {},
        });
        let found = rendered_misfits(&PediaCluster::crd(), &object);
        assert_eq!(
            found,
            [
                "a field beside spec: unknown",
                "spec.authorizationMode: not one of the words that it may be",
                "spec.connection.proxyHeader.*: not of type string",
                "spec.syncResources.0.group: not of type string",
                "spec.syncResources.0.resorces: unknown field",
                "spec.syncResources.0.resources: too few items",
                "spec.syncResources.1.group: required",
                "spec.syncResources.1.resources: required",
                "spec.tokenData: not base64",
                "spec: an unknown field",
                "spec: an unknown field",
            ]
        );
    }

    #[test]
    fn of_what_somebody_wrote_each_name_is_told() {
        let object = json!({"spec": {"syncResources": [], "colour": "blue"}});
        let found = misfits(&PediaCluster::crd(), &object);
        assert_eq!(found, ["spec.colour: unknown field"]);
    }

    /// They become parts of paths and of rules, where `*` is everything and a slash leads on.
    #[test]
    fn what_cannot_name_a_kind_is_told() {
        let of = |group: &str, resource: &str| {
            let kind = json!({"key": "k", "group": group, "resource": resource, "versions": ["v1"], "nameTemplate": "n"});
            let spec = json!({"source": {"group": "", "resource": "pods"}, "references": [kind],
                "nameTemplate": "n", "template": "t", "creationCondition": "true"});
            misfits(&ClusterImportPolicy::crd(), &json!({"spec": spec}))
        };
        assert_eq!(of("", "secrets"), [""; 0]);
        assert_eq!(of("cluster.karmada.io", "clusters"), [""; 0]);
        let refused = |field: &str| {
            [format!(
                "spec.references.0.{field}: not a name of lower case letters, digits, dashes and dots"
            )]
        };
        for resource in ["*", "pods/exec", "Secrets", "a b"] {
            assert_eq!(of("", resource), refused("resource"), "{resource}");
        }
        assert_eq!(of("*", "pods"), refused("group"));
    }

    #[test]
    fn a_slip_is_told_from_another_name() {
        for (known, name, expected) in [
            ("tokenData", "tokenDta", true),
            ("tokenData", "tokendata", true),
            ("tokenData", "token", false),
            ("apiserver", "apiServer", true),
            ("apiserver", "passw0rd!", false),
            ("name", "abme", false),
            ("resources", &"r".repeat(1 << 20), false),
        ] {
            assert_eq!(is_slip(known, name), expected, "{known}");
        }
    }
}
