//! An object on the left, its cells on the right, as kubectl prints them for the member itself.

use super::*;
use jiff::Timestamp;
use serde_json::{Value, json};

/// Noon, and objects are created an hour and a minute before.
const NOW: &str = "2026-03-01T12:00:00Z";
const CREATED: &str = "2026-03-01T10:59:00Z";

#[track_caller]
fn check(group: &str, resource: &str, object: &Value, expected: &[&str]) {
    let printer = Printer::of(group, resource);
    let (cells, _) = print(&printer, object);
    assert_eq!(cells, expected);
    assert_eq!(
        cells.len(),
        printer.columns.len(),
        "one cell for each column"
    );
}

fn print(printer: &Printer, object: &Value) -> (Vec<String>, Condition) {
    let bytes = serde_json::to_vec(object).expect("JSON");
    let row = Row {
        name: "web",
        created: CREATED.parse().ok(),
        object: &bytes,
        now: NOW.parse().expect("a time"),
    };
    let mut out = b"[null".to_vec();
    let condition = printer
        .print(&row, &mut Cells::after(&mut out))
        .expect("printed");
    out.push(b']');
    let cells: Vec<Value> = serde_json::from_slice(&out).expect("cells are JSON");
    let text = |cell: &Value| {
        cell.as_str()
            .map_or_else(|| cell.to_string(), str::to_owned)
    };
    (cells[1..].iter().map(text).collect(), condition)
}

/// Checks Ready, Status and Restarts of a pod.
#[track_caller]
fn check_pod(pod: &Value, ready: &str, status: &str, restarts: &str) {
    let (cells, _) = print(&Printer::of("", "pods"), pod);
    assert_eq!(cells[1..4], [ready, status, restarts], "{pod}");
}

fn pod(containers: usize, status: &Value) -> Value {
    let containers: Vec<Value> = (0..containers)
        .map(|n| json!({"name": format!("c{n}")}))
        .collect();
    json!({"metadata": {"name": "web"}, "spec": {"containers": containers}, "status": status})
}

fn running() -> Value {
    json!({"ready": true, "restartCount": 0, "state": {"running": {"startedAt": CREATED}}})
}

fn waiting(reason: &str, restarts: i64) -> Value {
    json!({"restartCount": restarts, "state": {"waiting": {"reason": reason}},
           "lastState": {"terminated": {"exitCode": 1, "finishedAt": "2026-03-01T11:55:00Z"}}})
}

