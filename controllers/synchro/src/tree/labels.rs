//! The labels of a PediaCluster, which the store is told of: searches choose clusters by them. No session is needed for that, and none is begun anew.

use armadex_crds::PediaCluster;
use armadex_model::ClusterLabels;
use armadex_model::cluster_labels::MOST_LABELS;
use armadex_storage::{ClusterId, StoreError};
use kube::ResourceExt;
use tracing::warn;

use crate::tree::entry::{Entrant, Entry, Unentered};

/// What the store was told last, and of which entry.
#[derive(Debug, Default)]
pub(super) struct Labels(Option<(ClusterId, ClusterLabels)>);

impl Labels {
    /// Tells the store, unless it knows; whether it does by now.
    pub(super) async fn tell(
        &mut self,
        (cluster, entry): (ClusterId, &mut Entry),
        entrant: &Entrant<'_>,
        object: &PediaCluster,
    ) -> bool {
        let now = (cluster, of(object).0);
        if self.0.as_ref() == Some(&now) {
            return true;
        }
        // What it does not answer it may have done.
        self.0 = None;
        let owner = entrant.shared.owner.text();
        let told = entrant.shared.sink.set_labels(cluster, &owner, &now.1);
        let Err(error) = told.await else {
            self.0 = Some(now);
            return true;
        };
        if let StoreError::Left { .. } | StoreError::TakenOver { .. } = error {
            *entry = Entry::Lost;
        }
        if let Some(words) = Unentered::from(error).news(entrant) {
            warn!(cluster = %entrant.name, error = words, "the store was not told of the labels of a cluster, retrying; others that fail alike are not told of");
        }
        false
    }
}

/// What whoever wrote the object is told of labels that no search finds.
pub(super) fn warning(object: &PediaCluster) -> Option<String> {
    let (_, left_out) = of(object);
    let all = object.labels().len();
    (left_out > 0).then(|| {
        format!(
            "of its {all} labels the first {MOST_LABELS} by name are searched by, {left_out} are not"
        )
    })
}

fn of(object: &PediaCluster) -> (ClusterLabels, usize) {
    let labels = object.labels().iter();
    ClusterLabels::of(labels.map(|(key, value)| (key.as_str(), value.as_str())))
}
