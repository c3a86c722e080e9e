//! The addresses of members that are known by name: so many lookups at the same time in the whole process, each with a limit of time.
//!
//! The system's resolver keeps a thread until it has an answer, which takes up to a minute where the name server is silent, and goes on
//! when nobody waits any more. Those threads are the ones that also unpack what searches found and pack what is written: were all of them
//! waiting for a name server, a fleet of members that nobody finds would stand in the way of those that are well.

use std::collections::HashSet;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use std::vec;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use hyper_util::client::legacy::connect::dns::Name;
use tokio::sync::Semaphore;
use tower::Service;

/// Lookups at the same time: as many as there are lists and searches together, several times. A name server that is well answers within
/// milliseconds, so that these are some thousand members a second. With those of [`DOUBTFUL`] they take a tenth of the runtime's 512
/// threads.
const LOOKUPS: usize = 32;
/// Of names that were not found the last time: they wait for each other, and not in the way of those that are.
const DOUBTFUL: usize = 16;
/// From the first request for a name to its addresses. Servers that do not answer are asked again after 5 s.
const LIMIT: Duration = Duration::from_secs(5);
/// Names that are remembered as doubtful: those of a fleet. If there are more, all are trusted once more.
const REMEMBERED: usize = 10_000;

/// What the system does: name to addresses, in its own time.
type LookUp = dyn Fn(&str) -> io::Result<Vec<SocketAddr>> + Send + Sync;

/// Resolves names; clones share the lookups.
#[derive(Clone)]
pub(crate) struct Names(Arc<Shared>);

struct Shared {
    lookups: Arc<Semaphore>,
    of_doubtful: Arc<Semaphore>,
    doubtful: Mutex<HashSet<String>>,
    look_up: Box<LookUp>,
}

/// The threads are those of the whole process, and so is their number.
static OF_THE_PROCESS: LazyLock<Names> = LazyLock::new(|| {
    Names::with(|name| {
        // The port is set by whoever asked for the addresses.
        Ok((name, 0).to_socket_addrs()?.collect())
    })
});

impl Names {
    pub(crate) fn of_the_process() -> Self {
        OF_THE_PROCESS.clone()
    }

    fn with(look_up: impl Fn(&str) -> io::Result<Vec<SocketAddr>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(Shared {
            lookups: Arc::new(Semaphore::new(LOOKUPS)),
            of_doubtful: Arc::new(Semaphore::new(DOUBTFUL)),
            doubtful: Mutex::default(),
            look_up: Box::new(look_up),
        }))
    }

    async fn addresses(self, name: String) -> io::Result<Vec<SocketAddr>> {
        let found = tokio::time::timeout(LIMIT, self.found(&name)).await;
        found.unwrap_or_else(|_| {
            let text = format!("{name} was not resolved within {} s", LIMIT.as_secs());
            Err(io::Error::new(io::ErrorKind::TimedOut, text))
        })
    }

    async fn found(&self, name: &str) -> io::Result<Vec<SocketAddr>> {
        let shared = Arc::clone(&self.0);
        let turns = if shared.is_doubtful(name) {
            &shared.of_doubtful
        } else {
            &shared.lookups
        };
        let turn = Arc::clone(turns).acquire_owned().await;
        let turn = turn.map_err(io::Error::other)?;
        // Until it is found, for nobody may be there any more to say that it was not.
        shared.doubt(name);
        let name = name.to_owned();
        let looking = tokio::task::spawn_blocking(move || {
            let found = (shared.look_up)(&name);
            if found.is_ok() {
                shared.trust(&name);
            }
            // The thread is in use until now, whether anybody still waits or not.
            drop(turn);
            found
        });
        looking.await.map_err(io::Error::other)?
    }
}

impl Shared {
    fn is_doubtful(&self, name: &str) -> bool {
        let doubtful = self.doubtful.lock();
        let doubtful = doubtful.unwrap_or_else(PoisonError::into_inner);
        doubtful.contains(name)
    }

    fn doubt(&self, name: &str) {
        let doubtful = self.doubtful.lock();
        let mut doubtful = doubtful.unwrap_or_else(PoisonError::into_inner);
        if doubtful.len() >= REMEMBERED {
            doubtful.clear();
        }
        doubtful.insert(name.to_owned());
    }

    fn trust(&self, name: &str) {
        let doubtful = self.doubtful.lock();
        let mut doubtful = doubtful.unwrap_or_else(PoisonError::into_inner);
        doubtful.remove(name);
    }
}

impl Service<Name> for Names {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let addresses = self.clone().addresses(name.as_str().to_owned());
        addresses
            .map(|found| found.map(IntoIterator::into_iter))
            .boxed()
    }
}

#[cfg(test)]
mod tests;
