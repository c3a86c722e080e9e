use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, MutexGuard};

use super::record::PROBATION;
use super::*;

/// Those of all lookups.
const THREADS: usize = OF_PROVEN + OF_NEW + OF_SLOW + OF_LASTING;

/// What a test waits for comes at once, or never.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// A name server that is silent about some names until it is told to speak, and then does not know them.
#[derive(Default)]
struct Server {
    speaks: Mutex<bool>,
    changed: Condvar,
    asked: AtomicUsize,
}

impl Server {
    fn names(self: &Arc<Self>) -> Names {
        let server = Arc::clone(self);
        Names::with(move |name| {
            server.asked.fetch_add(1, Ordering::Relaxed);
            if !name.starts_with("dead") {
                return Ok(vec![SocketAddr::from(([10, 0, 0, 1], 0))]);
            }
            let speaks = server.lock();
            let wait = server.changed.wait_while(speaks, |speaks| !*speaks);
            drop(wait.unwrap_or_else(PoisonError::into_inner));
            Err(io::Error::other("there is no such name"))
        })
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.speaks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn speak(&self, speaks: bool) {
        *self.lock() = speaks;
        self.changed.notify_all();
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

/// A test must not leave a thread behind that waits for ever: its runtime would wait for that.
struct Ends(Arc<Server>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.speak(true);
    }
}

/// A runtime with so few threads that those of all lookups are nearly all it has. Its clock moves only where a test says so.
fn with_few_threads<F: Future>(test: impl FnOnce(Arc<Server>) -> F) -> F::Output {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().start_paused(true);
    let runtime = runtime.max_blocking_threads(THREADS + 1).build();
    let server = Arc::new(Server::default());
    let ends = Ends(Arc::clone(&server));
    runtime.expect("a runtime").block_on(async move {
        let _ends = ends;
        test(server).await
    })
}

async fn until(condition: impl Fn() -> bool) {
    let begun = std::time::Instant::now();
    while !condition() {
        assert!(begun.elapsed() < LONGEST_WAIT, "it never came to that");
        tokio::task::yield_now().await;
    }
}

type Asked = tokio::task::JoinHandle<io::Result<Vec<SocketAddr>>>;

impl Names {
    /// Asks for so many names that the server is silent about.
    fn ask_for_dead(&self, how_many: usize) -> Vec<Asked> {
        let ask = |number| tokio::spawn(self.clone().addresses(format!("dead-{number}")));
        (0..how_many).map(ask).collect()
    }

    async fn finds_alive(&self) -> bool {
        self.clone().addresses("alive".to_owned()).await.is_ok()
    }

    fn waiting(&self) -> usize {
        self.0.lock().asked.len()
    }
}

async fn are_late(asked: Vec<Asked>) {
    for asked in asked {
        let found = asked.await.expect("no panic");
        let error = found.expect_err("nobody answered");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{error}");
    }
}

/// More members than the runtime has threads, and one search.
#[test]
fn a_silent_name_server_leaves_threads_for_others() {
    with_few_threads(async |server| {
        let names = server.names();
        let dead = names.ask_for_dead(600);
        let all = OF_NEW + OF_LASTING;
        for begun in (OF_NEW..=all).step_by(OF_NEW) {
            until(|| server.asked() == begun).await;
            tokio::time::advance(LONG).await;
        }
        let other = tokio::task::spawn_blocking(|| 7).await;
        assert_eq!(other.expect("no panic"), 7);
        are_late(dead).await;
        until(|| names.waiting() == all).await;
        assert_eq!(server.asked(), all, "a thread is not given up");
        server.speak(true);
        until(|| names.waiting() == 0).await;
        let free = [&names.0.of_new, &names.0.lasting].map(|turns| turns.available_permits());
        assert_eq!(free, [OF_NEW, OF_LASTING]);
    });
}

/// A fleet comes back whose members are for the most part at names that nobody finds.
#[test]
fn names_that_take_long_let_new_ones_by() {
    with_few_threads(async |server| {
        let names = server.names();
        let _dead = names.ask_for_dead(OF_NEW);
        until(|| server.asked() == OF_NEW).await;
        let alive = tokio::spawn(names.clone().addresses("alive".to_owned()));
        tokio::time::advance(LONG / 2).await;
        assert_eq!(server.asked(), OF_NEW, "nobody takes long so far");
        tokio::time::advance(LONG / 2).await;
        until(|| server.asked() > OF_NEW).await;
        assert!(alive.await.expect("no panic").is_ok());
    });
}

#[test]
fn names_that_took_long_do_not_stand_in_the_way_of_new_ones() {
    with_few_threads(async |server| {
        let names = server.names();
        let dead = names.ask_for_dead(OF_NEW);
        until(|| server.asked() == OF_NEW).await;
        tokio::time::advance(2 * LONG).await;
        server.speak(true);
        for asked in dead {
            let error = asked.await.expect("no panic").expect_err("not known");
            assert_eq!(error.to_string(), "there is no such name");
        }
        server.speak(false);
        let _dead = names.ask_for_dead(OF_NEW);
        until(|| server.asked() == OF_NEW + OF_SLOW).await;
        assert!(names.finds_alive().await);
        assert_eq!(server.asked(), OF_NEW + OF_SLOW + 1);
        // They are asked for again and again, and would have all the room for new ones that take long.
        tokio::time::advance(2 * LONG).await;
        assert!(names.finds_alive().await);
        assert_eq!(names.0.lasting.available_permits(), OF_LASTING);
    });
}

/// Whoever may name members may name as many as they like, each time others, and have each of them be silent.
#[test]
fn new_names_do_not_stand_in_the_way_of_those_that_have_been_found_for_a_while() {
    with_few_threads(async |server| {
        let names = server.names();
        assert!(names.finds_alive().await);
        tokio::time::advance(PROBATION).await;
        let _dead = names.ask_for_dead(600);
        until(|| server.asked() == 1 + OF_NEW).await;
        assert!(names.finds_alive().await);
    });
}

#[test]
fn a_name_is_looked_up_once_for_all_who_want_it() {
    with_few_threads(async |server| {
        let names = server.names();
        let first = [names.ask_for_dead(1), names.ask_for_dead(1)].map(|mut one| one.remove(0));
        until(|| server.asked() == 1).await;
        tokio::time::advance(LIMIT).await;
        are_late(first.into()).await;
        // It goes on although nobody waits, and whoever comes waits for it.
        let later = names.ask_for_dead(1);
        tokio::task::yield_now().await;
        server.speak(true);
        for asked in later {
            let error = asked.await.expect("no panic").expect_err("not known");
            assert_eq!(error.to_string(), "there is no such name");
        }
        assert_eq!((server.asked(), names.waiting()), (1, 0));
    });
}

#[test]
fn nobody_stands_in_line_for_those_who_gave_up() {
    with_few_threads(async |server| {
        let names = server.names();
        let dead = names.ask_for_dead(600);
        until(|| server.asked() == OF_NEW).await;
        assert_eq!(names.waiting(), 600);
        dead.iter().for_each(Asked::abort);
        until(|| names.waiting() == OF_NEW).await;
        server.speak(true);
        until(|| names.waiting() == 0).await;
        assert_eq!(server.asked(), OF_NEW);
    });
}

/// The resolver of the system, which needs no network for this name.
#[tokio::test]
async fn the_system_is_asked() {
    let mut names = Names::of_the_process().held_to(&AllowList::default());
    let name = "localhost".parse().expect("a name");
    let found = names.call(name).await.expect("resolved");
    assert!(found.into_iter().all(|address| address.ip().is_loopback()));
}

#[tokio::test]
async fn an_address_that_is_not_allowed_is_none_of_a_names() {
    let allowed = ["10.0.0.0/8".parse().expect("a network")]
        .into_iter()
        .collect();
    let mut names = Names::of_the_process().held_to(&allowed);
    let name = "localhost".parse().expect("a name");
    let error = names.call(name).await.expect_err("not allowed");
    assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
}
