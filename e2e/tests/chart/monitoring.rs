//! What is rendered for whoever watches a release: alerts that lead to their page, of this release, and a dashboard.

use anyhow::{Context, Result};
use armadex_e2e::chart;
use serde_json::{Value, json};

use crate::helm::{self, Helm};

/// The groups of the PrometheusRule, if one is made.
pub(crate) fn groups(made: &[Value]) -> Option<Value> {
    let rule = made
        .iter()
        .find(|object| object["kind"] == "PrometheusRule")?;
    Some(rule["spec"]["groups"].clone())
}

/// The groups of a release with all parts and all alerts.
pub(crate) fn all_groups() -> Result<Value> {
    let all = ["--set-json", "metrics.prometheusRule.disabled=[]"];
    let made = Helm::ensure()?.render(&helm::values_named("parts"), &all)?;
    groups(&made).context("there are alerts")
}

pub(crate) fn rules(groups: &Value) -> Vec<Value> {
    let groups = groups.as_array().into_iter().flatten();
    let rules = groups.flat_map(|group| group["rules"].as_array().unwrap().clone());
    rules.collect()
}

/// What the panels of the dashboard ask for, of a release and of all clusters.
pub(crate) fn dashboard() -> Vec<String> {
    let text = std::fs::read_to_string(chart::folder().join("files/dashboard.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&text).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let asked = targets.map(|target| target["expr"].as_str().unwrap().to_owned());
    asked.collect()
}

/// The headings of the page about alerts.
fn headings() -> Vec<String> {
    let page = std::fs::read_to_string(chart::folder().join("../../docs/alerts.md")).unwrap();
    let headings = page.lines().filter_map(|line| line.strip_prefix("## "));
    headings.map(str::to_owned).collect()
}

#[test]
fn each_alert_has_its_page_and_each_page_its_alert() {
    let text = std::fs::read_to_string(chart::folder().join("files/alerts.yaml")).unwrap();
    let alerts: Vec<Value> = serde_saphyr::from_str(&text).unwrap();
    let alerts = alerts
        .iter()
        .map(|alert| alert["alert"].as_str().unwrap().to_owned());
    assert_eq!(alerts.collect::<Vec<_>>(), headings());
}

#[test]
fn alerts_are_of_this_release_and_say_what_is_wrong_how_bad_it_is_and_what_to_do() -> Result<()> {
    let made = Helm::ensure()?.render(&helm::values_named("parts"), &[])?;
    let anchors: Vec<String> = headings()
        .iter()
        .map(|heading| heading.to_lowercase())
        .collect();
    let rules = rules(&groups(&made).unwrap());
    assert!(rules.len() > 20);
    for rule in rules {
        let name = rule["alert"].as_str().unwrap();
        let text = rule["expr"].as_str().unwrap();
        let of_release = format!("namespace=\"{}\", job=\"fleet-metrics\"", helm::NAMESPACE);
        assert_eq!(
            text.matches("armadex_").count(),
            text.matches(&of_release).count(),
            "{text}"
        );
        let severity = rule["labels"]["severity"].as_str().unwrap();
        assert!(
            ["critical", "warning", "info"].contains(&severity),
            "{name}"
        );
        assert!(rule["for"].is_string(), "{name}");
        for said in ["summary", "description"] {
            let words = rule["annotations"][said].as_str().unwrap();
            assert!(
                !words.is_empty() && !words.contains("PART"),
                "{name}: {words}"
            );
        }
        let page = rule["annotations"]["runbook_url"].as_str().unwrap();
        let (_, anchor) = page.split_once("alerts.md#").unwrap();
        assert!(anchors.iter().any(|known| known == anchor), "{page}");
        assert_eq!(rule["labels"]["team"], "platform");
        assert_ne!(name, "ArmadexEventsRefused", "it is disabled");
    }
    Ok(())
}

#[test]
fn labels_that_are_given_count_before_the_chart_s() -> Result<()> {
    let severity = "metrics.prometheusRule.alertLabels.severity=page";
    let made = Helm::ensure()?.render(&helm::values_named("parts"), &["--set", severity])?;
    for rule in rules(&groups(&made).unwrap()) {
        assert_eq!(rule["labels"]["severity"], "page");
        assert_eq!(rule["labels"]["team"], "platform");
    }
    Ok(())
}

/// Of one workload there is no part that can be missing beside others.
#[test]
fn each_part_and_each_shard_is_missed_when_it_is_gone() -> Result<()> {
    let helm = Helm::ensure()?;
    let missed = |values: &str, flags: &[&str]| -> Result<Vec<Value>> {
        let groups = groups(&helm.render(&helm::values_named(values), flags)?);
        let mut rules = rules(&groups.unwrap());
        rules.retain(|rule| rule["alert"] == "ArmadexPartDown");
        Ok(rules
            .iter()
            .map(|rule| rule["labels"]["part"].clone())
            .collect())
    };
    let parts = [
        "apiserver",
        "synchro",
        "synchro-eu",
        "synchro-us",
        "controllers",
    ];
    assert_eq!(missed("parts", &[])?, parts);
    let all = "networkPolicy.enabled=false,metrics.prometheusRule.enabled=true,metrics.prometheusRule.job=armadex";
    assert_eq!(missed("default", &["--set", all])?, Vec::<Value>::new());
    Ok(())
}

/// What looks at each member over a long time is asked for less often, and over no longer than a quarter of an hour.
#[test]
fn what_looks_back_for_long_is_asked_for_seldom() -> Result<()> {
    let groups = all_groups()?;
    assert_eq!(groups[1]["interval"], "5m");
    for rule in rules(&json!([groups[0]])) {
        let text = rule["expr"].as_str().unwrap();
        let is_of_each_member = text.contains("cluster");
        assert!(!text.contains("h]"), "{text}");
        assert!(!is_of_each_member || !text.contains('['), "{text}");
    }
    for rule in rules(&json!([groups[1]])) {
        let text = rule["expr"].as_str().unwrap();
        assert!(!text.contains("cluster") || !text.contains("h]"), "{text}");
    }
    Ok(())
}

#[test]
fn alerts_without_the_service_monitor_are_of_series_that_somebody_names() -> Result<()> {
    let helm = Helm::ensure()?;
    let enabled = "networkPolicy.enabled=false,metrics.prometheusRule.enabled=true";
    let said = helm.complaint(&["--set", enabled])?;
    assert!(said.contains("metrics.prometheusRule.job"), "{said}");
    let groups = groups(&helm.render(&helm::values_named("here"), &[])?);
    for rule in rules(&groups.unwrap()) {
        let text = rule["expr"].as_str().unwrap();
        assert!(text.contains("job=\"monitoring/armadex\""), "{text}");
    }
    Ok(())
}
