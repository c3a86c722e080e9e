//! Objects with something to say in each of their columns. They go straight into etcd, so that a status is what it says here.

use serde_json::{Value, json};

/// A Secret whose value must not be seen again.
pub(crate) const SECRET: &str = "with-a-password";
/// Its value, in base64: what no log may hold, and too unlikely to be there by chance.
pub(crate) const PASSWORD: &str = "YS1zZWVkZWQtc2VjcmV0LWh1bnRlcjItaHVudGVyMg==";

/// Keys below the apiserver's prefix, and JSON. There are two at least of each kind, so that there is something to select and to sort.
pub(crate) fn all() -> Vec<(String, Vec<u8>)> {
    let samples = [
        pods(),
        services(),
        nodes_and_namespaces(),
        config_maps(),
        secrets(),
        apps(),
        batch(),
    ]
    .concat();
    let twins: Vec<_> = samples.iter().map(twin).collect();
    let all = samples.into_iter().chain(twins).enumerate();
    all.map(distinct).collect()
}

/// The same once more, under another name.
fn twin((key, object): &(String, Value)) -> (String, Value) {
    let mut twin = object.clone();
    let name = |field: &Value| format!("{}-twin", field.as_str().unwrap_or_default()).into();
    twin["metadata"]["name"] = name(&object["metadata"]["name"]);
    twin["metadata"]["uid"] = name(&object["metadata"]["uid"]);
    (format!("{key}-twin"), twin)
}

/// No two are of the same time, and they share some labels and others not.
fn distinct((number, (key, mut object)): (usize, (String, Value))) -> (String, Vec<u8>) {
    let metadata = &mut object["metadata"];
    metadata["creationTimestamp"] = json!(format!("2026-01-01T00:{number:02}:00Z"));
    metadata["labels"]["example.com/number"] = json!(number.to_string());
    metadata["labels"]["tier"] = json!(["front", "back", "middle"][number % 3]);
    (key, object.to_string().into_bytes())
}

fn template() -> Value {
    json!({
        "metadata": {"labels": {"app": "sample"}},
        "spec": {"containers": [
            {"name": "app", "image": "registry.example.com/app:1"},
            {"name": "proxy", "image": "registry.example.com/proxy:2"},
        ]},
    })
}

fn selector() -> Value {
    json!({"matchLabels": {"app": "sample"}})
}

fn pods() -> Vec<(String, Value)> {
    let pod = |name, status: Value, more: Value| {
        let mut spec = template()["spec"].clone();
        spec["nodeName"] = json!("sample-node");
        spec["readinessGates"] = json!([{"conditionType": "example.com/ready"}]);
        if let Some(more) = more.as_object() {
            for (field, value) in more {
                spec[field] = value.clone();
            }
        }
        let rest = json!({"apiVersion": "v1", "kind": "Pod", "spec": spec, "status": status});
        sample("pods", "default", name, rest)
    };
    let container = |name, ready, restarts, state| json!({"name": name, "ready": ready, "restartCount": restarts, "state": state, "image": name, "imageID": ""});
    let running = json!({"running": {"startedAt": "2026-01-01T00:01:00Z"}});
    let crashed = json!({"terminated": {"exitCode": 1, "reason": "Error", "finishedAt": "2026-01-02T00:00:00Z"}});
    let mut restarted = container(
        "app",
        false,
        7,
        json!({"waiting": {"reason": "CrashLoopBackOff"}}),
    );
    restarted["lastState"] = crashed.clone();
    vec![
        pod(
            "running",
            json!({
                "phase": "Running", "podIP": "10.1.0.9", "podIPs": [{"ip": "10.1.0.9"}],
                "conditions": [{"type": "Ready", "status": "True"}, {"type": "example.com/ready", "status": "True"}],
                "containerStatuses": [container("app", true, 0, running.clone()), container("proxy", true, 2, running.clone())],
            }),
            json!({}),
        ),
        pod(
            "crashing",
            json!({"phase": "Running", "containerStatuses": [restarted, container("proxy", true, 0, running.clone())]}),
            json!({}),
        ),
        pod(
            "starting",
            json!({
                "phase": "Pending", "nominatedNodeName": "other-node",
                "initContainerStatuses": [container("prepare", false, 0, json!({"waiting": {"reason": "PodInitializing"}}))],
            }),
            json!({"initContainers": [{"name": "prepare", "image": "prepare"}]}),
        ),
        pod(
            "failed",
            json!({"phase": "Failed", "reason": "Evicted", "containerStatuses": [container("app", false, 0, crashed)]}),
            json!({}),
        ),
        pod(
            "done",
            json!({"phase": "Succeeded", "containerStatuses": [
                container("app", false, 0, json!({"terminated": {"exitCode": 0, "reason": "Completed"}})),
            ]}),
            json!({"restartPolicy": "Never"}),
        ),
    ]
}

fn services() -> Vec<(String, Value)> {
    let service = |name, spec, status| {
        let rest = json!({"apiVersion": "v1", "kind": "Service", "spec": spec, "status": status});
        sample("services/specs", "default", name, rest)
    };
    let ports = json!([
        {"name": "web", "port": 80, "protocol": "TCP", "nodePort": 30088},
        {"name": "dns", "port": 53, "protocol": "UDP", "nodePort": 30053},
    ]);
    vec![
        service(
            "balanced",
            json!({"type": "LoadBalancer", "clusterIP": "10.96.88.1", "ports": ports, "selector": {"app": "sample"}}),
            json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}, {"hostname": "lb.example.com"}]}}),
        ),
        service(
            "outside",
            json!({"type": "ExternalName", "externalName": "example.com"}),
            json!({}),
        ),
        service(
            "headless",
            json!({"clusterIP": "None", "externalIPs": ["192.0.2.8"], "ports": [{"port": 1, "protocol": "TCP"}]}),
            json!({}),
        ),
    ]
}

