//! promtool on the alerts and on what the dashboard asks for: each expression is one, and each alert fires when it should and not before.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Result, ensure};
use armadex_e2e::tools;
use serde_json::{Map, Value, json};

use crate::helm::{self, Helm};
use crate::monitoring::{all_groups, dashboard, groups, rules};

const TESTS: &str = "tests/chart/alerts.test.yaml";
/// Labels of the series of the release that is rendered, as the tests write them.
const WRITTEN: [(&str, &str); 2] = [
    (
        "SELECTOR",
        r#"namespace="armadex-system", job="fleet-metrics""#,
    ),
    ("SELECTED", "namespace: armadex-system, job: fleet-metrics"),
];

/// A run of promtool in a folder, which has to go well.
fn run(folder: &Path, arguments: &[&str]) -> Result<()> {
    let mut command = helm::limited(&tools::promtool()?);
    let output = command.args(arguments).current_dir(folder).output()?;
    let said =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    ensure!(output.status.success(), "{arguments:?}: {}", said.concat());
    Ok(())
}

fn check(groups: &Value) -> Result<()> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("rules.yaml"), groups.to_string())?;
    run(
        folder.path(),
        &["check", "rules", "--lint=all", "--lint-fatal", "rules.yaml"],
    )
}

#[test]
fn promtool_takes_the_alerts_of_all_values() -> Result<()> {
    let helm = Helm::ensure()?;
    let mut checked = 0;
    for values in helm::all_values()? {
        if let Some(groups) = groups(&helm.render(&values, &[])?) {
            check(&json!({"groups": groups}))?;
            checked += 1;
        }
    }
    assert!(checked > 1, "of one release all parts are in one workload");
    Ok(())
}

#[test]
fn promtool_takes_what_the_dashboard_asks_for() -> Result<()> {
    let asked = dashboard().into_iter().enumerate();
    let rules: Vec<Value> = asked
        .map(|(number, expression)| {
            let expression = expression.replace("$__rate_interval", "5m");
            json!({"record": format!("panel:{number}"), "expr": expression})
        })
        .collect();
    assert!(rules.len() > 40);
    check(&json!({"groups": [{"name": "dashboard", "rules": rules}]}))
}

#[test]
fn each_alert_fires_when_it_should_and_not_before() -> Result<()> {
    let mut groups = all_groups()?;
    let all = groups.as_array_mut().into_iter().flatten();
    for rule in all.flat_map(|group| group["rules"].as_array_mut().unwrap()) {
        keep(&mut rule["labels"], |name, _| name == "part");
        keep(&mut rule["annotations"], |_, words| words.contains("{{"));
    }
    let mut tests = std::fs::read_to_string(TESTS)?;
    for (written, meant) in WRITTEN {
        tests = tests.replace(written, meant);
    }
    let folder = tempfile::tempdir()?;
    let rules = json!({"groups": groups}).to_string();
    std::fs::write(folder.path().join("rules.yaml"), rules)?;
    std::fs::write(folder.path().join("tests.yaml"), tests)?;
    run(folder.path(), &["test", "rules", "tests.yaml"])
}

fn keep(of_rule: &mut Value, is_kept: impl Fn(&str, &str) -> bool) {
    let all: &mut Map<String, Value> = of_rule.as_object_mut().unwrap();
    all.retain(|name, value| is_kept(name, value.as_str().unwrap_or_default()));
}

#[test]
fn each_alert_is_tried() -> Result<()> {
    let tests: Value = serde_saphyr::from_str(&std::fs::read_to_string(TESTS)?)?;
    let tests = tests["tests"].as_array().into_iter().flatten();
    let tried = tests.flat_map(|test| test["alert_rule_test"].as_array().into_iter().flatten());
    let firing = tried.filter(|tried| !tried["exp_alerts"].is_null());
    let firing = firing.map(|tried| tried["alertname"].as_str().unwrap().to_owned());
    let alerts = rules(&all_groups()?);
    let alerts = alerts.iter().map(|rule| rule["alert"].as_str().unwrap());
    let alerts: BTreeSet<String> = alerts.map(str::to_owned).collect();
    assert_eq!(firing.collect::<BTreeSet<_>>(), alerts);
    Ok(())
}
