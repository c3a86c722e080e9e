//! The field labels of each kind as Kubernetes documents them, with values that some of the samples have and some have not.
//!
//! Written down once more instead of taken from Armadex: what it forgot would not be asked.

use armadex_e2e::equality::Kind;

/// A kind and its labels.
pub(crate) struct Labels {
    pub(crate) kind: Kind,
    pub(crate) labels: &'static [Label],
}

/// A label and what to compare it with, beside the empty text.
pub(crate) struct Label {
    pub(crate) name: &'static str,
    /// Each is the value of some objects and not of others.
    pub(crate) values: &'static [&'static str],
}

/// Served from Kubernetes 1.35 on.
pub(crate) const YOUNGEST: Kind =
    Kind::at("/apis/certificates.k8s.io/v1beta1/podcertificaterequests");

pub(crate) static KINDS: [Labels; 13] = [
    Labels {
        kind: Kind::PODS,
        labels: &[
            label("spec.nodeName", &["n1", "n2"]),
            label("spec.host", &["n1"]),
            label("spec.restartPolicy", &["Always", "Never", "OnFailure"]),
            label("spec.schedulerName", &["default-scheduler", "other"]),
            label("spec.serviceAccountName", &["builder", "deployer", ""]),
            label("spec.hostNetwork", &["true", "false"]),
            label("status.phase", &["Running", "Pending"]),
            label("status.podIP", &["10.1.0.7", "fd00::7", ""]),
            // No object has a value of it, whatever its addresses.
            label("status.podIPs", &[]),
            label("status.nominatedNodeName", &["n2", ""]),
            label("metadata.name", &["bare", "full"]),
            label("metadata.namespace", &["default", "elsewhere"]),
        ],
    },
    Labels {
        kind: Kind::at("/api/v1/nodes"),
        labels: &[
            label("spec.unschedulable", &["true", "false"]),
            label("metadata.name", &["n1"]),
        ],
    },
    Labels {
        kind: Kind::at("/api/v1/namespaces"),
        labels: &[
            label("status.phase", &["Active", "Terminating"]),
            label("metadata.name", &["elsewhere"]),
        ],
    },
    Labels {
        kind: Kind::at("/api/v1/replicationcontrollers"),
        labels: &[label("status.replicas", &["0", "3"])],
    },
    Labels {
        kind: Kind::at("/api/v1/secrets"),
        labels: &[label("type", &["Opaque", "example.com/license"])],
    },
    Labels {
        kind: Kind::at("/api/v1/services"),
        labels: &[
            label("spec.clusterIP", &["None", "10.96.77.1", ""]),
            label("spec.type", &["ClusterIP", "ExternalName", "NodePort"]),
        ],
    },
    Labels {
        kind: Kind::at("/api/v1/events"),
        labels: &[
            label("involvedObject.kind", &["Pod", "Node"]),
            label("involvedObject.namespace", &["default", ""]),
            label("involvedObject.name", &["full", "n1"]),
            label("involvedObject.uid", &["1234-5678", ""]),
            label("involvedObject.apiVersion", &["v1", ""]),
            label("involvedObject.resourceVersion", &["42", ""]),
            label("involvedObject.fieldPath", &["spec.containers{app}", ""]),
            label("reason", &["Started", r"Back off (1\, 2)"]),
            label("reportingComponent", &["kubelet", "new.example.com/x", ""]),
            label("source", &["old", "kubelet", "new.example.com/x", ""]),
            label("type", &["Normal", "Warning", ""]),
        ],
    },
    Labels {
        kind: Kind::at("/apis/events.k8s.io/v1/events"),
        labels: &[
            label("regarding.kind", &["Pod", "Node"]),
            label("regarding.namespace", &["default", ""]),
            label("regarding.name", &["full", "n1"]),
            label("regarding.uid", &["1234-5678", ""]),
            label("regarding.apiVersion", &["v1", ""]),
            label("regarding.resourceVersion", &["42", ""]),
            label("regarding.fieldPath", &["spec.containers{app}", ""]),
            label("reason", &["Started", r"Back off (1\, 2)"]),
            label("reportingController", &["kubelet", "new.example.com/x", ""]),
            label("type", &["Normal", "Warning", ""]),
        ],
    },
    Labels {
        kind: Kind::at("/apis/batch/v1/jobs"),
        labels: &[label("status.successful", &["0", "2"])],
    },
    Labels {
        kind: Kind::at("/apis/certificates.k8s.io/v1/certificatesigningrequests"),
        labels: &[label(
            "spec.signerName",
            &["example.com/one", "example.com/two"],
        )],
    },
    Labels {
        kind: Kind::at("/apis/certificates.k8s.io/v1beta1/clustertrustbundles"),
        labels: &[label("spec.signerName", &["example.com/one", ""])],
    },
    Labels {
        kind: YOUNGEST,
        labels: &[
            label("spec.signerName", &["example.com/one", "example.com/two"]),
            label("spec.podName", &["bare", "full"]),
            label("spec.nodeName", &["n1", "n2"]),
        ],
    },
    Labels {
        kind: Kind::at("/apis/resource.k8s.io/v1/resourceslices"),
        labels: &[
            label("spec.nodeName", &["n1", ""]),
            label("spec.driver", &["gpu.example.com", "nic.example.com"]),
        ],
    },
];

/// What a kube-apiserver refuses, be it in the registry's own set of fields or not.
pub(crate) const REFUSED: [(Kind, &str); 9] = [
    (Kind::PODS, "spec.color=red"),
    (Kind::PODS, "status.phase"),
    (Kind::PODS, "status.phase=a=b"),
    (Kind::at("/api/v1/namespaces"), "name=default"),
    (Kind::at("/api/v1/nodes"), "spec.host=n1"),
    (Kind::at("/api/v1/events"), "regarding.name=full"),
    (Kind::at("/apis/events.k8s.io/v1/events"), "source=old"),
    (
        Kind::at("/apis/events.k8s.io/v1/events"),
        "involvedObject.name=full",
    ),
    (Kind::at("/apis/apps/v1/replicasets"), "status.replicas=0"),
];

const fn label(name: &'static str, values: &'static [&'static str]) -> Label {
    Label { name, values }
}
