//! What all streams together hold of lines and items that have begun and are not whole. How long a member takes for the rest is for the
//! member to say, so who began first makes room for the others: what comes in honestly is whole in a moment. It is one of the cluster that
//! holds most, or a member that begins one after the other would have those of all others go.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use armadex_member::MemberError;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::lock::lock;

/// Of each stream so much is not counted: a pod's event has 4 KiB, and a piece of a body 16.
const UNCOUNTED: usize = 16 << 10;
/// An object of 2 MiB comes over 300 kbit/s in that time.
const LONGEST: Duration = Duration::from_secs(60);

/// The room that all streams share.
#[derive(Debug)]
pub(crate) struct Unfinished {
    most: usize,
    held: Mutex<Held>,
}

/// Where the streams of one cluster have theirs.
#[derive(Debug)]
pub(crate) struct OfCluster {
    all: Arc<Unfinished>,
    number: u64,
}

#[derive(Debug, Default)]
struct Held {
    bytes: usize,
    /// Clusters that hold something, by number.
    clusters: BTreeMap<u64, Parts>,
    /// Of the next cluster, or part.
    next: u64,
}

#[derive(Debug, Default)]
struct Parts {
    bytes: usize,
    /// By number, so the oldest comes first.
    parts: BTreeMap<u64, Counted>,
}

#[derive(Debug)]
struct Counted {
    bytes: usize,
    /// Dropped when it has to make room.
    _stays: oneshot::Sender<()>,
}

/// What one stream holds of one line or item; given back when dropped.
#[derive(Debug)]
pub(crate) struct Part {
    cluster: Arc<OfCluster>,
    /// Apart, for most streams most of the time hold nothing.
    begun: Option<Box<Begun>>,
}

#[derive(Debug)]
struct Begun {
    number: u64,
    at: Instant,
    stays: oneshot::Receiver<()>,
}

impl Unfinished {
    /// Room for so many bytes.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            held: Mutex::default(),
        }
    }

    /// Another cluster's part of it.
    pub(crate) fn of_cluster(self: &Arc<Self>) -> Arc<OfCluster> {
        Arc::new(OfCluster {
            all: Arc::clone(self),
            number: self.lock().number(),
        })
    }

    /// How much is held now.
    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.lock().bytes
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        lock(&self.held)
    }
}

impl OfCluster {
    /// A stream that holds nothing yet.
    pub(crate) fn part(self: &Arc<Self>) -> Part {
        Part {
            cluster: Arc::clone(self),
            begun: None,
        }
    }
}

impl Held {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn add(&mut self, cluster: u64, bytes: usize) -> Begun {
        let (sender, stays) = oneshot::channel();
        let number = self.number();
        let counted = Counted {
            bytes: 0,
            _stays: sender,
        };
        let parts = &mut self.clusters.entry(cluster).or_default().parts;
        parts.insert(number, counted);
        self.set((cluster, number), bytes);
        Begun {
            number,
            at: Instant::now(),
            stays,
        }
    }

    fn set(&mut self, (cluster, number): (u64, u64), bytes: usize) {
        // Who had to make room holds nothing that counts, and is about to let go.
        if let Some(cluster) = self.clusters.get_mut(&cluster)
            && let Some(part) = cluster.parts.get_mut(&number)
        {
            self.bytes = self.bytes - part.bytes + bytes;
            cluster.bytes = cluster.bytes - part.bytes + bytes;
            part.bytes = bytes;
        }
    }

    fn remove(&mut self, (cluster, number): (u64, u64)) {
        self.set((cluster, number), 0);
        if let Some(parts) = self.clusters.get_mut(&cluster) {
            parts.parts.remove(&number);
            if parts.parts.is_empty() {
                self.clusters.remove(&cluster);
            }
        }
    }

    fn make_room(&mut self, most: usize) {
        while self.bytes > most {
            let of_most = self.clusters.iter().max_by_key(|(_, parts)| parts.bytes);
            let oldest = of_most.and_then(|(cluster, parts)| {
                let (number, _) = parts.parts.first_key_value()?;
                Some((*cluster, *number))
            });
            let Some(oldest) = oldest else { return };
            self.remove(oldest);
        }
    }
}

