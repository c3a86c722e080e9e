//! The kinds that Kubernetes itself brings, each with the columns that its kube-apiserver prints.
//!
//! Most are flat tables of paths. What has to be worked out from an object has a file of its own, with a function that reads it once.

mod core;
mod cron_job;
mod job;
mod node;
mod pod;
mod service;
mod workloads;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use super::column::Column;
use super::engine::Printer;

/// Group and plural name of a type, and what makes its columns.
type Entry = (&'static str, &'static str, fn() -> Vec<Column>);

const ENTRIES: &[Entry] = &[
    ("", "configmaps", core::config_maps),
    ("", "namespaces", core::namespaces),
    ("", "nodes", node::nodes),
    ("", "pods", pod::pods),
    ("", "secrets", core::secrets),
    ("", "services", service::services),
    ("apps", "daemonsets", workloads::daemon_sets),
    ("apps", "deployments", workloads::deployments),
    ("apps", "replicasets", workloads::replica_sets),
    ("apps", "statefulsets", workloads::stateful_sets),
    ("batch", "cronjobs", cron_job::cron_jobs),
    ("batch", "jobs", job::jobs),
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
