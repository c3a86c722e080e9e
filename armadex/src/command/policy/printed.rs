//! What policies make, as YAML or JSON to look at and compare. Owner references are left out: they name uids, which no file knows.

use anyhow::Context as _;
use armadex_crds::PediaClusterLifecycle;
use kube::core::ObjectMeta;
use serde_json::{Value, json};

use super::made::{Made, Outcome};

/// Every object: each lifecycle before the PediaCluster that it leads to, in the order of their names for each policy.
pub(super) fn objects(outcome: &Outcome) -> anyhow::Result<Vec<Value>> {
    let mut objects = Vec::new();
    for Made { lifecycle, cluster } in &outcome.made {
        let mut lifecycle = PediaClusterLifecycle::clone(lifecycle);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::policy::files::values;

    #[test]
    fn a_template_is_printed_so_that_the_very_same_is_read() {
        let long = "words, and  more  of them ".repeat(20);
        let texts = [
            "",
            "\n",
            "\n\n",
            "a\n",
            "a\n\n\n",
            "  a\nb\n",
            "a \nb  ",
            "\ta\n",
            "a\n\tb\n",
            "a\r\nb\n",
            "# a\nb: c\n",
            "---\n",
            "- a\n",
            "{{#if a}}\n  x: {{b}}\n{{/if}}\n",
            "a: 'b' \"c\" \\ d\n",
            "\u{85}\u{2028}\u{feff}\u{1f600}\n",
            " ",
            "~",
            "true",
            "0x1",
            "2026-01-02",
            &long,
            &format!("{long}\n"),
            &format!("\n{long}\n  {long}\n"),
            &format!(" {long}\n\n"),
        ];
        for text in texts {
            let object = json!({"spec": {"template": text, "list": [text]}});
            let printed = yaml(std::slice::from_ref(&object)).expect("YAML");
            let read = values(&printed).unwrap_or_else(|error| panic!("{printed}: {error}"));
            assert_eq!(read, [object], "{printed}");
        }
    }
}
