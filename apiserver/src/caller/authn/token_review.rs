//! Whose a bearer token is, by TokenReview on the host.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, TokenReviewStatus};
use kube::api::PostParams;
use kube::{Api, Client};
use moka::future::Cache;
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;

use crate::caller::identity::Identity;
use crate::caller::review::{ReviewFailed, ask};
use crate::counters::Counters;

/// A revoked token works this much longer, as with a kube-apiserver's own delegates.
const KEPT: Duration = Duration::from_secs(10);
/// Answers of some hundred bytes each: a few megabytes at most.
const MAX_KEPT: u64 = 10_000;

/// Says whose token it is.
#[async_trait]
pub(crate) trait TokenReviewer: Send + Sync {
    /// The owner of `token`; `None` if it is nobody's.
    async fn review(&self, token: &str) -> Result<Option<Identity>, ReviewFailed>;
}

/// Reviews that are asked at the same time: anybody can show a token, and the host has other work. At 5 ms each that is 6,000 new
/// tokens a second.
const AT_ONCE: usize = 32;

/// Asks the host whose a token is and keeps the answer for a moment, under the token's hash.
pub(crate) struct KubeTokens {
    api: Api<TokenReview>,
    audiences: Vec<String>,
    kept: Cache<[u8; 32], Option<Arc<Identity>>>,
    counters: Arc<Counters>,
    turns: Semaphore,
}

impl KubeTokens {
    /// With `audiences`, a token must be meant for one of them; without, for the host's kube-apiserver.
    pub(crate) fn new(client: Client, audiences: Vec<String>, counters: Arc<Counters>) -> Self {
        Self {
            api: Api::all(client),
            audiences,
            kept: Cache::builder()
                .max_capacity(MAX_KEPT)
                .time_to_live(KEPT)
                .build(),
            counters,
            turns: Semaphore::new(AT_ONCE),
        }
    }

    async fn ask_host(&self, token: &str) -> Result<Option<Arc<Identity>>, ReviewFailed> {
        let review = TokenReview {
            spec: TokenReviewSpec {
                token: token.to_owned(),
                audiences: (!self.audiences.is_empty()).then(|| self.audiences.clone()),
            },
            ..TokenReview::default()
        };
        let _turn = self.turns.acquire().await.expect("turns are never closed");
        self.counters.reviewed();
        let answer = ask(self.api.create(&PostParams::default(), &review)).await?;
        Ok(answer
            .status
            .and_then(|status| owner(status, &self.audiences))
            .map(Arc::new))
    }
}

#[async_trait]
impl TokenReviewer for KubeTokens {
    async fn review(&self, token: &str) -> Result<Option<Identity>, ReviewFailed> {
        let key: [u8; 32] = Sha256::digest(token).into();
        let answer = self.kept.try_get_with(key, self.ask_host(token)).await;
        match answer {
            Ok(owner) => Ok(owner.map(|owner| Identity::clone(&owner))),
            Err(error) => Err(ReviewFailed::clone(&error)),
        }
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
mod tests {
    use super::*;
    use k8s_openapi::api::authentication::v1::UserInfo;

    fn status(authenticated: bool, audiences: &[&str], user: &str) -> TokenReviewStatus {
        TokenReviewStatus {
            authenticated: Some(authenticated),
            audiences: Some(audiences.iter().map(|&one| one.to_owned()).collect()),
            user: Some(UserInfo {
                username: Some(user.to_owned()),
                ..UserInfo::default()
            }),
            ..TokenReviewStatus::default()
        }
    }

    #[test]
    fn a_token_counts_if_it_is_valid_and_meant_for_us() {
        let ours = ["armadex".to_owned()];
        for (status, audiences, known) in [
            (status(true, &[], "alice"), &[][..], true),
            (status(true, &["host"], "alice"), &[][..], true),
            (status(true, &["armadex"], "alice"), &ours[..], true),
            (status(true, &["host"], "alice"), &ours[..], false),
            (status(true, &[], "alice"), &ours[..], false),
            (status(false, &["armadex"], "alice"), &ours[..], false),
            (status(true, &[], ""), &[][..], false),
            (TokenReviewStatus::default(), &[][..], false),
        ] {
            assert_eq!(
                owner(status.clone(), audiences).is_some(),
                known,
                "{status:?}"
            );
        }
    }
}
