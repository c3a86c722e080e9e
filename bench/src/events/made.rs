//! Events as a synchro gives them to the store: three of each pod, as a kubelet makes them.

use anyhow::{Context as _, Result, anyhow};
use armadex_e2e::seed::Events;
use armadex_model::label::Requirement;
use armadex_model::{ClusterName, GroupVersionResource, ObjectKey, ResourceType, Term};
use armadex_storage::Object;
use armadex_synchro::{PruneRules, prune};

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
    events: Events,
    rules: PruneRules,
    all_indexed: bool,
}

impl Maker {
    pub(super) fn new(name: &ClusterName, all_indexed: bool) -> Self {
        Self {
            events: Events::of(name.as_str()),
            rules: PruneRules::new(name, &events().gvr, MOST_BYTES),
            all_indexed,
        }
    }

    pub(super) fn key(&self, number: usize) -> ObjectKey {
        ObjectKey::new(self.events.namespace(number), self.events.name(number))
    }

    /// Pruned, with all fields in the index if that is how it is measured.
    pub(super) fn event(&self, number: usize) -> Result<Object> {
        let event = prune(&self.events.json(number), &self.rules);
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
