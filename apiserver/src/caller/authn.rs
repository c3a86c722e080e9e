//! Who is calling: a front proxy's word, a client certificate, or a bearer token, in this order.
//!
//! The word of a front proxy is believed only on a connection whose client certificate chains to the request-header CA and bears
//! an allowed name. On every other connection its headers are treated as if they were not there.

mod certificate;
mod config_map;
mod front_proxy;
mod peer;
mod token_review;
mod tokens;
mod trust;
mod trust_watch;

use std::sync::Arc;

use arc_swap::ArcSwap;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use rustls::pki_types::UnixTime;

use crate::answer::status::ApiError;
use crate::caller::identity::Identity;
use crate::turns::Asker;
pub(crate) use peer::Peer;
pub(crate) use token_review::{KubeTokens, TokenReviewer};
use tokens::Tokens;
pub(crate) use trust::Trust;
pub(crate) use trust_watch::follow;

/// The longest token that is looked at. ServiceAccount tokens have about 1 KiB.
const MAX_TOKEN: usize = 16 * 1024;

/// Finds out who is calling.
pub(crate) struct Authenticator {
    trust: Arc<ArcSwap<Trust>>,
    tokens: Tokens,
}

impl Authenticator {
    pub(crate) fn new(trust: Arc<ArcSwap<Trust>>, tokens: Arc<dyn TokenReviewer>) -> Self {
        Self {
            trust,
            tokens: Tokens::new(tokens),
        }
    }

    /// The caller, or the refusal. A token is reviewed on the account of `asker`.
    pub(crate) async fn authenticate(
        &self,
        peer: &Peer,
        headers: &HeaderMap,
        now: UnixTime,
        asker: &Asker,
    ) -> Result<Identity, ApiError> {
        let trust = self.trust.load_full();
        let found = trust
            .front_proxy_identity(peer, headers, now)
            .or_else(|| trust.verdict(peer, now)?.user.clone());
        if let Some(identity) = found {
            return Ok(identity.authenticated());
        }
        let Some(token) = bearer(headers) else {
            return Err(ApiError::unauthorized());
        };
        match self.tokens.owner(token, asker).await? {
            Some(identity) => Ok(Identity::clone(&identity).authenticated()),
            None => Err(ApiError::unauthorized()),
        }
    }

    /// Finds out what the peer's certificate is worth, if that is not known.
    pub(crate) fn verify(&self, peer: &Peer, now: UnixTime) {
        self.trust.load().verdict(peer, now);
    }

    /// Whether the trusted certificates have been read; before that only tokens are accepted.
    pub(crate) fn is_ready(&self) -> bool {
        self.trust.load().is_loaded()
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim();
    let usable =
        scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() && token.len() <= MAX_TOKEN;
    usable.then_some(token)
}

#[cfg(test)]
mod tests;
