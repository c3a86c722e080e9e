//! Columns and cells: how each kind looks in a Table, with the same text that the member's own kube-apiserver would print.
//!
//! One file per kind. A printer parses the part of the stored object that it shows, borrowed from its bytes, and writes cells;
//! it knows neither clock nor store. Every Table begins with the cluster, which [`crate::answer::table`] writes.

mod config_map;
mod cron_job;
mod daemon_set;
mod deployment;
mod job;
mod namespace;
mod node;
mod object;
mod plain;
mod pod;
mod replica_set;
mod secret;
mod service;
mod stateful_set;
mod workload;

use jiff::Timestamp;

use crate::age;

/// How one kind is printed.
pub(crate) struct Printer {
    /// The columns after the cluster.
    pub(crate) columns: &'static [Column],
    /// Writes one cell for each column. Fails before it has written any.
    pub(crate) print: fn(&Row<'_>, &mut Cells<'_>) -> Result<Condition, serde_json::Error>,
}

/// One column of a Table.
pub(crate) struct Column {
    pub(crate) name: &'static str,
    /// The OpenAPI type of its cells.
    pub(crate) kind: &'static str,
    /// `name` for the one column that names the object.
    pub(crate) format: &'static str,
    pub(crate) description: &'static str,
    /// 0 is always shown, 1 in wide output only.
    pub(crate) priority: u8,
}

/// What a printer prints from.
pub(crate) struct Row<'a> {
    /// `metadata.name`.
    pub(crate) name: &'a str,
    /// `metadata.creationTimestamp`.
    pub(crate) created: Option<Timestamp>,
    /// The object without apiVersion, kind and resourceVersion.
    pub(crate) object: &'a [u8],
    /// The time that ages are told from.
    pub(crate) now: Timestamp,
}

/// What a row says about its object beside its cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    /// Nothing.
    None,
    /// A pod that has run to its end.
    Succeeded,
    /// A pod that has failed.
    Failed,
}

/// The cells of one row, written as JSON.
pub(crate) struct Cells<'a> {
    out: &'a mut Vec<u8>,
}

/// Shown for a text that is not there.
const NONE: &str = "<none>";

impl Printer {
    /// The printer for a type; those without one of their own show name and age.
    pub(crate) fn of(group: &str, resource: &str) -> &'static Self {
        match (group, resource) {
            ("", "configmaps") => &config_map::PRINTER,
            ("", "namespaces") => &namespace::PRINTER,
            ("", "nodes") => &node::PRINTER,
            ("", "pods") => &pod::PRINTER,
            ("", "secrets") => &secret::PRINTER,
            ("", "services") => &service::PRINTER,
            ("apps", "daemonsets") => &daemon_set::PRINTER,
            ("apps", "deployments") => &deployment::PRINTER,
            ("apps", "replicasets") => &replica_set::PRINTER,
            ("apps", "statefulsets") => &stateful_set::PRINTER,
            ("batch", "cronjobs") => &cron_job::PRINTER,
            ("batch", "jobs") => &job::PRINTER,
            _ => &plain::PRINTER,
        }
    }

    /// The printer for objects of which only the metadata is wanted.
    pub(crate) fn plain() -> &'static Self {
        &plain::PRINTER
    }
}

impl Column {
    const fn new(name: &'static str, kind: &'static str, description: &'static str) -> Self {
        Self {
            name,
            kind,
            format: "",
            description,
            priority: 0,
        }
    }

    const fn text(name: &'static str, description: &'static str) -> Self {
        Self::new(name, "string", description)
    }

    const fn number(name: &'static str, description: &'static str) -> Self {
        Self::new(name, "integer", description)
    }

    const fn wide(name: &'static str, description: &'static str) -> Self {
        Self {
            priority: 1,
            ..Self::text(name, description)
        }
    }

    const NAME: Self = Self {
        format: "name",
        ..Self::text(
            "Name",
            "The name of the object, unique within its namespace.",
        )
    };
    const AGE: Self = Self::text("Age", "The time since the object was created.");
    const CONTAINERS: Self = Self::wide("Containers", "The containers of the pod template.");
    const IMAGES: Self = Self::wide("Images", "The images of the pod template.");
    const SELECTOR: Self = Self::wide("Selector", "The labels of the pods that belong to it.");
}

impl<'a> Cells<'a> {
    /// Cells that follow what is in `out` already.
    pub(crate) fn after(out: &'a mut Vec<u8>) -> Self {
        Self { out }
    }

    fn text(&mut self, text: &str) {
        self.out.push(b',');
        serde_json::to_writer(&mut *self.out, text).expect("a text is always encodable");
    }

    fn text_or(&mut self, text: &str, absent: &str) {
        self.text(if text.is_empty() { absent } else { text });
    }

    fn number(&mut self, number: i64) {
        self.out.push(b',');
        self.out.extend_from_slice(number.to_string().as_bytes());
    }

    fn age(&mut self, row: &Row<'_>) {
        self.text(&age::since(row.created, row.now));
    }
}

#[cfg(test)]
mod tests;
