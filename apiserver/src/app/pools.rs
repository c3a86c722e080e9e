//! Places for requests in flight: pools for each kind of work, and a share of each for every user.
//!
//! A pool that is full turns requests away at once, so that a client that comes back later finds the server alive. Its last places are for
//! users who have none, so that some who fill their shares, with answers that they do not take or questions that the host is slow to
//! answer, keep nobody out who comes with one request at a time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::answer::budget::{Budget, Share};
use crate::answer::status::ApiError;
use crate::request::target::{Native, Review, Target};
use crate::turns::{Asker, Turn, TurnSizes, Turns};

/// Users are forgotten when so many are known and they hold nothing: some hundred bytes each.
const MANY_USERS: usize = 1024;

/// How much work a request may turn out to be. A watch will be a fourth kind, with a pool of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// What this server says about itself. It is made from nothing, and an aggregator that is refused it takes the whole API out
    /// of service: only a user's own share limits it.
    Own,
    /// One small answer.
    Short,
    /// A list: page after page for as long as its client reads.
    List,
}

impl Work {
    /// What a request for this target is; something that does not exist is refused soon.
    pub(super) fn of(target: Option<&Target>) -> Self {
        match target {
            // A list of rules asks the host about type after type.
            Some(Target::View(_, Native::List { .. } | Native::Review(Review::Rules))) => {
                Self::List
            }
            None | Some(Target::View(..) | Target::Collections) => Self::Short,
            Some(_) => Self::Own,
        }
    }
}

/// How many requests may be in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PoolSizes {
    /// Short ones, of all users.
    pub(crate) short: usize,
    /// Lists, of all users.
    pub(crate) lists: usize,
    /// Short ones of one user; of the lists a user has the same part.
    pub(crate) short_per_user: usize,
}

impl PoolSizes {
    fn lists_per_user(self) -> usize {
        let part = self.lists * self.short_per_user / self.short.max(1);
        part.clamp(1, self.lists.max(1))
    }
}

/// The places of all requests.
pub(super) struct Pools {
    sizes: PoolSizes,
    short: Arc<Turns>,
    lists: Arc<Turns>,
    users: Mutex<HashMap<String, Arc<User>>>,
}

struct User {
    short: Arc<Semaphore>,
    lists: Arc<Semaphore>,
    bytes: Share,
}

/// A request's place, until it is dropped.
pub(super) struct Admitted {
    _user: OwnedSemaphorePermit,
    pool: Option<Turn>,
}

impl Admitted {
    /// Leaves what is there for all users: a refusal is small, and while it is not taken it counts against its own user alone.
    pub(super) fn leave_pool(&mut self) {
        self.pool = None;
    }
}

impl Pools {
    pub(super) fn new(sizes: PoolSizes) -> Self {
        Self {
            sizes,
            short: pool(sizes.short, sizes.short_per_user),
            lists: pool(sizes.lists, sizes.lists_per_user()),
            users: Mutex::default(),
        }
    }

    /// Takes a place for a user's request, with the user's share of the budget.
    pub(super) fn enter(
        &self,
        work: Work,
        user: &str,
        budget: &Budget,
    ) -> Result<(Admitted, Share), ApiError> {
        let known = self.user(user, budget);
        let (pool, share) = match work {
            Work::Own => (None, &known.short),
            Work::Short => (Some(&self.short), &known.short),
            Work::List => (Some(&self.lists), &known.lists),
        };
        let own = try_take(share).ok_or_else(ApiError::too_many_requests_of_user)?;
        let pool = match pool {
            Some(pool) => {
                let place = pool.now(&Asker::user(user));
                Some(place.ok_or_else(ApiError::too_many_requests)?)
            }
            None => None,
        };
        let place = Admitted { _user: own, pool };
        Ok((place, known.bytes.clone()))
    }

    fn user(&self, name: &str, budget: &Budget) -> Arc<User> {
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(user) = users.get(name) {
            return Arc::clone(user);
        }
        if users.len() >= MANY_USERS {
            users.retain(|_, user| !self.is_idle(user, budget));
        }
        let user = Arc::new(User {
            short: Arc::new(Semaphore::new(self.sizes.short_per_user)),
            lists: Arc::new(Semaphore::new(self.sizes.lists_per_user())),
            bytes: budget.share(),
        });
        users.insert(name.to_owned(), Arc::clone(&user));
        user
    }

    /// Whether forgetting a user gives nobody more than a share: nothing is in flight, held or about to be taken.
    fn is_idle(&self, user: &Arc<User>, budget: &Budget) -> bool {
        Arc::strong_count(user) == 1
            && user.short.available_permits() == self.sizes.short_per_user
            && user.lists.available_permits() == self.sizes.lists_per_user()
            && budget.is_whole(&user.bytes)
    }
}

