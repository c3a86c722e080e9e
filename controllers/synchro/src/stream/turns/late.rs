//! Those who wait for a member without a turn. Each may bring a window of bytes before it has one again, so there are so many of them
//! and no more: who has waited longest makes room.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep_until};

use crate::lock::lock;

/// For how long each is waited for at least. Eight turns of half a second let in 16 others in a second at most; who asks without a turn
/// comes in when one has waited for so long, or goes.
pub(super) const WAITED_FOR: Duration = Duration::from_secs(4);

#[derive(Debug)]
pub(super) struct Late {
    most: usize,
    /// For how long each is waited for at least before one who waits for room has its place.
    waited_for: Duration,
    /// The longest first.
    waiting: Mutex<VecDeque<Waiting>>,
    /// One of them has gone.
    gone: Notify,
}

#[derive(Debug)]
struct Waiting {
    since: Instant,
    turn_out: oneshot::Sender<()>,
}

/// Somebody who waits, until dropped.
#[derive(Debug)]
pub(super) struct Wait {
    all: Arc<Late>,
    turned_out: oneshot::Receiver<()>,
}

impl Late {
    pub(super) fn new(most: usize) -> Arc<Self> {
        Self::waited_for(most, WAITED_FOR)
    }

    pub(super) fn waited_for(most: usize, waited_for: Duration) -> Arc<Self> {
        Arc::new(Self {
            most,
            waited_for,
            waiting: Mutex::default(),
            gone: Notify::new(),
        })
    }

    /// Waits, and turns out who waits longest if there are too many.
    pub(super) fn wait(self: &Arc<Self>) -> Wait {
        self.push(&mut self.lock())
    }

    /// The same, if there is room now.
    pub(super) fn wait_now(self: &Arc<Self>) -> Option<Wait> {
        let mut waiting = self.lock();
        (waiting.len() < self.most).then(|| self.push(&mut waiting))
    }

    /// The same once there is room, or somebody has waited for long enough.
    pub(super) async fn wait_for_room(self: &Arc<Self>) -> Wait {
        loop {
            let full_until = match self.wait_if_there_is_room() {
                Ok(wait) => return wait,
                Err(full_until) => full_until,
            };
            tokio::select! {
                () = self.gone.notified() => {}
                () = sleep_until(full_until) => {}
            }
        }
    }

    fn wait_if_there_is_room(self: &Arc<Self>) -> Result<Wait, Instant> {
        let mut waiting = self.lock();
        let full_until = match waiting.front() {
            Some(longest) if waiting.len() >= self.most => longest.since + self.waited_for,
            _ => Instant::now(),
        };
        if full_until > Instant::now() {
            return Err(full_until);
        }
        let wait = self.push(&mut waiting);
        if waiting.len() < self.most {
            // Of two who go at once one is told of.
            self.gone.notify_one();
        }
        Ok(wait)
    }

    fn push(self: &Arc<Self>, waiting: &mut VecDeque<Waiting>) -> Wait {
        if waiting.len() >= self.most
            && let Some(longest) = waiting.pop_front()
        {
            // Who has just gone need not be told.
            let _ = longest.turn_out.send(());
        }
        let (turn_out, turned_out) = oneshot::channel();
        let since = Instant::now();
        waiting.push_back(Waiting { since, turn_out });
        let all = Arc::clone(self);
        Wait { all, turned_out }
    }

    /// Those who are still there.
    fn lock(&self) -> MutexGuard<'_, VecDeque<Waiting>> {
        let mut waiting = lock(&self.waiting);
        waiting.retain(|waits| !waits.turn_out.is_closed());
        waiting
    }
}

