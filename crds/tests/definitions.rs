//! The CRDs: that the committed YAML is current, and that objects written for Clusterpedia fit
//! the schemas and the types without losing a field.

#![allow(clippy::unwrap_used)]

use std::{fs, path::Path};

use armadex_crds::{
    ClusterImportPolicy, ClusterSyncResources, PediaCluster, PediaClusterLifecycle, all, files,
    misfits,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

#[test]
fn committed_yaml_is_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (name, text) in files() {
        let committed = fs::read_to_string(folder.join(&name)).unwrap_or_default();
        assert!(
            committed == text,
            "{name} is not current: cargo run -p armadex-crds --example generate"
        );
    }
}

#[test]
fn every_object_fits_its_schema_and_survives_a_round_trip() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/objects");
    let mut seen = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let object: Value = serde_saphyr::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let label = path.file_name().unwrap().to_string_lossy().into_owned();
        assert_eq!(
            misfits(&crd_of(&object), &object),
            Vec::<String>::new(),
            "{label}"
        );
        assert_eq!(round_trip(&object), without_empty(object), "{label}");
        seen += 1;
    }
    assert_eq!(seen, 11);
}

#[test]
fn spec_may_be_absent_or_null_and_have_no_sync_resources_of_its_own() {
    let parsed = |object: Value| serde_json::from_value::<PediaCluster>(object);
    assert_eq!(
        parsed(json!({"metadata": {"name": "a"}})).unwrap().spec,
        Default::default()
    );
    assert_eq!(
        parsed(json!({"metadata": {}, "spec": null})).unwrap().spec,
        Default::default()
    );
    // As an example of Clusterpedia's documentation has it, which its own definition refuses.
    let spec = json!({"apiserver": "x", "syncResourcesRefName": "shared"});
    let cluster = parsed(json!({"metadata": {}, "spec": spec})).unwrap();
    assert_eq!(cluster.spec.sync_resources, []);
    let definition = crd_of(&json!({"kind": "PediaCluster"}));
    let text = serde_json::to_string(&definition).unwrap();
    assert!(!text.contains(r#""required":["syncResources"]"#));
}

#[test]
fn schemas_hold_nothing_that_an_api_server_refuses() {
    for crd in all() {
        let text = serde_json::to_string(&crd).unwrap();
        for word in ["nullable", "anyOf", "oneOf", "$ref", "\"format\":\"uint"] {
            assert!(!text.contains(word), "{word} in {:?}", crd.metadata.name);
        }
    }
}

fn crd_of(object: &Value) -> CustomResourceDefinition {
    let kind = object["kind"].as_str().unwrap();
    all()
        .into_iter()
        .find(|crd| crd.spec.names.kind == kind)
        .unwrap()
}

fn round_trip(object: &Value) -> Value {
    fn through<T: Serialize + DeserializeOwned>(object: &Value) -> Value {
        let typed: T = serde_json::from_value(object.clone()).unwrap();
        serde_json::to_value(typed).unwrap()
    }
    let typed = match object["kind"].as_str().unwrap() {
        "PediaCluster" => through::<PediaCluster>(object),
        "ClusterSyncResources" => through::<ClusterSyncResources>(object),
        "ClusterImportPolicy" => through::<ClusterImportPolicy>(object),
        _ => through::<PediaClusterLifecycle>(object),
    };
    without_empty(typed)
}

/// Absent and empty mean the same, except for the one field whose presence says something.
fn without_empty(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, field)| (name, without_empty(field)))
            .filter(|(name, field)| name == "shardingName" || !is_empty(field))
            .collect(),
        Value::Array(items) => items.into_iter().map(without_empty).collect(),
        other => other,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}
