//! The order of groups. A client that has no group for `kubectl get NAME` takes the first one in which it finds the name, so the order of
//! discovery says which type that is.

/// Kubernetes' own groups, in the order in which a kube-apiserver 1.36 tells them (`cmd/kube-apiserver/app/aggregator.go`). All others have one priority
/// there, which is lower.
const UPSTREAM: [&str; 22] = [
    "apiregistration.k8s.io",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
    "resource.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "internal.apiserver.k8s.io",
    "storagemigration.k8s.io",
];

/// Where a group stands in discovery, those of one rank by name: Kubernetes' own, then the others. Whoever may define types in a member takes no name
/// away from Kubernetes by a group that comes early in the alphabet.
pub(super) fn rank(group: &str) -> usize {
    let upstream = UPSTREAM.iter().position(|known| *known == group);
    upstream.unwrap_or(UPSTREAM.len())
}
