//! The store's searches, shared out among users: a user who asks for many at once waits for his own, and whoever asks for one waits
//! for no line.
//!
//! A search keeps a connection of the store and a core busy until its page is complete. The next turn is that of the user who has the
//! fewest searches under way, and the last turn that is free is for somebody who has none.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use armadex_model::query::Start;
use armadex_model::{ClusterName, GroupVersionResource, ObjectKey, Query};
use armadex_storage::{Catalog, Found, Head, Page, PageBudget, Search, StoreError};
use async_trait::async_trait;
use tokio::sync::oneshot;

/// Searches under way at the same time: as many as the store has connections for, so that nobody waits there in the order of arrival.
pub(super) const MOST: usize = 4;
/// Of all searches that may be under way at once a user may have one part in so many.
const SHARES: usize = 2;

/// The turns, and who waits for them.
pub(super) struct Searches {
    per_user: usize,
    line: Mutex<Line>,
}

#[derive(Default)]
struct Line {
    free: usize,
    /// By how long they have waited: the number of the next that comes.
    next: u64,
    /// Those who have a turn or wait for one.
    users: HashMap<String, User>,
}

#[derive(Default)]
struct User {
    running: usize,
    waiting: VecDeque<Waiting>,
}

struct Waiting {
    number: u64,
    call: oneshot::Sender<Turn>,
}

/// A search that may be under way, until it is dropped.
pub(super) struct Turn {
    searches: Arc<Searches>,
    user: String,
}

impl Searches {
    /// So many at the same time.
    pub(super) fn new(most: usize) -> Arc<Self> {
        let most = most.max(1);
        let line = Line {
            free: most,
            ..Line::default()
        };
        Arc::new(Self {
            per_user: (most / SHARES).max(1),
            line: Mutex::new(line),
        })
    }

    /// Waits for a turn of this user. The requests in flight bound who waits.
    pub(super) async fn turn(self: &Arc<Self>, user: &str) -> Option<Turn> {
        let called = {
            let mut line = self.line();
            let (call, called) = oneshot::channel();
            let number = line.next;
            line.next += 1;
            let of_user = line.users.entry(user.to_owned()).or_default();
            of_user.waiting.push_back(Waiting { number, call });
            called
        };
        self.call();
        // The caller of turns lives as long as whoever waits here.
        called.await.ok()
    }

    /// Gives turns to those who are next, as long as there are any.
    fn call(self: &Arc<Self>) {
        loop {
            let next = self.line().take_next(self.per_user);
            let Some((user, waiting)) = next else { return };
            let turn = Turn {
                searches: Arc::clone(self),
                user,
            };
            // Whoever has gone away gives it back by dropping it, which calls the next.
            drop(waiting.call.send(turn));
        }
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Line {
    fn take_next(&mut self, per_user: usize) -> Option<(String, Waiting)> {
        let free = self.free;
        let may = |user: &User| match user.running {
            0 => free > 0,
            running => free > 1 && running < per_user,
        };
        let waiting = self.users.iter().filter_map(|(name, user)| {
            let first = user.waiting.front()?;
            may(user).then_some((user.running, first.number, name))
        });
        let (_, _, name) = waiting.min()?;
        let name = name.clone();
        let user = self.users.get_mut(&name)?;
        let waiting = user.waiting.pop_front()?;
        user.running += 1;
        self.free -= 1;
        Some((name, waiting))
    }

    fn give_back(&mut self, name: &str) {
        self.free += 1;
        if let Some(user) = self.users.get_mut(name) {
            user.running -= 1;
            if user.running == 0 && user.waiting.is_empty() {
                self.users.remove(name);
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.searches.line().give_back(&self.user);
        self.searches.call();
    }
}

/// The store as one user sees it: searches wait for their turn, everything else is short.
pub(super) struct InTurn {
    pub(super) store: Arc<dyn Search>,
    pub(super) searches: Arc<Searches>,
    pub(super) user: String,
}

#[async_trait]
impl Search for InTurn {
    async fn catalog(&self) -> Result<Arc<Catalog>, StoreError> {
        self.store.catalog().await
    }

    async fn head(&self) -> Result<Head, StoreError> {
        self.store.head().await
    }

    async fn page(
        &self,
        query: &Query,
        start: &Start,
        budget: PageBudget,
    ) -> Result<Page, StoreError> {
        let _turn = self.searches.turn(&self.user).await;
        self.store.page(query, start, budget).await
    }

    async fn count(&self, query: &Query) -> Result<Option<u64>, StoreError> {
        let _turn = self.searches.turn(&self.user).await;
        self.store.count(query).await
    }

    async fn has_namespace(
        &self,
        cluster: &ClusterName,
        namespace: &str,
    ) -> Result<bool, StoreError> {
        self.store.has_namespace(cluster, namespace).await
    }

    async fn get(
        &self,
        cluster: &ClusterName,
        resource: &GroupVersionResource,
        key: &ObjectKey,
    ) -> Result<Option<Found>, StoreError> {
        self.store.get(cluster, resource, key).await
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use futures::future::BoxFuture;

    use super::*;

    /// Somebody who asks for a turn and has it or waits for it.
    enum Asker {
        Waits(BoxFuture<'static, Option<Turn>>),
        Has(Turn),
    }

    fn ask(searches: &Arc<Searches>, user: &'static str) -> Asker {
        let searches = Arc::clone(searches);
        let mut turn = async move { searches.turn(user).await }.boxed();
        match turn.as_mut().now_or_never() {
            Some(turn) => Asker::Has(turn.expect("a turn")),
            None => Asker::Waits(turn),
        }
    }

    fn many(searches: &Arc<Searches>, user: &'static str, count: usize) -> Vec<Asker> {
        (0..count).map(|_| ask(searches, user)).collect()
    }

    /// How many have a turn, looking again at those who waited.
    fn having(askers: &mut [Asker]) -> usize {
        for asker in askers.iter_mut() {
            if let Asker::Waits(turn) = asker
                && let Some(turn) = turn.as_mut().now_or_never()
            {
                *asker = Asker::Has(turn.expect("a turn"));
            }
        }
        let has = |asker: &&Asker| matches!(asker, Asker::Has(Turn { .. }));
        askers.iter().filter(has).count()
    }

    #[test]
    fn whoever_asks_for_one_waits_for_no_line() {
        let searches = Searches::new(4);
        let mut alice = many(&searches, "alice", 10);
        assert_eq!(having(&mut alice), 2);
        let mut bob = many(&searches, "bob", 10);
        // The last one is for somebody who has none.
        assert_eq!(having(&mut bob), 1);
        let mut carol = many(&searches, "carol", 1);
        let mut dave = many(&searches, "dave", 1);
        assert_eq!((having(&mut carol), having(&mut dave)), (1, 0));
        // Of two that are given back the one who has none gets the first.
        alice.retain(|asker| matches!(asker, Asker::Waits(_)));
        assert_eq!((having(&mut dave), having(&mut alice)), (1, 1));
        drop((bob, carol, dave));
        assert_eq!(having(&mut alice), 2);
        drop(alice);
        let line = searches.line();
        assert_eq!((line.free, line.users.len()), (4, 0));
    }

    #[test]
    fn those_who_have_gone_away_are_passed_by() {
        let searches = Searches::new(1);
        let first = ask(&searches, "alice");
        let gone = many(&searches, "bob", 5);
        let mut last = many(&searches, "bob", 1);
        drop(gone);
        assert_eq!(having(&mut last), 0);
        drop(first);
        assert_eq!(having(&mut last), 1);
        drop(last);
        assert!(matches!(ask(&searches, "alice"), Asker::Has(_)));
    }
}