fn ended(exit_code: i64, reason: &str) -> Value {
    json!({"restartCount": 0, "state": {"terminated": {"exitCode": exit_code, "reason": reason}}})
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn a_pod_is_what_its_containers_are() {
    let status = |phase: &str, containers: &[Value]| json!({"phase": phase, "containerStatuses": containers});
    check_pod(&pod(1, &json!({"phase": "Pending"})), "0/1", "Pending", "0");
    check_pod(
        &pod(2, &status("Running", &[running(), running()])),
        "2/2",
        "Running",
        "0",
    );
    check_pod(
        &pod(
            2,
            &status("Running", &[running(), waiting("CrashLoopBackOff", 3)]),
        ),
        "1/2",
        "CrashLoopBackOff",
        "3 (5m ago)",
    );
    check_pod(
        &pod(1, &status("Pending", &[waiting("ImagePullBackOff", 0)])),
        "0/1",
        "ImagePullBackOff",
        "0",
    );
    check_pod(
        &pod(1, &status("Pending", &[waiting("", 0)])),
        "0/1",
        "Pending",
        "0",
    );
    check_pod(
        &pod(1, &status("Succeeded", &[ended(0, "Completed")])),
        "0/1",
        "Completed",
        "0",
    );
    check_pod(
        &pod(1, &status("Failed", &[ended(1, "Error")])),
        "0/1",
        "Error",
        "0",
    );
    check_pod(
        &pod(1, &status("Failed", &[ended(137, "OOMKilled")])),
        "0/1",
        "OOMKilled",
        "0",
    );
    check_pod(
        &pod(1, &status("Failed", &[ended(3, "")])),
        "0/1",
        "ExitCode:3",
        "0",
    );
    let killed = json!({"state": {"terminated": {"exitCode": 137, "signal": 9}}});
    check_pod(
        &pod(1, &status("Failed", &[killed])),
        "0/1",
        "Signal:9",
        "0",
    );
    let silent = json!({"ready": false, "restartCount": 0, "state": {"running": {}}});
    check_pod(
        &pod(1, &status("Running", &[silent])),
        "0/1",
        "Running",
        "0",
    );
}

#[test]
fn the_first_container_has_the_last_word() {
    let statuses = json!({"phase": "Running", "containerStatuses": [ended(1, "Error"), waiting("CrashLoopBackOff", 1)]});
    check_pod(&pod(2, &statuses), "0/2", "Error", "1 (5m ago)");
}

#[test]
fn a_completed_container_does_not_hide_the_others() {
    let with = |ready: &str, containers: &[Value]| json!({"phase": "Running", "containerStatuses": containers, "conditions": [{"type": "Ready", "status": ready}]});
    check_pod(
        &pod(2, &with("True", &[ended(0, "Completed"), running()])),
        "1/2",
        "Running",
        "0",
    );
    check_pod(
        &pod(2, &with("False", &[ended(0, "Completed"), running()])),
        "1/2",
        "NotReady",
        "0",
    );
    check_pod(
        &pod(
            2,
            &with("False", &[ended(0, "Completed"), ended(2, "Error")]),
        ),
        "0/2",
        "Error",
        "0",
    );
    check_pod(
        &pod(
            3,
            &with(
                "False",
                &[ended(0, "Completed"), ended(2, "Error"), running()],
            ),
        ),
        "1/3",
        "Error",
        "0",
    );
}

#[test]
fn an_unfinished_init_container_is_the_status() {
    let with = |statuses: &[Value]| {
        json!({"spec": {"containers": [{"name": "c"}], "initContainers": [{"name": "a"}, {"name": "b"}]},
               "status": {"phase": "Pending", "initContainerStatuses": statuses,
                          "containerStatuses": [waiting("PodInitializing", 0)]}})
    };
    let named = |name: &str, mut status: Value| {
        status["name"] = json!(name);
        status
    };
    let done = || named("a", ended(0, "Completed"));
    check_pod(&with(&[named("a", running())]), "0/1", "Init:0/2", "0");
    check_pod(
        &with(&[done(), named("b", waiting("PodInitializing", 0))]),
        "0/1",
        "Init:1/2",
        "0",
    );
    check_pod(
        &with(&[done(), named("b", waiting("CrashLoopBackOff", 2))]),
        "0/1",
        "Init:CrashLoopBackOff",
        "2 (5m ago)",
    );
    check_pod(
        &with(&[done(), named("b", ended(1, "Error"))]),
        "0/1",
        "Init:Error",
        "0",
    );
    check_pod(
        &with(&[named("a", ended(4, ""))]),
        "0/1",
        "Init:ExitCode:4",
        "0",
    );
    check_pod(
        &with(&[done(), named("b", ended(0, ""))]),
        "0/1",
        "PodInitializing",
        "0",
    );
}

#[test]
fn a_pod_that_has_been_initialised_shows_its_containers_again() {
    let pod = json!({
        "spec": {"containers": [{"name": "c"}], "initContainers": [{"name": "a"}]},
        "status": {"phase": "Running", "conditions": [{"type": "Initialized", "status": "True"}],
                   "initContainerStatuses": [{"name": "a", "restartCount": 7, "state": {"running": {}}}],
                   "containerStatuses": [waiting("CrashLoopBackOff", 1)]}});
    check_pod(&pod, "0/1", "CrashLoopBackOff", "1 (5m ago)");
}

#[test]
fn sidecars_count_as_containers() {
    let with = |started: bool, ready: bool| {
        json!({"spec": {"containers": [{"name": "c"}], "initContainers": [{"name": "s", "restartPolicy": "Always"}]},
               "status": {"phase": "Running",
                          "initContainerStatuses": [{"name": "s", "started": started, "ready": ready, "restartCount": 2,
                              "state": {"running": {}},
                              "lastState": {"terminated": {"exitCode": 1, "finishedAt": "2026-03-01T11:59:00Z"}}}],
                          "containerStatuses": [running()]}})
    };
    check_pod(&with(true, true), "2/2", "Running", "2 (60s ago)");
    check_pod(&with(true, false), "1/2", "Running", "2 (60s ago)");
    check_pod(&with(false, false), "0/2", "Init:0/1", "2 (60s ago)");
}

#[test]
fn deletion_loss_and_gates_are_told() {
    let mut deleted = pod(
        1,
        &json!({"phase": "Running", "containerStatuses": [running()]}),
    );
    deleted["metadata"]["deletionTimestamp"] = json!(NOW);
    check_pod(&deleted, "1/1", "Terminating", "0");
    deleted["status"]["reason"] = json!("NodeLost");
    check_pod(&deleted, "1/1", "Unknown", "0");
    deleted["status"] = json!({"phase": "Succeeded", "containerStatuses": [ended(0, "Completed")]});
    check_pod(&deleted, "0/1", "Completed", "0");
    check_pod(
        &pod(1, &json!({"phase": "Failed", "reason": "Evicted"})),
        "0/1",
        "Evicted",
        "0",
    );
    let gated = json!({"phase": "Pending",
                       "conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]});
    check_pod(&pod(1, &gated), "0/1", "SchedulingGated", "0");
}

#[test]
fn pods_have_wide_columns() {
    let plain = pod(1, &json!({"phase": "Pending", "podIP": ""}));
    check(
        "",
        "pods",
        &plain,
        &[
            "web", "0/1", "Pending", "0", "61m", "<none>", "<none>", "<none>", "<none>",
        ],
    );
    let full = json!({
        "spec": {"nodeName": "n1", "containers": [], "readinessGates": [{"conditionType": "a"}, {"conditionType": "b"}]},
        "status": {"phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.2"}, {"ip": "::1"}],
                   "nominatedNodeName": "n2", "conditions": [{"type": "b", "status": "True"}]}});
    check(
        "",
        "pods",
        &full,
        &[
            "web", "0/0", "Running", "0", "61m", "10.0.0.2", "n1", "n2", "1/2",
        ],
    );
}

#[test]
fn a_finished_pod_says_so_beside_its_cells() {
    for (phase, expected) in [
        ("Succeeded", Condition::Succeeded),
        ("Failed", Condition::Failed),
        ("Running", Condition::None),
    ] {
        assert_eq!(
            print(&Printer::of("", "pods"), &pod(1, &json!({"phase": phase}))).1,
            expected
        );
    }
}

fn template() -> Value {
    json!({"spec": {"containers": [{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:2"}],
                    "nodeSelector": {"zone": "x", "disk": "ssd"}}})
}

fn selector() -> Value {
    json!({"matchLabels": {"app": "web", "tier": "front"},
           "matchExpressions": [{"key": "beta", "operator": "DoesNotExist"},
                                {"key": "env", "operator": "In", "values": ["prod", "dev"]}]})
}

const SELECTED: &str = "app=web,!beta,env in (dev,prod),tier=front";

#[test]
fn workloads() {
    let spec = json!({"replicas": 3, "template": template(), "selector": selector()});
    check(
        "apps",
        "deployments",
        &json!({"spec": spec, "status": {"readyReplicas": 2, "updatedReplicas": 1, "availableReplicas": 2}}),
        &["web", "2/3", "1", "2", "61m", "a,b", "a:1,b:2", SELECTED],
    );
    check(
        "apps",
        "deployments",
        &json!({"spec": {}}),
        &["web", "0/1", "0", "0", "61m", "", "", ""],
    );
    check(
        "apps",
        "replicasets",
        &json!({"spec": spec, "status": {"replicas": 2, "readyReplicas": 1}}),
        &["web", "3", "2", "1", "61m", "a,b", "a:1,b:2", SELECTED],
    );
    check(
        "apps",
        "statefulsets",
        &json!({"spec": spec, "status": {"readyReplicas": 1}}),
        &["web", "1/3", "61m", "a,b", "a:1,b:2"],
    );
    let status = json!({"desiredNumberScheduled": 5, "currentNumberScheduled": 4, "numberReady": 3,
                        "updatedNumberScheduled": 2, "numberAvailable": 1});
    check(
        "apps",
        "daemonsets",
        &json!({"spec": spec, "status": status}),
        &[
            "web",
            "5",
            "4",
            "3",
            "2",
            "1",
            "disk=ssd,zone=x",
            "61m",
            "a,b",
            "a:1,b:2",
            SELECTED,
        ],
    );
    check(
        "apps",
        "daemonsets",
        &json!({"spec": {"template": {"spec": null}}, "status": null}),
        &[
            "web", "0", "0", "0", "0", "0", "<none>", "61m", "", "", "<none>",
        ],
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn services() {
    let service = |spec: Value, status: Value| json!({"spec": spec, "status": status});
    let ports = json!([{"port": 80, "protocol": "TCP"}, {"port": 443, "nodePort": 30443, "protocol": "TCP"}]);
    check(
        "",
        "services",
        &service(
            json!({"type": "ClusterIP", "clusterIP": "10.1.1.1", "clusterIPs": ["10.1.1.1", "fd00::1"], "ports": ports,
                        "selector": {"b": "2", "a": "1"}}),
            json!({"loadBalancer": {}}),
        ),
        &[
            "web",
            "ClusterIP",
            "10.1.1.1",
            "<none>",
            "80/TCP,443:30443/TCP",
            "61m",
            "a=1,b=2",
        ],
    );
    check(
        "",
        "services",
        &service(
            json!({"type": "NodePort", "clusterIP": "10.1.1.1", "externalIPs": ["1.1.1.1", "2.2.2.2"]}),
            json!({}),
        ),
        &[
            "web",
            "NodePort",
            "10.1.1.1",
            "1.1.1.1,2.2.2.2",
            "<none>",
            "61m",
            "<none>",
        ],
    );
    let balanced = json!({"loadBalancer": {"ingress": [{"hostname": "b.example.com"}, {"ip": "3.3.3.3"}, {"ip": "3.3.3.3"}]}});
    check(
        "",
        "services",
        &service(
            json!({"type": "LoadBalancer", "clusterIP": "10.1.1.1", "externalIPs": ["1.1.1.1"]}),
            balanced.clone(),
        ),
        &[
            "web",
            "LoadBalancer",
            "10.1.1.1",
            "3.3.3.3,b.example.com,1.1.1.1",
            "<none>",
            "61m",
            "<none>",
        ],
    );
    check(
        "",
        "services",
        &service(
            json!({"type": "LoadBalancer", "clusterIP": "10.1.1.1"}),
            json!({}),
        ),
        &[
            "web",
            "LoadBalancer",
            "10.1.1.1",
            "<pending>",
            "<none>",
            "61m",
            "<none>",
        ],
    );
    check(
        "",
        "services",
        &service(
            json!({"type": "ExternalName", "externalName": "db.example.com"}),
            json!({}),
        ),
        &[
            "web",
            "ExternalName",
            "<none>",
            "db.example.com",
            "<none>",
            "61m",
            "<none>",
        ],
    );
    check(
        "",
        "services",
        &service(
            json!({"type": "ClusterIP", "clusterIP": "None", "clusterIPs": ["None"]}),
            json!({}),
        ),
        &[
            "web",
            "ClusterIP",
            "None",
            "<none>",
            "<none>",
            "61m",
            "<none>",
        ],
    );
}

#[test]
fn entries_are_counted_even_where_values_were_emptied() {
    check(
        "",
        "configmaps",
        &json!({"data": {"a": "1", "b": ""}, "binaryData": {"c": "eA=="}}),
        &["web", "3", "61m"],
    );
    check(
        "",
        "configmaps",
        &json!({"data": null}),
        &["web", "0", "61m"],
    );
    check(
        "",
        "secrets",
        &json!({"type": "Opaque", "data": {"a": "", "b": ""}}),
        &["web", "Opaque", "2", "61m"],
    );
    check(
        "",
        "secrets",
        &json!({"type": "Opaque"}),
        &["web", "Opaque", "0", "61m"],
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn namespaces_and_nodes() {
    check(
        "",
        "namespaces",
        &json!({"status": {"phase": "Terminating"}}),
        &["web", "Terminating", "61m"],
    );
    check(
        "",
        "nodes",
        &json!({"metadata": {"labels": {"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/control-plane": "",
                                        "kubernetes.io/role": "edge", "other": "x"}},
                "spec": {"unschedulable": true},
                "status": {"conditions": [{"type": "DiskPressure", "status": "False"}, {"type": "Ready", "status": "True"}],
                           "addresses": [{"type": "Hostname", "address": "h"}, {"type": "InternalIP", "address": "10.0.0.9"}],
                           "nodeInfo": {"kubeletVersion": "v1.36.1", "osImage": "Debian 12", "kernelVersion": "6.1",
                                        "containerRuntimeVersion": "containerd://2", "architecture": "amd64"}}}),
        &[
            "web",
            "Ready,SchedulingDisabled",
            "control-plane,edge,worker",
            "61m",
            "v1.36.1",
            "10.0.0.9",
            "<none>",
            "Debian 12",
            "6.1 (amd64)",
            "containerd://2",
        ],
    );
    check(
        "",
        "nodes",
        &json!({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}),
        &[
            "web",
            "NotReady",
            "<none>",
            "61m",
            "",
            "<none>",
            "<none>",
            "<unknown>",
            "<unknown>",
            "<unknown>",
        ],
    );
    check(
        "",
        "nodes",
        &json!({}),
        &[
            "web",
            "Unknown",
            "<none>",
            "61m",
            "",
            "<none>",
            "<none>",
            "<unknown>",
            "<unknown>",
            "<unknown>",
        ],
    );
}

#[test]
fn jobs() {
    let job = |spec: Value, status: Value| json!({"spec": spec, "status": status});
    let condition = |kind: &str| json!([{"type": kind, "status": "True"}]);
    let row = |state: &str, completions: &str, duration: &str| {
        ["web", state, completions, duration, "61m", "", "", "<none>"].map(str::to_owned)
    };
    for (object, expected) in [
        (
            job(json!({"completions": 2}), json!({"succeeded": 1})),
            row("Running", "1/2", ""),
        ),
        (
            job(
                json!({"completions": 1}),
                json!({"succeeded": 1, "startTime": "2026-03-01T11:00:00Z",
                "completionTime": "2026-03-01T11:02:05Z", "conditions": condition("Complete")}),
            ),
            row("Complete", "1/1", "2m5s"),
        ),
        (
            job(
                json!({"parallelism": 3}),
                json!({"startTime": "2026-03-01T11:58:30Z", "conditions": condition("Suspended")}),
            ),
            row("Suspended", "0/1 of 3", "90s"),
        ),
        (
            job(
                json!({"parallelism": 1}),
                json!({"conditions": condition("Failed")}),
            ),
            row("Failed", "0/1", ""),
        ),
        (
            job(json!({}), json!({"conditions": condition("FailureTarget")})),
            row("FailureTarget", "0/1", ""),
        ),
        (
            job(
                json!({}),
                json!({"conditions": condition("SuccessCriteriaMet")}),
            ),
            row("SuccessCriteriaMet", "0/1", ""),
        ),
    ] {
        check(
            "batch",
            "jobs",
            &object,
            &expected.each_ref().map(String::as_str),
        );
    }
    let leaving = json!({"metadata": {"deletionTimestamp": NOW}, "status": {"conditions": condition("Suspended")}});
    check(
        "batch",
        "jobs",
        &leaving,
        &row("Terminating", "0/1", "").each_ref().map(String::as_str),
    );
}

#[test]
fn cron_jobs() {
    let job_template = json!({"spec": {"template": template()}});
    check(
        "batch",
        "cronjobs",
        &json!({"spec": {"schedule": "*/5 * * * *", "timeZone": "Europe/Berlin", "suspend": false, "jobTemplate": job_template},
                "status": {"active": [{}, {}], "lastScheduleTime": "2026-03-01T11:55:00Z"}}),
        &[
            "web",
            "*/5 * * * *",
            "Europe/Berlin",
            "False",
            "2",
            "5m",
            "61m",
            "a,b",
            "a:1,b:2",
            "<none>",
        ],
    );
    check(
        "batch",
        "cronjobs",
        &json!({"spec": {"schedule": "@daily", "suspend": true}}),
        &[
            "web", "@daily", "<none>", "True", "0", "<none>", "61m", "", "", "<none>",
        ],
    );
}

#[test]
fn labels_are_sorted_as_they_are_read() {
    let selector = json!({"app": "web", "app.kubernetes.io/name": "x", "app-a": "y"});
    check(
        "",
        "services",
        &json!({"spec": {"type": "ExternalName", "externalName": "a", "selector": selector}}),
        &[
            "web",
            "ExternalName",
            "<none>",
            "a",
            "<none>",
            "61m",
            "app-a=y,app.kubernetes.io/name=x,app=web",
        ],
    );
}

#[test]
fn other_kinds_show_name_and_age() {
    check(
        "example.com",
        "widgets",
        &json!({"spec": 1}),
        &["web", "61m"],
    );
    check("example.com", "pods", &json!({}), &["web", "61m"]);
}

#[test]
fn an_object_of_the_wrong_shape_writes_no_cell() {
    for (group, resource) in [
        ("", "pods"),
        ("apps", "deployments"),
        ("batch", "jobs"),
        ("", "services"),
    ] {
        let row = Row {
            name: "x",
            created: None,
            object: br#"{"spec":7}"#,
            now: Timestamp::UNIX_EPOCH,
        };
        let mut out = Vec::new();
        assert!(
            Printer::of(group, resource)
                .print(&row, &mut Cells::after(&mut out))
                .is_err()
        );
        assert!(out.is_empty());
    }
}
