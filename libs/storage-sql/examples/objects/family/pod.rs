//! Pods, with their templates and their statuses.

use super::{Metadata, labels, owner, some};
use crate::objects::Fleet;

/// One pod.
pub(crate) fn pod(fleet: &mut Fleet) -> String {
    let app = fleet.app();
    let hash = fleet.hex(9);
    let name = format!("{app}-{hash}-{}", fleet.suffix());
    let namespace = fleet.namespace();
    let labels = format!(r#"{},"pod-template-hash":"{hash}""#, labels(fleet, &app));
    let annotations = annotations(fleet);
    let owner = owner(fleet, "apps/v1", "ReplicaSet", &format!("{app}-{hash}"));
    let metadata = Metadata {
        name: &name,
        namespace: Some(&namespace),
        labels: &labels,
        annotations: &annotations,
        owner: &owner,
    };
    let names = containers_of(fleet, &app);
    let token = format!("kube-api-access-{}", fleet.suffix());
    let spec = pod_spec(fleet, &names, Some(&token));
    format!(
        r#"{},"spec":{{{spec}}},"status":{{{}}}}}"#,
        metadata.body(fleet),
        status(fleet, &names)
    )
}

/// The names and images of a pod's containers.
pub(super) fn containers_of(fleet: &mut Fleet, app: &str) -> Vec<(String, String)> {
    let mut names = vec![(app.to_owned(), fleet.image())];
    for sidecar in ["istio-proxy", "log-agent", "metrics-exporter"] {
        if fleet.chance(25) {
            names.push((sidecar.to_owned(), fleet.image()));
        }
    }
    names
}

/// The members of a PodSpec; `token` is the volume that the apiserver adds to a pod but not to a template.
pub(super) fn pod_spec(
    fleet: &mut Fleet,
    names: &[(String, String)],
    token: Option<&str>,
) -> String {
    let config = fleet.key();
    let mut volumes = format!(
        r#"{{"name":"config","configMap":{{"name":"{config}","defaultMode":420}}}},{{"name":"tmp","emptyDir":{{}}}}"#
    );
    if let Some(token) = token {
        volumes += &format!(
            r#",{{"name":"{token}","projected":{{"sources":[{{"serviceAccountToken":{{"expirationSeconds":3607,"path":"token"}}}},{{"configMap":{{"name":"kube-root-ca.crt","items":[{{"key":"ca.crt","path":"ca.crt"}}]}}}},{{"downwardAPI":{{"items":[{{"path":"namespace","fieldRef":{{"apiVersion":"v1","fieldPath":"metadata.namespace"}}}}]}}}}],"defaultMode":420}}}}"#
        );
    }
    let containers: Vec<String> = names
        .iter()
        .map(|(name, image)| container(fleet, name, image, token))
        .collect();
    let account = fleet.app();
    let assigned = token
        .map(|_| format!(r#","nodeName":"{}""#, fleet.node()))
        .unwrap_or_default();
    let defaults = token.map(|_| r#","tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300},{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority""#).unwrap_or_default();
    let selector = if fleet.chance(30) {
        r#","nodeSelector":{"kubernetes.io/os":"linux"}"#
    } else {
        ""
    };
    let security = fleet.one_of(&[
        r#"{}"#,
        r#"{"runAsUser":65532,"runAsNonRoot":true,"fsGroup":65532}"#,
        r#"{"seccompProfile":{"type":"RuntimeDefault"}}"#,
    ]);
    format!(
        r#""volumes":[{volumes}],"containers":[{}],"restartPolicy":"Always","terminationGracePeriodSeconds":{},"dnsPolicy":"ClusterFirst"{selector},"serviceAccountName":"{account}","serviceAccount":"{account}"{assigned},"securityContext":{security},"schedulerName":"default-scheduler"{defaults}"#,
        containers.join(","),
        fleet.one_of(&["30", "60", "10"]),
    )
}

fn annotations(fleet: &mut Fleet) -> String {
    let mut text = String::new();
    if fleet.chance(40) {
        text += &format!(
            r#""prometheus.io/port":"{}","prometheus.io/scrape":"true","#,
            8000 + fleet.below(1000)
        );
    }
    if fleet.chance(40) {
        text += &format!(r#""checksum/config":"{}","#, fleet.hex(64));
    }
    if fleet.chance(30) {
        text += &format!(r#""kubectl.kubernetes.io/restartedAt":"{}","#, fleet.time());
    }
    text
}

fn container(fleet: &mut Fleet, name: &str, image: &str, token: Option<&str>) -> String {
    let port = 3000 + fleet.below(6000);
    let env = some(fleet, 8, env);
    let mounts = token.map(|token| format!(r#",{{"name":"{token}","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}}"#)).unwrap_or_default();
    let args = if fleet.chance(60) {
        format!(
            r#","args":["--config=/etc/{name}/config.yaml","--log-level={}","--listen=:{port}"]"#,
            fleet.one_of(&["info", "warn", "debug"])
        )
    } else {
        String::new()
    };
    let probe = |path: &str, delay: u32| {
        format!(
            r#"{{"httpGet":{{"path":"{path}","port":{port},"scheme":"HTTP"}},"initialDelaySeconds":{delay},"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3}}"#
        )
    };
    let (live, ready) = (
        probe(fleet.one_of(&["/healthz", "/livez", "/health"]), 10),
        probe(fleet.one_of(&["/ready", "/readyz", "/health"]), 5),
    );
    let security = if fleet.chance(50) {
        r#","securityContext":{"capabilities":{"drop":["ALL"]},"runAsNonRoot":true,"readOnlyRootFilesystem":true,"allowPrivilegeEscalation":false}"#
    } else {
        ""
    };
    format!(
        r#"{{"name":"{name}","image":"{image}"{args},"ports":[{{"name":"http","containerPort":{port},"protocol":"TCP"}}],"env":[{env}],"resources":{{"limits":{{"cpu":"{}","memory":"{}"}},"requests":{{"cpu":"{}","memory":"{}"}}}},"volumeMounts":[{{"name":"config","mountPath":"/etc/{name}"}},{{"name":"tmp","mountPath":"/tmp"}}{mounts}],"livenessProbe":{live},"readinessProbe":{ready},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent"{security}}}"#,
        fleet.cpu(),
        fleet.memory(),
        fleet.cpu(),
        fleet.memory(),
    )
}

fn env(fleet: &mut Fleet) -> String {
    let key = fleet.key().to_uppercase();
    match fleet.below(4) {
        0 => format!(r#"{{"name":"{key}","valueFrom":{{"secretKeyRef":{{"name":"{}","key":"password"}}}}}}"#, fleet.key()),
        1 => format!(r#"{{"name":"{key}","valueFrom":{{"configMapKeyRef":{{"name":"{}","key":"{}"}}}}}}"#, fleet.key(), fleet.key()),
        2 => r#"{"name":"POD_NAME","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.name"}}}"#.to_owned(),
        _ => format!(r#"{{"name":"{key}","value":"{}"}}"#, fleet.prose(1)),
    }
}

fn status(fleet: &mut Fleet, names: &[(String, String)]) -> String {
    let start = fleet.time();
    if fleet.chance(6) {
        return format!(
            r#""observedGeneration":1,"phase":"Pending","conditions":[{{"type":"PodScheduled","observedGeneration":1,"status":"False","lastProbeTime":null,"lastTransitionTime":"{start}","reason":"Unschedulable","message":"0/{} nodes are available: insufficient memory."}}],"qosClass":"Burstable""#,
            fleet.below(90)
        );
    }
    let condition = |kind: &str| {
        format!(
            r#"{{"type":"{kind}","observedGeneration":1,"status":"True","lastProbeTime":null,"lastTransitionTime":"{start}"}}"#
        )
    };
    let conditions: Vec<String> = [
        "PodReadyToStartContainers",
        "Initialized",
        "Ready",
        "ContainersReady",
        "PodScheduled",
    ]
    .map(condition)
    .into();
    let containers: Vec<String> = names
        .iter()
        .map(|(name, image)| container_status(fleet, name, image, &start))
        .collect();
    let (host, ip) = (fleet.ip(), fleet.ip());
    format!(
        r#""observedGeneration":1,"phase":"Running","conditions":[{}],"hostIP":"{host}","hostIPs":[{{"ip":"{host}"}}],"podIP":"{ip}","podIPs":[{{"ip":"{ip}"}}],"startTime":"{start}","containerStatuses":[{}],"qosClass":"{}""#,
        conditions.join(","),
        containers.join(","),
        fleet.one_of(&["Burstable", "Guaranteed", "BestEffort"]),
    )
}

fn container_status(fleet: &mut Fleet, name: &str, image: &str, start: &str) -> String {
    let restarts = if fleet.chance(80) { 0 } else { fleet.below(40) };
    let last = if restarts == 0 {
        "{}".to_owned()
    } else {
        format!(
            r#"{{"terminated":{{"exitCode":{},"reason":"{}","startedAt":"{start}","finishedAt":"{}","containerID":"containerd://{}"}}}}"#,
            fleet.one_of(&["1", "137", "143"]),
            fleet.one_of(&["Error", "OOMKilled", "Completed"]),
            fleet.time(),
            fleet.hex(64)
        )
    };
    format!(
        r#"{{"name":"{name}","state":{{"running":{{"startedAt":"{start}"}}}},"lastState":{last},"ready":true,"restartCount":{restarts},"image":"{image}","imageID":"{}@sha256:{}","containerID":"containerd://{}","started":true}}"#,
        image.split(':').next().unwrap_or(image),
        fleet.hex(64),
        fleet.hex(64),
    )
}
