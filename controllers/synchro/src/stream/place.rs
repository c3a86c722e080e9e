//! How far a stream has brought the store, for whoever compares the two, and the wish that it lists anew.

use std::sync::Mutex;

use futures::FutureExt as _;
use tokio::sync::Notify;

use crate::lock::lock;
use crate::stream::step::is_behind;

/// Where a stream is.
#[derive(Debug, Default)]
pub(crate) struct Place {
    state: Mutex<State>,
    moved: Notify,
    anew: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// All that the member told up to this version is stored; empty before the first list.
    version: String,
    /// Lists that have begun.
    begun: u64,
    /// Those that had begun when the last list began that is stored to its end.
    lists: u64,
    /// A watch has begun.
    followed: bool,
}

impl State {
    fn reach(&mut self, version: &str) {
        if self.version != version {
            version.clone_into(&mut self.version);
        }
    }
}

impl Place {
    /// Everything up to this version is stored.
    pub(crate) fn reached(&self, version: &str) {
        self.change(|state| state.reach(version));
    }

    /// A watch begins at this version, up to which everything is stored.
    pub(crate) fn follows(&self, version: &str) {
        self.change(|state| {
            state.followed = true;
            state.reach(version);
        });
    }

    /// A list begins, which is what anybody who wished for one until now waits for.
    pub(crate) fn lists(&self) {
        let _ = self.anew.notified().now_or_never();
        self.change(|state| state.begun += 1);
    }

    /// That list is stored to its end.
    pub(crate) fn listed(&self, version: &str) {
        self.change(|state| {
            state.lists = state.begun;
            state.reach(version);
        });
    }

    /// Waits until everything up to this version is stored.
    pub(crate) async fn reaches(&self, version: &str) {
        let there = |state: &State| state.version == version || !is_behind(&state.version, version);
        self.until(there).await;
    }

    /// Waits until the stream has begun to follow a watch.
    pub(crate) async fn begins(&self) {
        self.until(|state| state.followed).await;
    }

    /// Wishes for a list, at the next moment that the stream follows its watch, and waits until one is stored that began after this.
    pub(crate) async fn list_anew(&self) {
        let begun = lock(&self.state).begun;
        self.anew.notify_one();
        self.until(|state| state.lists > begun).await;
    }

    /// Waits for that wish, which is fulfilled then. Safe to cancel.
    pub(crate) async fn is_to_list(&self) {
        self.anew.notified().await;
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut lock(&self.state));
        self.moved.notify_waiters();
    }

    async fn until(&self, holds: impl Fn(&State) -> bool) {
        loop {
            // It is told of every change from here on.
            let moved = self.moved.notified();
            if holds(&lock(&self.state)) {
                return;
            }
            moved.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_waits_is_told_when_the_version_is_reached() {
        let place = Place::default();
        let mut waits = Box::pin(place.reaches("9"));
        assert!((&mut waits).now_or_never().is_none(), "nothing is stored");
        place.reached("8");
        assert!((&mut waits).now_or_never().is_none());
        place.reached("10");
        assert!((&mut waits).now_or_never().is_some());
        assert!(place.reaches("odd").now_or_never().is_none());
        place.reached("odd");
        assert!(place.reaches("odd").now_or_never().is_some());
    }

    #[test]
    fn who_wishes_for_a_list_is_told_of_one_that_began_afterwards() {
        let place = Place::default();
        place.lists();
        let mut waits = Box::pin(place.list_anew());
        assert!((&mut waits).now_or_never().is_none());
        // It had begun before, and may have passed what it was wished for.
        place.listed("5");
        assert!((&mut waits).now_or_never().is_none());
        place.lists();
        assert!(
            place.is_to_list().now_or_never().is_none(),
            "it is fulfilled"
        );
        place.listed("5");
        assert!(waits.now_or_never().is_some());
    }
}
