//! What values say is in the objects: numbers, how pods are replaced and spread, who they run as, and who is sent to them.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::helm::{self, Helm};

fn made(values: &str) -> Result<Vec<Value>> {
    Helm::ensure()?.render(&helm::values_named(values), &[])
}

fn of_kind<'a>(made: &'a [Value], kind: &str) -> Vec<&'a Value> {
    made.iter()
        .filter(|object| object["kind"] == kind)
        .collect()
}

fn called<'a>(made: &'a [Value], kind: &str, name: &str) -> Result<&'a Value> {
    let mut all = of_kind(made, kind).into_iter();
    let found = all.find(|object| object["metadata"]["name"] == name);
    found.with_context(|| format!("there is no {kind} {name}"))
}

#[test]
fn a_workload_has_as_many_pods_as_are_said_and_a_budget_that_is_about_them() -> Result<()> {
    let made = made("parts")?;
    for (name, replicas) in [
        ("fleet-apiserver", 3),
        ("fleet-synchro", 4),
        ("fleet-synchro-eu", 4),
        ("fleet-controllers", 5),
    ] {
        let spec = &called(&made, "Deployment", name)?["spec"];
        assert_eq!(spec["replicas"], replicas, "{name}");
        let strategy =
            json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}});
        assert_eq!(spec["strategy"], strategy, "{name}");
        let budget = &called(&made, "PodDisruptionBudget", name)?["spec"];
        assert_eq!(budget["selector"], spec["selector"], "{name}");
        assert_eq!(budget["maxUnavailable"], 1, "{name}");
    }
    let made = self::made("default")?;
    let stateful = &of_kind(&made, "StatefulSet")[0]["spec"];
    assert_eq!(stateful["replicas"], 1);
    assert_eq!(stateful["serviceName"], "armadex-metrics");
    Ok(())
}

#[test]
fn the_number_of_api_servers_is_the_autoscalers_where_helm_can_not_look() -> Result<()> {
    let made = made("here")?;
    let name = "armadex-index-apiserver";
    assert_eq!(
        called(&made, "Deployment", name)?["spec"]["replicas"],
        Value::Null
    );
    let scaler = &called(&made, "HorizontalPodAutoscaler", name)?["spec"];
    assert_eq!(scaler["scaleTargetRef"]["name"], name);
    called(&made, "PodDisruptionBudget", name)?;
    assert_eq!(
        (&scaler["minReplicas"], &scaler["maxReplicas"]),
        (&json!(3), &json!(9))
    );
    assert_eq!(
        scaler["metrics"][0]["resource"]["target"]["averageUtilization"],
        70
    );
    assert_eq!(scaler["behavior"]["scaleDown"]["policies"][0]["value"], 1);
    Ok(())
}

#[test]
fn a_certificate_is_good_for_the_name_by_which_the_control_plane_asks() -> Result<()> {
    for (values, name) in [
        ("parts", "armadex-apiserver.clusterpedia-system.svc"),
        ("all-server", "armadex-apiserver.armadex-system.svc"),
    ] {
        let made = made(values)?;
        let certificate = of_kind(&made, "Certificate")[0];
        assert_eq!(certificate["spec"]["dnsNames"], json!([name]), "{values}");
    }
    Ok(())
}

#[test]
fn pods_are_nobodys_and_may_write_nowhere_but_in_their_volumes() -> Result<()> {
    for values in ["default", "issued", "karmada", "here"] {
        for (name, pod) in helm::pods(&made(values)?) {
            let context = json!({
                "runAsNonRoot": true, "runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65532,
                "fsGroupChangePolicy": "OnRootMismatch", "seccompProfile": {"type": "RuntimeDefault"},
            });
            assert_eq!(pod["spec"]["securityContext"], context, "{name}");
            let context = json!({
                "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
                "capabilities": {"drop": ["ALL"]},
            });
            let container = &pod["spec"]["containers"][0];
            assert_eq!(container["securityContext"], context, "{name}");
        }
    }
    Ok(())
}

