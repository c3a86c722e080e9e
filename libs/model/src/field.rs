//! The field labels of Kubernetes' own types: what a field selector may name, and how an object's value of it is read.
//!
//! A table, after each registry's selectable fields in Kubernetes 1.36 and the labels that each API version lets through. A
//! kube-apiserver compares the defaulted object, and sends it with its defaults, so what is left to say here is what JSON omits:
//! an absent boolean is `false`, an absent number `0`, an absent text empty. The writer reads values by the table and the reader
//! looks labels up in it, so both mean the same.
//!
//! Not here are `metadata.name` and `metadata.namespace`, which every type has and which are columns, and labels that a registry
//! knows and no API version lets through (`name` of namespaces, `status.replicas` of ReplicaSets, `spec.leaseName` of
//! LeaseCandidates): a kube-apiserver refuses them.

use crate::term::Term;

/// A field label whose values are indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// What a selector calls it: `status.phase`.
    pub label: &'static str,
    /// Where its value is in the object as it is served; names a scalar.
    pub path: &'static str,
    /// Where it is if the first place has none or the empty text.
    pub fallback: Option<&'static str>,
    /// Its value if no place has one.
    pub absent: &'static str,
    /// Whether nearly every object has a value of its own: an index of these costs a place of its own for each object and leads to one, to which
    /// another field beside it leads as well.
    pub own: bool,
}

impl Field {
    /// What an object with this value is found by.
    #[must_use]
    pub fn term(&self, value: String) -> Term {
        let path = self.label;
        match self.own {
            true => Term::OwnField { path, value },
            false => Term::Field { path, value },
        }
    }
}

/// What a label of a selector stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// The values of this field.
    Indexed(&'static Field),
    /// A label that is let through although no object has a value of it; it compares as the empty text.
    Empty,
}

/// The indexed fields of a type, whatever its version.
#[must_use]
pub fn indexed(group: &str, resource: &str) -> &'static [Field] {
    let of_type = |(g, r, _): &&Row| *g == group && *r == resource;
    TABLE.iter().find(of_type).map_or(&[], |(_, _, row)| row)
}

/// What `label` means for a type; `None` if its kube-apiserver would refuse it.
#[must_use]
pub fn meaning(group: &str, resource: &str, label: &str) -> Option<Meaning> {
    let label = match (group, resource, label) {
        ("", "pods", "status.podIPs") => return Some(Meaning::Empty),
        // What clients of the first v1 send.
        ("", "pods", "spec.host") => "spec.nodeName",
        (_, _, label) => label,
    };
    let field = indexed(group, resource).iter().find(|f| f.label == label);
    field.map(Meaning::Indexed)
}

