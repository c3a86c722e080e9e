//! The objects that a policy does not select, as hashes: of the name of each, and of all that it comes to something by. Two hundred policies that share the five
//! thousand objects of a kind know a million of them in 16 MB, and find for each change that it is none of theirs. Pure.

use std::hash::{BuildHasher, RandomState};

use armadex_policy::ObjectName;

/// Hashes of names are drawn anew by each process, so that nobody can choose names that have the same.
#[derive(Debug, Default)]
pub(super) struct Skipped {
    hasher: RandomState,
    /// In the order of the names' hashes.
    all: Vec<(u64, u64)>,
}

impl Skipped {
    /// What each takes.
    pub(super) const BYTES: usize = size_of::<(u64, u64)>();

    /// These are all of them, each by what it is found and what it was skipped by.
    pub(super) fn are(&mut self, skipped: Vec<(u64, u64)>) {
        self.all = skipped;
        self.all.sort_unstable();
        self.all.dedup_by_key(|(name, _)| *name);
        self.all.shrink_to_fit();
    }

    /// What one is found by.
    pub(super) fn key(&self, name: &ObjectName) -> u64 {
        self.hasher.hash_one(name)
    }

    /// What it was skipped by, if it was.
    pub(super) fn get(&self, key: u64) -> Option<u64> {
        let place = self.place(key).ok()?;
        Some(self.all[place].1)
    }

    pub(super) fn insert(&mut self, key: u64, read: u64) {
        match self.place(key) {
            Ok(place) => self.all[place].1 = read,
            Err(place) => {
                self.all.reserve_exact(1);
                self.all.insert(place, (key, read));
            }
        }
    }

    /// Whether it was there.
    pub(super) fn remove(&mut self, key: u64) -> bool {
        let place = self.place(key);
        place.map(|place| self.all.remove(place)).is_ok()
    }

    pub(super) fn bytes(&self) -> usize {
        self.all.len() * Self::BYTES
    }

    /// Forgets all but so many.
    pub(super) fn limit(&mut self, most: usize) {
        self.all.truncate(most);
        self.all.shrink_to_fit();
    }

    fn place(&self, key: u64) -> Result<usize, usize> {
        self.all.binary_search_by_key(&key, |(name, _)| *name)
    }
}
