//! How many members the control plane is asked for at the same time. A synchro that loses its own way to them all would else move the whole fleet onto a
//! control plane that may be all that is left of it.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::told::metrics::Metrics;

/// Places over all members of a process.
#[derive(Debug)]
pub(crate) struct ByControlPlane {
    places: Arc<Semaphore>,
    most: usize,
    metrics: Arc<Metrics>,
}

/// That of a member which is asked so, for as long as this lives.
#[derive(Debug)]
pub(crate) struct Place {
    metrics: Arc<Metrics>,
    _permit: OwnedSemaphorePermit,
}

impl ByControlPlane {
    /// So many places, which are counted there.
    pub(crate) fn new(most: usize, metrics: Arc<Metrics>) -> Self {
        Self {
            places: Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS))),
            most,
            metrics,
        }
    }

    /// One for another member; `Err` has how many there are, if all are taken.
    pub(crate) fn place(&self) -> Result<Place, usize> {
        let permit = Arc::clone(&self.places).try_acquire_owned();
        let permit = permit.map_err(|_| self.most)?;
        self.metrics.by_control_plane.add(1);
        Ok(Place {
            metrics: Arc::clone(&self.metrics),
            _permit: permit,
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.metrics.by_control_plane.subtract(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_members_have_a_place_and_are_counted_until_they_leave_it() {
        let metrics = Arc::<Metrics>::default();
        let places = ByControlPlane::new(2, Arc::clone(&metrics));
        let [first, _second] = [(); 2].map(|()| places.place().expect("a place"));
        assert_eq!(places.place().expect_err("none"), 2);
        assert_eq!(metrics.by_control_plane.get(), 2);
        drop(first);
        assert_eq!(metrics.by_control_plane.get(), 1);
        let _third = places.place().expect("the first one's");
    }

    #[test]
    fn nobody_or_as_many_as_one_can_say_may_have_one() {
        let places = |most| ByControlPlane::new(most, Arc::default());
        assert_eq!(places(0).place().expect_err("none"), 0);
        assert!(places(usize::MAX).place().is_ok());
    }
}
