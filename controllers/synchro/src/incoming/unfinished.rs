//! What all streams together hold of lines and items that have begun and are not whole. How long a member takes for the rest is for the
//! member to say, so who began first makes room for the others: what comes in honestly is whole in a moment.

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

#[derive(Debug, Default)]
struct Held {
    bytes: usize,
    /// By number, so the oldest comes first.
    parts: BTreeMap<u64, Counted>,
    next: u64,
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
    all: Arc<Unfinished>,
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

    /// A stream that holds nothing yet.
    pub(crate) fn part(self: &Arc<Self>) -> Part {
        Part {
            all: Arc::clone(self),
            begun: None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        lock(&self.held)
    }
}

impl Held {
    fn add(&mut self, bytes: usize) -> Begun {
        let (sender, stays) = oneshot::channel();
        let number = self.next;
        self.next += 1;
        self.bytes += bytes;
        let counted = Counted {
            bytes,
            _stays: sender,
        };
        self.parts.insert(number, counted);
        Begun {
            number,
            at: Instant::now(),
            stays,
        }
    }

    fn set(&mut self, number: u64, bytes: usize) {
        // Who had to make room holds nothing that counts, and is about to let go.
        if let Some(part) = self.parts.get_mut(&number) {
            self.bytes = self.bytes - part.bytes + bytes;
            part.bytes = bytes;
        }
    }

    fn remove(&mut self, number: u64) {
        self.set(number, 0);
        self.parts.remove(&number);
    }

    fn make_room(&mut self, most: usize) {
        while self.bytes > most
            && let Some((_, oldest)) = self.parts.pop_first()
        {
            self.bytes -= oldest.bytes;
        }
    }
}

impl Part {
    /// So many bytes are held now. The longest held of all has to go if that is too much.
    pub(crate) fn holds(&mut self, bytes: usize) {
        if bytes <= UNCOUNTED {
            self.is_whole();
            return;
        }
        let mut held = self.all.lock();
        match &self.begun {
            Some(begun) => held.set(begun.number, bytes),
            None => self.begun = Some(Box::new(held.add(bytes))),
        }
        held.make_room(self.all.most);
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
            self.all.lock().remove(begun.number);
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

    #[tokio::test]
    async fn who_began_first_makes_room() {
        let all = Arc::new(Unfinished::new(100 * KIB));
        let mut parts: Vec<_> = (0..4).map(|_| all.part()).collect();
        let goes = |part: &mut Part| part.has_to_go().now_or_never().is_some();
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
        let mut part = all.part();
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
