//! Which certificates are believed: what `kube-system/extension-apiserver-authentication` says.
//!
//! Each CA is asked by itself. A certificate of the client CA never makes a front proxy, and one of the request-header CA never
//! makes a user, whatever names they bear.

use std::collections::BTreeMap;

use http::HeaderMap;
use rustls::pki_types::{TrustAnchor, UnixTime};

use super::certificate::{common_name, verified_leaf};
use super::config_map::{InvalidTrust, anchors};
use super::front_proxy::FrontProxy;
use super::peer::Peer;
use crate::caller::identity::Identity;

/// What the host's kube-apiserver tells its extension servers to trust.
#[derive(Debug, Default)]
pub(crate) struct Trust {
    loaded: bool,
    front_proxy: Option<FrontProxy>,
    /// CAs of people and programs that call directly.
    clients: Vec<TrustAnchor<'static>>,
}

impl Trust {
    /// Reads the data of the ConfigMap. What is not there is not trusted.
    pub(crate) fn from_data(data: &BTreeMap<String, String>) -> Result<Self, InvalidTrust> {
        Ok(Self {
            loaded: true,
            front_proxy: FrontProxy::from_data(data)?,
            clients: anchors(data, "client-ca-file")?,
        })
    }

    /// Nothing is trusted, and that is known.
    pub(crate) fn nothing() -> Self {
        Self {
            loaded: true,
            ..Self::default()
        }
    }

    pub(super) fn is_loaded(&self) -> bool {
        self.loaded
    }

    /// The caller that a front proxy speaks for; `None` if the peer is no front proxy or names nobody.
    pub(super) fn front_proxy_identity(
        &self,
        peer: &Peer,
        headers: &HeaderMap,
        now: UnixTime,
    ) -> Option<Identity> {
        let proxy = self.front_proxy.as_ref()?;
        // Looking for the headers first spares other connections the verification.
        let identity = proxy.identity(headers)?;
        proxy.vouches_for(peer, now).then_some(identity)
    }

    /// The user that a client certificate names: the common name, with the organisations as groups.
    pub(super) fn certificate_identity(&self, peer: &Peer, now: UnixTime) -> Option<Identity> {
        let leaf = verified_leaf(&peer.certificates, &self.clients, now)?;
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
