//! Events as a synchro gives them to the store: three of each pod, as a kubelet makes them.

use anyhow::{Context as _, Result, anyhow};
use armadex_model::label::Requirement;
use armadex_model::{ClusterName, GroupVersionResource, ObjectKey, ResourceType, Term};
use armadex_storage::Object;
use armadex_synchro::{PruneRules, prune};
use serde_json::json;

/// What is told of each pod: the reason, and the message.
const TOLD: [(&str, &str); 3] = [
    (
        "Pulled",
        "Container image \"registry.example/web:v1.7.0\" already present on machine",
    ),
    ("Created", "Created container: web"),
    ("Started", "Started container web"),
];
/// Namespaces of a cluster.
const NAMESPACES: usize = 20;
const NODES: usize = 50;
/// Above what any of them has.
const MOST_BYTES: usize = 1 << 20;

/// The field that tells pods apart.
pub(super) const UID: &str = "involvedObject.uid";
/// What `kubectl describe pod` selects by.
pub(super) const DESCRIBED: [&str; 4] = [
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    UID,
];

/// The type.
pub(super) fn events() -> ResourceType {
    ResourceType {
        gvr: GroupVersionResource::new("", "v1", "events"),
        kind: "Event".into(),
        namespaced: true,
        singular: "event".into(),
        short_names: vec!["ev".into()],
        categories: vec![],
    }
}

/// Makes those of a cluster.
pub(super) struct Maker {
    cluster: usize,
    rules: PruneRules,
    all_indexed: bool,
}

impl Maker {
    pub(super) fn new(name: &ClusterName, cluster: usize, all_indexed: bool) -> Self {
        Self {
            cluster,
            rules: PruneRules::new(name, &events().gvr, MOST_BYTES),
            all_indexed,
        }
    }

    pub(super) fn key(&self, number: usize) -> ObjectKey {
        let pod = number / TOLD.len();
        ObjectKey::new(
            namespace(pod),
            format!("{}.{number:016x}", self.pod_name(pod)),
        )
    }

    fn pod_name(&self, pod: usize) -> String {
        format!("web-{pod:05x}-{:04x}", self.cluster)
    }

    /// Pruned, with all fields in the index if that is how it is measured.
    pub(super) fn event(&self, number: usize) -> Result<Object> {
        let event = prune(&self.json(number), &self.rules);
        let mut event = event.map_err(|skipped| anyhow!(skipped.reason))?;
        if self.all_indexed {
            let terms = event.terms.into_iter().map(|term| match term {
                Term::OwnField { path, value } => Term::Field { path, value },
                term => term,
            });
            event.terms = terms.collect();
        }
        Ok(event)
    }

    fn json(&self, number: usize) -> Vec<u8> {
        let pod = number / TOLD.len();
        let (reason, message) = TOLD[number % TOLD.len()];
        let key = self.key(number);
        let event = json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "namespace": key.namespace,
                "name": key.name,
                "uid": uid(number, self.cluster, 1),
                "resourceVersion": (1_000_000 + number).to_string(),
                "creationTimestamp": "2026-01-01T00:00:00Z",
            },
            "involvedObject": {
                "apiVersion": "v1",
                "kind": "Pod",
                "namespace": namespace(pod),
                "name": self.pod_name(pod),
                "uid": uid(pod, self.cluster, 0),
                "resourceVersion": (500_000 + 7 * pod + self.cluster).to_string(),
                "fieldPath": "spec.containers{web}",
            },
            "reason": reason,
            "message": message,
            "source": {"component": "kubelet", "host": format!("node-{}", pod % NODES)},
            "reportingComponent": "kubelet",
            "reportingInstance": format!("node-{}", pod % NODES),
            "firstTimestamp": "2026-01-01T00:00:00Z",
            "lastTimestamp": "2026-01-01T00:00:00Z",
            "count": 1,
            "type": "Normal",
        });
        event.to_string().into_bytes()
    }

    /// That events have these values of that one.
    pub(super) fn clauses(&self, number: usize, fields: &[&str]) -> Result<Vec<Requirement>> {
        let event = self.event(number)?;
        let clauses = fields.iter().map(|&field| {
            let value = event.terms.iter().find_map(|term| match term {
                Term::Field { path, value } | Term::OwnField { path, value } if *path == field => {
                    Some(value.clone())
                }
                _ => None,
            });
            let value = value.with_context(|| format!("no {field}"))?;
            Ok(Requirement::is_in(field, [value]))
        });
        clauses.collect()
    }
}

fn namespace(pod: usize) -> String {
    format!("team-{}", pod % NAMESPACES)
}

/// As random as those of an apiserver to whoever sorts or packs them.
fn uid(number: usize, cluster: usize, kind: u64) -> String {
    let mut state = (number as u64) << 24 | (cluster as u64) << 4 | kind;
    let mut word = || {
        // splitmix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    let (high, low) = (word(), word());
    format!(
        "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xfff,
        low >> 52,
        low & 0xffff_ffff_ffff
    )
}
