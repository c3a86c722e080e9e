//! What is watched is there: names of metrics, and a page for each alert.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Result;
use armadex_e2e::chart;
use serde_json::Value;

use crate::helm::{self, Helm};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The words of a text that name a metric.
fn metrics(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let words = words.filter(|word| word.starts_with("armadex_"));
    words.map(str::to_owned).collect()
}

/// Whether the program has a metric of this name: its sources name it without the prefix, and counters without the ending.
fn is_there(sources: &str, metric: &str) -> bool {
    let name = metric.trim_start_matches("armadex_");
    let names = ["_total", "_info"].map(|end| name.trim_end_matches(end));
    names
        .iter()
        .any(|name| sources.contains(&format!("\"{name}\"")))
}

fn sources() -> String {
    let folder = root().join("armadex/src/metrics");
    let files = std::fs::read_dir(folder).unwrap();
    let files = files.map(|entry| entry.unwrap().path());
    let files = files.chain([root().join("armadex/src/metrics.rs")]);
    files
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect()
}

#[test]
fn alerts_and_the_dashboard_ask_for_metrics_that_there_are() {
    let sources = sources();
    for file in ["files/alerts.yaml", "files/dashboard.json"] {
        let text = std::fs::read_to_string(chart::folder().join(file)).unwrap();
        let named = metrics(&text);
        assert!(named.len() > 10, "{file}: {named:?}");
        for metric in named {
            assert!(is_there(&sources, &metric), "{file}: there is no {metric}");
        }
    }
    assert!(!is_there(&sources, "armadex_store_redable"));
}

#[test]
fn each_alert_has_its_page_and_each_page_its_alert() {
    let text = std::fs::read_to_string(chart::folder().join("files/alerts.yaml")).unwrap();
    let alerts: Vec<Value> = serde_saphyr::from_str(&text).unwrap();
    let alerts = alerts
        .iter()
        .map(|alert| alert["alert"].as_str().unwrap().to_owned());
    let page = std::fs::read_to_string(root().join("docs/alerts.md")).unwrap();
    let headings = page.lines().filter_map(|line| line.strip_prefix("## "));
    let headings: Vec<String> = headings.map(str::to_owned).collect();
    assert_eq!(alerts.collect::<Vec<_>>(), headings);
}

#[test]
fn alerts_are_of_this_release_and_lead_to_their_page() -> Result<()> {
    let made = Helm::ensure()?.render(&helm::values_named("parts"), &[])?;
    let rule = made
        .iter()
        .find(|object| object["kind"] == "PrometheusRule");
    let rules = rule.unwrap()["spec"]["groups"][0]["rules"]
        .as_array()
        .unwrap();
    assert!(rules.len() > 10);
    for rule in rules {
        let text = rule["expr"].as_str().unwrap();
        let name = rule["alert"].as_str().unwrap();
        assert!(!text.contains("SELECTOR"), "{text}");
        let of_release = format!("namespace=\"{}\", job=\"fleet-metrics\"", helm::NAMESPACE);
        assert!(text.contains(&of_release), "{text}");
        let page = rule["annotations"]["runbook_url"].as_str().unwrap();
        assert!(
            page.ends_with(&format!("alerts.md#{}", name.to_lowercase())),
            "{page}"
        );
        assert_eq!(rule["labels"]["team"], "platform");
        assert_ne!(name, "ArmadexEventsRefused", "it is disabled");
    }
    Ok(())
}