fn nodes_and_namespaces() -> Vec<(String, Value)> {
    let mut node = json!({
        "apiVersion": "v1", "kind": "Node", "spec": {"unschedulable": true},
        "status": {
            "conditions": [{"type": "Ready", "status": "Unknown"}],
            "addresses": [{"type": "InternalIP", "address": "192.0.2.1"}, {"type": "ExternalIP", "address": "192.0.2.2"}],
            "nodeInfo": {
                "kubeletVersion": "v1.36.3", "osImage": "Debian", "kernelVersion": "6.1", "containerRuntimeVersion": "containerd://2",
                "machineID": "", "systemUUID": "", "bootID": "", "kubeProxyVersion": "", "operatingSystem": "linux",
                "architecture": "amd64",
            },
        },
    });
    node["metadata"] = json!({"labels": {"node-role.kubernetes.io/control-plane": "", "node-role.kubernetes.io/edge": ""}});
    let namespace = json!({
        "apiVersion": "v1", "kind": "Namespace", "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"},
    });
    vec![
        sample("minions", "", "sample-node", node),
        sample("namespaces", "", "sample", namespace),
    ]
}

fn config_maps() -> Vec<(String, Value)> {
    let settings = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"one": "1", "two": "2"}, "binaryData": {"three": "Mw=="},
    });
    vec![sample("configmaps", "default", "settings", settings)]
}

fn secrets() -> Vec<(String, Value)> {
    let applied = json!({"data": {"password": PASSWORD}}).to_string();
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": {"password": PASSWORD, "empty": ""},
        "metadata": {"annotations": {
            "kubectl.kubernetes.io/last-applied-configuration": applied, "example.com/applied": PASSWORD,
        }},
    });
    vec![sample("secrets", "default", SECRET, secret)]
}

fn apps() -> Vec<(String, Value)> {
    let object = |directory, kind, spec: Value, status| {
        let mut spec = spec;
        spec["selector"] = selector();
        spec["template"] = template();
        let rest = json!({"apiVersion": "apps/v1", "kind": kind, "spec": spec, "status": status});
        sample(directory, "default", "sample", rest)
    };
    vec![
        object(
            "deployments",
            "Deployment",
            json!({"replicas": 3}),
            json!({"replicas": 3, "readyReplicas": 2, "updatedReplicas": 1, "availableReplicas": 2}),
        ),
        object(
            "replicasets",
            "ReplicaSet",
            json!({"replicas": 3}),
            json!({"replicas": 3, "readyReplicas": 1}),
        ),
        object(
            "daemonsets",
            "DaemonSet",
            json!({"updateStrategy": {"type": "OnDelete"}}),
            json!({
                "desiredNumberScheduled": 5, "currentNumberScheduled": 4, "numberReady": 3, "updatedNumberScheduled": 2,
                "numberAvailable": 1, "numberMisscheduled": 0,
            }),
        ),
        object(
            "statefulsets",
            "StatefulSet",
            json!({"replicas": 4, "serviceName": "sample"}),
            json!({"replicas": 4, "readyReplicas": 3}),
        ),
    ]
}

fn batch() -> Vec<(String, Value)> {
    let job = |name, spec: Value, status| {
        let mut spec = spec;
        spec["selector"] = selector();
        spec["template"] = template();
        spec["template"]["spec"]["restartPolicy"] = json!("Never");
        let rest = json!({"apiVersion": "batch/v1", "kind": "Job", "spec": spec, "status": status});
        sample("jobs", "default", name, rest)
    };
    let done = json!([{"type": "Complete", "status": "True"}]);
    let mut job_template = json!({"spec": {"template": template()}});
    job_template["spec"]["template"]["spec"]["restartPolicy"] = json!("Never");
    let cron = json!({
        "apiVersion": "batch/v1", "kind": "CronJob",
        "spec": {"schedule": "*/5 * * * *", "timeZone": "Europe/Berlin", "suspend": true, "jobTemplate": job_template},
        "status": {"lastScheduleTime": "2026-01-02T00:00:00Z", "active": [{"name": "one"}, {"name": "two"}]},
    });
    vec![
        job(
            "complete",
            json!({"completions": 3, "parallelism": 2}),
            json!({
                "succeeded": 3, "conditions": done,
                "startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T01:02:03Z",
            }),
        ),
        job(
            "failed",
            json!({"completions": 1}),
            json!({"failed": 1, "conditions": [{"type": "Failed", "status": "True"}]}),
        ),
        job("queue", json!({"parallelism": 5}), json!({"succeeded": 1})),
        sample("cronjobs", "default", "sample", cron),
    ]
}

/// `rest` with metadata, and where it belongs. Its place is unique, so its uid may be made of that.
fn sample(directory: &str, namespace: &str, name: &str, rest: Value) -> (String, Value) {
    let mut object = rest;
    let metadata = &mut object["metadata"];
    metadata["name"] = json!(name);
    metadata["uid"] = json!(format!("{directory}-{namespace}-{name}").replace('/', "-"));
    let mut key = directory.to_owned();
    if !namespace.is_empty() {
        metadata["namespace"] = json!(namespace);
        key = format!("{key}/{namespace}");
    }
    (format!("{key}/{name}"), object)
}
