//! Deployments, ReplicaSets and pods with status and owners, at the size that real ones have.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::metadata::{Owner, Random, managed, seconds};

/// What runs in the fleet: a name, an image and a port.
pub(super) const APPLICATIONS: [(&str, &str, u16); 12] = [
    ("checkout", "registry.example.com/shop/checkout", 8080),
    ("catalog", "registry.example.com/shop/catalog", 8080),
    ("payments", "registry.example.com/pay/payments", 8443),
    ("frontend", "registry.example.com/web/frontend", 3000),
    ("search", "registry.example.com/shop/search", 9200),
    ("cache", "docker.io/library/redis", 6379),
    ("database", "docker.io/library/postgres", 5432),
    ("queue", "docker.io/library/rabbitmq", 5672),
    ("metrics", "quay.io/prometheus/prometheus", 9090),
    ("ingress", "registry.k8s.io/ingress-nginx/controller", 443),
    ("mailer", "registry.example.com/ops/mailer", 2525),
    ("reports", "registry.example.com/bi/reports", 8081),
];

/// Where an application runs.
#[derive(Debug, Clone)]
pub(super) struct Workload {
    pub(super) namespace: String,
    pub(super) name: String,
    image: String,
    port: u16,
    labels: Value,
    hash: String,
    replicas: u32,
    created: Timestamp,
}

impl Workload {
    /// One of the applications in `namespace`, told from others by `number`.
    pub(super) fn new(namespace: &str, number: usize, replicas: u32, random: &mut Random) -> Self {
        let (application, repository, port) = APPLICATIONS[number % APPLICATIONS.len()];
        let version = format!(
            "v{}.{}.{}",
            random.below(4),
            random.below(30),
            random.below(10)
        );
        let tier = random.pick(&["web", "backend", "data", "batch"]);
        let labels = json!({
            "app": application,
            "app.kubernetes.io/name": application,
            "app.kubernetes.io/instance": format!("{application}-{number}"),
            "app.kubernetes.io/version": version,
            "app.kubernetes.io/managed-by": "Helm",
            "tier": tier,
            "team": random.pick(&["red", "green", "blue", "orange"]),
        });
        Self {
            namespace: namespace.to_owned(),
            name: format!("{application}-{number}"),
            image: format!("{repository}:{version}"),
            port,
            labels,
            hash: random.suffix(10),
            replicas,
            created: random.time(),
        }
    }

