//! How a store is opened.

use std::time::Duration;

use tokio::runtime::Handle;

use crate::read::Tuning;
use crate::write::Portions;

/// How a store is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// Connections that search.
    pub readers: u32,
    /// Connections for what takes a moment: what there is, the head, one object. Two at least, for with a server streams compare over half of them.
    pub short_readers: u32,
    /// Orders that may wait for the writer; when it is full, writers wait.
    pub queue: usize,
    /// How long a statement waits for another process's transaction.
    pub busy_timeout: Duration,
    /// How long superseded versions and tombstones are kept, for whoever follows changes. 0 keeps none and writes no tombstone; what is older
    /// than any other time is removed by [`armadex_storage::Sink::purge`]. All processes that write one store should have the same.
    pub watch_window: Duration,
    /// The most bytes of superseded versions that are kept, packed; what was superseded first goes before its time is over. 0: any number. All processes
    /// that write one store should have the same.
    pub watch_window_bytes: u64,
    /// Types of which superseded versions and tombstones are kept for longer; `None`: those of which it was said last, for as long as it was said then. Whoever does
    /// the periodic work, and says so, decides.
    pub history: Option<History>,
    /// How long a process sees that nobody does the store's periodic work before it does: several times as long as whoever does it pauses.
    pub patience: Duration,
    /// Beyond this a database's log of its own is emptied, even if that means to wait for those who read: copying it back while somebody
    /// always reads never lets it begin anew.
    pub most_log_bytes: u64,
    /// How long the writer has had nothing to do when it gives back the memory that only work needs.
    pub rest: Duration,
    /// How many objects with a label key are met before it may be learnt that each has a value of its own, which is then not indexed any more. A
    /// search for such a value looks at all objects with the key. 0: never.
    pub label_sample: u32,
    /// When a dictionary is trained for a type.
    pub training: Training,
    /// How much is read at a time.
    pub tuning: Tuning,
    /// How much is written at a time.
    pub portions: Portions,
    /// Where what is written is worked out and written; where the store is opened if nothing is said.
    pub writes: Option<Handle>,
}

impl Options {
    /// The fewest connections that a process does with: one writes, two are for what takes a moment, one searches.
    pub const FEWEST_CONNECTIONS: u32 = 4;

    /// With so many connections, or the fewest. One writes. Of the others a third, up to eight, is for what takes a moment: with a server that is not near one of them
    /// serves a hundred requests a second, and a search API has no more than sixteen at work.
    #[must_use]
    pub fn with_connections(self, connections: u32) -> Self {
        let reading = connections.max(Self::FEWEST_CONNECTIONS) - 1;
        let short_readers = (reading / 3).clamp(2, 8);
        Self {
            readers: reading - short_readers,
            short_readers,
            ..self
        }
    }

    /// The runtime of the writer.
    pub(crate) fn writer_runtime(&self) -> Handle {
        self.writes.clone().unwrap_or_else(Handle::current)
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            // Reads of one machine's fleet are short; more connections would only divide its cores.
            readers: 4,
            short_readers: 2,
            // What waits here is bounded by bytes before it is sent; this many orders are one good transaction.
            queue: 1024,
            busy_timeout: Duration::from_secs(5),
            watch_window: Duration::from_secs(60 * 60),
            // 1,200 changes a second of about a kilobyte each, for an hour.
            watch_window_bytes: 4 << 30,
            history: None,
            // Purges are 24 s apart at most.
            patience: Duration::from_secs(60),
            // Three rounds of copying SQLite's log back, 128 MiB each.
            most_log_bytes: 3 * (128 << 20),
            // A load never pauses so long, and a fleet at rest does so again and again.
            rest: Duration::from_secs(2),
            // Fewer objects cost little to index, and may be all that there is of one kind.
            label_sample: 65_536,
            training: Training::default(),
            tuning: Tuning::default(),
            portions: Portions::default(),
            writes: None,
        }
    }
}

/// What is kept beyond the watch window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// Of these resources, in all their versions: group and plural name.
    pub of: Vec<(String, String)>,
    /// For how long. It counts where it is longer than the watch window.
    pub window: Duration,
    /// The most bytes of superseded versions of these types, packed; those within the watch window count. 0: any number.
    pub bytes: u64,
}

impl Default for History {
    fn default() -> Self {
        Self {
            of: vec![],
            window: Duration::from_secs(7 * 24 * 60 * 60),
            // Sixteen million versions of a pod.
            bytes: 16 << 30,
        }
    }
}

/// When a dictionary is trained for a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Training {
    /// Of types with so many objects; 0: never.
    pub least: u32,
    /// A store has no more of them. Each takes 100 KB of the memory of every process that meets it, for as long as its type is there, and a member may
    /// have any number of types.
    pub most: usize,
    /// How many objects are looked at, half of them to learn from.
    pub samples: usize,
    /// The longest until it is looked again whether one is due, or another process has trained one: seconds at first, longer each time that none is.
    pub period: Duration,
}

impl Default for Training {
    fn default() -> Self {
        Self {
            // Of fewer a dictionary would learn the names.
            least: 1000,
            // As many as fifty large types that grow, or 25 MB.
            most: 256,
            // A part of a second of a processor; more samples make no better dictionary of this size.
            samples: 2000,
            period: Duration::from_secs(10 * 60),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_divided_by_what_they_are_for() {
        let default = Options::default();
        let (searches, short) = (default.readers, default.short_readers);
        for (all, divided) in [
            (0, (1, 2)),
            (4, (1, 2)),
            (7, (searches, short)),
            (10, (6, 3)),
            (25, (16, 8)),
            (1000, (991, 8)),
        ] {
            let options = Options::default().with_connections(all);
            assert_eq!((options.readers, options.short_readers), divided, "{all}");
        }
    }
}
