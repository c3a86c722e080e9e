//! What is remembered of a connection from one request to the next.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::answer::budget::Share;
use crate::caller::authn::Peer;

/// One connection, as requests see it.
pub(crate) struct Connection {
    pub(super) peer: Peer,
    /// What answers on it may hold together. Not asked of front proxies, which bring many users' requests.
    pub(super) bytes: Share,
    known: AtomicBool,
}

/// What a connection has shown itself to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nobody has proved who they are.
    Unproven,
    /// Somebody has: by a certificate or by a token that was accepted.
    Known,
    /// A front proxy, which many users depend on.
    FrontProxy,
}

impl Connection {
    pub(super) fn new(peer: Peer, bytes: Share) -> Self {
        Self {
            peer,
            bytes,
            known: AtomicBool::new(false),
        }
    }

    /// Remembers that somebody has proved who they are.
    pub(super) fn prove(&self) {
        self.known.store(true, Ordering::Relaxed);
    }

    /// What the connection was when that was last found out. Never verifies a certificate or waits for one that is being verified.
    pub(crate) fn last_standing(&self) -> Standing {
        if self.peer.was_front_proxy() {
            Standing::FrontProxy
        } else if self.is_known() || self.peer.was_user() {
            Standing::Known
        } else {
            Standing::Unproven
        }
    }

    pub(super) fn is_known(&self) -> bool {
        self.known.load(Ordering::Relaxed)
    }
}
