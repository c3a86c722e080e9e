//! What the derived schemas need to become good CRDs: an optional `spec`, no `nullable`, and the
//! condition list as a map by type.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

/// The schema of a whole object whose `spec` and `status` may be absent.
///
/// `apiVersion`, `kind` and `metadata` are left to the API server, which knows them.
pub(crate) fn object<Spec: JsonSchema, Status: JsonSchema>(
    generator: &mut SchemaGenerator,
    description: &str,
) -> Schema {
    let spec = without_null(Spec::json_schema(generator));
    let status = without_null(Status::json_schema(generator));
    json_schema!({
        "type": "object",
        "description": description,
        "properties": {"spec": spec, "status": status},
    })
}

/// As [`object`], for a kind without a status.
pub(crate) fn object_without_status<Spec: JsonSchema>(
    generator: &mut SchemaGenerator,
    description: &str,
) -> Schema {
    let spec = without_null(Spec::json_schema(generator));
    json_schema!({"type": "object", "description": description, "properties": {"spec": spec}})
}

/// `Option` derives a type that may be null. A Kubernetes API server drops nulls from fields that
/// are not nullable, which is what every client of these kinds expects.
fn without_null(schema: Schema) -> Value {
    let mut value = schema.to_value();
    drop_null(&mut value);
    value
}

fn drop_null(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(drop_null),
        Value::Object(fields) => {
            unwrap_optional(fields);
            fields.values_mut().for_each(drop_null);
        }
        _ => {}
    }
}

/// `{type: [T, null]}` becomes `{type: T}`, and `{anyOf: [S, {type: null}]}` becomes `S`.
fn unwrap_optional(fields: &mut serde_json::Map<String, Value>) {
    if let Some(Value::Array(types)) = fields.get("type") {
        let named: Vec<Value> = types.iter().filter(|t| *t != "null").cloned().collect();
        if let [one] = named.as_slice() {
            fields.insert("type".into(), one.clone());
        }
    }
    let Some(Value::Array(choices)) = fields.get("anyOf") else {
        return;
    };
    let named: Vec<Value> = choices
        .iter()
        .filter(|choice| choice["type"] != "null")
        .cloned()
        .collect();
    if let [Value::Object(one)] = named.as_slice() {
        fields.remove("anyOf");
        for (key, value) in one {
            fields.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
}

/// What may stand in a path as the name of a group, a version, a resource or a namespace. Empty too: what must be there has a
/// rule of its own that says so.
pub(crate) const NAME_OR_EMPTY: &str =
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$";

/// One rule that the API server checks, and what it says when the rule is broken.
pub(crate) fn rule(rule: &str, message: &str) -> Value {
    json!([{"rule": rule, "message": message}])
}

/// The rule for a template: the last tag that it opens has an end. Braces behind a backslash may be text, which is for the controllers to say.
pub(crate) fn template(field: &str) -> Value {
    let is_closed = r"self.contains('\\{{') || self.lastIndexOf('{{') <= self.lastIndexOf('}}')";
    rule(
        is_closed,
        &format!("{field} has a {{{{ that no }}}} closes"),
    )
}

/// The rules for one that has to be there, for this reason.
pub(crate) fn needed_template(field: &str, reason: &str) -> Value {
    let mut rules = rule(
        "self != ''",
        &format!("{field} must not be empty: {reason}"),
    );
    if let (Value::Array(all), Value::Array(more)) = (&mut rules, template(field)) {
        all.extend(more);
    }
    rules
}

/// `status.conditions`: a map by `type`, each with the limits of `metav1.Condition`.
pub(crate) fn conditions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "description": "What is the case with this object, one entry per type.",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": condition(),
    })
}

fn condition() -> Value {
    json!({
        "type": "object",
        "required": ["lastTransitionTime", "message", "reason", "status", "type"],
        "properties": {
            "type": {
                "type": "string",
                "maxLength": 316,
                "pattern": r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
            },
            "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
            "reason": {
                "type": "string",
                "description": "One word for programs.",
                "minLength": 1,
                "maxLength": 1024,
                "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
            },
            "message": {
                "type": "string",
                "description": "The same in words, for people.",
                "maxLength": 32768,
            },
            "lastTransitionTime": {"type": "string", "format": "date-time"},
            "observedGeneration": {
                "type": "integer",
                "format": "int64",
                "minimum": 0,
                "description": "The generation of the object that was looked at.",
            },
        },
    })
}

/// Reads a spec that may be absent or null as the default one.
///
/// The spec derives serde with `remote = "Self"`, which makes the derived functions inherent;
/// the trait impls made here add the one thing that a derive can't say.
macro_rules! absent_as_default {
    ($spec:ty) => {
        impl serde::Serialize for $spec {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                <$spec>::serialize(self, serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $spec {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Present($spec);
                impl<'de> serde::Deserialize<'de> for Present {
                    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                        <$spec>::deserialize(d).map(Present)
                    }
                }
                let present = <Option<Present> as serde::Deserialize>::deserialize(deserializer)?;
                Ok(present.map(|spec| spec.0).unwrap_or_default())
            }
        }
    };
}
pub(crate) use absent_as_default;

/// For `skip_serializing_if`.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
pub(crate) fn is_false(value: &bool) -> bool {
    !*value
}
