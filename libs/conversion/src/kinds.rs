//! Which versions of which kinds are converted.

use crate::kind::{Kind, Older};
use crate::{apps, autoscaling, definitions, discovery, flowcontrol, networking, policy, webhooks};

const ADMISSION: &str = "admissionregistration.k8s.io";
const API_EXTENSIONS: &str = "apiextensions.k8s.io";
const API_REGISTRATION: &str = "apiregistration.k8s.io";
const APPS: &str = "apps";
const AUTOSCALING: &str = "autoscaling";
const BATCH: &str = "batch";
const COORDINATION: &str = "coordination.k8s.io";
const DISCOVERY: &str = "discovery.k8s.io";
const EVENTS: &str = "events.k8s.io";
const EXTENSIONS: &str = "extensions";
const FLOWCONTROL: &str = "flowcontrol.apiserver.k8s.io";
const NETWORKING: &str = "networking.k8s.io";
const NODE: &str = "node.k8s.io";
const POLICY: &str = "policy";
const RBAC: &str = "rbac.authorization.k8s.io";
const SCHEDULING: &str = "scheduling.k8s.io";
const STORAGE: &str = "storage.k8s.io";

const ABSENT: &str = "what a webhook does not say becomes what that stood for: `matchPolicy` `Exact`, `sideEffects` `Unknown`, `timeoutSeconds` 30";
const INGRESS: &str = "`backend` becomes `defaultBackend`, `serviceName` and `servicePort` of a backend become `service`; a path without a `pathType` gets `ImplementationSpecific`";
const ROLLBACK: &str = "`rollbackTo` becomes the annotation `deprecated.deployment.rollback.to`";
const CLAIMS: &str = "each of `volumeClaimTemplates` says what it is";
const SHARES: &str = "`assuredConcurrencyShares` becomes `nominalConcurrencyShares`";

