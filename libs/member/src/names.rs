//! The addresses of members that are known by name: so many lookups at the same time in the whole process, each with a limit of time, and
//! one for each name.
//!
//! The system's resolver keeps a thread until it has an answer, which takes up to a minute where the name server is silent, and goes on
//! when nobody waits any more. Those threads are the ones that also unpack what searches found and pack what is written: were all of them
//! waiting for a name server, a fleet of members that nobody finds would stand in the way of those that are well.
//!
//! Whose name server it is is for whoever names a member to say, and it may be silent at any time. So a name waits among its like: those
//! that have been found for a while, those that are new, and those that took long. A lookup that takes long gives its place among the first
//! two to the next, as long as there are threads for both.

mod record;

use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use std::vec;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use hyper_util::client::legacy::connect::dns::Name;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::Instant;
use tower::Service;

use crate::allow_list::AllowList;

use self::record::{Class, LONG, Record};

/// Lookups at the same time of names that have been found for a while: as many as there are lists and searches together, several times.
/// A name server that is well answers within milliseconds, so that these are some thousand members a second. All four together take less
/// than a fifth of the runtime's 512 threads.
const OF_PROVEN: usize = 24;
/// Of names that are new: a fleet that starts is reached for by sixteens.
const OF_NEW: usize = 16;
/// Of names that took long.
const OF_SLOW: usize = 8;
/// Lookups that were begun among the first two and take long now: they hold up those behind them no further. A fleet that starts passes
/// by so many silent names, and the sixteen, in ten seconds.
const OF_LASTING: usize = 48;
/// From the first request for a name to its addresses. Servers that do not answer are asked again after 5 s. A health check lasts longer, so that it fails
/// in the same words each time.
pub(crate) const LIMIT: Duration = Duration::from_secs(4);

/// What the system does: name to addresses, in its own time.
type LookUp = dyn Fn(&str) -> io::Result<Vec<SocketAddr>> + Send + Sync;

/// What came of a lookup, for all who wait for it.
type Found = Result<Vec<SocketAddr>, (io::ErrorKind, String)>;

/// Resolves names; clones share the lookups.
#[derive(Clone)]
pub(crate) struct Names(Arc<Shared>);

struct Shared {
    of_proven: Arc<Semaphore>,
    of_new: Arc<Semaphore>,
    of_slow: Arc<Semaphore>,
    lasting: Arc<Semaphore>,
    known: Mutex<Known>,
    look_up: Box<LookUp>,
}

#[derive(Default)]
struct Known {
    /// Names that are being looked up or wait for their turn, and who tells what comes of it.
    asked: HashMap<String, Arc<watch::Sender<Option<Found>>>>,
    record: Record,
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
            of_proven: Arc::new(Semaphore::new(OF_PROVEN)),
            of_new: Arc::new(Semaphore::new(OF_NEW)),
            of_slow: Arc::new(Semaphore::new(OF_SLOW)),
            lasting: Arc::new(Semaphore::new(OF_LASTING)),
            known: Mutex::default(),
            look_up: Box::new(look_up),
        }))
    }

    async fn addresses(self, name: String) -> io::Result<Vec<SocketAddr>> {
        let found = tokio::time::timeout(LIMIT, self.found(&name)).await;
        let found = found.unwrap_or_else(|_| {
            let text = format!("{name} was not resolved within {} s", LIMIT.as_secs());
            Err((io::ErrorKind::TimedOut, text))
        });
        found.map_err(|(kind, text)| io::Error::new(kind, text))
    }

    async fn found(&self, name: &str) -> Found {
        loop {
            let mut told = self.ask(name);
            // Without an answer it was given up a moment before somebody else wanted it.
            if let Ok(found) = told.wait_for(Option::is_some).await {
                return found.clone().expect("it was waited for");
            }
        }
    }

    /// Begins a lookup, or joins the one that is there.
    fn ask(&self, name: &str) -> watch::Receiver<Option<Found>> {
        let mut known = self.0.lock();
        if let Some(asked) = known.asked.get(name) {
            return asked.subscribe();
        }
        let (tell, told) = watch::channel(None);
        let tell = Arc::new(tell);
        known.asked.insert(name.to_owned(), Arc::clone(&tell));
        drop(known);
        let lookup = Lookup {
            shared: Arc::clone(&self.0),
            name: name.to_owned(),
            tell,
        };
        // It ends with its answer, or without one when nobody waits for its turn any more.
        tokio::spawn(lookup.run());
        told
    }
}

