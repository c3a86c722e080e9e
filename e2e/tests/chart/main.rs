//! The chart: that it is current, that each of its values is described, held to a schema and tried, what it makes of the values in its folder `ci`, that an
//! apiserver takes it, and that what it starts gets on with it.

#![allow(clippy::unwrap_used)]

mod admission;
mod apiserver;
mod effects;
mod helm;
mod hooks;
mod issued;
mod metrics;
mod monitoring;
mod operators;
mod parts;
mod promtool;
mod refused;
mod release;
mod rights;
mod upgrades;
mod values;

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use armadex_e2e::{chart, deploy};

use helm::{Helm, named};

#[test]
fn what_is_generated_is_current() {
    for (path, text) in chart::generated().unwrap() {
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(committed == text, "{}: run make gen", path.display());
    }
    assert_eq!(chart::stale().unwrap(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn each_policy_of_the_sources_is_one_of_the_chart() {
    let entries = std::fs::read_dir(deploy::folder().join("policies")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names = names.filter_map(|name| name.strip_suffix(".yaml").map(str::to_owned));
    let files: BTreeSet<String> = names.collect();
    let told = chart::values().unwrap().into_iter();
    let told = told.filter_map(|told| {
        let name = told.name.strip_prefix("policies.")?;
        Some(name.strip_suffix(".enabled")?.to_owned())
    });
    assert_eq!(
        told.collect::<BTreeSet<String>>(),
        files,
        "values.yaml, its schema, and a file of ci"
    );
}

#[test]
fn the_chart_is_of_the_version_of_the_program() {
    let text = std::fs::read_to_string(chart::folder().join("Chart.yaml")).unwrap();
    let chart: serde_json::Value = serde_saphyr::from_str(&text).unwrap();
    for field in ["version", "appVersion"] {
        assert_eq!(chart[field], env!("CARGO_PKG_VERSION"), "{field}");
    }
}

#[test]
fn helm_finds_nothing_to_say_of_any_values() -> Result<()> {
    let helm = Helm::ensure()?;
    for values in helm::all_values()? {
        helm.run(&["lint", "--strict", "--values"], &values)?;
        let made = helm.render(&values, &[])?;
        let kinds = |kind: &str| made.iter().filter(|object| object["kind"] == kind).count();
        let workloads = kinds("Deployment") + kinds("StatefulSet");
        assert!(workloads > 0, "{}: no workload", values.display());
        for object in &made {
            let labels = &object["metadata"]["labels"];
            assert_eq!(
                labels["app.kubernetes.io/instance"],
                helm::RELEASE,
                "{}",
                named(object)
            );
        }
    }
    Ok(())
}

/// Who installs it sees these words, whatever the values are.
#[test]
fn the_notes_name_the_next_commands_and_what_to_be_warned_of() -> Result<()> {
    let helm = Helm::ensure()?;
    let notes = |name: &str| helm.notes(&helm::values_named(name), &[]);
    for values in ["default", "issued", "karmada", "parts", "as-given", "try"] {
        let notes = notes(values)?;
        for command in [
            "wait --for=create --timeout=5m apiservice v1beta1.clusterpedia.io",
            "apiservice v1beta1.clusterpedia.io",
            "create clusterrolebinding searcher-bob",
            "get pods -A",
        ] {
            assert!(notes.contains(command), "{values}: {command}: {notes}");
        }
        the_way_in_is_granted_before_it_is_served(&notes)?;
    }
    let has = |name: &str, words: &str| notes(name).map(|notes| notes.contains(words));
    assert!(has("try", "store.sqlite.emptyDir")? && has("try", "as the administrator")?);
    assert!(!has("karmada", "WARNING")? && !has("default", "WARNING")?);
    assert!(!has("issued", "WARNING")? && has("issued", "CronJob armadex-index-renew")?);
    assert!(has("as-given", "install.enabled is false")?);
    assert!(has("parts", "install.takeOver is true")?);
    assert!(has("default", "No policy brings clusters in yet")? && !has("karmada", "No policy")?);
    assert!(!has("parts", "Before you uninstall")?);
    let among_credentials = format!(
        "mode=parts,store.url=mysql://a@b/c,controlPlane.credentialNamespaces={{{}}}",
        helm::NAMESPACE
    );
    let notes = helm.notes(
        &helm::values_named("default"),
        &["--set", &among_credentials],
    )?;
    assert!(notes.contains("controlPlane.servingNamespace"), "{notes}");
    Ok(())
}

/// kubectl's own words for a role ask the control plane for each resource in it, which tells of those of Armadex later than they are typed.
fn the_way_in_is_granted_before_it_is_served(notes: &str) -> Result<()> {
    let of_rights = |line: &&str| line.contains("create clusterrole ");
    let mut rights = notes.lines().filter(of_rights);
    assert!(
        !rights.any(|line| line.contains("clusterpedia.io")),
        "{notes}"
    );
    let role = notes.split("echo '").nth(1);
    let role = role.and_then(|rest| rest.split_once("' | kubectl "));
    let (role, command) = role.context("a role")?;
    assert!(
        command
            .lines()
            .next()
            .is_some_and(|line| line.ends_with("apply -f -"))
    );
    let role: serde_json::Value = serde_json::from_str(role)?;
    assert_eq!(role["rules"][0]["resources"][0], "fleets/proxy");
    Ok(())
}

/// A number may be the default of a release of before, which `--reuse-values` keeps.
#[test]
fn the_notes_tell_what_is_said_of_a_workload_that_does_not_run() -> Result<()> {
    let helm = Helm::ensure()?;
    for (values, said, way_out) in [
        ("default", "apiserver.replicas=3", "Use mode: parts"),
        (
            "default",
            "controllers.resources.limits.memory=1Gi",
            "say it in all.resources",
        ),
        (
            "default",
            "apiserver.autoscaling.maxReplicas=9",
            "apiserver.autoscaling",
        ),
        ("parts", "all.replicas=2", "Use mode: all"),
    ] {
        let notes = helm.notes(&helm::values_named(values), &["--set", said])?;
        let told = notes.split_once("Not in use:");
        assert!(
            told.is_some_and(|(_, told)| told.contains(way_out)),
            "{said}: {notes}"
        );
    }
    let notes = helm.notes(&helm::values_named("default"), &[])?;
    assert!(!notes.contains("Not in use"), "{notes}");
    Ok(())
}