/// Group, resource, fields.
type Row = (&'static str, &'static str, &'static [Field]);

const TABLE: &[Row] = &[
    (
        "",
        "pods",
        &[
            text("spec.nodeName"),
            text("spec.restartPolicy"),
            text("spec.schedulerName"),
            text("spec.serviceAccountName"),
            boolean("spec.hostNetwork"),
            text("status.phase"),
            text("status.podIP"),
            text("status.nominatedNodeName"),
        ],
    ),
    ("", "nodes", &[boolean("spec.unschedulable")]),
    ("", "namespaces", &[text("status.phase")]),
    (
        "",
        "replicationcontrollers",
        &[number("status.replicas", "status.replicas")],
    ),
    ("", "secrets", &[text("type")]),
    ("", "services", &[text("spec.clusterIP"), text("spec.type")]),
    (
        "",
        "events",
        &[
            text("involvedObject.kind"),
            text("involvedObject.namespace"),
            text("involvedObject.name"),
            own("involvedObject.uid"),
            text("involvedObject.apiVersion"),
            own("involvedObject.resourceVersion"),
            text("involvedObject.fieldPath"),
            text("reason"),
            text("reportingComponent"),
            Field {
                path: "source.component",
                fallback: Some("reportingComponent"),
                ..text("source")
            },
            text("type"),
        ],
    ),
    (
        "events.k8s.io",
        "events",
        &[
            text("regarding.kind"),
            text("regarding.namespace"),
            text("regarding.name"),
            own("regarding.uid"),
            text("regarding.apiVersion"),
            own("regarding.resourceVersion"),
            text("regarding.fieldPath"),
            text("reason"),
            text("reportingController"),
            text("type"),
        ],
    ),
    (
        "batch",
        "jobs",
        // The label keeps an old name of the field.
        &[number("status.successful", "status.succeeded")],
    ),
    (
        "certificates.k8s.io",
        "certificatesigningrequests",
        &[text("spec.signerName")],
    ),
    (
        "certificates.k8s.io",
        "clustertrustbundles",
        &[text("spec.signerName")],
    ),
    (
        "certificates.k8s.io",
        "podcertificaterequests",
        &[
            text("spec.signerName"),
            text("spec.podName"),
            text("spec.nodeName"),
        ],
    ),
    (
        "resource.k8s.io",
        "resourceslices",
        &[text("spec.nodeName"), text("spec.driver")],
    ),
];

const fn text(label: &'static str) -> Field {
    Field {
        label,
        path: label,
        fallback: None,
        absent: "",
        own: false,
    }
}

/// Of these `*.name` leads to the few events of one object. Pods' and services' addresses have nothing beside them that would.
const fn own(label: &'static str) -> Field {
    Field {
        own: true,
        ..text(label)
    }
}

const fn boolean(label: &'static str) -> Field {
    Field {
        absent: "false",
        ..text(label)
    }
}

const fn number(label: &'static str, path: &'static str) -> Field {
    Field {
        path,
        absent: "0",
        ..text(label)
    }
}

/// Every type that has indexed fields, by group and resource.
#[cfg(test)]
pub(crate) fn types() -> impl Iterator<Item = (&'static str, &'static str)> {
    TABLE.iter().map(|&(group, resource, _)| (group, resource))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_type_and_a_label_are_in_the_table_once() {
        let mut seen = BTreeSet::new();
        for (group, resource) in types() {
            for field in indexed(group, resource) {
                let entry = (group, resource, field.label);
                assert!(seen.insert(entry), "{entry:?}");
            }
        }
        assert_eq!(types().collect::<BTreeSet<_>>().len(), types().count());
    }

    #[test]
    fn the_documentation_lists_every_type_with_its_labels() {
        const LIST: &str = include_str!("../../../docs/field-selectors.md");
        for (group, resource) in types() {
            let dot = if group.is_empty() { "" } else { "." };
            let head = format!("| `{resource}{dot}{group}` |");
            let line = LIST.lines().find(|line| line.starts_with(&head));
            let line = line.unwrap_or_else(|| panic!("no line {head}"));
            for field in indexed(group, resource) {
                assert!(line.contains(&format!("`{}`", field.label)), "{field:?}");
            }
        }
        let rows = LIST.lines().filter(|line| line.starts_with("| `"));
        assert_eq!(rows.count(), types().count());
    }

    #[test]
    fn every_indexed_label_means_itself() {
        for (group, resource) in types() {
            for field in indexed(group, resource) {
                let found = meaning(group, resource, field.label);
                assert_eq!(found, Some(Meaning::Indexed(field)), "{resource}");
            }
        }
    }

    #[test]
    fn labels_that_no_api_version_lets_through_mean_nothing() {
        for (group, resource, label) in [
            ("", "namespaces", "name"),
            ("", "pods", "spec.color"),
            ("", "nodes", "spec.host"),
            ("apps", "replicasets", "status.replicas"),
            ("events.k8s.io", "events", "source"),
            ("events.k8s.io", "events", "involvedObject.name"),
        ] {
            assert_eq!(meaning(group, resource, label), None, "{resource} {label}");
        }
    }
}
