//! Objects that differ in the fields that have labels. They go straight into etcd, so that a status is what it says here and what
//! validation would ask for may be absent; the apiserver fills in its defaults when it reads them.

use serde_json::{Value, json};

/// Keys below the apiserver's prefix, and JSON.
pub(crate) fn all() -> Vec<(String, Vec<u8>)> {
    [
        pods(),
        nodes(),
        namespaces(),
        controllers_and_jobs(),
        secrets(),
        services(),
        events(),
        certificates(),
        slices(),
    ]
    .concat()
}

fn pods() -> Vec<(String, Vec<u8>)> {
    let pod = |namespace, name, spec, status| {
        let mut spec: Value = spec;
        spec["containers"] = json!([{"name": "app", "image": "app"}]);
        let rest = json!({"apiVersion": "v1", "kind": "Pod", "spec": spec, "status": status});
        sample("pods", namespace, name, rest)
    };
    vec![
        pod("default", "bare", json!({}), json!({})),
        pod(
            "default",
            "full",
            json!({
                "nodeName": "n1", "restartPolicy": "Never", "schedulerName": "other",
                "serviceAccountName": "builder", "hostNetwork": true,
            }),
            json!({
                "phase": "Running", "podIP": "10.1.0.7", "podIPs": [{"ip": "10.1.0.7"}, {"ip": "fd00::9"}],
                "nominatedNodeName": "n2",
            }),
        ),
        pod(
            "default",
            "denied",
            json!({"nodeName": "n2", "hostNetwork": false, "securityContext": {}}),
            json!({"phase": "Pending", "podIPs": [{"ip": "fd00::7"}]}),
        ),
        // The name that `serviceAccountName` had first, and an address of before there were several.
        pod(
            "elsewhere",
            "old",
            json!({"serviceAccount": "deployer", "restartPolicy": "OnFailure"}),
            json!({"phase": "Running", "podIP": "10.1.0.8"}),
        ),
    ]
}

fn nodes() -> Vec<(String, Vec<u8>)> {
    let node = |name, spec| {
        let rest = json!({"apiVersion": "v1", "kind": "Node", "spec": spec});
        sample("minions", "", name, rest)
    };
    vec![
        node("n1", json!({})),
        node("n2", json!({"unschedulable": true})),
        node("n3", json!({"unschedulable": false})),
    ]
}

fn namespaces() -> Vec<(String, Vec<u8>)> {
    let namespace = |name, status| {
        let rest = json!({
            "apiVersion": "v1", "kind": "Namespace", "spec": {"finalizers": ["kubernetes"]}, "status": status,
        });
        sample("namespaces", "", name, rest)
    };
    vec![
        namespace("elsewhere", json!({})),
        namespace("ending", json!({"phase": "Terminating"})),
    ]
}

fn controllers_and_jobs() -> Vec<(String, Vec<u8>)> {
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "app", "image": "app"}]}});
    let controller = |name, status| {
        let spec = json!({"replicas": 0, "selector": {"a": "b"}, "template": template});
        let rest = json!({"apiVersion": "v1", "kind": "ReplicationController", "spec": spec, "status": status});
        sample("controllers", "default", name, rest)
    };
    let job = |name, status| {
        let spec = json!({"selector": {"matchLabels": {"a": "b"}}, "template": template});
        let rest = json!({"apiVersion": "batch/v1", "kind": "Job", "spec": spec, "status": status});
        sample("jobs", "default", name, rest)
    };
    vec![
        controller("none", json!({})),
        controller("zero", json!({"replicas": 0})),
        controller("three", json!({"replicas": 3})),
        job("none", json!({})),
        job("two", json!({"succeeded": 2})),
    ]
}

fn secrets() -> Vec<(String, Vec<u8>)> {
    let secret = |name, rest: Value| {
        let mut rest = rest;
        rest["apiVersion"] = json!("v1");
        rest["kind"] = json!("Secret");
        sample("secrets", "default", name, rest)
    };
    vec![
        secret("plain", json!({})),
        secret("license", json!({"type": "example.com/license"})),
    ]
}

fn services() -> Vec<(String, Vec<u8>)> {
    let service = |name, spec| {
        let rest = json!({"apiVersion": "v1", "kind": "Service", "spec": spec});
        sample("services/specs", "default", name, rest)
    };
    let ports = json!([{"port": 80, "protocol": "TCP"}]);
    vec![
        service("headless", json!({"clusterIP": "None", "ports": ports})),
        service("usual", json!({"clusterIP": "10.96.77.1", "ports": ports})),
        service(
            "open",
            json!({
                "type": "NodePort", "clusterIP": "10.96.77.2",
                "ports": [{"port": 80, "protocol": "TCP", "nodePort": 30077}],
            }),
        ),
        service(
            "outside",
            json!({"type": "ExternalName", "externalName": "example.com"}),
        ),
    ]
}

