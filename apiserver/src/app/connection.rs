//! What is remembered of a connection from one request to the next.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::answer::budget::Share;
use crate::caller::authn::Peer;
use crate::turns::Asker;

/// One connection, as requests see it.
pub(crate) struct Connection {
    pub(super) peer: Peer,
    address: IpAddr,
    /// What answers on it may hold together. Not asked of front proxies, which bring many users' requests.
    pub(super) bytes: Share,
    /// Tells it from all others.
    number: u64,
    proof: Mutex<Proof>,
}

/// What tokens have shown of a connection.
#[derive(Debug, Default)]
struct Proof {
    /// The account of who was the last to prove who they are.
    user: Option<Arc<str>>,
    /// Refusals since then.
    refused: u32,
}

/// Refusals in a row after which nobody is known any more: a client whose token has ended asks a few times, one that tries out
/// tokens goes on.
const MOST_REFUSED: u32 = 10;

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
    pub(super) fn new(peer: Peer, address: IpAddr, bytes: Share) -> Self {
        Self {
            peer,
            address,
            bytes,
            number: next_number(),
            proof: Mutex::default(),
        }
    }

    /// Remembers that somebody on this account has proved who they are.
    pub(super) fn prove(&self, user: &str) {
        let mut proof = self.proof();
        proof.refused = 0;
        if proof.user.as_deref() != Some(user) {
            proof.user = Some(Arc::from(user));
        }
    }

    /// Remembers that somebody could not.
    pub(super) fn refuse(&self) {
        let mut proof = self.proof();
        proof.refused = proof.refused.saturating_add(1);
        if proof.refused >= MOST_REFUSED {
            proof.user = None;
        }
    }

    /// On whose account the host is asked about a token.
    pub(super) fn asker(&self) -> Asker {
        match &self.proof().user {
            Some(user) => Asker::user(user.as_ref()),
            None => Asker::stranger(self.address, self.number),
        }
    }

    fn proof(&self) -> MutexGuard<'_, Proof> {
        self.proof.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// On whose account it is: of who was the last to prove who they are; otherwise of whom the certificate names, as far as that was found out.
    pub(crate) fn last_user(&self) -> Option<Arc<str>> {
        let proved = self.proof().user.clone();
        proved.or_else(|| self.peer.last_user())
    }

    fn is_known(&self) -> bool {
        self.proof().user.is_some()
    }
}

fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::budget::Budget;

    #[test]
    fn who_tries_out_tokens_is_a_stranger_again() {
        let budget = Budget::new(1000, std::sync::Arc::default());
        let address = IpAddr::from([127, 0, 0, 1]);
        let connection = Connection::new(Peer::default(), address, budget.share());
        let stranger = connection.asker();
        for _ in 0..3 {
            connection.prove("alice");
            for _ in 1..MOST_REFUSED {
                connection.refuse();
                assert_eq!(connection.last_standing(), Standing::Known);
            }
        }
        assert_eq!(connection.asker(), Asker::user("alice"));
        connection.refuse();
        assert_eq!(connection.last_standing(), Standing::Unproven);
        assert_eq!(connection.asker(), stranger);
    }
}