impl Part {
    /// So many bytes are held now. If that is too much, what the cluster that has most holds longest has to go.
    pub(crate) fn holds(&mut self, bytes: usize) {
        if bytes <= UNCOUNTED {
            self.is_whole();
            return;
        }
        let OfCluster { all, number } = &*self.cluster;
        let mut held = all.lock();
        match &self.begun {
            Some(begun) => held.set((*number, begun.number), bytes),
            None => self.begun = Some(Box::new(held.add(*number, bytes))),
        }
        held.make_room(all.most);
    }

    /// Waits until this one has to go, for room or because it takes too long. Safe to cancel.
    pub(crate) async fn has_to_go(&mut self) -> MemberError {
        let Some(begun) = &mut self.begun else {
            return std::future::pending().await;
        };
        let Begun { at, stays, .. } = &mut **begun;
        // Apart, so that the many streams that wait for nothing take no memory for it.
        let phase = "end of an object";
        let goes = Box::pin(async {
            tokio::select! {
                _ = stays => MemberError::GaveWay { phase },
                () = tokio::time::sleep_until(*at + LONGEST) => MemberError::TimedOut { phase, after: LONGEST },
            }
        });
        goes.await
    }

    fn is_whole(&mut self) {
        if let Some(begun) = self.begun.take() {
            let OfCluster { all, number } = &*self.cluster;
            all.lock().remove((*number, begun.number));
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.is_whole();
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    const KIB: usize = 1 << 10;

    fn goes(part: &mut Part) -> bool {
        part.has_to_go().now_or_never().is_some()
    }

    #[tokio::test]
    async fn a_member_that_begins_one_after_the_other_makes_room_itself() {
        let all = Arc::new(Unfinished::new(100 * KIB));
        let (healthy, hostile) = (all.of_cluster(), all.of_cluster());
        let mut large = healthy.part();
        large.holds(40 * KIB);
        let mut begun = Vec::new();
        for _ in 0..20 {
            let mut part = hostile.part();
            part.holds(20 * KIB);
            part.holds(40 * KIB);
            begun.push(part);
        }
        assert!(!goes(&mut large));
        let stay = begun.iter_mut().map(|part| !goes(part));
        assert_eq!(stay.filter(|stays| *stays).count(), 1);
        drop(begun);
        large.holds(80 * KIB);
        assert!(!goes(&mut large));
        drop(large);
        assert!(all.lock().clusters.is_empty());
    }

    #[tokio::test]
    async fn who_began_first_makes_room() {
        let all = Arc::new(Unfinished::new(100 * KIB));
        let cluster = all.of_cluster();
        let mut parts: Vec<_> = (0..4).map(|_| cluster.part()).collect();
        parts[0].holds(40 * KIB);
        parts[1].holds(40 * KIB);
        parts[2].holds(UNCOUNTED);
        assert!(!parts.iter_mut().any(goes));
        parts[0].holds(0);
        parts[0].holds(40 * KIB);
        parts[3].holds(30 * KIB);
        let gone: Vec<_> = parts.iter_mut().map(goes).collect();
        assert_eq!(gone, [false, true, false, false], "another began before it");
        parts[1].holds(99 * KIB);
        assert_eq!(all.lock().bytes, 70 * KIB, "it counts no more");
        parts.truncate(1);
        assert_eq!(all.lock().bytes, 40 * KIB);
        parts[0].holds(101 * KIB);
        assert!(goes(&mut parts[0]), "it is too much alone");
        assert_eq!(all.lock().bytes, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn what_does_not_become_whole_goes() {
        let all = Arc::new(Unfinished::new(100 * KIB));
        let mut part = all.of_cluster().part();
        let begun = Instant::now();
        part.holds(20 * KIB);
        tokio::time::advance(LONGEST / 2).await;
        part.holds(30 * KIB);
        part.has_to_go().await;
        assert!((LONGEST..LONGEST * 2).contains(&begun.elapsed()));
        part.holds(0);
        assert!(part.has_to_go().now_or_never().is_none());
    }
}