/// When the mode changes, pods of both are there for a while.
#[test]
fn the_service_leads_to_the_pods_that_serve_in_either_mode() -> Result<()> {
    let all = ["default", "all-server", "parts", "here"];
    for values in all {
        let made = made(values)?;
        let services = of_kind(&made, "Service").into_iter();
        let mut services =
            services.filter(|service| service["spec"]["ports"][0]["name"] == "https");
        let selector = &services.next().context("a Service")?["spec"]["selector"];
        assert_eq!(selector["app.kubernetes.io/component"], Value::Null);
        for (name, pod) in helm::pods(&made) {
            let is_selected = has_all(&pod["metadata"]["labels"], selector);
            let ports = pod["spec"]["containers"][0]["ports"].to_string();
            assert_eq!(is_selected, ports.contains("https"), "{values}: {name}");
        }
    }
    Ok(())
}

/// Whether labels are among others.
fn has_all(labels: &Value, wanted: &Value) -> bool {
    let mut wanted = wanted.as_object().into_iter().flatten();
    wanted.all(|(name, value)| labels[name] == *value)
}

/// Prometheus asks the pods of the Services that the monitor selects, by the name of a port of these.
#[test]
fn the_monitor_leads_to_the_metrics_of_each_pod_that_lasts() -> Result<()> {
    for values in ["default", "all-server", "parts", "here"] {
        let flags = "metrics.serviceMonitor.enabled=true,networkPolicy.metricsFrom[0].podSelector.matchLabels.a=b";
        let made = Helm::ensure()?.render(&helm::values_named(values), &["--set", flags])?;
        let [monitor] = of_kind(&made, "ServiceMonitor")[..] else {
            panic!("{values}: no monitor, or several");
        };
        let selector = &monitor["spec"]["selector"]["matchLabels"];
        let services = of_kind(&made, "Service").into_iter();
        let mut services =
            services.filter(|service| has_all(&service["metadata"]["labels"], selector));
        let service = services.next().context("no Service is selected")?;
        assert_eq!(services.next(), None, "{values}: each pod is asked once");
        let ports = service["spec"]["ports"].as_array().context("ports")?;
        let endpoint = &monitor["spec"]["endpoints"][0];
        let mut ports = ports.iter().filter(|port| port["name"] == endpoint["port"]);
        let target = &ports.next().context("the port of the monitor")?["targetPort"];
        assert_eq!(endpoint["path"], "/metrics");
        let mut scraped = 0;
        for (name, pod) in helm::pods(&made) {
            let ports = pod["spec"]["containers"][0]["ports"].as_array();
            let mut ports = ports.into_iter().flatten();
            let serves = ports.any(|port| port["name"] == *target);
            let is_selected = has_all(&pod["metadata"]["labels"], &service["spec"]["selector"]);
            assert_eq!(is_selected, serves, "{values}: {name}");
            scraped += usize::from(serves);
        }
        let kinds = ["Deployment", "StatefulSet"];
        let workloads = kinds.map(|kind| of_kind(&made, kind).len());
        assert_eq!(scraped, workloads.iter().sum::<usize>(), "{values}");
    }
    Ok(())
}

/// One that is alone is spread over nothing.
#[test]
fn several_pods_are_spread_over_nodes_and_zones_where_nothing_else_is_said() -> Result<()> {
    let mut spread = 0;
    for values in ["default", "issued", "here"] {
        for workload in made(values)? {
            if !["Deployment", "StatefulSet"]
                .iter()
                .any(|kind| workload["kind"] == **kind)
            {
                continue;
            }
            let (name, spec) = (helm::named(&workload), &workload["spec"]);
            let said = &spec["template"]["spec"]["topologySpreadConstraints"];
            // Of those that follow the load the number is not said.
            if spec["replicas"] == 1 {
                assert_eq!(*said, Value::Null, "{values}: {name}");
                continue;
            }
            spread += 1;
            let over = |key: &str| {
                json!({"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "ScheduleAnyway",
                    "labelSelector": spec["selector"]})
            };
            let expected = ["kubernetes.io/hostname", "topology.kubernetes.io/zone"].map(over);
            assert_eq!(*said, json!(expected), "{values}: {name}");
        }
    }
    assert_eq!(spread, 3);
    Ok(())
}

