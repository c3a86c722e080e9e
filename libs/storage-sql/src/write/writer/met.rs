//! What a transaction met of label keys. It counts once the transaction is committed: one that is done anew would count all of it twice.

use crate::form::term::Label;
use crate::sql::stream::StreamRow;
use crate::write::diff::Effect;
use crate::write::label_keys::LabelKeys;
use crate::write::prepare::Prepared;
use crate::write::stage::Staged;

/// The labels of the objects that one batch added.
pub(super) struct Met<'a> {
    batch: &'a Prepared,
    /// The stream had no object before, and has some now.
    is_first: bool,
    added: Vec<&'a [Label]>,
}

impl<'a> Met<'a> {
    pub(super) fn of(staged: &Staged<'a>, batch: &'a Prepared, before: &StreamRow) -> Self {
        let added = staged.effects.iter().filter_map(|effect| match effect {
            Effect::Add { new, .. } => Some(&new.labels[..]),
            _ => None,
        });
        let added = Vec::from_iter(added);
        Self {
            batch,
            is_first: before.objects == 0 && !added.is_empty(),
            added,
        }
    }

    /// Shows it to those who count.
    pub(super) fn count(self, labels: &mut LabelKeys) {
        let Prepared {
            resource, cluster, ..
        } = *self.batch;
        if self.is_first {
            labels.begins(resource, cluster, self.batch.epoch);
        }
        for added in self.added {
            labels.note(resource, cluster, added);
        }
    }
}