/// One lookup of one name.
struct Lookup {
    shared: Arc<Shared>,
    name: String,
    tell: Arc<watch::Sender<Option<Found>>>,
}

impl Lookup {
    async fn run(self) {
        let class = self.class();
        let Some(mut turn) = self.turn(class).await else {
            return;
        };
        let (shared, name) = (Arc::clone(&self.shared), self.name.clone());
        let mut looking = tokio::task::spawn_blocking(move || {
            let begun = Instant::now();
            let found = (shared.look_up)(&name);
            let mut known = shared.lock();
            known
                .record
                .looked_up(&name, found.is_ok(), begun, Instant::now());
            found
        });
        let found = tokio::select! {
            found = &mut looking => found,
            lasting = self.lasting(class) => {
                turn = lasting;
                looking.await
            }
        };
        // The thread was in use until now, whether anybody still waits or not.
        drop(turn);
        let found = found.unwrap_or_else(|error| Err(io::Error::other(error)));
        let mut known = self.shared.lock();
        known.asked.remove(&self.name);
        drop(known);
        let found = found.map_err(|error| (error.kind(), error.to_string()));
        self.tell.send_replace(Some(found));
    }

    fn class(&self) -> Class {
        let known = self.shared.lock();
        known.record.class_of(&self.name, Instant::now())
    }

    /// `None` if nobody waits any more.
    async fn turn(&self, class: Class) -> Option<OwnedSemaphorePermit> {
        let turns = match class {
            Class::Proven => &self.shared.of_proven,
            Class::New => &self.shared.of_new,
            Class::Slow => &self.shared.of_slow,
        };
        tokio::select! {
            turn = Arc::clone(turns).acquire_owned() => turn.ok(),
            () = self.tell.closed() => None,
        }
    }

    /// A place among those that take long, when it does and there is one. Whoever took long before stays where they are.
    async fn lasting(&self, class: Class) -> OwnedSemaphorePermit {
        if class == Class::Slow {
            return std::future::pending().await;
        }
        tokio::time::sleep(LONG).await;
        let lasting = Arc::clone(&self.shared.lasting).acquire_owned().await;
        lasting.expect("nobody closes it")
    }
}

impl Drop for Lookup {
    /// Also where its runtime ends before it does. Another one of the name may have begun meanwhile.
    fn drop(&mut self) {
        let mut known = self.shared.lock();
        let asked = known.asked.get(&self.name);
        if asked.is_some_and(|tell| Arc::ptr_eq(tell, &self.tell)) {
            known.asked.remove(&self.name);
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Names {
    /// Resolves them to what is allowed alone.
    pub(crate) fn held_to(self, allowed: &AllowList) -> AllowedNames {
        AllowedNames {
            names: self,
            allowed: allowed.clone(),
        }
    }
}

/// Resolves names to addresses that members may have.
#[derive(Clone)]
pub(crate) struct AllowedNames {
    names: Names,
    allowed: AllowList,
}

impl Service<Name> for AllowedNames {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let Self { names, allowed } = self.clone();
        let found = async move {
            let found = names.addresses(name.as_str().to_owned()).await?;
            Ok(allowed.admitted(name.as_str(), found)?.into_iter())
        };
        found.boxed()
    }
}

#[cfg(test)]
mod tests;
