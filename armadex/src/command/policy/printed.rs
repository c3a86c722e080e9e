//! What policies make, as objects that `kubectl apply` takes. Owner references are left out: they name uids, which no file knows.

use anyhow::Context as _;
use kube::core::ObjectMeta;
use serde_json::{Value, json};

use super::made::{Made, Outcome};

/// Every object: each lifecycle before the PediaCluster that it leads to, in the order of their names for each policy.
pub(super) fn objects(outcome: &Outcome) -> anyhow::Result<Vec<Value>> {
    let mut objects = Vec::new();
    for Made { lifecycle, cluster } in &outcome.made {
        let mut lifecycle = lifecycle.clone();
        lifecycle.metadata = own(&lifecycle.metadata);
        objects.push(serde_json::to_value(lifecycle)?);
        if let Some(cluster) = cluster {
            let mut cluster = cluster.clone();
            cluster.metadata = own(&cluster.metadata);
            objects.push(serde_json::to_value(cluster)?);
        }
    }
    Ok(objects)
}

/// One document for each.
pub(super) fn yaml(objects: &[Value]) -> anyhow::Result<String> {
    let mut text = String::new();
    for object in objects {
        let document = serde_saphyr::to_string(object).context("cannot write YAML")?;
        text.push_str("---\n");
        text.push_str(&document);
    }
    Ok(text)
}

/// One list of all.
pub(super) fn json(objects: &[Value]) -> String {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    format!("{list:#}\n")
}

fn own(metadata: &ObjectMeta) -> ObjectMeta {
    ObjectMeta {
        name: metadata.name.clone(),
        labels: metadata.labels.clone(),
        annotations: metadata.annotations.clone(),
        ..ObjectMeta::default()
    }
}
