//! Objects that a stream does not store, on purpose: their keys, for audits, and what is told of them. Both are bounded: how many a member has is for the member
//! to say.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use armadex_model::ObjectKey;

/// Skipped objects that are named; of the others only the number is told.
const NAMED_OBJECTS: usize = 5;
/// Skipped objects that are known by their key, so that an audit does not miss them. More would be listed for and compared once.
pub(super) const LEFT_OUT: usize = 1000;
/// Of all their keys: names of a hundred bytes. Names may be ten times as long.
const LEFT_OUT_BYTES: usize = 128 << 10;
/// Of those of all streams, of which a process may have thousands.
const ALL_LEFT_OUT_BYTES: usize = 8 << 20;
/// Of those of one cluster: eight streams that are full. A member that has more kinds of such objects takes nothing of what others have left.
const CLUSTER_LEFT_OUT_BYTES: usize = ALL_LEFT_OUT_BYTES / 8;
/// What those of all streams take.
static OF_THE_PROCESS: AtomicUsize = AtomicUsize::new(0);

/// Keys of skipped objects of one stream.
#[derive(Debug)]
pub(super) struct LeftOut {
    keys: BTreeSet<ObjectKey>,
    bytes: usize,
    share: Arc<LeftOutShare>,
}

/// What the keys of all streams of one cluster take, beside those of all clusters.
#[derive(Debug)]
pub(crate) struct LeftOutShare {
    own: AtomicUsize,
    all: &'static AtomicUsize,
}

impl Default for LeftOutShare {
    fn default() -> Self {
        Self::beside(&OF_THE_PROCESS)
    }
}

impl LeftOutShare {
    fn beside(all: &'static AtomicUsize) -> Self {
        Self {
            own: AtomicUsize::new(0),
            all,
        }
    }

    /// Whether there is room for so many bytes, which are taken then.
    fn takes(&self, bytes: usize) -> bool {
        if !adds_within(CLUSTER_LEFT_OUT_BYTES, &self.own, bytes) {
            return false;
        }
        let fits = adds_within(ALL_LEFT_OUT_BYTES, self.all, bytes);
        if !fits {
            self.own.fetch_sub(bytes, Ordering::Relaxed);
        }
        fits
    }

    fn gives_back(&self, bytes: usize) {
        self.own.fetch_sub(bytes, Ordering::Relaxed);
        self.all.fetch_sub(bytes, Ordering::Relaxed);
    }
}

fn adds_within(most: usize, held: &AtomicUsize, bytes: usize) -> bool {
    let others = held.fetch_add(bytes, Ordering::Relaxed);
    let fits = others + bytes <= most;
    if !fits {
        held.fetch_sub(bytes, Ordering::Relaxed);
    }
    fits
}

impl LeftOut {
    pub(super) fn within(share: Arc<LeftOutShare>) -> Self {
        Self {
            keys: BTreeSet::new(),
            bytes: 0,
            share,
        }
    }

    pub(super) fn keys(&self) -> &BTreeSet<ObjectKey> {
        &self.keys
    }

    /// Keeps a key if there is room for it.
    pub(super) fn insert(&mut self, key: &ObjectKey) -> Kept {
        if self.keys.contains(key) {
            return Kept::Before;
        }
        let bytes = bytes_of(key);
        let fits = self.keys.len() < LEFT_OUT && self.bytes + bytes <= LEFT_OUT_BYTES;
        if !fits || !self.share.takes(bytes) {
            return Kept::Not;
        }
        self.keys.insert(key.clone());
        self.bytes += bytes;
        Kept::Now
    }

    /// Whether the key was kept.
    pub(super) fn remove(&mut self, key: &ObjectKey) -> bool {
        let was_kept = self.keys.remove(key);
        if was_kept {
            let bytes = bytes_of(key);
            self.bytes -= bytes;
            self.share.gives_back(bytes);
        }
        was_kept
    }

    pub(super) fn clear(&mut self) {
        self.keys.clear();
        self.share.gives_back(std::mem::take(&mut self.bytes));
    }
}

impl Drop for LeftOut {
    fn drop(&mut self) {
        self.clear();
    }
}

fn bytes_of(key: &ObjectKey) -> usize {
    size_of::<ObjectKey>() + key.namespace.len() + key.name.len()
}

/// Whether a key is among those that are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// From now on.
    Now,
    /// It was before.
    Before,
    /// There is no room for it.
    Not,
}

/// What is told of skipped objects. A member may change one of them all the time: of each it is told once, until it is stored or listed anew.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Skipped {
    /// Those that are named, and why.
    named: BTreeMap<Option<ObjectKey>, String>,
    /// Those whose keys are kept besides.
    beyond: usize,
    /// There are others, whose keys are not kept.
    others: bool,
}

impl Skipped {
    pub(super) fn is_empty(&self) -> bool {
        self.named.is_empty() && self.beyond == 0 && !self.others
    }

