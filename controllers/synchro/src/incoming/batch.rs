//! Changes of one stream on their way to the store: bounded, and the last write of a key wins. Pure.

use std::collections::HashMap;

use armadex_model::{ObjectKey, Term};
use armadex_storage::Change;

/// One transaction of SQLite or PostgreSQL is fastest with some hundred rows.
const MAX_CHANGES: usize = 500;
/// Half a thousand usual objects, which is a page of a list (pods have 4 KiB): one transaction for each page of one large list. Or a few large ones.
const MAX_BYTES: usize = 5 << 19;
/// Half a thousand usual objects, or eight with a thousand labels. Each may be an edit of the store's index at a place of its own, and nobody else writes meanwhile.
const MAX_TERMS: usize = 1 << 14;
/// A change without its body, for the size of a batch: key, terms, bookkeeping.
const OVERHEAD: usize = 512;
/// What goes is taken for a usual object: only the store knows what it is indexed by, and stores a batch of more in several transactions.
const TERMS_OF_DELETED: usize = 32;
/// A short text is rounded up to the classes of the allocator.
const TEXT: usize = 16;

/// Changes that wait to be written together.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    changes: HashMap<ObjectKey, Change>,
    bytes: usize,
    terms: usize,
}

impl Pending {
    /// Adds a change, in the place of an earlier one of the same key.
    pub(crate) fn push(&mut self, change: Change) {
        self.bytes += size(&change);
        self.terms += terms(&change);
        if let Some(earlier) = self.changes.insert(change.key().clone(), change) {
            self.bytes -= size(&earlier);
            self.terms -= terms(&earlier);
        }
    }

    /// Whether it is time to write.
    pub(crate) fn is_full(&self) -> bool {
        self.changes.len() >= MAX_CHANGES || self.bytes >= MAX_BYTES || self.terms >= MAX_TERMS
    }

    /// Whether there is nothing to write.
    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// What it holds, about, in bytes.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        self.bytes
    }

    /// All of it, in no order.
    pub(crate) fn take(&mut self) -> Vec<Change> {
        (self.bytes, self.terms) = (0, 0);
        std::mem::take(&mut self.changes).into_values().collect()
    }
}

/// What a change takes in memory from here into the store, in bytes: the batch as it is gathered, and all but the bodies once more, as
/// the store is given a copy in case it has to be given another; of the bodies it makes compressed ones, a quarter as long.
pub(crate) fn weight(change: &Change) -> usize {
    let key = text(&change.key().namespace) + text(&change.key().name);
    let slots = size_of::<ObjectKey>() + 3 * size_of::<Change>();
    let Change::Put(object) = change else {
        return slots + 3 * key;
    };
    let terms: usize = object.terms.iter().map(weight_of_term).sum();
    let texts = text(&object.uid) + text(&object.resource_version);
    slots + 3 * key + 2 * (texts + terms) + object.body.len() + object.body.len() / 4
}

fn weight_of_term(term: &Term) -> usize {
    let texts = match term {
        Term::Label { key, value } => text(key) + text(value),
        Term::LabelKey { key } => text(key),
        Term::Field { path: _, value } | Term::OwnField { path: _, value } => text(value),
        Term::Owner { uid } => text(uid),
    };
    size_of::<Term>() + texts
}

fn text(text: &str) -> usize {
    text.len().next_multiple_of(TEXT)
}

/// What a change counts in a batch, about, in bytes.
fn size(change: &Change) -> usize {
    match change {
        Change::Put(object) => object.body.len() + OVERHEAD,
        Change::Delete(_) => OVERHEAD,
    }
}

fn terms(change: &Change) -> usize {
    match change {
        Change::Put(object) => object.terms.len(),
        Change::Delete(_) => TERMS_OF_DELETED,
    }
}

#[cfg(test)]
mod tests {
    use armadex_storage::Object;
    use bytes::Bytes;

    use super::*;

    fn put(name: &str, body: usize) -> Change {
        Change::Put(Object {
            key: ObjectKey::new("n", name),
            uid: String::new(),
            resource_version: String::new(),
            created: 0,
            terms: Vec::new(),
            body: Bytes::from(vec![b'x'; body]),
        })
    }

    #[test]
    fn the_last_write_of_a_key_wins() {
        let mut pending = Pending::default();
        pending.push(put("a", 10));
        pending.push(put("b", 20));
        pending.push(put("a", 30));
        pending.push(Change::Delete(ObjectKey::new("n", "b")));
        assert_eq!(pending.bytes(), 30 + 2 * OVERHEAD);
        let mut changes = pending.take();
        changes.sort_by_key(|change| change.key().clone());
        assert!(matches!(&changes[0], Change::Put(object) if object.body.len() == 30));
        assert!(matches!(&changes[1], Change::Delete(_)));
        assert!(pending.is_empty() && pending.bytes() == 0);
    }

    #[test]
    fn a_change_weighs_what_is_made_of_it() {
        let label = |index: usize| Term::Label {
            key: format!("app.kubernetes.io/label-{index}"),
            value: format!("value-{index}"),
        };
        let Change::Put(mut object) = put("a", 1000) else {
            panic!("it is put");
        };
        let bare = weight(&Change::Put(object.clone()));
        assert!((1250..2500).contains(&bare), "{bare}");
        object.terms = (0..20).map(label).collect();
        let labelled = weight(&Change::Put(object));
        // Each label is two texts of 32 and 16 bytes in an enum of 48 or more, here and in the copy.
        assert!(labelled >= bare + 20 * 2 * 96, "{labelled}");
    }

    #[test]
    fn terms_bound_a_batch() {
        let labelled = |name: &str| {
            let Change::Put(mut object) = put(name, 10) else {
                panic!("it is put");
            };
            let label = |index: usize| Term::LabelKey {
                key: index.to_string(),
            };
            object.terms = (0..MAX_TERMS / 8).map(label).collect();
            Change::Put(object)
        };
        let mut pending = Pending::default();
        for _ in 0..2 {
            for name in ["a", "b", "c", "d", "e", "f", "g", "g"] {
                pending.push(labelled(name));
                assert!(!pending.is_full());
            }
            pending.push(labelled("h"));
            assert!(pending.is_full());
            pending.take();
        }
    }

    #[test]
    fn a_page_of_usual_objects_is_one_batch() {
        let mut pending = Pending::default();
        for index in 0..MAX_CHANGES {
            assert!(!pending.is_full(), "after {index} pods");
            pending.push(put(&index.to_string(), 4 << 10));
        }
        assert!(pending.is_full());
    }

    #[test]
    fn bytes_and_count_bound_a_batch() {
        let mut pending = Pending::default();
        pending.push(put("a", MAX_BYTES));
        assert!(pending.is_full());
        pending.take();
        for index in 0..MAX_CHANGES {
            assert!(!pending.is_full());
            pending.push(put(&index.to_string(), 0));
        }
        assert!(pending.is_full());
    }
}