/// Reported in the old way, in the new one, in both and in none.
fn events() -> Vec<(String, Vec<u8>)> {
    let event = |name, rest: Value| {
        let mut rest = rest;
        rest["apiVersion"] = json!("v1");
        rest["kind"] = json!("Event");
        sample("events", "default", name, rest)
    };
    vec![
        event(
            "both",
            json!({
                "involvedObject": {
                    "kind": "Pod", "namespace": "default", "name": "full", "uid": "1234-5678", "apiVersion": "v1",
                    "resourceVersion": "42", "fieldPath": "spec.containers{app}",
                },
                "reason": "Back off (1, 2)", "type": "Warning",
                "source": {"component": "old"}, "reportingComponent": "kubelet",
            }),
        ),
        event(
            "old",
            json!({
                "involvedObject": {"kind": "Node", "name": "n1"}, "reason": "Started", "type": "Normal",
                "source": {"component": "kubelet", "host": "n1"},
            }),
        ),
        event(
            "new",
            json!({
                "involvedObject": {"kind": "Pod", "namespace": "default", "name": "bare"}, "reason": "Started",
                "type": "Normal", "reportingComponent": "new.example.com/x", "reportingInstance": "x",
            }),
        ),
        event("bare", json!({"involvedObject": {}})),
    ]
}

fn certificates() -> Vec<(String, Vec<u8>)> {
    let object = |directory, namespace, name, version, kind, spec| {
        let api_version = format!("certificates.k8s.io/{version}");
        let rest = json!({"apiVersion": api_version, "kind": kind, "spec": spec});
        sample(directory, namespace, name, rest)
    };
    let signing = |name, signer| {
        let spec =
            json!({"signerName": signer, "request": "cmVxdWVzdA==", "usages": ["client auth"]});
        let kind = "CertificateSigningRequest";
        object("certificatesigningrequests", "", name, "v1", kind, spec)
    };
    let bundle = |name, spec| {
        let kind = "ClusterTrustBundle";
        object("clustertrustbundles", "", name, "v1beta1", kind, spec)
    };
    let request = |name, signer, pod, node| {
        let spec = json!({
            "signerName": signer, "podName": pod, "podUID": "1", "serviceAccountName": "builder",
            "serviceAccountUID": "2", "nodeName": node, "nodeUID": "3",
        });
        let kind = "PodCertificateRequest";
        object(
            "podcertificaterequests",
            "default",
            name,
            "v1beta1",
            kind,
            spec,
        )
    };
    vec![
        signing("one", "example.com/one"),
        signing("two", "example.com/two"),
        bundle("anyone", json!({"trustBundle": "none"})),
        bundle(
            "one",
            json!({"signerName": "example.com/one", "trustBundle": "none"}),
        ),
        request("one", "example.com/one", "bare", "n1"),
        request("two", "example.com/two", "full", "n2"),
    ]
}

fn slices() -> Vec<(String, Vec<u8>)> {
    let slice = |name, spec: Value| {
        let mut spec = spec;
        spec["pool"] = json!({"name": "pool", "generation": 1, "resourceSliceCount": 1});
        let rest =
            json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "spec": spec});
        sample("resourceslices", "", name, rest)
    };
    vec![
        slice(
            "everywhere",
            json!({"driver": "nic.example.com", "allNodes": true}),
        ),
        slice(
            "here",
            json!({"driver": "gpu.example.com", "nodeName": "n1"}),
        ),
    ]
}

/// `rest` with metadata, and where it belongs. Its place is unique, so its uid may be made of that.
fn sample(directory: &str, namespace: &str, name: &str, rest: Value) -> (String, Vec<u8>) {
    let mut object = rest;
    object["metadata"] = json!({
        "name": name, "uid": format!("{directory}-{namespace}-{name}").replace('/', "-"),
        "creationTimestamp": "2026-01-01T00:00:00Z",
    });
    let mut key = directory.to_owned();
    if !namespace.is_empty() {
        object["metadata"]["namespace"] = json!(namespace);
        key = format!("{key}/{namespace}");
    }
    (format!("{key}/{name}"), object.to_string().into_bytes())
}
