//! When a status is written for nothing but what is counted: objects, bytes and the time of the newest change become others all the time. Pure: times and
//! chances are passed in.
//!
//! They are written with whatever else becomes another, and for themselves once in a while, which is longer where there are more clusters. For counts alone at most
//!
//! ```text
//! 3600 / max(60, 0.6 × clusters)   writes in an hour for each cluster, and 100 in a minute for all of them
//! ```
//!
//! are made: 60 an hour of each of 100 clusters, 6 of each of 1,000. At 20 KB each, which is the status of a member of forty types, that is no more than 33 KB/s.
//! A cluster in which nothing changes is written for nothing.

use std::time::Duration;

use armadex_backoff::jittered;
use tokio::time::{Instant, sleep_until};

use crate::told::status::Counts;

/// Between two looks at whether something is to be told by now that nothing else tells: that a stream is behind. It costs no request.
const LOOK: Duration = Duration::from_secs(60);
/// Between two writes of one cluster for counts alone, where there are few.
const LEAST: Duration = Duration::from_secs(60);
/// Between two of them over all clusters.
const OF_ALL: Duration = Duration::from_millis(600);

/// When the counts of one cluster are written.
#[derive(Debug)]
pub(crate) struct Refresh {
    look: Instant,
    counts: Instant,
}

impl Refresh {
    /// After a part of the time, by chance: clusters that are found together are not written together.
    pub(crate) fn new(now: Instant, chance: f64) -> Self {
        Self {
            look: now + LOOK.mul_f64(chance.clamp(0.0, 1.0)),
            counts: now,
        }
    }

    /// Waits until it is time to look. Safe to cancel.
    pub(crate) async fn due(&self) {
        sleep_until(self.look).await;
    }

    /// The status is looked at.
    pub(crate) fn looks(&mut self, now: Instant, chance: f64) {
        if self.look <= now {
            self.look = now + jittered(LOOK, chance);
        }
    }

    /// Which counts a status has that is written for nothing else.
    pub(crate) fn counts(&self, now: Instant) -> Counts {
        match self.counts <= now {
            true => Counts::Now,
            false => Counts::Told,
        }
    }

    /// The counts were written, of one of so many clusters.
    pub(crate) fn written(&mut self, now: Instant, clusters: usize) {
        let clusters = u32::try_from(clusters).unwrap_or(u32::MAX);
        self.counts = now + OF_ALL.saturating_mul(clusters).max(LEAST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_written_as_often_as_the_number_of_clusters_permits() {
        let now = Instant::now();
        for (clusters, seconds) in [(0, 60), (1, 60), (100, 60), (1_000, 600), (10_000, 6_000)] {
            let mut refresh = Refresh::new(now, 0.5);
            assert_eq!(refresh.counts(now), Counts::Now, "none are yet");
            refresh.written(now, clusters);
            let at = |seconds| refresh.counts(now + Duration::from_secs(seconds));
            assert_eq!(at(seconds - 1), Counts::Told, "{clusters}");
            assert_eq!(at(seconds), Counts::Now, "{clusters}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn clusters_that_are_found_together_are_looked_at_one_after_the_other() {
        let begun = Instant::now();
        let mut one = Refresh::new(begun, 0.1);
        Refresh::new(begun, 0.9).due().await;
        assert!(begun.elapsed() > LOOK / 2);
        one.looks(Instant::now(), 0.5);
        let looked = Instant::now();
        one.due().await;
        assert!(looked.elapsed() >= LOOK / 2, "{:?}", looked.elapsed());
    }
}
