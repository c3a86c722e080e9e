//! How long a stream waits before what it does next. Pure: chance is passed in.
//!
//! Each stream of each member has them and few have to wait, so what is known of it is made where one does, and goes with a watch that lasted.

use std::time::Duration;

use armadex_backoff::Backoff;

pub(super) const FIRST_RETRY: Duration = Duration::from_millis(500);
/// A forbidden kind is asked for twice a minute: rights are given by people.
pub(super) const LAST_RETRY: Duration = Duration::from_secs(30);
/// Between watches that each bring changes and are soon over, as behind a proxy that cuts them off: what happens meanwhile is told by the next one. With
/// who the member is and how far it is that is three requests, so no kind is asked for more than three times in a second for long.
const LAST_SHORT: Duration = Duration::from_secs(2);

/// Of a cluster that has as many objects as it may have: it is for people to do something about it, and each try may be a list.
const FIRST_FULL: Duration = Duration::from_secs(60);
const LAST_FULL: Duration = Duration::from_secs(10 * 60);

/// What a stream has waited for since a watch lasted.
#[derive(Default)]
pub(super) struct Waits(Option<Box<Steps>>);

struct Steps {
    whole: Backoff,
    page: Backoff,
    short: Backoff,
    full: Backoff,
    /// Watches in a row that were soon over and led nowhere.
    in_vain: u32,
}

impl Steps {
    fn new() -> Box<Self> {
        Box::new(Self {
            whole: Backoff::new(FIRST_RETRY, LAST_RETRY),
            page: Backoff::new(FIRST_RETRY, LAST_RETRY),
            short: Backoff::new(FIRST_RETRY, LAST_SHORT),
            full: Backoff::new(FIRST_FULL, LAST_FULL),
            in_vain: 0,
        })
    }
}

impl Waits {
    fn steps(&mut self) -> &mut Steps {
        self.0.get_or_insert_with(Steps::new)
    }

    /// After a failure.
    pub(super) fn whole(&mut self, chance: f64) -> Duration {
        self.steps().whole.next(chance)
    }

    /// After a page of a list that failed, and whether it is not the first one.
    pub(super) fn page(&mut self, chance: f64) -> (Duration, bool) {
        let page = &mut self.steps().page;
        let wait = page.next(chance);
        (wait, page.is_repeated())
    }

    /// After a watch that was soon over and brought changes.
    pub(super) fn short(&mut self, chance: f64) -> Duration {
        self.steps().short.next(chance)
    }

    /// After the cluster was found to have as many objects as it may have.
    pub(super) fn full(&mut self, chance: f64) -> Duration {
        self.steps().full.next(chance)
    }

    /// A page came, or whatever else goes well by itself.
    pub(super) fn goes_well(&mut self) {
        if let Some(steps) = &mut self.0 {
            steps.page.reset();
        }
    }

    /// A watch was soon over and led nowhere. Whether the one before was, too.
    pub(super) fn was_in_vain(&mut self) -> bool {
        let in_vain = &mut self.steps().in_vain;
        *in_vain = in_vain.saturating_add(1);
        *in_vain > 1
    }

    /// A watch brought changes. Waits for one that does not begin anew, so they are never longer than the kind was quiet; those for one
    /// that does go on, or a member that ends each of its watches after a single change would be asked without end.
    pub(super) fn brought_changes(&mut self) {
        if let Some(steps) = &mut self.0 {
            steps.whole.reset();
            steps.in_vain = 0;
        }
    }

    /// A watch lasted: all begins anew.
    pub(super) fn lasted(&mut self) {
        self.0 = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watch_that_brings_changes_is_never_waited_for_for_long() {
        let mut waits = Waits::default();
        let in_vain = |waits: &mut Waits| {
            let waits = (0..9).map(|_| waits.whole(1.0).as_millis());
            waits.collect::<Vec<_>>()
        };
        let long = [500, 1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000];
        assert_eq!(in_vain(&mut waits), long);
        let short = |waits: &mut Waits| [(); 4].map(|()| waits.short(1.0).as_millis());
        waits.brought_changes();
        assert_eq!(short(&mut waits), [500, 1000, 2000, 2000]);
        assert_eq!(in_vain(&mut waits), long);
        waits.brought_changes();
        assert_eq!(short(&mut waits), [2000; 4], "it goes on");
        waits.lasted();
        assert_eq!(short(&mut waits), [500, 1000, 2000, 2000]);
    }

    #[test]
    fn the_second_watch_in_vain_is_told_of() {
        let mut waits = Waits::default();
        assert!(!waits.was_in_vain());
        assert!(waits.was_in_vain());
        waits.brought_changes();
        assert!(!waits.was_in_vain());
    }

    #[test]
    fn a_full_cluster_is_tried_again_after_a_minute_and_in_the_end_every_ten() {
        let mut waits = Waits::default();
        let full = |waits: &mut Waits| waits.full(1.0).as_secs();
        let grown = [60, 120, 240, 480, 600, 600];
        assert_eq!([(); 6].map(|()| full(&mut waits)), grown);
        // Pages and changes are not what it waits for.
        waits.goes_well();
        waits.brought_changes();
        assert_eq!(full(&mut waits), 600);
        assert_eq!(waits.full(0.0).as_secs(), 300);
        waits.lasted();
        assert_eq!(full(&mut waits), 60);
    }
}