/// The kinds of Kubernetes of which older versions are converted, by the group and kind in which they are stored.
pub static KINDS: &[Kind] = &[
    Kind::new(
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
        (ADMISSION, "v1"),
        &[Older::new(ADMISSION, "v1beta1", webhooks::WEBHOOKS, ABSENT)],
    ),
    Kind::new(
        "ValidatingAdmissionPolicy",
        "validatingadmissionpolicies",
        (ADMISSION, "v1"),
        &[Older::same(ADMISSION, "v1beta1")],
    ),
    Kind::new(
        "ValidatingAdmissionPolicyBinding",
        "validatingadmissionpolicybindings",
        (ADMISSION, "v1"),
        &[Older::same(ADMISSION, "v1beta1")],
    ),
    Kind::new(
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        (ADMISSION, "v1"),
        &[Older::new(ADMISSION, "v1beta1", webhooks::WEBHOOKS, ABSENT)],
    ),
    Kind::new(
        "CustomResourceDefinition",
        "customresourcedefinitions",
        (API_EXTENSIONS, "v1"),
        &[Older::new(
            API_EXTENSIONS,
            "v1beta1",
            definitions::DEFINITION,
            "what is said of all versions is said of each, `JSONPath` becomes `jsonPath`, the webhook of a conversion has an object of its own, and a single `version` becomes one of `versions`",
        )],
    ),
    Kind::new(
        "APIService",
        "apiservices",
        (API_REGISTRATION, "v1"),
        &[Older::same(API_REGISTRATION, "v1beta1")],
    ),
    Kind::new(
        "ControllerRevision",
        "controllerrevisions",
        (APPS, "v1"),
        &[Older::same(APPS, "v1beta2"), Older::same(APPS, "v1beta1")],
    ),
    Kind::new(
        "DaemonSet",
        "daemonsets",
        (APPS, "v1"),
        &[
            Older::same(APPS, "v1beta2"),
            Older::new(
                EXTENSIONS,
                "v1beta1",
                apps::DAEMON_SET,
                "`templateGeneration` becomes the annotation `deprecated.daemonset.template.generation`",
            ),
        ],
    ),
    Kind::new(
        "Deployment",
        "deployments",
        (APPS, "v1"),
        &[
            Older::same(APPS, "v1beta2"),
            Older::new(APPS, "v1beta1", apps::DEPLOYMENT, ROLLBACK),
            Older::new(EXTENSIONS, "v1beta1", apps::DEPLOYMENT, ROLLBACK),
        ],
    ),
    Kind::new(
        "ReplicaSet",
        "replicasets",
        (APPS, "v1"),
        &[
            Older::same(APPS, "v1beta2"),
            Older::same(EXTENSIONS, "v1beta1"),
        ],
    ),
    Kind::new(
        "StatefulSet",
        "statefulsets",
        (APPS, "v1"),
        &[
            Older::new(APPS, "v1beta2", apps::STATEFUL_SET, CLAIMS),
            Older::new(APPS, "v1beta1", apps::STATEFUL_SET, CLAIMS),
        ],
    ),
    Kind::new(
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        (AUTOSCALING, "v2"),
        &[
            Older::new(AUTOSCALING, "v2beta2", autoscaling::V2BETA2, ""),
            Older::new(
                AUTOSCALING,
                "v2beta1",
                autoscaling::V2BETA1,
                "fields of metrics become `metric`, `target`, `current` and `describedObject`; the annotation `autoscaling.alpha.kubernetes.io/behavior` becomes `behavior`",
            ),
            Older::new(
                AUTOSCALING,
                "v1",
                autoscaling::V1,
                "`targetCPUUtilizationPercentage` and the annotations `autoscaling.alpha.kubernetes.io/*` become fields; without either the target is 80 % of the processor, as Kubernetes has it",
            ),
        ],
    ),
    Kind::new(
        "CronJob",
        "cronjobs",
        (BATCH, "v1"),
        &[Older::same(BATCH, "v1beta1")],
    ),
    Kind::new(
        "Lease",
        "leases",
        (COORDINATION, "v1"),
        &[Older::same(COORDINATION, "v1beta1")],
    ),
    Kind::new(
        "EndpointSlice",
        "endpointslices",
        (DISCOVERY, "v1"),
        &[Older::new(
            DISCOVERY,
            "v1beta1",
            discovery::ENDPOINT_SLICE,
            "the zone of `topology` becomes `zone`, its host name goes where `nodeName` says the same, the rest becomes `deprecatedTopology`",
        )],
    ),
    Kind::new(
        "Event",
        "events",
        (EVENTS, "v1"),
        &[Older::same(EVENTS, "v1beta1")],
    ),
    Kind::new(
        "FlowSchema",
        "flowschemas",
        (FLOWCONTROL, "v1"),
        &[
            Older::same(FLOWCONTROL, "v1beta3"),
            Older::same(FLOWCONTROL, "v1beta2"),
            Older::same(FLOWCONTROL, "v1beta1"),
        ],
    ),
    Kind::new(
        "PriorityLevelConfiguration",
        "prioritylevelconfigurations",
        (FLOWCONTROL, "v1"),
        &[
            Older::new(
                FLOWCONTROL,
                "v1beta3",
                flowcontrol::ZERO_SHARES,
                "the annotation that says that 0 shares are meant goes, as 0 says so",
            ),
            Older::new(FLOWCONTROL, "v1beta2", flowcontrol::ASSURED_SHARES, SHARES),
            Older::new(FLOWCONTROL, "v1beta1", flowcontrol::ASSURED_SHARES, SHARES),
        ],
    ),
    Kind::new(
        "Ingress",
        "ingresses",
        (NETWORKING, "v1"),
        &[
            Older::new(NETWORKING, "v1beta1", networking::INGRESS, INGRESS),
            Older::new(EXTENSIONS, "v1beta1", networking::INGRESS, INGRESS),
        ],
    ),
    Kind::new(
        "IngressClass",
        "ingressclasses",
        (NETWORKING, "v1"),
        &[Older::same(NETWORKING, "v1beta1")],
    ),
    Kind::new(
        "RuntimeClass",
        "runtimeclasses",
        (NODE, "v1"),
        &[Older::same(NODE, "v1beta1")],
    ),
    Kind::new(
        "PodDisruptionBudget",
        "poddisruptionbudgets",
        (POLICY, "v1"),
        &[Older::new(
            POLICY,
            "v1beta1",
            policy::POD_DISRUPTION_BUDGET,
            "a selector that is empty, and selected nothing, becomes one that says so, and the one that said that all is meant an empty one",
        )],
    ),
    Kind::new(
        "ClusterRole",
        "clusterroles",
        (RBAC, "v1"),
        &[Older::same(RBAC, "v1beta1")],
    ),
    Kind::new(
        "ClusterRoleBinding",
        "clusterrolebindings",
        (RBAC, "v1"),
        &[Older::same(RBAC, "v1beta1")],
    ),
    Kind::new(
        "Role",
        "roles",
        (RBAC, "v1"),
        &[Older::same(RBAC, "v1beta1")],
    ),
    Kind::new(
        "RoleBinding",
        "rolebindings",
        (RBAC, "v1"),
        &[Older::same(RBAC, "v1beta1")],
    ),
    Kind::new(
        "PriorityClass",
        "priorityclasses",
        (SCHEDULING, "v1"),
        &[Older::same(SCHEDULING, "v1beta1")],
    ),
    Kind::new(
        "CSIDriver",
        "csidrivers",
        (STORAGE, "v1"),
        &[Older::same(STORAGE, "v1beta1")],
    ),
    Kind::new(
        "CSINode",
        "csinodes",
        (STORAGE, "v1"),
        &[Older::same(STORAGE, "v1beta1")],
    ),
    Kind::new(
        "CSIStorageCapacity",
        "csistoragecapacities",
        (STORAGE, "v1"),
        &[Older::same(STORAGE, "v1beta1")],
    ),
    Kind::new(
        "StorageClass",
        "storageclasses",
        (STORAGE, "v1"),
        &[Older::same(STORAGE, "v1beta1")],
    ),
    Kind::new(
        "VolumeAttachment",
        "volumeattachments",
        (STORAGE, "v1"),
        &[Older::same(STORAGE, "v1beta1")],
    ),
];
