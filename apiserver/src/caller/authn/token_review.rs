//! Whose a bearer token is, by TokenReview on the host.

use std::sync::Arc;

use async_trait::async_trait;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, TokenReviewStatus};
use kube::api::PostParams;
use kube::{Api, Client};

use crate::caller::identity::Identity;
use crate::caller::review::{ReviewFailed, ask};
use crate::counters::Counters;

/// Says whose token it is.
#[async_trait]
pub(crate) trait TokenReviewer: Send + Sync {
    /// The owner of `token`; `None` if it is nobody's.
    async fn review(&self, token: &str) -> Result<Option<Identity>, ReviewFailed>;
}

/// Asks the host whose a token is.
pub(crate) struct KubeTokens {
    api: Api<TokenReview>,
    audiences: Vec<String>,
    counters: Arc<Counters>,
}

impl KubeTokens {
    /// With `audiences`, a token must be meant for one of them; without, for the host's kube-apiserver.
    pub(crate) fn new(client: Client, audiences: Vec<String>, counters: Arc<Counters>) -> Self {
        Self {
            api: Api::all(client),
            audiences,
            counters,
        }
    }
}

#[async_trait]
impl TokenReviewer for KubeTokens {
    async fn review(&self, token: &str) -> Result<Option<Identity>, ReviewFailed> {
        let review = TokenReview {
            spec: TokenReviewSpec {
                token: token.to_owned(),
                audiences: (!self.audiences.is_empty()).then(|| self.audiences.clone()),
            },
            ..TokenReview::default()
        };
        self.counters.reviewed();
        let answer = ask(self.api.create(&PostParams::default(), &review)).await?;
        let status = answer.status;
        Ok(status.and_then(|status| owner(status, &self.audiences)))
    }
}

/// Whom the host's answer names; nobody if the token is not valid or not meant for us.
fn owner(status: TokenReviewStatus, audiences: &[String]) -> Option<Identity> {
    if status.authenticated != Some(true) {
        return None;
    }
    let meant_for = status.audiences.unwrap_or_default();
    if !audiences.is_empty() && !audiences.iter().any(|one| meant_for.contains(one)) {
        return None;
    }
    let user = status.user?;
    Some(Identity {
        user: user.username.filter(|name| !name.is_empty())?,
        uid: user.uid.unwrap_or_default(),
        groups: user.groups.unwrap_or_default(),
        extra: user.extra.unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests;
