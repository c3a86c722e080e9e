//! Changes of one stream on their way to the store: bounded, and the last write of a key wins. Pure.

use std::collections::HashMap;

use armadex_model::ObjectKey;
use armadex_storage::Change;

/// One transaction of SQLite or PostgreSQL is fastest with some hundred rows.
const MAX_CHANGES: usize = 500;
/// Half a thousand small objects, or a few large ones.
const MAX_BYTES: usize = 1 << 20;
/// A change without its body: key, terms, bookkeeping.
const OVERHEAD: usize = 512;

/// Changes that wait to be written together.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    changes: HashMap<ObjectKey, Change>,
    bytes: usize,
}

impl Pending {
    /// Adds a change, in the place of an earlier one of the same key.
    pub(crate) fn push(&mut self, change: Change) {
        self.bytes += size(&change);
        if let Some(earlier) = self.changes.insert(change.key().clone(), change) {
            self.bytes -= size(&earlier);
        }
    }

    /// Whether it is time to write.
    pub(crate) fn is_full(&self) -> bool {
        self.changes.len() >= MAX_CHANGES || self.bytes >= MAX_BYTES
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
        self.bytes = 0;
        std::mem::take(&mut self.changes).into_values().collect()
    }
}

/// What a change holds, about, in bytes.
pub(crate) fn size(change: &Change) -> usize {
    match change {
        Change::Put(object) => object.body.len() + OVERHEAD,
        Change::Delete(_) => OVERHEAD,
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
