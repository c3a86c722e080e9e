//! The other end of a connection, and what its certificate was found to be worth.

use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwapOption;
use rustls::pki_types::{CertificateDer, UnixTime};

use crate::caller::identity::{Identity, account_of};

/// What is known of the other end of a connection: the certificates it proved to hold, leaf first.
///
/// What they are worth is found out once for each state of the trust, and again when one of them begins or ceases to be valid: a
/// verification costs as much as many requests.
#[derive(Debug, Default)]
pub(crate) struct Peer {
    certificates: Vec<CertificateDer<'static>>,
    /// With the generation of the trust that it was found by.
    found: Mutex<Option<(u64, Found)>>,
    /// The latest verdict, for those who cannot wait for another.
    last: ArcSwapOption<Verdict>,
}

/// What a peer's certificates are worth.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    /// Its word about others is believed.
    pub(super) is_front_proxy: bool,
    /// Whom its certificate names, if a client CA vouches for it.
    pub(super) user: Option<Identity>,
}

/// A verdict, and until when the clock changes nothing of it.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) verdict: Arc<Verdict>,
    pub(super) until: UnixTime,
}

impl Peer {
    /// A peer with these certificates, leaf first.
    pub(crate) fn new(certificates: Vec<CertificateDer<'static>>) -> Self {
        Self {
            certificates,
            found: Mutex::default(),
            last: ArcSwapOption::empty(),
        }
    }

    /// The verdict of this generation of the trust at this time, if there are certificates; `verify` is asked for it once.
    pub(super) fn verdict(
        &self,
        generation: u64,
        now: UnixTime,
        verify: impl FnOnce(&[CertificateDer<'static>]) -> Found,
    ) -> Option<Arc<Verdict>> {
        if self.certificates.is_empty() {
            return None;
        }
        // Held while verifying, so that a hundred first requests at once make one verification; it takes about a millisecond.
        let mut kept = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, found)) = &*kept
            && *of == generation
            && now < found.until
        {
            return Some(Arc::clone(&found.verdict));
        }
        let found = verify(&self.certificates);
        let verdict = Arc::clone(&found.verdict);
        self.last.store(Some(Arc::clone(&verdict)));
        *kept = Some((generation, found));
        Some(verdict)
    }

    /// Whether the peer was a front proxy when that was last found out. Never verifies or waits.
    pub(crate) fn was_front_proxy(&self) -> bool {
        let last = self.last.load();
        last.as_ref().is_some_and(|verdict| verdict.is_front_proxy)
    }

    /// The account of the user whom the peer's certificate named when that was last found out. Never verifies or waits.
    pub(crate) fn last_user(&self) -> Option<Arc<str>> {
        let last = self.last.load();
        let user = last.as_ref().and_then(|verdict| verdict.user.as_ref());
        user.map(|identity| Arc::from(account_of(&identity.user)))
    }

    /// Whether the peer's certificate named a user when that was last found out. Never verifies or waits.
    pub(crate) fn was_user(&self) -> bool {
        let last = self.last.load();
        last.as_ref().is_some_and(|verdict| verdict.user.is_some())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::certificate::changes_at;
    use super::*;
    use crate::testing::Authority;

    fn after(seconds: u64) -> UnixTime {
        UnixTime::since_unix_epoch(Duration::from_secs(UnixTime::now().as_secs() + seconds))
    }

    fn found(verdict: Verdict) -> Found {
        Found {
            verdict: Arc::new(verdict),
            until: after(3600),
        }
    }

    #[test]
    fn a_certificate_is_verified_once_for_each_state_of_the_trust() {
        let peer = Authority::new("any").peer("bob", &[]);
        let mut verified = 0;
        for generation in [1, 1, 1, 2, 2, 1] {
            peer.verdict(generation, UnixTime::now(), |_| {
                verified += 1;
                found(Verdict::default())
            });
        }
        assert_eq!(verified, 3);
    }

    #[test]
    fn what_was_last_found_is_known_while_it_is_found_out_anew() {
        let peer = Authority::new("any").peer("proxy", &[]);
        let is = |is_front_proxy| {
            found(Verdict {
                is_front_proxy,
                user: None,
            })
        };
        assert!(!peer.was_front_proxy());
        peer.verdict(1, UnixTime::now(), |_| is(true));
        peer.verdict(2, UnixTime::now(), |_| {
            assert!(peer.was_front_proxy());
            is(false)
        });
        assert!(!peer.was_front_proxy());
    }

    #[test]
    fn a_certificate_that_has_ended_is_verified_again() {
        let peer = Authority::new("any").peer_valid_for("bob", Duration::from_secs(3600));
        let mut verified = Vec::new();
        for seconds in [0, 3500, 3700, 3800] {
            peer.verdict(1, after(seconds), |chain| {
                verified.push(seconds);
                Found {
                    verdict: Arc::default(),
                    until: changes_at(chain, std::iter::empty(), after(seconds)),
                }
            });
        }
        assert_eq!(verified, [0, 3700]);
    }
}