impl Wait {
    /// Waits until this one has to go.
    pub(super) async fn turned_out(&mut self) {
        // It is told, and not forgotten, as long as it is here.
        let _ = (&mut self.turned_out).await;
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        self.turned_out.close();
        self.all.gone.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use armadex_member::MemberError;
    use futures::FutureExt as _;
    use tokio::time::sleep;

    use super::super::{ClusterTurns, PATIENCE, Turn, Turns};
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_waits_longest_goes_when_too_many_wait() {
        let late = Late::new(3);
        let mut first = late.wait();
        let (_second, third) = (late.wait(), late.wait());
        assert!(first.turned_out().now_or_never().is_none());
        drop(third);
        let _another = late.wait();
        assert!(first.turned_out().now_or_never().is_none(), "one had gone");
        let _one_more = late.wait();
        assert!(first.turned_out().now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_for_room_has_it_when_one_goes_or_has_waited_for_long() {
        let late = Late::new(2);
        let mut first = late.wait();
        let second = late.wait_for_room().now_or_never().expect("room");
        let mut third = std::pin::pin!(late.wait_for_room());
        let mut fourth = std::pin::pin!(late.wait_for_room());
        assert!(futures::poll!(&mut third).is_pending());
        assert!(futures::poll!(&mut fourth).is_pending());
        drop(second);
        let std::task::Poll::Ready(_third) = futures::poll!(&mut third) else {
            panic!("there is room");
        };
        assert!(futures::poll!(&mut fourth).is_pending());
        let begun = Instant::now();
        let _fourth = fourth.await;
        assert_eq!(begun.elapsed(), WAITED_FOR);
        assert!(first.turned_out().now_or_never().is_some());
    }

    /// Members with kinds of so many pages each, of which each begins to come after so long.
    struct Fleet {
        members: usize,
        kinds: usize,
        pages: usize,
        takes: Duration,
    }

    impl Fleet {
        /// How long it takes until all is listed, and how many pages were asked for in vain.
        async fn is_listed(&self) -> (Duration, usize) {
            let all: Arc<Turns> = Arc::default();
            let clusters: Vec<_> = (0..self.members)
                .map(|_| ClusterTurns::new(Arc::clone(&all)))
                .collect();
            let in_vain = AtomicUsize::new(0);
            let kinds = (0..self.members * self.kinds).map(|kind| &clusters[kind % self.members]);
            let lists = kinds.map(async |of| {
                let mut turn = Turn::default();
                for page in 0..self.pages {
                    while self.page(&mut turn, of, page > 0).await.is_err() {
                        in_vain.fetch_add(1, Ordering::Relaxed);
                        turn = Turn::default();
                        sleep(PATIENCE).await;
                    }
                }
            });
            let (begun, an_hour) = (Instant::now(), Duration::from_secs(3600));
            let lists = futures::future::join_all(lists);
            let ended = tokio::time::timeout(an_hour, lists).await;
            assert!(ended.is_ok(), "they come to their end");
            (begun.elapsed(), in_vain.into_inner())
        }

        async fn page(
            &self,
            turn: &mut Turn,
            of: &ClusterTurns,
            begun: bool,
        ) -> Result<(), MemberError> {
            let head = async {
                sleep(self.takes).await;
                Ok(())
            };
            turn.ask(of, begun, head).await?;
            turn.wait_for(of, async { Ok(()) }).await
        }
    }

    #[tokio::test(start_paused = true)]
    async fn kinds_of_members_that_take_more_than_half_a_second_are_all_listed() {
        for (members, kinds, pages, takes, most) in [
            (8, 20, 2, 600, 60),
            (4, 30, 4, 600, 120),
            (20, 20, 3, 1000, 240),
        ] {
            let takes = Duration::from_millis(takes);
            let fleet = Fleet {
                members,
                kinds,
                pages,
                takes,
            };
            let (took, in_vain) = fleet.is_listed().await;
            let told = format!("{members} x {kinds} x {pages}: {took:?}, {in_vain} in vain");
            assert!(took <= Duration::from_secs(most), "{told}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn first_pages_of_a_region_that_is_busy_are_not_asked_for_in_vain() {
        let fleet = Fleet {
            members: 300,
            kinds: 1,
            pages: 1,
            takes: Duration::from_secs(3),
        };
        let (took, in_vain) = fleet.is_listed().await;
        assert_eq!(in_vain, 0);
        // Sixty-four at a time.
        assert!(took <= Duration::from_secs(5 * 4), "{took:?}");
    }
}
