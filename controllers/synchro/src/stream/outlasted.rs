//! Lists that take longer than their member keeps what happened since, so that no watch can follow them. Pure: times and chance are passed in.
//!
//! A kube-apiserver keeps about a hundred changes of a kind, and more only while they are younger than 75 s. Over a slow link, or of a kind of which
//! much changes, a list takes longer, is read to its end and leads nowhere; and so does the next one. What is read is stored all the same, so it is
//! listed on, more and more seldom.

use std::time::Duration;

use armadex_backoff::Backoff;
use tokio::time::Instant;

/// A first one may have been slow for a moment alone. From the second in a row on others are spared.
const FIRST_PAUSE: Duration = Duration::from_secs(30);
/// What is stored is then no older than this and what a list takes.
const LAST_PAUSE: Duration = Duration::from_secs(600);

/// Lists since a watch has lasted.
#[derive(Debug)]
pub(super) struct Outlasted {
    /// When the last one began, from whose first page the watch goes on.
    begun: Instant,
    /// Those whose watch was refused as too old.
    lists: u32,
    pauses: Backoff,
}

impl Outlasted {
    /// The first list begins.
    pub(super) fn new(now: Instant) -> Self {
        Self {
            begun: now,
            lists: 0,
            pauses: Backoff::new(FIRST_PAUSE, LAST_PAUSE),
        }
    }

    /// Another list begins, or its first page is asked for once more.
    pub(super) fn begins(&mut self, now: Instant) {
        self.begun = now;
    }

    /// The member says that the watch of the last list comes too late. What is to be told of that; nothing of the first time.
    pub(super) fn refused(&mut self, now: Instant) -> Option<String> {
        self.lists = self.lists.saturating_add(1);
        let took = now.saturating_duration_since(self.begun).as_secs();
        (self.lists > 1).then(|| {
            format!(
                "the list took {took} s, longer than the member keeps what changes, so no watch can follow it, {} times in a row: it is listed more \
                 and more seldom; a faster way to the member, fewer objects or fewer changes of this type would help",
                self.lists
            )
        })
    }

    /// How long it is before the next list.
    pub(super) fn pause(&mut self, chance: f64) -> Duration {
        self.pauses.next(chance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_how_long_the_last_of_several_lists_took() {
        let start = Instant::now();
        let seconds = |seconds| start + Duration::from_secs(seconds);
        let mut outlasted = Outlasted::new(start);
        assert_eq!(outlasted.refused(seconds(80)), None);
        outlasted.begins(seconds(100));
        let words = outlasted.refused(seconds(193)).expect("words");
        assert!(words.starts_with("the list took 93 s, "), "{words}");
        assert!(words.contains("2 times in a row"), "{words}");
    }
}
