//! What a policy refers to beside Secrets: a ConfigMap, and an object of the whole control plane. Both are read by the rights that `armadex rbac` prints for the policy,
//! and by no others.

use anyhow::Result;
use armadex_e2e::{Harness, armadex};
use serde_json::json;

use super::{Garden, policy};

const POLICY: &str = "clusterimportpolicy/beds";

pub(super) async fn other_objects_than_secrets_are_read_by_the_rights_that_are_printed(
    fleet: &Harness,
    garden: &Garden,
) -> Result<()> {
    let beds = beds();
    let file = fleet.folder().root().join("beds.json");
    std::fs::write(&file, beds.to_string())?;
    garden.apply(soil("dark")).await?;
    let class = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
        "metadata": {"name": "greenhouse"}, "provisioner": "sun.example"});
    garden.apply(class).await?;
    garden.apply(beds).await?;
    let (lifecycle, cluster) = ("pediaclusterlifecycle/bed-rose", "pediacluster/bed-rose");
    let words = "the right to get configmaps of v1 is missing";
    let waits = "False WaitDependentResourceSynced";
    garden.says(lifecycle, "Created", waits, words).await?;
    let file = file.display().to_string();
    let printed = armadex::run(&["rbac", "--apart", "--for-policy", &file]).await?;
    fleet.kubectl("host").apply(&printed).await?;
    let label = |name: &str| format!(".metadata.labels.{name}");
    garden
        .comes_to_have(cluster, &label("soil"), "dark")
        .await?;
    garden
        .comes_to_have(cluster, &label("light"), "sun.example")
        .await?;
    garden.apply(soil("light")).await?;
    garden
        .comes_to_have(cluster, &label("soil"), "light")
        .await?;
    fleet.kubectl("host").run(&["delete", POLICY]).await?;
    garden.comes_to_have(cluster, ".metadata.name", "").await
}

/// Of the rose alone; its name is not that which garden gives it.
fn beds() -> serde_json::Value {
    let mut beds = policy("beds", &["pods"]);
    let spec = &mut beds["spec"];
    spec["source"]["selectorTemplate"] = json!("{{eq source.metadata.name \"rose\"}}");
    spec["nameTemplate"] = json!("bed-{{source.metadata.name}}");
    spec["references"] = json!([
        {"key": "soil", "group": "", "resource": "configmaps",
            "namespaceTemplate": "default", "nameTemplate": "soil-of-{{source.metadata.name}}"},
        {"key": "class", "group": "storage.k8s.io", "resource": "storageclasses", "nameTemplate": "greenhouse"},
    ]);
    spec["template"] = json!(
        "metadata: {labels: {soil: {{toJson references.soil.data.kind}}, light: {{toJson references.class.provisioner}}}}\n\
         spec: {apiserver: {{toJson source.spec.url}}, syncResources: []}\n"
    );
    beds
}

fn soil(kind: &str) -> serde_json::Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "soil-of-rose", "namespace": "default"}, "data": {"kind": kind}})
}