    /// The Deployment and what owns its ReplicaSet.
    pub(super) fn deployment(&self, random: &mut Random) -> (Value, Owner) {
        let owner = Owner {
            api_version: "apps/v1",
            kind: "Deployment",
            name: self.name.clone(),
            uid: random.uid(),
        };
        let mut object = self.shell(&owner, &self.labels);
        object["metadata"]["generation"] = json!(1);
        object["metadata"]["annotations"] = json!({"deployment.kubernetes.io/revision": "1"});
        object["metadata"]["managedFields"] = json!([
            managed("helm", "apps/v1", self.created, "", &template_fields()),
            managed(
                "kube-controller-manager",
                "apps/v1",
                self.created,
                "status",
                &status_fields()
            ),
        ]);
        object["spec"] = json!({
            "replicas": self.replicas,
            "selector": {"matchLabels": {"app.kubernetes.io/instance": self.name}},
            "template": {"metadata": {"labels": self.labels}, "spec": self.pod_spec(None)},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}},
            "revisionHistoryLimit": 10,
            "progressDeadlineSeconds": 600,
        });
        object["status"] = self.replica_status();
        object["status"]["updatedReplicas"] = json!(self.replicas);
        object["status"]["conditions"] = json!([
            {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable",
             "message": "Deployment has minimum availability.",
             "lastUpdateTime": seconds(self.created), "lastTransitionTime": seconds(self.created)},
        ]);
        (object, owner)
    }

    /// The ReplicaSet of `deployment` and what owns its pods.
    pub(super) fn replica_set(&self, deployment: &Owner, random: &mut Random) -> (Value, Owner) {
        let name = format!("{}-{}", self.name, self.hash);
        let owner = Owner {
            api_version: "apps/v1",
            kind: "ReplicaSet",
            name,
            uid: random.uid(),
        };
        let labels = self.hashed_labels();
        let mut object = self.shell(&owner, &labels);
        object["metadata"]["generation"] = json!(1);
        object["metadata"]["ownerReferences"] = json!([deployment.reference()]);
        object["metadata"]["annotations"] = json!({
            "deployment.kubernetes.io/desired-replicas": self.replicas.to_string(),
            "deployment.kubernetes.io/max-replicas": (self.replicas + 1).to_string(),
            "deployment.kubernetes.io/revision": "1",
        });
        object["metadata"]["managedFields"] = json!([
            managed(
                "kube-controller-manager",
                "apps/v1",
                self.created,
                "",
                &template_fields()
            ),
            managed(
                "kube-controller-manager",
                "apps/v1",
                self.created,
                "status",
                &status_fields()
            ),
        ]);
        object["spec"] = json!({
            "replicas": self.replicas,
            "selector": {"matchLabels": {"pod-template-hash": self.hash}},
            "template": {"metadata": {"labels": labels}, "spec": self.pod_spec(None)},
        });
        object["status"] = self.replica_status();
        object["status"]["fullyLabeledReplicas"] = json!(self.replicas);
        (object, owner)
    }

    /// One pod of `replica_set`, on one of `nodes`.
    pub(super) fn pod(&self, replica_set: &Owner, nodes: &[String], random: &mut Random) -> Value {
        let name = format!("{}-{}", replica_set.name, random.suffix(5));
        let owner = Owner {
            api_version: "v1",
            kind: "Pod",
            name,
            uid: random.uid(),
        };
        let node = &nodes[random.below(u32::try_from(nodes.len()).unwrap_or(1)) as usize];
        let started = self.created + SignedDuration::from_secs(i64::from(random.below(86_400)));
        let mut object = self.shell(&owner, &self.hashed_labels());
        object["metadata"]["generateName"] = json!(format!("{}-", replica_set.name));
        object["metadata"]["creationTimestamp"] = json!(seconds(started));
        object["metadata"]["ownerReferences"] = json!([replica_set.reference()]);
        object["metadata"]["annotations"] = json!({
            "prometheus.io/scrape": "true",
            "prometheus.io/port": self.port.to_string(),
            "checksum/config": random.hex(32),
        });
        object["metadata"]["managedFields"] = json!([
            managed(
                "kube-controller-manager",
                "v1",
                started,
                "",
                &template_fields()
            ),
            managed("kubelet", "v1", started, "status", &status_fields()),
        ]);
        object["spec"] = self.pod_spec(Some(node));
        object["status"] = self.pod_status(started, random);
        object
    }

    fn shell(&self, own: &Owner, labels: &Value) -> Value {
        json!({
            "apiVersion": own.api_version,
            "kind": own.kind,
            "metadata": {
                "name": own.name,
                "namespace": self.namespace,
                "uid": own.uid,
                "creationTimestamp": seconds(self.created),
                "labels": labels,
            },
        })
    }

    fn hashed_labels(&self) -> Value {
        let mut labels = self.labels.clone();
        labels["pod-template-hash"] = json!(self.hash);
        labels
    }

    fn replica_status(&self) -> Value {
        json!({
            "observedGeneration": 1,
            "replicas": self.replicas,
            "readyReplicas": self.replicas,
            "availableReplicas": self.replicas,
        })
    }

    fn pod_spec(&self, node: Option<&String>) -> Value {
        let mut spec = json!({
            "containers": [self.container()],
            "volumes": [
                {"name": "config", "configMap": {"name": format!("{}-config", self.name), "defaultMode": 420}},
                {"name": "scratch", "emptyDir": {}},
            ],
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "serviceAccountName": "default",
            "serviceAccount": "default",
            "automountServiceAccountToken": false,
            "securityContext": {"runAsNonRoot": true, "runAsUser": 65532, "fsGroup": 65532},
            "schedulerName": "default-scheduler",
            "tolerations": [
                {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute",
                 "tolerationSeconds": 300},
                {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute",
                 "tolerationSeconds": 300},
            ],
            "priority": 0,
            "enableServiceLinks": true,
            "preemptionPolicy": "PreemptLowerPriority",
        });
        if let Some(node) = node {
            spec["nodeName"] = json!(node);
        }
        spec
    }

    fn container(&self) -> Value {
        let probe = json!({
            "httpGet": {"path": "/healthz", "port": "main", "scheme": "HTTP"},
            "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3,
        });
        json!({
            "name": "main",
            "image": self.image,
            "args": ["--listen", format!("0.0.0.0:{}", self.port), "--log-format", "json"],
            "ports": [{"name": "main", "containerPort": self.port, "protocol": "TCP"}],
            "env": [
                {"name": "POD_NAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}},
                {"name": "POD_NAMESPACE",
                 "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}},
                {"name": "LOG_LEVEL", "value": "info"},
                {"name": "DATABASE_HOST", "value": format!("database.{}.svc.cluster.local", self.namespace)},
            ],
            "resources": {
                "requests": {"cpu": "100m", "memory": "128Mi"},
                "limits": {"cpu": "1", "memory": "512Mi"},
            },
            "volumeMounts": [
                {"name": "config", "mountPath": "/etc/app", "readOnly": true},
                {"name": "scratch", "mountPath": "/tmp"},
            ],
            "livenessProbe": probe,
            "readinessProbe": probe,
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
            "imagePullPolicy": "IfNotPresent",
            "securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
                                "capabilities": {"drop": ["ALL"]}},
        })
    }

    fn pod_status(&self, started: Timestamp, random: &mut Random) -> Value {
        let phase = if random.below(40) == 0 {
            random.pick(&["Pending", "Failed"])
        } else {
            "Running"
        };
        let ready = phase == "Running";
        let condition = |kind: &str, status: bool| {
            json!({
                "type": kind,
                "status": if status { "True" } else { "False" },
                "lastProbeTime": null,
                "lastTransitionTime": seconds(started),
            })
        };
        let address = format!(
            "10.{}.{}.{}",
            random.below(200),
            random.below(250),
            2 + random.below(250)
        );
        json!({
            "phase": phase,
            "conditions": [
                condition("PodScheduled", true),
                condition("Initialized", true),
                condition("ContainersReady", ready),
                condition("Ready", ready),
            ],
            "hostIP": format!("172.18.0.{}", 2 + random.below(250)),
            "podIP": address,
            "podIPs": [{"ip": address}],
            "startTime": seconds(started),
            "containerStatuses": [self.container_status(phase, started, random)],
            "qosClass": "Burstable",
        })
    }

    fn container_status(&self, phase: &str, started: Timestamp, random: &mut Random) -> Value {
        let restarts = if random.below(8) == 0 {
            random.below(12)
        } else {
            0
        };
        let state = match phase {
            "Running" => json!({"running": {"startedAt": seconds(started)}}),
            "Pending" => json!({"waiting": {"reason": "ContainerCreating"}}),
            _ => json!({"terminated": {
                "exitCode": 1, "reason": "Error", "startedAt": seconds(started), "finishedAt": seconds(started),
                "containerID": format!("containerd://{}", random.hex(32)),
            }}),
        };
        json!({
            "name": "main",
            "state": state,
            "lastState": {},
            "ready": phase == "Running",
            "restartCount": restarts,
            "image": self.image,
            "imageID": format!("{}@sha256:{}", self.image, random.hex(32)),
            "containerID": format!("containerd://{}", random.hex(32)),
            "started": phase == "Running",
        })
    }
}

