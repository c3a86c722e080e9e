//! What was compiled, kept for the next look as far as there is room for it. Pure.

use std::{borrow::Borrow, cmp::Reverse, collections::HashMap, hash::Hash};

/// What was compiled, by what it is found by.
#[derive(Debug)]
pub struct Shelf<K, V> {
    kept: HashMap<K, Place<V>>,
    room: usize,
    bytes: usize,
    came: u64,
}

#[derive(Debug)]
struct Place<V> {
    value: V,
    bytes: usize,
    /// When, counted.
    came: u64,
}

impl<K: Clone + Eq + Hash, V: Clone> Shelf<K, V> {
    /// With room for so many bytes of text.
    #[must_use]
    pub fn with_room(room: usize) -> Self {
        Self {
            kept: HashMap::new(),
            room,
            bytes: 0,
            came: 0,
        }
    }

    /// What is kept under a key.
    pub fn get<Q>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        self.kept.get(key).map(|place| place.value.clone())
    }

    /// Keeps what was compiled of so many bytes of text. Of what is too much together that goes which the fewest have a use for: to compile a text takes as long as it is, so
    /// that is what its room is worth. Of those the longest goes, of that which is as long the newest: who writes short templates does not wait for who writes long
    /// ones, and whoever comes in turn with one more than there is room for finds all but that one.
    pub fn put(&mut self, key: K, value: V, bytes: usize, users: impl Fn(&K) -> usize) {
        self.remove(&key);
        self.came += 1;
        self.bytes += bytes;
        let came = self.came;
        self.kept.insert(key, Place { value, bytes, came });
        while self.bytes > self.room
            && let Some(least) = self.least(&users)
        {
            self.remove(&least);
        }
    }

    /// Keeps it no more.
    pub fn remove<Q>(&mut self, key: &Q)
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        if let Some(place) = self.kept.remove(key) {
            self.bytes -= place.bytes;
        }
    }

    fn least(&self, users: impl Fn(&K) -> usize) -> Option<K> {
        let worth = |(key, place): &(&K, &Place<V>)| {
            (users(key), Reverse(place.bytes), Reverse(place.came))
        };
        let least = self.kept.iter().min_by_key(worth);
        least.map(|(key, _)| key.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each has one.
    fn one(_: &u32) -> usize {
        1
    }

    fn kept(shelf: &Shelf<u32, ()>, keys: impl IntoIterator<Item = u32>) -> Vec<u32> {
        let is_kept = |key: &u32| shelf.get(key).is_some();
        keys.into_iter().filter(is_kept).collect()
    }

    #[test]
    fn who_comes_in_turn_finds_all_that_there_is_room_for() {
        let mut shelf = Shelf::with_room(256);
        for _ in 0..3 {
            let mut found = 0;
            for key in 0..20 {
                match shelf.get(&key) {
                    Some(()) => found += 1,
                    None => shelf.put(key, (), 60, one),
                }
            }
            assert!(found == 0 || found == 4, "{found}");
        }
        assert_eq!(kept(&shelf, 0..20), [0, 1, 2, 3]);
    }

    #[test]
    fn long_ones_make_room_for_short_ones_and_what_goes_gives_its_room_back() {
        let mut shelf = Shelf::with_room(100);
        shelf.put(1, (), 60, one);
        shelf.put(2, (), 30, one);
        shelf.put(3, (), 20, one);
        assert_eq!(kept(&shelf, 1..4), [2, 3]);
        shelf.put(4, (), 101, one);
        assert_eq!(kept(&shelf, 1..5), [2, 3], "there is never room for it");
        shelf.remove(&2);
        shelf.put(3, (), 40, one);
        shelf.put(1, (), 60, one);
        assert_eq!(kept(&shelf, 1..5), [1, 3]);
    }

    #[test]
    fn what_many_use_stays_however_long_it_is() {
        let mut shelf = Shelf::with_room(100);
        let users = |key: &u32| if *key == 1 { 1000 } else { 1 };
        shelf.put(2, (), 50, users);
        shelf.put(1, (), 80, users);
        shelf.put(3, (), 30, users);
        assert_eq!(kept(&shelf, 1..4), [1]);
        shelf.put(4, (), 20, users);
        assert_eq!(kept(&shelf, 1..5), [1, 4]);
    }
}
