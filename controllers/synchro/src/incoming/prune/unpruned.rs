//! What is taken out of objects unless somebody wants to have it: Clusterpedia's gates `PruneManagedFields` and `PruneLastAppliedConfiguration`. Pure.

use armadex_model::rules::digest;

/// What is kept of objects that is not always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unpruned {
    /// `metadata.managedFields`.
    pub managed_fields: bool,
    /// The annotation `kubectl.kubernetes.io/last-applied-configuration`.
    pub last_applied: bool,
}

impl Unpruned {
    /// The number of the rules with which these parts are kept, if that of the others is this. Rows that were made without them, or with them, are made anew.
    pub(crate) fn rules_version(self, pruning: i64) -> i64 {
        let Self {
            managed_fields,
            last_applied,
        } = self;
        if !managed_fields && !last_applied {
            return pruning;
        }
        let kept = [
            (managed_fields, " managedFields"),
            (last_applied, " last-applied"),
        ];
        let kept = kept.into_iter().filter(|(is_kept, _)| *is_kept);
        let kept: String = kept.map(|(_, name)| name).collect();
        digest(&format!("{pruning} with{kept}")).cast_signed()
    }
}
