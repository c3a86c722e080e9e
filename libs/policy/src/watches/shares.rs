//! What several have a share in, by key: it is there for as long as one of them has. Pure.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Weak},
};

/// Keys that are looked through for those that nobody has a share in any more.
const FEW: usize = 256;

/// Shares by key.
#[derive(Debug)]
pub(super) struct Shares<K, V> {
    all: HashMap<K, Weak<V>>,
    /// How many there were after the last look.
    kept: usize,
}

impl<K, V> Default for Shares<K, V> {
    fn default() -> Self {
        Self {
            all: HashMap::new(),
            kept: 0,
        }
    }
}

impl<K: Eq + Hash, V> Shares<K, V> {
    /// A share in what is there.
    pub(super) fn get(&self, key: &K) -> Option<Arc<V>> {
        self.all.get(key).and_then(Weak::upgrade)
    }

    /// Keeps it for as long as somebody has a share. A fleet begins with thousands of keys, one after the other: all are looked through only when
    /// there are twice as many.
    pub(super) fn keep(&mut self, key: K, value: &Arc<V>) {
        if self.all.len() >= 2 * self.kept.max(FEW) {
            self.all.retain(|_, value| value.strong_count() > 0);
            self.kept = self.all.len();
        }
        self.all.insert(key, Arc::downgrade(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_there_while_somebody_has_a_share_and_keys_of_nobody_are_few() {
        let mut shares = Shares::default();
        let one = Arc::new(1);
        shares.keep(1, &one);
        for key in 2..100 * FEW {
            shares.keep(key, &Arc::new(key));
        }
        assert!(shares.all.len() <= 2 * FEW, "{}", shares.all.len());
        assert!(
            shares
                .get(&1)
                .is_some_and(|found| Arc::ptr_eq(&found, &one))
        );
        assert_eq!(shares.get(&2), None);
    }
}
