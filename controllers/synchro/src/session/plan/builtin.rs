//! Kubernetes' own types. What they are is known, so no member has to be believed: what the first one says of a type counts for the fleet. Pure.

use armadex_member::ServedResource;

/// Groups below `k8s.io` that are Kubernetes' own; the others are left to projects.
const BELOW_K8S_IO: [&str; 17] = [
    "admissionregistration",
    "apiextensions",
    "apiregistration",
    "authentication",
    "authorization",
    "certificates",
    "coordination",
    "discovery",
    "events",
    "flowcontrol.apiserver",
    "networking",
    "node",
    "rbac.authorization",
    "resource",
    "scheduling",
    "storage",
    "storagemigration",
];

/// Whether a group is Kubernetes' own: without a dot, or below `k8s.io` and not one of those that are left to projects.
pub(super) fn is_builtin(group: &str) -> bool {
    match group.strip_suffix(".k8s.io") {
        Some(rest) => BELOW_K8S_IO.contains(&rest),
        None => !group.contains('.'),
    }
}

/// The kinds of a group that can be listed, in whatever version: those in namespaces, then those without.
struct Kinds(
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

/// Up to Kubernetes 1.36. What comes later is what its member says.
const KINDS: [Kinds; 20] = [
    Kinds(
        "",
        &[
            "ConfigMap",
            "Endpoints",
            "Event",
            "LimitRange",
            "PersistentVolumeClaim",
            "Pod",
            "PodTemplate",
            "ReplicationController",
            "ResourceQuota",
            "Secret",
            "Service",
            "ServiceAccount",
        ],
        &["ComponentStatus", "Namespace", "Node", "PersistentVolume"],
    ),
    Kinds(
        "admissionregistration.k8s.io",
        &[],
        &[
            "MutatingAdmissionPolicy",
            "MutatingAdmissionPolicyBinding",
            "MutatingWebhookConfiguration",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
            "ValidatingWebhookConfiguration",
        ],
    ),
    Kinds("apiextensions.k8s.io", &[], &["CustomResourceDefinition"]),
    Kinds("apiregistration.k8s.io", &[], &["APIService"]),
    Kinds(
        "apps",
        &[
            "ControllerRevision",
            "DaemonSet",
            "Deployment",
            "ReplicaSet",
            "StatefulSet",
        ],
        &[],
    ),
    Kinds("autoscaling", &["HorizontalPodAutoscaler"], &[]),
    Kinds("batch", &["CronJob", "Job"], &[]),
    Kinds(
        "certificates.k8s.io",
        &["PodCertificateRequest"],
        &["CertificateSigningRequest", "ClusterTrustBundle"],
    ),
    Kinds("coordination.k8s.io", &["Lease", "LeaseCandidate"], &[]),
    Kinds("discovery.k8s.io", &["EndpointSlice"], &[]),
    Kinds("events.k8s.io", &["Event"], &[]),
    Kinds(
        "flowcontrol.apiserver.k8s.io",
        &[],
        &["FlowSchema", "PriorityLevelConfiguration"],
    ),
    Kinds(
        "networking.k8s.io",
        &["Ingress", "NetworkPolicy"],
        &["IngressClass", "IPAddress", "ServiceCIDR"],
    ),
    Kinds("node.k8s.io", &[], &["RuntimeClass"]),
    Kinds("policy", &["PodDisruptionBudget"], &["PodSecurityPolicy"]),
    Kinds(
        "rbac.authorization.k8s.io",
        &["Role", "RoleBinding"],
        &["ClusterRole", "ClusterRoleBinding"],
    ),
    Kinds(
        "resource.k8s.io",
        &["ResourceClaim", "ResourceClaimTemplate"],
        &["DeviceClass", "ResourceSlice"],
    ),
    Kinds("scheduling.k8s.io", &[], &["PriorityClass"]),
    Kinds(
        "storage.k8s.io",
        &["CSIStorageCapacity"],
        &[
            "CSIDriver",
            "CSINode",
            "StorageClass",
            "VolumeAttachment",
            "VolumeAttributesClass",
        ],
    ),
    Kinds("storagemigration.k8s.io", &[], &["StorageVersionMigration"]),
];

/// How a member's resource differs from what Kubernetes has by that name, in words.
pub(super) fn contradiction(group: &str, found: &ServedResource) -> Option<String> {
    let Kinds(_, inside, outside) = KINDS.iter().find(|Kinds(name, ..)| *name == group)?;
    let called = |kinds: &[&'static str]| {
        kinds
            .iter()
            .copied()
            .find(|kind| plural(kind) == found.name)
    };
    let (kind, namespaced) = match called(inside) {
        Some(kind) => (kind, true),
        None => (called(outside)?, false),
    };
    let place = |namespaced| match namespaced {
        true => "in a namespace",
        false => "without a namespace",
    };
    (kind != found.kind || namespaced != found.namespaced).then(|| {
        format!(
            "the member has {} {} where Kubernetes has {kind} {}",
            found.kind,
            place(found.namespaced),
            place(namespaced)
        )
    })
}

/// The resource of Kubernetes that is asked for so: by its name or its kind in any case.
pub(super) fn plural_of(group: &str, asked: &str) -> Option<String> {
    let Kinds(_, inside, outside) = KINDS.iter().find(|Kinds(name, ..)| *name == group)?;
    let mut kinds = inside.iter().chain(*outside);
    let is_asked =
        |kind: &str| kind.eq_ignore_ascii_case(asked) || plural(kind).eq_ignore_ascii_case(asked);
    kinds.find(|kind| is_asked(kind)).map(|kind| plural(kind))
}

/// As Kubernetes names the resource of a kind.
fn plural(kind: &str) -> String {
    let singular = kind.to_ascii_lowercase();
    match singular.as_str() {
        "endpoints" => singular,
        _ if singular.ends_with('s') => format!("{singular}es"),
        _ => match singular.strip_suffix('y') {
            Some(stem) => format!("{stem}ies"),
            None => format!("{singular}s"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_called_as_in_kubernetes() {
        let names = [
            ("Pod", "pods"),
            ("Endpoints", "endpoints"),
            ("ComponentStatus", "componentstatuses"),
            ("NetworkPolicy", "networkpolicies"),
            ("Ingress", "ingresses"),
            ("PriorityClass", "priorityclasses"),
            ("ServiceCIDR", "servicecidrs"),
            ("IPAddress", "ipaddresses"),
        ];
        for (kind, name) in names {
            assert_eq!(plural(kind), name);
        }
        assert!(KINDS.iter().all(|Kinds(group, ..)| is_builtin(group)));
    }
}