/// Places of which nobody waits for one.
fn pool(size: usize, per_user: usize) -> Arc<Turns> {
    Turns::new(TurnSizes {
        at_once: size,
        at_once_per_asker: per_user,
        in_line: size,
        in_line_per_asker: per_user,
    })
}

fn try_take(room: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
    Arc::clone(room).try_acquire_owned().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::target;

    #[track_caller]
    fn check(path: &str, expected: Work) {
        let segments = target::segments(path).expect("a path");
        let found = Work::of(Target::parse(&segments, target::GROUP).as_ref());
        assert_eq!(found, expected, "{path}");
    }

    #[test]
    fn what_a_path_names_is_a_list_something_short_or_our_own() {
        for path in [
            "/version",
            "/apis",
            "/apis/clusterpedia.io",
            "/apis/clusterpedia.io/v1beta1",
            "/openapi/v2",
            "/openapi/v3",
            "/openapi/v3/apis/clusterpedia.io/v1beta1",
        ] {
            check(path, Work::Own);
        }
        check("/nowhere", Work::Short);
        let base = "/apis/clusterpedia.io/v1beta1";
        check(&format!("{base}/collectionresources/any"), Work::Short);
        for view in ["resources", "clusters/m1/proxy"] {
            for (native, expected) in [
                ("version", Work::Short),
                ("api", Work::Short),
                ("apis", Work::Short),
                ("apis/apps", Work::Short),
                ("apis/apps/v1", Work::Short),
                ("api/v1/pods", Work::List),
                ("apis/apps/v1/deployments", Work::List),
                ("api/v1/namespaces/x/pods", Work::List),
                ("api/v1/namespaces/x/pods/a", Work::Short),
                ("api/v1/namespaces/x/pods/a/log", Work::Short),
                ("api/v1/nodes/n1", Work::Short),
                (
                    "apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
                    Work::List,
                ),
                (
                    "apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                    Work::Short,
                ),
                (
                    "apis/authentication.k8s.io/v1/selfsubjectreviews",
                    Work::Short,
                ),
            ] {
                check(&format!("{base}/{view}/{native}"), expected);
            }
        }
    }

    const SIZES: PoolSizes = PoolSizes {
        short: 8,
        lists: 4,
        short_per_user: 4,
    };

    fn pools() -> (Pools, Budget) {
        (Pools::new(SIZES), Budget::new(1000, Arc::default()))
    }

    #[test]
    fn a_user_has_a_share_and_leaves_the_rest_to_others() {
        let (pools, budget) = pools();
        let take = |work, user| pools.enter(work, user, &budget).ok();
        for (work, share, last) in [(Work::Short, 4, 2), (Work::List, 2, 1)] {
            let alice: Vec<_> = (0..10).filter_map(|_| take(work, "alice")).collect();
            assert_eq!(alice.len(), share, "{work:?}");
            // The last quarter is for those who have none.
            let bob: Vec<_> = (0..10).filter_map(|_| take(work, "bob")).collect();
            assert_eq!(bob.len(), share - last, "{work:?}");
            let others = ["dave", "erin"].into_iter().take(last);
            let others: Vec<_> = others.map(|user| take(work, user)).collect();
            assert!(others.iter().all(Option::is_some), "{work:?}");
            assert!(take(work, "carol").is_none(), "{work:?}: the pool is full");
            assert!(
                take(Work::Own, "carol").is_some(),
                "its own documents are not refused"
            );
            drop(alice);
            assert!(take(work, "carol").is_some(), "{work:?}");
        }
    }

    #[test]
    fn lists_do_not_keep_short_requests_out() {
        let (pools, budget) = pools();
        let users = ["a", "b", "c", "d"];
        let lists = users.map(|user| pools.enter(Work::List, user, &budget));
        assert!(lists.iter().all(Result::is_ok));
        assert!(pools.enter(Work::List, "e", &budget).is_err());
        assert!(pools.enter(Work::Short, "e", &budget).is_ok());
    }

    #[test]
    fn users_that_hold_nothing_are_forgotten() {
        let (pools, budget) = pools();
        let kept = pools
            .enter(Work::List, "patient", &budget)
            .expect("a place");
        for number in 0..3 * MANY_USERS {
            let user = format!("u{number}");
            assert!(pools.enter(Work::Short, &user, &budget).is_ok());
        }
        let users = pools.users.lock().expect("no panic");
        assert!(users.len() <= MANY_USERS && users.contains_key("patient"));
        drop((users, kept));
    }
}
