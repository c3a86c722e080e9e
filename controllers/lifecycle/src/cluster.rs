//! From the text that a template rendered to a PediaCluster: YAML or JSON, strictly. What does
//! not fit is told by path; the text may hold credentials and is never quoted. Pure.

use std::sync::LazyLock;

use armadex_crds::{Misread, PediaCluster, drop_nulls, empty_texts, read_yaml, rendered_misfits};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{CustomResourceExt, Resource};
use serde_json::{Map, Value};

/// Misfits that a message names.
const NAMED_MISFITS: usize = 3;

static DEFINITION: LazyLock<CustomResourceDefinition> = LazyLock::new(PediaCluster::crd);

/// Reads a PediaCluster; its name is set by the caller.
pub fn decode(text: &str) -> Result<PediaCluster, String> {
    let mut value: Value = read_yaml(text).map_err(|error| match error {
        Misread::Other { place: None } => "does not render to YAML".to_owned(),
        Misread::Other {
            place: Some((line, column)),
        } => format!("does not render to YAML at line {line}, column {column} of the result"),
        Misread::TooMuch => format!("the result {error}"),
    })?;
    empty_texts(&DEFINITION, &mut value);
    drop_nulls(&mut value);
    let Value::Object(fields) = &mut value else {
        return Err("does not render to a PediaCluster".to_owned());
    };
    check_kind(fields)?;
    check_metadata(fields)?;
    fields
        .entry("metadata")
        .or_insert_with(|| Value::Object(Map::new()));
    if !fields.contains_key("spec") {
        return Err("spec: required".to_owned());
    }
    let misfits = rendered_misfits(&DEFINITION, &value);
    if !misfits.is_empty() {
        let more = if misfits.len() > NAMED_MISFITS {
            ", and more"
        } else {
            ""
        };
        let named: Vec<String> = misfits.into_iter().take(NAMED_MISFITS).collect();
        return Err(format!("{}{more}", named.join(", ")));
    }
    serde_json::from_value(value)
        .map_err(|_| "metadata: labels and annotations are text".to_owned())
}

/// `apiVersion` and `kind` may be left out.
fn check_kind(fields: &Map<String, Value>) -> Result<(), String> {
    let expected = [
        ("apiVersion", PediaCluster::api_version(&())),
        ("kind", PediaCluster::kind(&())),
    ];
    for (field, expected) in expected {
        if fields.get(field).is_some_and(|value| *value != *expected) {
            return Err(format!("{field}: not {expected}"));
        }
    }
    Ok(())
}

/// The rest of the metadata, and the status, are not for a template to say.
fn check_metadata(fields: &Map<String, Value>) -> Result<(), String> {
    if fields.contains_key("status") {
        return Err("status: not for a template to say".to_owned());
    }
    let Some(metadata) = fields.get("metadata") else {
        return Ok(());
    };
    let Value::Object(metadata) = metadata else {
        return Err("metadata: not a map".to_owned());
    };
    let known = ["name", "labels", "annotations"];
    match metadata.keys().find(|name| !known.contains(&name.as_str())) {
        Some(other) => Err(format!("metadata.{other}: not for a template to say")),
        None => Ok(()),
    }
}
