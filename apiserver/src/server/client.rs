//! One connection as the server sees it: how busy it is, what it has shown itself to be, and how it is told to go.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::heads::{Total, Unfinished};
use super::strikes::Strikes;
use super::wear::{End, Wear};
use crate::app::{App, Connection, Standing};

/// How long a connection is kept that is of no use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdleLimits {
    /// Without a request.
    pub(crate) idle: Duration,
    /// Without anybody having proved who they are.
    pub(crate) unproven: Duration,
}

/// One connection.
pub(super) struct Client {
    app: Arc<App>,
    /// Where it comes from: see [`network`].
    pub(super) address: IpAddr,
    since: Instant,
    connection: OnceLock<Arc<Connection>>,
    /// Whose it was when that was last asked for.
    user: Mutex<Option<Arc<str>>>,
    busy: AtomicUsize,
    pub(super) head: Unfinished,
    quiet_since: Mutex<Instant>,
    strikes: Mutex<Strikes>,
    /// Ends the connection when its requests have ended.
    pub(super) told: CancellationToken,
    /// Ends the connection at once.
    pub(super) cut: CancellationToken,
}

/// On whose account a connection is.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) enum Owner {
    /// Whoever was the last to prove who they are.
    User(Arc<str>),
    /// Where it comes from, while nobody has.
    Address(IpAddr),
}

/// Whose an address is: an IPv6 host has a network of 64 bits to itself, and an IPv4 one may be written as one of IPv6.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
    }
}

/// Keeps a client busy while it lives.
pub(super) struct Busy(Arc<Client>);

impl Client {
    pub(super) fn new(app: Arc<App>, address: IpAddr, heads: Total) -> Arc<Self> {
        Arc::new(Self {
            app,
            address: network(address),
            since: Instant::now(),
            connection: OnceLock::new(),
            user: Mutex::default(),
            busy: AtomicUsize::new(0),
            head: Unfinished::none(heads),
            quiet_since: Mutex::new(Instant::now()),
            strikes: Mutex::default(),
            told: CancellationToken::new(),
            cut: CancellationToken::new(),
        })
    }

    /// The handshake is complete.
    pub(super) fn connected(&self, connection: Arc<Connection>) {
        let _ = self.connection.set(connection);
    }

    /// What it has shown itself to be; its certificate is verified anew where the trust has changed.
    pub(super) fn standing(&self) -> Standing {
        match self.connection.get() {
            Some(connection) => self.app.standing(connection),
            None => Standing::Unproven,
        }
    }

    /// What it was when that was last found out: what a lock may be held for.
    pub(super) fn last_standing(&self) -> Standing {
        match self.connection.get() {
            Some(connection) => connection.last_standing(),
            None => Standing::Unproven,
        }
    }

    /// Whose it was when that was last found out.
    pub(super) fn last_user(&self) -> Option<Arc<str>> {
        self.connection.get()?.last_user()
    }

    /// Whether it is somebody's whose it was not when this was last asked.
    pub(super) fn has_another_user(&self) -> bool {
        let user = self.last_user();
        let mut known = self.user.lock().unwrap_or_else(PoisonError::into_inner);
        let is_another = user.is_some() && *known != user;
        *known = user;
        is_another
    }

    /// On whose account it was when that was last found out.
    pub(super) fn owner(&self) -> Owner {
        match self.last_user() {
            Some(user) => Owner::User(user),
            None => Owner::Address(self.address),
        }
    }

    /// A request begins; it ends when the guard is dropped.
    pub(super) fn busy(self: &Arc<Self>) -> Busy {
        self.busy.fetch_add(1, Ordering::Relaxed);
        Busy(Arc::clone(self))
    }

    pub(super) fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Relaxed) > 0
    }

    /// An answer was given up because nothing of it was taken. If a piece of it cannot be freed otherwise, the connection ends, and if it
    /// has happened too often, it ends when its other requests have. A front proxy's does not: it brings many users' requests, one of
    /// whom may be to blame, and ends them by itself after a minute.
    pub(super) fn strike(&self, is_left: bool) {
        self.app.counters().stalled();
        let mut strikes = self.strikes.lock().unwrap_or_else(PoisonError::into_inner);
        let is_third = strikes.is_third(Instant::now());
        drop(strikes);
        if !(is_left || is_third) || self.standing() == Standing::FrontProxy {
            return;
        }
        match is_left {
            true => self.cut.cancel(),
            false => self.told.cancel(),
        }
    }

    /// So much was read of it over HTTP/2.
    pub(super) fn has_read(&self, wear: Wear) {
        match wear.end(|| self.last_standing()) {
            None => {}
            Some(End::Told) => self.told.cancel(),
            Some(End::Cut) => self.cut.cancel(),
        }
    }

    /// Returns when the connection has been of no use for too long.
    pub(super) async fn useless(&self, limits: IdleLimits) {
        loop {
            let now = Instant::now();
            let ends = match self.standing() {
                Standing::Unproven => self.since + limits.unproven,
                _ if self.is_busy() => now + limits.idle,
                _ => *self.quiet() + limits.idle,
            };
            if ends <= now {
                return;
            }
            // Whoever proves who they are meanwhile may be idle for too long before a stranger's time is up.
            tokio::time::sleep_until(ends.min(now + limits.idle)).await;
        }
    }

    fn quiet(&self) -> std::sync::MutexGuard<'_, Instant> {
        self.quiet_since
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        *self.0.quiet() = Instant::now();
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(address: &str, expected: &str) {
        let address = address.parse().expect("an address");
        assert_eq!(network(address).to_string(), expected);
    }

    #[test]
    fn a_host_has_one_address_however_many_it_has() {
        check("192.0.2.7", "192.0.2.7");
        check("::ffff:192.0.2.7", "192.0.2.7");
        check("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::");
        check("2001:db8:1:2::1", "2001:db8:1:2::");
        check("2001:db8:1:3::1", "2001:db8:1:3::");
        check("::1", "::");
    }
}
