//! The workloads: which there are, how they are replaced, what they are told and what is mounted.

use std::collections::BTreeSet;

use anyhow::Result;
use armadex_e2e::armadex;
use serde_json::Value;

use crate::helm::{self, Helm, pods};

fn made(values: &str) -> Result<Vec<Value>> {
    Helm::ensure()?.render(&helm::values_named(values), &[])
}

fn workloads(made: &[Value]) -> Vec<String> {
    let kinds = ["Deployment", "StatefulSet"];
    let workloads = made
        .iter()
        .filter(|object| kinds.iter().any(|kind| object["kind"] == **kind));
    let name = |object: &Value| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        format!(
            "{} {}",
            text(&object["kind"]),
            text(&object["metadata"]["name"])
        )
    };
    workloads.map(name).collect()
}

/// The arguments of the only container of a pod.
pub(crate) fn arguments(pod: &Value) -> Vec<&str> {
    let containers = pod["spec"]["containers"].as_array().unwrap();
    assert_eq!(containers.len(), 1);
    let arguments = containers[0]["args"].as_array().unwrap();
    arguments
        .iter()
        .map(|argument| argument.as_str().unwrap())
        .collect()
}

#[test]
fn a_file_has_one_pod_and_a_server_as_many_parts_as_are_asked_for() -> Result<()> {
    for (values, expected) in [
        ("default", vec!["StatefulSet armadex"]),
        ("karmada", vec!["StatefulSet armadex"]),
        ("all-server", vec!["Deployment armadex-all"]),
        (
            "parts",
            vec![
                "Deployment fleet-apiserver",
                "Deployment fleet-controllers",
                "Deployment fleet-synchro",
                "Deployment fleet-synchro-eu",
                "Deployment fleet-synchro-us",
            ],
        ),
    ] {
        let mut found = workloads(&made(values)?);
        found.sort();
        assert_eq!(found, expected, "{values}");
    }
    Ok(())
}

#[test]
fn new_pods_are_there_before_old_ones_go_and_these_have_time_to_finish() -> Result<()> {
    for values in ["parts", "here", "all-server"] {
        for object in made(values)?
            .iter()
            .filter(|object| object["kind"] == "Deployment")
        {
            let spec = &object["spec"];
            assert_eq!(spec["strategy"]["rollingUpdate"]["maxUnavailable"], 0);
            let pod = &spec["template"];
            let delay = arguments(pod)
                .iter()
                .find_map(|flag| flag.strip_prefix("--shutdown-delay="));
            let delay: i64 = delay.map_or(0, |delay| delay.parse().unwrap());
            assert_eq!(pod["spec"]["terminationGracePeriodSeconds"], delay + 30);
            let container = &pod["spec"]["containers"][0];
            for (probe, path) in [
                ("startupProbe", "/livez"),
                ("livenessProbe", "/livez"),
                ("readinessProbe", "/readyz"),
            ] {
                assert_eq!(container[probe]["httpGet"]["path"], path);
            }
        }
    }
    Ok(())
}

#[test]
fn only_what_has_several_pods_has_a_budget() -> Result<()> {
    let helm = Helm::ensure()?;
    let budgets = |values: &str, flags: &[&str]| -> Result<usize> {
        let made = helm.render(&helm::values_named(values), flags)?;
        Ok(made
            .iter()
            .filter(|object| object["kind"] == "PodDisruptionBudget")
            .count())
    };
    assert_eq!(budgets("default", &[])?, 0);
    assert_eq!(budgets("parts", &[])?, 5);
    assert_eq!(budgets("parts", &["--set", "controllers.replicas=1"])?, 4);
    assert_eq!(budgets("all-server", &[])?, 0, "it is switched off");
    // Whatever the load is: as many as there may be.
    let all = budgets("here", &[])?;
    let fewest = ["--set", "apiserver.autoscaling.minReplicas=1"];
    let one = [
        "--set",
        "apiserver.autoscaling.minReplicas=1,apiserver.autoscaling.maxReplicas=1",
    ];
    assert_eq!(budgets("here", &fewest)?, all);
    assert_eq!(budgets("here", &one)?, all - 1);
    Ok(())
}

