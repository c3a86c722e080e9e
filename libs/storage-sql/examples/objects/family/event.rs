//! Events of `v1` and of `events.k8s.io/v1`.

use super::Metadata;
use crate::objects::Fleet;

const WHAT: [(&str, &str, &str); 8] = [
    ("Normal", "Scheduled", "Successfully assigned"),
    (
        "Normal",
        "Pulled",
        "Container image already present on machine",
    ),
    ("Normal", "Created", "Created container"),
    ("Normal", "Started", "Started container"),
    ("Normal", "Killing", "Stopping container"),
    (
        "Warning",
        "Unhealthy",
        "Readiness probe failed: HTTP probe failed with statuscode: 503",
    ),
    ("Warning", "BackOff", "Back-off restarting failed container"),
    (
        "Warning",
        "FailedScheduling",
        "0/12 nodes are available: insufficient cpu.",
    ),
];

/// One event.
pub(crate) fn event(fleet: &mut Fleet) -> String {
    let app = fleet.app();
    let object = format!("{app}-{}-{}", fleet.hex(9), fleet.suffix());
    let namespace = fleet.namespace();
    let name = format!("{object}.{}", fleet.hex(16));
    let metadata = Metadata {
        name: &name,
        namespace: Some(&namespace),
        labels: "",
        annotations: "",
        owner: "",
    };
    let (kind, reason, message) = WHAT[fleet.below(8) as usize];
    let (first, last, host) = (fleet.time(), fleet.time(), fleet.node());
    let (component, source) = if reason.contains("chedul") {
        ("default-scheduler", String::new())
    } else {
        ("kubelet", format!(r#","host":"{host}""#))
    };
    let (uid, version, count) = (fleet.uid(), fleet.below(90_000_000), 1 + fleet.below(60));
    format!(
        r#"{},"involvedObject":{{"kind":"Pod","namespace":"{namespace}","name":"{object}","uid":"{uid}","apiVersion":"v1","resourceVersion":"{version}","fieldPath":"spec.containers{{{app}}}"}},"reason":"{reason}","message":"{message} {object} {host}","source":{{"component":"{component}"{source}}},"firstTimestamp":"{first}","lastTimestamp":"{last}","count":{count},"type":"{kind}","eventTime":null,"reportingComponent":"{component}","reportingInstance":"{host}"}}"#,
        metadata.body(fleet)
    )
}
