//! The kinds that Kubernetes itself brings, each with the columns that its kube-apiserver prints.
//!
//! Most are flat tables of paths. What has to be worked out from an object has a file of its own, with a function that reads it once.

mod access;
mod admission;
mod autoscaler;
mod control_plane;
mod core;
mod cron_job;
mod devices;
mod event;
mod job;
mod networking;
mod node;
mod pod;
mod policies;
mod service;
mod volumes;
mod workloads;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use super::column::Column;
use super::engine::Printer;

/// Group and plural name of a type, and what makes its columns.
type Entry = (&'static str, &'static str, fn() -> Vec<Column>);

const ENTRIES: &[Entry] = &[
    ("", "componentstatuses", control_plane::component_statuses),
    ("", "configmaps", core::config_maps),
    ("", "endpoints", networking::endpoints),
    ("", "events", event::core_events),
    ("", "limitranges", core::created_at),
    ("", "namespaces", core::namespaces),
    ("", "nodes", node::nodes),
    (
        "",
        "persistentvolumeclaims",
        volumes::persistent_volume_claims,
    ),
    ("", "persistentvolumes", volumes::persistent_volumes),
    ("", "pods", pod::pods),
    ("", "podtemplates", core::pod_templates),
    (
        "",
        "replicationcontrollers",
        workloads::replication_controllers,
    ),
    ("", "resourcequotas", core::resource_quotas),
    ("", "secrets", core::secrets),
    ("", "serviceaccounts", core::name_and_age),
    ("", "services", service::services),
    (
        "admissionregistration.k8s.io",
        "mutatingadmissionpolicies",
        admission::mutating_policies,
    ),
    (
        "admissionregistration.k8s.io",
        "mutatingadmissionpolicybindings",
        admission::bindings,
    ),
    (
        "admissionregistration.k8s.io",
        "mutatingwebhookconfigurations",
        policies::webhooks,
    ),
    (
        "admissionregistration.k8s.io",
        "validatingadmissionpolicies",
        admission::validating_policies,
    ),
    (
        "admissionregistration.k8s.io",
        "validatingadmissionpolicybindings",
        admission::bindings,
    ),
    (
        "admissionregistration.k8s.io",
        "validatingwebhookconfigurations",
        policies::webhooks,
    ),
    (
        "apiextensions.k8s.io",
        "customresourcedefinitions",
        core::created_at,
    ),
    (
        "apiregistration.k8s.io",
        "apiservices",
        control_plane::api_services,
    ),
    (
        "apps",
        "controllerrevisions",
        workloads::controller_revisions,
    ),
    ("apps", "daemonsets", workloads::daemon_sets),
    ("apps", "deployments", workloads::deployments),
    ("apps", "replicasets", workloads::replica_sets),
    ("apps", "statefulsets", workloads::stateful_sets),
    (
        "autoscaling",
        "horizontalpodautoscalers",
        autoscaler::horizontal_pod_autoscalers,
    ),
    ("batch", "cronjobs", cron_job::cron_jobs),
    ("batch", "jobs", job::jobs),
    (
        "certificates.k8s.io",
        "certificatesigningrequests",
        access::certificate_signing_requests,
    ),
    (
        "certificates.k8s.io",
        "clustertrustbundles",
        access::cluster_trust_bundles,
    ),
    (
        "certificates.k8s.io",
        "podcertificaterequests",
        access::pod_certificate_requests,
    ),
    (
        "coordination.k8s.io",
        "leasecandidates",
        policies::lease_candidates,
    ),
    ("coordination.k8s.io", "leases", policies::leases),
    (
        "discovery.k8s.io",
        "endpointslices",
        networking::endpoint_slices,
    ),
    ("events.k8s.io", "events", event::events),
    (
        "flowcontrol.apiserver.k8s.io",
        "flowschemas",
        policies::flow_schemas,
    ),
    (
        "flowcontrol.apiserver.k8s.io",
        "prioritylevelconfigurations",
        policies::priority_levels,
    ),
    (
        "internal.apiserver.k8s.io",
        "storageversions",
        control_plane::storage_versions,
    ),
    (
        "networking.k8s.io",
        "ingressclasses",
        networking::ingress_classes,
    ),
    ("networking.k8s.io", "ingresses", networking::ingresses),
    ("networking.k8s.io", "ipaddresses", networking::ip_addresses),
    (
        "networking.k8s.io",
        "networkpolicies",
        networking::network_policies,
    ),
    (
        "networking.k8s.io",
        "servicecidrs",
        networking::service_cidrs,
    ),
    ("node.k8s.io", "runtimeclasses", policies::runtime_classes),
    (
        "policy",
        "poddisruptionbudgets",
        policies::pod_disruption_budgets,
    ),
    (
        "rbac.authorization.k8s.io",
        "clusterrolebindings",
        access::bindings,
    ),
    (
        "rbac.authorization.k8s.io",
        "clusterroles",
        core::created_at,
    ),
    (
        "rbac.authorization.k8s.io",
        "rolebindings",
        access::bindings,
    ),
    ("rbac.authorization.k8s.io", "roles", core::created_at),
    ("resource.k8s.io", "deviceclasses", core::name_and_age),
    (
        "resource.k8s.io",
        "devicetaintrules",
        devices::device_taint_rules,
    ),
    (
        "resource.k8s.io",
        "resourceclaims",
        devices::resource_claims,
    ),
    (
        "resource.k8s.io",
        "resourceclaimtemplates",
        core::name_and_age,
    ),
    (
        "resource.k8s.io",
        "resourcepoolstatusrequests",
        devices::pool_status_requests,
    ),
    (
        "resource.k8s.io",
        "resourceslices",
        policies::resource_slices,
    ),
    ("scheduling.k8s.io", "podgroups", workloads::pod_groups),
    (
        "scheduling.k8s.io",
        "priorityclasses",
        policies::priority_classes,
    ),
    ("scheduling.k8s.io", "workloads", core::name_and_age),
    ("storage.k8s.io", "csidrivers", volumes::csi_drivers),
    ("storage.k8s.io", "csinodes", volumes::csi_nodes),
    ("storage.k8s.io", "csistoragecapacities", core::created_at),
    ("storage.k8s.io", "storageclasses", volumes::storage_classes),
    (
        "storage.k8s.io",
        "volumeattachments",
        volumes::volume_attachments,
    ),
    (
        "storage.k8s.io",
        "volumeattributesclasses",
        volumes::volume_attributes_classes,
    ),
    (
        "storagemigration.k8s.io",
        "storageversionmigrations",
        control_plane::storage_version_migrations,
    ),
];

type Printers = HashMap<(&'static str, &'static str), Arc<Printer>>;

static PRINTERS: LazyLock<Printers> = LazyLock::new(|| {
    let made = |(group, resource, columns): &Entry| {
        ((*group, *resource), Arc::new(Printer::new(columns())))
    };
    ENTRIES.iter().map(made).collect()
});

/// The printer of a built-in type.
pub(super) fn printer(group: &str, resource: &str) -> Option<Arc<Printer>> {
    PRINTERS.get(&(group, resource)).cloned()
}

#[cfg(test)]
mod tests;
