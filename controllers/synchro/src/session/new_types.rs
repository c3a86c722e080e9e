//! How many types a cluster may begin with. Each that is new is a row of the store and is known to every process until it is purged, and what a member
//! serves is for the member to say: one that invents others every few seconds is to fill nothing.

use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use crate::lock::lock;

/// In this time a cluster may begin with as many as it may have: all of them at once, or of those of an operator that is installed.
const IN: Duration = Duration::from_secs(60 * 60);

/// Of one cluster, for as long as it is looked after.
#[derive(Debug)]
pub(crate) struct NewTypes {
    most: usize,
    /// What one takes of the time.
    each: Duration,
    /// When there will be room for `most` again.
    all_at: Mutex<Instant>,
}

impl NewTypes {
    /// So many in an hour.
    pub(crate) fn new(most: usize) -> Self {
        let parts = u32::try_from(most).unwrap_or(u32::MAX).max(1);
        Self {
            most,
            each: (IN / parts).max(Duration::from_nanos(1)),
            all_at: Mutex::new(Instant::now()),
        }
    }

    /// How many may begin now.
    pub(crate) fn left(&self) -> usize {
        let missing = lock(&self.all_at).saturating_duration_since(Instant::now());
        let missing = missing.as_nanos().div_ceil(self.each.as_nanos());
        self.most
            .saturating_sub(usize::try_from(missing).unwrap_or(usize::MAX))
    }

    /// So many have begun, maybe more than there was room for: a new version of a type does not wait.
    pub(crate) fn begin(&self, types: usize) {
        let took = self.each * u32::try_from(types).unwrap_or(u32::MAX);
        let mut all_at = lock(&self.all_at);
        let now = Instant::now();
        *all_at = ((*all_at).max(now) + took).min(now + IN);
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_operator_is_installed_at_once_and_what_is_invented_comes_by_and_by() {
        let types = NewTypes::new(1_000);
        types.begin(940);
        assert_eq!(types.left(), 60, "after all that a member has");
        types.begin(60);
        assert_eq!(types.left(), 0);
        let mut invented = 0;
        for _ in 0..6 * 60 * 24 {
            sleep(Duration::from_secs(10)).await;
            invented += types.left();
            types.begin(types.left());
        }
        assert!((23_000..=24_000).contains(&invented), "{invented} in a day");
        types.begin(1_000);
        sleep(IN).await;
        assert_eq!(
            types.left(),
            1_000,
            "what did not wait takes no room for longer"
        );
        sleep(2 * IN).await;
        assert_eq!(types.left(), 1_000, "and no more");
    }

    #[test]
    fn no_number_is_too_large_or_too_small() {
        for most in [0, 1, usize::MAX] {
            let types = NewTypes::new(most);
            assert_eq!(types.left(), most);
            types.begin(most.min(1));
            assert!(types.left() <= most);
        }
    }
}