fn template_fields() -> Value {
    json!({
        "f:metadata": {"f:labels": {
            ".": {}, "f:app": {}, "f:app.kubernetes.io/name": {}, "f:app.kubernetes.io/instance": {},
            "f:app.kubernetes.io/version": {}, "f:app.kubernetes.io/managed-by": {}, "f:tier": {}, "f:team": {},
        }},
        "f:spec": {
            "f:automountServiceAccountToken": {}, "f:dnsPolicy": {}, "f:enableServiceLinks": {},
            "f:restartPolicy": {}, "f:schedulerName": {}, "f:securityContext": {}, "f:volumes": {},
            "f:containers": {"k:{\"name\":\"main\"}": {
                ".": {}, "f:args": {}, "f:image": {}, "f:imagePullPolicy": {}, "f:livenessProbe": {}, "f:name": {},
                "f:readinessProbe": {}, "f:resources": {"f:limits": {}, "f:requests": {}}, "f:securityContext": {},
                "f:env": {
                    ".": {}, "k:{\"name\":\"POD_NAME\"}": {".": {}, "f:name": {}, "f:valueFrom": {}},
                    "k:{\"name\":\"LOG_LEVEL\"}": {".": {}, "f:name": {}, "f:value": {}},
                },
            }},
        },
    })
}

fn status_fields() -> Value {
    json!({"f:status": {
        "f:conditions": {
            ".": {},
            "k:{\"type\":\"Ready\"}": {".": {}, "f:lastTransitionTime": {}, "f:status": {}, "f:type": {}},
            "k:{\"type\":\"Available\"}": {".": {}, "f:lastTransitionTime": {}, "f:status": {}, "f:type": {}},
        },
        "f:containerStatuses": {}, "f:hostIP": {}, "f:phase": {}, "f:podIP": {}, "f:replicas": {}, "f:startTime": {},
    }})
}