#[test]
fn a_file_stays_when_a_server_takes_its_place_unless_it_is_said_otherwise() -> Result<()> {
    let policy = |values: &str| -> Result<Value> {
        let made = made(values)?;
        let claim = of_kind(&made, "PersistentVolumeClaim")[0];
        Ok(claim["metadata"]["annotations"]["helm.sh/resource-policy"].clone())
    };
    assert_eq!(policy("default")?, "keep");
    assert_eq!(policy("volume")?, Value::Null);
    Ok(())
}

/// Helm deletes the controllers with them, without whom no cluster and no policy goes.
#[test]
fn definitions_always_stay() -> Result<()> {
    let made = made("default")?;
    let definitions = of_kind(&made, "CustomResourceDefinition");
    assert_eq!(definitions.len(), 4);
    for definition in definitions {
        let annotations = &definition["metadata"]["annotations"];
        assert_eq!(annotations["helm.sh/resource-policy"], "keep");
    }
    Ok(())
}

/// Argo CD tells no installation from an upgrade, and whoever is replaced by a sync may not know the policies that come with it.
#[test]
fn argo_cd_applies_policies_after_the_pods_alone() -> Result<()> {
    for object in of_kind(&made("karmada")?, "Job") {
        let annotations = &object["metadata"]["annotations"];
        let events = annotations["helm.sh/hook"].as_str().context("events")?;
        // It has nothing that goes back.
        let is_known = events.starts_with("pre-") && events != "pre-rollback";
        if !is_known || annotations["argocd.argoproj.io/hook"] == "Skip" {
            continue;
        }
        assert_eq!(events, "pre-upgrade");
        let told = crate::parts::arguments(&object["spec"]["template"]);
        assert!(told.contains(&"--only=crds,rights"), "{told:?}");
    }
    Ok(())
}

/// The program has to be done before the Job is, or nobody reads why it is not; and what a Job leaves behind is its log alone.
#[test]
fn a_job_that_fails_leaves_its_log_and_no_rights() -> Result<()> {
    let mut seen = 0;
    for values in ["issued", "karmada", "parts", "platforms"] {
        for object in made(values)? {
            let annotations = &object["metadata"]["annotations"];
            let Some(policy) = annotations["helm.sh/hook-delete-policy"].as_str() else {
                continue;
            };
            let is_job = object["kind"] == "Job";
            assert_eq!(
                policy.contains("hook-failed"),
                !is_job,
                "{}",
                helm::named(&object)
            );
            if !is_job {
                continue;
            }
            seen += 1;
            assert_eq!(annotations["helm.sh/hook-output-log-policy"], "hook-failed");
            assert_eq!(object["spec"]["backoffLimit"], 1);
            let told = crate::parts::arguments(&object["spec"]["template"]);
            let told = told.iter().find_map(|flag| flag.strip_prefix("--timeout="));
            let deadline = object["spec"]["activeDeadlineSeconds"].as_i64();
            if let Some(told) = told {
                assert_eq!(told.parse::<i64>()?, deadline.context("a deadline")? - 60);
            }
        }
    }
    assert!(seen > 6, "{seen}");
    Ok(())
}

/// Of the usual case, and of one in which all of it is said.
#[test]
fn a_pod_is_reached_by_whom_it_is_to_be_and_reaches_what_it_may() -> Result<()> {
    let of_namespace = |name: &str| json!([{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}]);
    let searches = json!({"ports": [{"port": "https"}], "from": of_namespace("karmada-system")});
    let metrics = json!({"ports": [{"port": "admin"}], "from": of_namespace("monitoring")});
    let names = json!({"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}],
        "to": [{"ipBlock": {"cidr": "169.254.20.10/32"}}]});
    let servers = json!({"ports": [{"port": 443}, {"port": 5432}, {"port": 6443}]});
    let made = made("parts")?;
    for (name, ingress) in [
        ("fleet-apiserver", json!([searches, metrics])),
        ("fleet-synchro", json!([metrics])),
        ("fleet-controllers", json!([metrics])),
        ("fleet-jobs", json!([])),
    ] {
        let spec = &called(&made, "NetworkPolicy", name)?["spec"];
        assert_eq!(spec["policyTypes"], json!(["Ingress", "Egress"]), "{name}");
        assert_eq!(spec["ingress"], ingress, "{name}");
        assert_eq!(spec["egress"], json!([names, servers]), "{name}");
    }
    let made = self::made("default")?;
    let spec = &called(&made, "NetworkPolicy", "armadex-all")?["spec"];
    assert_eq!(spec["policyTypes"], json!(["Ingress"]));
    assert_eq!(spec["ingress"], json!([{"ports": [{"port": "https"}]}]));
    assert_eq!(spec["egress"], Value::Null);
    Ok(())
}