    pub(super) fn add(&mut self, key: Option<ObjectKey>, reason: String, kept: Kept) {
        if self.named.contains_key(&key) {
            return;
        }
        if self.named.len() < NAMED_OBJECTS {
            self.named.insert(key, reason);
            self.beyond = self
                .beyond
                .saturating_sub(usize::from(kept == Kept::Before));
            return;
        }
        self.beyond += usize::from(kept == Kept::Now);
        self.others |= kept == Kept::Not;
    }

    /// An object is stored, or gone. Whether it was told of.
    pub(super) fn settle(&mut self, key: &ObjectKey, was_kept: bool) -> bool {
        if !self.named.is_empty() && self.named.remove(&Some(key.clone())).is_some() {
            return true;
        }
        self.beyond = self.beyond.saturating_sub(usize::from(was_kept));
        was_kept
    }

    pub(super) fn words(&self) -> String {
        let named = self.named.iter().map(|(key, reason)| match key {
            Some(key) => format!("{key} is not stored: {reason}"),
            None => format!("an object is not stored: {reason}"),
        });
        let mut words: Vec<_> = named.collect();
        let count = match (self.beyond, self.others) {
            (0, false) => None,
            (beyond, false) => Some(beyond.to_string()),
            (beyond, true) => Some(format!("at least {}", beyond + 1)),
        };
        words.extend(count.map(|count| match words.is_empty() {
            true => format!("objects that are not stored: {count}"),
            false => format!("and {count} more"),
        }));
        words.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_bounded_in_bytes() {
        let mut left_out = LeftOut::within(Arc::default());
        for index in 0..LEFT_OUT {
            left_out.insert(&long(index));
        }
        let bytes: usize = left_out.keys.iter().map(bytes_of).sum();
        assert!(
            (LEFT_OUT_BYTES - 3000..=LEFT_OUT_BYTES).contains(&bytes),
            "{bytes}"
        );
        left_out.remove(&long(0));
        let again = left_out.insert(&long(LEFT_OUT));
        assert_eq!(again, Kept::Now, "there is room again");
    }

    fn long(index: usize) -> ObjectKey {
        ObjectKey::new("n".repeat(1000), format!("{index:01000}"))
    }

    /// So many streams of a cluster, each of which leaves out as much as it may.
    fn full(cluster: &Arc<LeftOutShare>, streams: usize) -> Vec<LeftOut> {
        let full = |_| {
            let mut stream = LeftOut::within(Arc::clone(cluster));
            (0..LEFT_OUT).for_each(|index| {
                stream.insert(&long(index));
            });
            stream
        };
        (0..streams).map(full).collect()
    }

    fn held<'a>(streams: impl IntoIterator<Item = &'a LeftOut>) -> usize {
        streams.into_iter().map(|stream| stream.bytes).sum()
    }

    #[test]
    fn a_cluster_that_leaves_out_much_takes_no_room_of_others() {
        static ALL: AtomicUsize = AtomicUsize::new(0);
        let [hostile, healthy] = [(); 2].map(|()| Arc::new(LeftOutShare::beside(&ALL)));
        let of_hostile = full(&hostile, 100);
        let bytes = held(&of_hostile);
        let most = CLUSTER_LEFT_OUT_BYTES;
        assert!((most - 3000..=most).contains(&bytes), "{bytes}");
        let of_healthy = full(&healthy, 1);
        assert!(held(&of_healthy) > LEFT_OUT_BYTES - 3000);
    }

    #[test]
    fn what_all_streams_leave_out_is_bounded_together() {
        static ALL: AtomicUsize = AtomicUsize::new(0);
        let cluster = |_| full(&Arc::new(LeftOutShare::beside(&ALL)), 10);
        let mut streams: Vec<_> = (0..10).flat_map(cluster).collect();
        let bytes = held(&streams);
        assert_eq!(bytes, ALL.load(Ordering::Relaxed));
        let most = ALL_LEFT_OUT_BYTES;
        assert!((most - 3000..=most).contains(&bytes), "{bytes}");
        let mut last = streams.pop().expect("a stream");
        assert!(last.keys.is_empty());
        streams[0].remove(&long(0));
        streams[1].clear();
        drop(streams.remove(2));
        last.insert(&long(7));
        assert!(last.keys.contains(&long(7)), "there is room again");
        drop((streams, last));
        assert_eq!(ALL.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn of_more_than_are_known_it_is_told_that_there_are_others() {
        let key = |index: usize| Some(ObjectKey::new("n", index.to_string()));
        let mut skipped = Skipped::default();
        (0..NAMED_OBJECTS).for_each(|index| skipped.add(key(index), "no".into(), Kept::Now));
        skipped.add(key(5), "no".into(), Kept::Now);
        skipped.add(key(6), "no".into(), Kept::Not);
        assert!(
            skipped.words().ends_with("; and at least 2 more"),
            "{}",
            skipped.words()
        );
        for index in 0..NAMED_OBJECTS {
            assert!(skipped.settle(&ObjectKey::new("n", index.to_string()), true));
        }
        assert_eq!(skipped.words(), "objects that are not stored: at least 2");
        skipped.add(key(5), "no".into(), Kept::Before);
        assert_eq!(
            skipped.words(),
            "n/5 is not stored: no; and at least 1 more"
        );
    }
}
