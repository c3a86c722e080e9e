use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, MutexGuard};

use futures::future::join_all;

use super::*;

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
    let runtime = runtime.max_blocking_threads(LOOKUPS + DOUBTFUL + 1).build();
    let server = Arc::new(Server::default());
    let ends = Ends(Arc::clone(&server));
    runtime.expect("a runtime").block_on(async move {
        let _ends = ends;
        test(server).await
    })
}

async fn until(condition: impl Fn() -> bool) {
    while !condition() {
        tokio::task::yield_now().await;
    }
}

/// As many members as would take all threads of the runtime ten times, and one search.
#[test]
fn a_silent_name_server_leaves_threads_for_others() {
    with_few_threads(async |server| {
        let names = server.names();
        let dead = (0..600).map(|number| names.clone().addresses(format!("dead-{number}")));
        let dead = tokio::spawn(join_all(dead));
        until(|| server.asked() == LOOKUPS).await;
        let other = tokio::task::spawn_blocking(|| 7).await;
        assert_eq!(other.expect("no panic"), 7);
        tokio::time::advance(LIMIT).await;
        let dead = dead.await.expect("no panic");
        let late = |found: &io::Result<Vec<SocketAddr>>| {
            let error = found.as_ref().expect_err("nobody answered");
            error.kind() == io::ErrorKind::TimedOut
        };
        assert!(dead.iter().all(late));
        assert_eq!(server.asked(), LOOKUPS, "a thread is not given up");
    });
}

#[test]
fn names_that_were_not_found_do_not_stand_in_the_way_of_others() {
    with_few_threads(async |server| {
        let names = server.names();
        let ask = |number: usize| tokio::spawn(names.clone().addresses(format!("dead-{number}")));
        server.speak(true);
        for number in 0..LOOKUPS {
            let found = ask(number).await.expect("no panic");
            let error = found.expect_err("not known");
            assert_eq!(error.to_string(), "there is no such name");
        }
        server.speak(false);
        let asked = server.asked();
        let waiting = Vec::from_iter((0..LOOKUPS).map(ask));
        until(|| server.asked() == asked + DOUBTFUL).await;
        let found = names.clone().addresses("alive".to_owned()).await;
        assert_eq!(found.expect("answered").len(), 1);
        server.speak(true);
        for waits in waiting {
            assert!(waits.await.expect("no panic").is_err());
        }
        assert_eq!(server.asked(), asked + LOOKUPS + 1);
        // Whoever is found is no longer doubtful.
        assert!(!names.0.is_doubtful("alive") && names.0.is_doubtful("dead-0"));
    });
}

/// The resolver of the system, which needs no network for this name.
#[tokio::test]
async fn the_system_is_asked() {
    let mut names = Names::of_the_process();
    let name = "localhost".parse().expect("a name");
    let found = names.call(name).await.expect("resolved");
    assert!(found.into_iter().all(|address| address.ip().is_loopback()));
}
