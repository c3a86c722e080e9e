//! One limit to what all streams of a process hold in memory on the way to the store.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Permits are counted in KiB, because a semaphore counts in u32 at once.
const UNIT: usize = 1 << 10;

/// A number of bytes that all streams share.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    units: Arc<Semaphore>,
    total: u32,
}

/// Bytes that one stream holds; given back when dropped.
#[derive(Debug, Default)]
pub(crate) struct Held(Option<OwnedSemaphorePermit>);

impl Budget {
    /// A budget of `bytes`, at least one unit.
    pub(crate) fn new(bytes: usize) -> Self {
        let total = units(bytes);
        Self {
            units: Arc::new(Semaphore::new(total as usize)),
            total,
        }
    }

    /// Adds `bytes` to what is held, if they are free now.
    pub(crate) fn try_add(&self, held: &mut Held, bytes: usize) -> bool {
        let wanted = units(bytes).min(self.total);
        let Ok(more) = Arc::clone(&self.units).try_acquire_many_owned(wanted) else {
            return false;
        };
        held.merge(more);
        true
    }

    /// Adds `bytes` to what is held, once they are free. To be called by a stream that holds nothing, or two could wait for each
    /// other; more than there is counts as all there is.
    pub(crate) async fn add(&self, held: &mut Held, bytes: usize) {
        debug_assert!(held.0.is_none(), "who waits holds nothing");
        let wanted = units(bytes).min(self.total);
        if let Ok(more) = Arc::clone(&self.units).acquire_many_owned(wanted).await {
            held.merge(more);
        }
    }
}

impl Held {
    /// How many.
    pub(crate) fn bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |held| held.num_permits() * UNIT)
    }

    fn merge(&mut self, more: OwnedSemaphorePermit) {
        match &mut self.0 {
            Some(held) => held.merge(more),
            None => self.0 = Some(more),
        }
    }
}

fn units(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT).max(1)).unwrap_or(u32::MAX >> 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_held_is_not_free_until_it_is_dropped() {
        let budget = Budget::new(10 * UNIT);
        let (mut a, mut b) = (Held::default(), Held::default());
        assert!(budget.try_add(&mut a, 4 * UNIT) && budget.try_add(&mut a, 4 * UNIT));
        assert!(!budget.try_add(&mut b, 4 * UNIT));
        drop(a);
        assert!(budget.try_add(&mut b, 4 * UNIT));
        drop(b);
        let mut all = Held::default();
        budget.add(&mut all, 99 * UNIT).await;
        assert!(
            !budget.try_add(&mut Held::default(), 1),
            "a huge object takes all there is"
        );
    }
}
