//! Which certificates are believed: what `kube-system/extension-apiserver-authentication` says.
//!
//! Each CA is asked by itself. A certificate of the client CA never makes a front proxy, and one of the request-header CA never
//! makes a user, whatever names they bear.

use std::collections::BTreeMap;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, TrustAnchor, UnixTime};
use webpki::{EndEntityCert, KeyUsage};
use x509_parser::prelude::{FromDer as _, X509Certificate};

use super::Peer;
use super::front_proxy::FrontProxy;
use crate::caller::identity::Identity;

/// What the host's kube-apiserver tells its extension servers to trust.
#[derive(Debug, Default)]
pub(crate) struct Trust {
    loaded: bool,
    pub(super) front_proxy: Option<FrontProxy>,
    /// CAs of people and programs that call directly.
    clients: Vec<TrustAnchor<'static>>,
}

/// A configuration that cannot be used; the former one stays.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InvalidTrust {
    /// Not a PEM bundle of certificates.
    #[error("{key} is not a bundle of certificates")]
    Certificates {
        /// The key of the ConfigMap.
        key: &'static str,
    },
    /// Not a JSON list of texts.
    #[error("{key} is not a list of names")]
    Names {
        /// The key of the ConfigMap.
        key: &'static str,
        #[source]
        source: serde_json::Error,
    },
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

    /// The user that a client certificate names: the common name, with the organisations as groups.
    pub(super) fn certificate_identity(&self, peer: &Peer, now: UnixTime) -> Option<Identity> {
        let leaf = verified_leaf(peer, &self.clients, now)?;
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

/// The leaf of the peer's chain, if one of these anchors vouches for it as a client.
pub(super) fn verified_leaf<'a>(
    peer: &'a Peer,
    anchors: &[TrustAnchor<'static>],
    now: UnixTime,
) -> Option<X509Certificate<'a>> {
    let (leaf, intermediates) = peer.certificates.split_first()?;
    let certificate = EndEntityCert::try_from(leaf).ok()?;
    let algorithms = rustls::crypto::ring::default_provider()
        .signature_verification_algorithms
        .all;
    let vouches = |anchor: &TrustAnchor<'static>| {
        let usage = KeyUsage::client_auth();
        let anchor = std::slice::from_ref(anchor);
        certificate
            .verify_for_usage(algorithms, anchor, intermediates, now, usage, None, None)
            .is_ok()
    };
    if !anchors.iter().any(vouches) {
        return None;
    }
    X509Certificate::from_der(leaf)
        .ok()
        .map(|(_, parsed)| parsed)
}

/// The last common name, as Go reads a subject.
pub(super) fn common_name<'a>(certificate: &'a X509Certificate<'_>) -> Option<&'a str> {
    certificate
        .subject()
        .iter_common_name()
        .last()?
        .as_str()
        .ok()
}

/// The certificates of a PEM bundle as anchors; none if the key is absent or empty.
pub(super) fn anchors(
    data: &BTreeMap<String, String>,
    key: &'static str,
) -> Result<Vec<TrustAnchor<'static>>, InvalidTrust> {
    let pem = data.get(key).map_or("", String::as_str);
    let mut anchors = Vec::new();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        let certificate = certificate.map_err(|_| InvalidTrust::Certificates { key })?;
        let anchor = webpki::anchor_from_trusted_cert(&certificate)
            .map_err(|_| InvalidTrust::Certificates { key })?;
        anchors.push(anchor.to_owned());
    }
    if anchors.is_empty() && !pem.trim().is_empty() {
        return Err(InvalidTrust::Certificates { key });
    }
    Ok(anchors)
}

/// A JSON list of texts; empty if the key is absent or empty.
pub(super) fn names(
    data: &BTreeMap<String, String>,
    key: &'static str,
) -> Result<Vec<String>, InvalidTrust> {
    match data.get(key).map(String::as_str) {
        None | Some("") => Ok(Vec::new()),
        Some(json) => {
            serde_json::from_str(json).map_err(|source| InvalidTrust::Names { key, source })
        }
    }
}
