//! How far a stream has brought the store, for whoever compares the two, and the wish that it lists anew.

use tokio::sync::{Notify, watch};

use crate::step::is_behind;

/// Where a stream is.
#[derive(Debug, Default)]
pub(crate) struct Place {
    state: watch::Sender<State>,
    anew: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// All that the member told up to this version is stored; empty before the first list.
    version: String,
    /// Lists that are stored to their end.
    lists: u64,
    /// A watch has begun.
    followed: bool,
}

impl State {
    fn reach(&mut self, version: &str) -> bool {
        let moves = self.version != version;
        if moves {
            version.clone_into(&mut self.version);
        }
        moves
    }
}

impl Place {
    /// Everything up to this version is stored.
    pub(crate) fn reached(&self, version: &str) {
        self.state.send_if_modified(|state| state.reach(version));
    }

    /// A watch begins at this version, up to which everything is stored.
    pub(crate) fn follows(&self, version: &str) {
        self.state.send_modify(|state| {
            state.followed = true;
            state.reach(version);
        });
    }

    /// A list is stored to its end.
    pub(crate) fn listed(&self, version: &str) {
        self.state.send_modify(|state| {
            state.lists += 1;
            state.reach(version);
        });
    }

    /// How many lists are stored.
    pub(crate) fn lists(&self) -> u64 {
        self.state.borrow().lists
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

    /// Waits until more lists are stored than these.
    pub(crate) async fn lists_beyond(&self, lists: u64) {
        self.until(|state| state.lists > lists).await;
    }

    /// Wishes for a list, at the next moment that the stream follows its watch.
    pub(crate) fn list_anew(&self) {
        self.anew.notify_one();
    }

    /// Waits for that wish, which is fulfilled then. Safe to cancel.
    pub(crate) async fn is_to_list(&self) {
        self.anew.notified().await;
    }

    async fn until(&self, mut holds: impl FnMut(&State) -> bool) {
        // The sender is here as well, so it is never gone.
        let _ = self.state.subscribe().wait_for(|state| holds(state)).await;
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

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
    fn a_list_is_told_even_if_it_leads_to_the_same_version() {
        let place = Place::default();
        place.listed("5");
        let mut waits = Box::pin(place.lists_beyond(place.lists()));
        assert!((&mut waits).now_or_never().is_none());
        place.listed("5");
        assert!(waits.now_or_never().is_some());
    }
}
