//! Which certificates are believed: what `kube-system/extension-apiserver-authentication` says.
//!
//! Each CA is asked by itself. A certificate of the client CA never makes a front proxy, and one of the request-header CA never
//! makes a user, whatever names they bear.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use http::HeaderMap;
use rustls::pki_types::{CertificateDer, UnixTime};

use super::certificate::{Anchor, changes_at, common_name, verified_leaf};
use super::config_map::{InvalidTrust, anchors};
use super::front_proxy::FrontProxy;
use super::peer::{Found, Peer, Verdict};
use crate::caller::identity::Identity;

/// What the host's kube-apiserver tells its extension servers to trust.
#[derive(Debug, Default)]
pub(crate) struct Trust {
    loaded: bool,
    /// Tells one state of the trust from the next; zero while nothing has been read.
    generation: u64,
    front_proxy: Option<FrontProxy>,
    /// CAs of people and programs that call directly.
    clients: Vec<Anchor>,
}

impl Trust {
    /// Reads the data of the ConfigMap. What is not there is not trusted.
    pub(crate) fn from_data(data: &BTreeMap<String, String>) -> Result<Self, InvalidTrust> {
        Ok(Self {
            loaded: true,
            generation: next_generation(),
            front_proxy: FrontProxy::from_data(data)?,
            clients: anchors(data, "client-ca-file")?,
        })
    }

    /// Nothing is trusted, and that is known.
    pub(crate) fn nothing() -> Self {
        Self {
            loaded: true,
            generation: next_generation(),
            ..Self::default()
        }
    }

    pub(super) fn is_loaded(&self) -> bool {
        self.loaded
    }

    /// Whom the headers speak for, if a front proxy says so.
    pub(super) fn front_proxy_identity(
        &self,
        peer: &Peer,
        headers: &HeaderMap,
        now: UnixTime,
    ) -> Option<Identity> {
        let identity = self.front_proxy.as_ref()?.identity(headers)?;
        self.verdict(peer, now)?.is_front_proxy.then_some(identity)
    }

    /// What the peer's certificates are worth, if it has shown any.
    pub(super) fn verdict(&self, peer: &Peer, now: UnixTime) -> Option<Arc<Verdict>> {
        peer.verdict(self.generation, now, |chain| Found {
            verdict: Arc::new(Verdict {
                is_front_proxy: self
                    .front_proxy
                    .as_ref()
                    .is_some_and(|proxy| proxy.vouches_for(chain, now)),
                user: self.user(chain, now),
            }),
            until: changes_at(chain, self.anchors(), now),
        })
    }

    /// All CAs that vouch for somebody.
    fn anchors(&self) -> impl Iterator<Item = &Anchor> {
        let of_proxy = self.front_proxy.iter().flat_map(FrontProxy::anchors);
        self.clients.iter().chain(of_proxy)
    }

    /// The user that a client certificate names: the common name, with the organisations as groups.
    fn user(&self, chain: &[CertificateDer<'static>], now: UnixTime) -> Option<Identity> {
        let leaf = verified_leaf(chain, &self.clients, now)?;
        let user = common_name(&leaf).filter(|name| !name.is_empty())?;
        let organisations = leaf.subject().iter_organization();
        let groups = organisations
            .filter_map(|one| one.as_str().ok())
            .map(str::to_owned);
        Some(Identity {
            user: user.to_owned(),
            groups: groups.collect(),
            ..Identity::default()
        })
    }
}

/// A number that no other trust of this process has.
fn next_generation() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