/// A pod that none is about is open to everybody, and a port that a pod does not name is one that nobody reaches.
#[test]
fn each_pod_has_one_network_policy_whose_ports_it_has() -> Result<()> {
    for values in [
        "default",
        "issued",
        "karmada",
        "parts",
        "all-server",
        "platforms",
    ] {
        let made = made(values)?;
        let policies = of_kind(&made, "NetworkPolicy");
        for (name, pod) in helm::pods(&made) {
            let labels = &pod["metadata"]["labels"];
            let about = policies.iter().filter(|policy| selects(policy, labels));
            let about: Vec<_> = about.collect();
            assert_eq!(about.len(), 1, "{values}: {name}");
            let ports = pod["spec"]["containers"][0]["ports"].as_array();
            let rules = about[0]["spec"]["ingress"].as_array().into_iter().flatten();
            for opened in rules.flat_map(|rule| rule["ports"].as_array().into_iter().flatten()) {
                let mut ports = ports.into_iter().flatten();
                assert!(
                    ports.any(|port| port["name"] == opened["port"]),
                    "{values}: {name}: {opened}"
                );
            }
        }
    }
    Ok(())
}

/// By labels, and by a label that is one of several.
fn selects(policy: &Value, labels: &Value) -> bool {
    let selector = &policy["spec"]["podSelector"];
    let mut wanted = selector["matchLabels"].as_object().into_iter().flatten();
    let mut listed = selector["matchExpressions"]
        .as_array()
        .into_iter()
        .flatten();
    wanted.all(|(name, value)| labels[name] == *value)
        && listed.all(|listed| {
            let label = &labels[listed["key"].as_str().unwrap_or_default()];
            let values = listed["values"].as_array();
            listed["operator"] == "In" && values.is_some_and(|values| values.contains(label))
        })
}

/// Of a file that may be looked at beside its pod, and of a server.
#[test]
fn whoever_goes_back_asks_the_store_first_where_it_can_be_asked() -> Result<()> {
    let helm = Helm::ensure()?;
    for (values, flags, expected) in [
        (
            "default",
            "",
            Some("--store=sqlite:/var/lib/armadex/armadex.db"),
        ),
        (
            "default",
            "store.sqlite.existingClaim=mine",
            Some("--store=sqlite:/var/lib/armadex/armadex.db"),
        ),
        (
            "parts",
            "",
            Some("--store-password-file=/etc/armadex/store/admin-password"),
        ),
        ("here", "", Some("--dry-run")),
        ("try", "", None),
        ("volume", "", None),
        (
            "default",
            "store.sqlite.accessModes={ReadWriteOncePod}",
            None,
        ),
    ] {
        let made = helm.render(&helm::values_named(values), &["--set", flags])?;
        let asks = |object: &&Value| {
            object["metadata"]["name"]
                .as_str()
                .is_some_and(|name| name.ends_with("-rollback"))
        };
        let mut asking = of_kind(&made, "Job").into_iter().filter(asks);
        let told = asking
            .next()
            .map(|job| crate::parts::arguments(&job["spec"]["template"]));
        ensure!(asking.next().is_none(), "{values} {flags}: several");
        let is_told = |expected: &str| told.as_ref().is_some_and(|told| told.contains(&expected));
        ensure!(
            expected.map_or(told.is_none(), is_told),
            "{values} {flags}: {told:?}"
        );
    }
    Ok(())
}
