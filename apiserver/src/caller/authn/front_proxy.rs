//! A front proxy (the host's kube-apiserver) and the headers in which it says whom it speaks for.

use std::collections::{BTreeMap, BTreeSet};

use http::HeaderMap;
use percent_encoding::percent_decode_str;
use rustls::pki_types::{CertificateDer, UnixTime};

use super::certificate::{Anchor, common_name, verified_leaf};
use super::config_map::{InvalidTrust, anchors, names};
use crate::caller::identity::Identity;

/// Whom to believe as a front proxy, and what its headers are called.
#[derive(Debug)]
pub(super) struct FrontProxy {
    anchors: Vec<Anchor>,
    /// Common names that a proxy may bear; empty for any under this CA.
    allowed_names: BTreeSet<String>,
    user_headers: Vec<String>,
    uid_headers: Vec<String>,
    group_headers: Vec<String>,
    /// Lower case.
    extra_prefixes: Vec<String>,
}

impl FrontProxy {
    /// Reads its part of the ConfigMap; `None` if no CA is named.
    pub(super) fn from_data(data: &BTreeMap<String, String>) -> Result<Option<Self>, InvalidTrust> {
        let anchors = anchors(data, "requestheader-client-ca-file")?;
        if anchors.is_empty() {
            return Ok(None);
        }
        let extra_prefixes = names(data, "requestheader-extra-headers-prefix")?;
        Ok(Some(Self {
            anchors,
            allowed_names: names(data, "requestheader-allowed-names")?
                .into_iter()
                .collect(),
            user_headers: names(data, "requestheader-username-headers")?,
            uid_headers: names(data, "requestheader-uid-headers")?,
            group_headers: names(data, "requestheader-group-headers")?,
            extra_prefixes: extra_prefixes
                .iter()
                .map(|prefix| prefix.to_lowercase())
                .collect(),
        }))
    }

    /// The CAs that vouch for it.
    pub(super) fn anchors(&self) -> &[Anchor] {
        &self.anchors
    }

    /// Whether this chain is a front proxy's.
    pub(super) fn vouches_for(&self, chain: &[CertificateDer<'static>], now: UnixTime) -> bool {
        let Some(leaf) = verified_leaf(chain, &self.anchors, now) else {
            return false;
        };
        self.allowed_names.is_empty()
            || common_name(&leaf).is_some_and(|name| self.allowed_names.contains(name))
    }

    /// Whom the headers speak for; `None` if they name nobody.
    pub(super) fn identity(&self, headers: &HeaderMap) -> Option<Identity> {
        Some(Identity {
            user: first(headers, &self.user_headers)?,
            uid: first(headers, &self.uid_headers).unwrap_or_default(),
            groups: all(headers, &self.group_headers),
            extra: self.extra(headers),
        })
    }

    /// `X-Remote-Extra-Scopes: a` is the value `a` of `scopes`; the key may be percent-encoded.
    fn extra(&self, headers: &HeaderMap) -> BTreeMap<String, Vec<String>> {
        let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, value) in headers {
            let mut prefixes = self.extra_prefixes.iter();
            let key = prefixes.find_map(|prefix| name.as_str().strip_prefix(prefix.as_str()));
            let (Some(key), Ok(value)) = (key, std::str::from_utf8(value.as_bytes())) else {
                continue;
            };
            let key = percent_decode_str(key).decode_utf8_lossy().into_owned();
            extra.entry(key).or_default().push(value.to_owned());
        }
        extra
    }
}

fn first(headers: &HeaderMap, names: &[String]) -> Option<String> {
    all(headers, names).into_iter().next()
}

fn all(headers: &HeaderMap, names: &[String]) -> Vec<String> {
    names
        .iter()
        .flat_map(|name| headers.get_all(name))
        .filter_map(|value| std::str::from_utf8(value.as_bytes()).ok())
        .filter(|value| !value.is_empty())
        .map(str::to_owned)
        .collect()
}
