//! The sets of labels that clusters have, each once: clusters of one kind of fleet differ by a label or two, and those of another by none.

use armadex_model::ClusterLabels;
use armadex_storage::SharedMap;

/// Every set that some cluster has, and how many have it.
#[derive(Clone, Debug, Default)]
pub(super) struct LabelSets(SharedMap<ClusterLabels, usize>);

impl LabelSets {
    /// The set that all have who have these labels, of whom there is one more. No labels are no set.
    pub(super) fn take(&mut self, labels: ClusterLabels) -> ClusterLabels {
        if labels.is_empty() {
            return labels;
        }
        if let Some(clusters) = self.0.get_mut(&labels) {
            *clusters += 1;
            let shared = self.0.get_key_value(&labels);
            return shared.map(|(shared, _)| shared.clone()).unwrap_or(labels);
        }
        self.0.insert(labels.clone(), 1);
        labels
    }

    /// One cluster less has these labels.
    pub(super) fn release(&mut self, labels: &ClusterLabels) {
        if let Some(clusters) = self.0.get_mut(labels) {
            *clusters -= 1;
            if *clusters == 0 {
                self.0.remove(labels);
            }
        }
    }

    /// How many there are.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