/// Of a fleet of parts: Armadex issues their kubeconfigs itself.
const ISSUED: [&str; 2] = [
    "--set",
    "controlPlane.kubeconfig.secretName=,controlPlane.kubeconfig.key=kubeconfig,controlPlane.kubeconfig.context=,controlPlane.kubeconfig.apart=false",
];

/// An administrator's credentials are for the Jobs.
#[test]
fn no_pod_that_serves_has_the_kubeconfig_of_the_jobs_where_they_have_one_of_their_own() -> Result<()>
{
    let has = |pod: &Value, secret: &str| {
        let volumes = pod["spec"]["volumes"].as_array().unwrap();
        let mut named = volumes.iter().map(|volume| &volume["secret"]["secretName"]);
        named.any(|name| *name == secret)
    };
    for values in ["issued", "karmada", "parts"] {
        for (name, pod) in pods(&made(values)?) {
            let has_store = ["-migrate ", "-rollback "]
                .iter()
                .any(|job| name.contains(job));
            let is_job = name.starts_with("Job ") || name.starts_with("CronJob ");
            let is_installing = is_job && !has_store;
            assert_eq!(has(&pod, "karmada"), is_installing, "{values}: {name}");
        }
    }
    for (values, secret) in [(&[][..], "fleet"), (&ISSUED, "fleet-control-plane")] {
        let made = Helm::ensure()?.render(&helm::values_named("parts"), values)?;
        for (name, pod) in pods(&made) {
            for part in ["apiserver", "synchro", "controllers"] {
                let is_its_own = name.starts_with("Deployment ") && name.contains(part);
                assert_eq!(has(&pod, &format!("{secret}-{part}")), is_its_own, "{name}");
            }
        }
    }
    Ok(())
}

#[test]
fn what_is_mounted_is_a_volume_and_what_is_named_is_mounted() -> Result<()> {
    let helm = Helm::ensure()?;
    for values in helm::all_values()? {
        for (name, pod) in pods(&helm.render(&values, &[])?) {
            let container = &pod["spec"]["containers"][0];
            let mounts = container["volumeMounts"].as_array().into_iter().flatten();
            let names = |list: &Value| -> BTreeSet<String> {
                let all = list.as_array().into_iter().flatten();
                all.map(|item| item["name"].as_str().unwrap().to_owned())
                    .collect()
            };
            assert_eq!(
                names(&container["volumeMounts"]),
                names(&pod["spec"]["volumes"]),
                "{name}"
            );
            for argument in arguments(&pod) {
                let Some((_, path)) = argument.split_once("=/") else {
                    continue;
                };
                let is_mounted = mounts.clone().any(|mount| {
                    let place = mount["mountPath"].as_str().unwrap().trim_start_matches('/');
                    path == place || path.starts_with(&format!("{place}/"))
                });
                assert!(is_mounted, "{name}: {argument}");
            }
        }
    }
    Ok(())
}

/// By part, for each has its own.
#[test]
fn the_program_knows_all_that_it_is_told() -> Result<()> {
    let helm = Helm::ensure()?;
    let program = armadex::binary()?;
    let mut told = BTreeSet::new();
    for values in helm::all_values()? {
        for (_, pod) in pods(&helm.render(&values, &[])?) {
            told.insert(arguments(&pod).join("\n"));
        }
    }
    for lines in told {
        let arguments: Vec<&str> = lines.lines().collect();
        let help = helm::limited(&program)
            .args(&arguments)
            .arg("--help")
            .output()?;
        let complaint = String::from_utf8_lossy(&help.stderr);
        assert!(help.status.success(), "{arguments:?}: {complaint}");
    }
    Ok(())
}
