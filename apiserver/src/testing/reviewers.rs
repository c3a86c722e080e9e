//! Reviewers that answer what they were told to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;

use crate::caller::attributes::Attributes;
use crate::caller::authn::TokenReviewer;
use crate::caller::authz::{AccessReviewer, Decision};
use crate::caller::identity::Identity;
use crate::caller::review::ReviewFailed;

/// Knows some tokens; `unanswered` fails, and what begins with `slow` is never answered.
pub(crate) struct FixedTokens(BTreeMap<&'static str, &'static str>);

impl FixedTokens {
    pub(crate) fn new(tokens: impl IntoIterator<Item = (&'static str, &'static str)>) -> Self {
        Self(tokens.into_iter().collect())
    }
}

#[async_trait]
impl TokenReviewer for FixedTokens {
    async fn review(&self, token: &str) -> Result<Option<Identity>, ReviewFailed> {
        if token == "unanswered" {
            return Err(ReviewFailed::new("the test says so"));
        }
        if token.starts_with("slow") {
            std::future::pending::<()>().await;
        }
        Ok(self.0.get(token).map(|user| Identity {
            user: (*user).to_owned(),
            ..Identity::default()
        }))
    }
}

/// Grants what its rules say: `alice list pods in x` (`in *` for all namespaces), `alice list deployments.apps in x`,
/// `alice get pods web in x` for one name, `alice get pods/log in x`, `alice get /version`. The rule `unanswered` makes every review
/// fail; `everybody may do everything` grants all. What is asked about `slow` is never answered.
pub(crate) struct Rules {
    rules: BTreeSet<&'static str>,
    asked: AtomicUsize,
}

impl Rules {
    pub(crate) fn new(rules: impl IntoIterator<Item = &'static str>) -> Self {
        Self {
            rules: rules.into_iter().collect(),
            asked: AtomicUsize::new(0),
        }
    }

    /// How often it was asked.
    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl AccessReviewer for Rules {
    async fn review(&self, who: &Identity, what: &Attributes) -> Result<Decision, ReviewFailed> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        if who.user == "slow" {
            std::future::pending::<()>().await;
        }
        if self.rules.contains("unanswered") {
            return Err(ReviewFailed::new("the test says so"));
        }
        let wanted = match what {
            Attributes::Path(path) => vec![format!("{} get {path}", who.user)],
            Attributes::Resource {
                verb,
                resource,
                namespace,
                name,
                subresource,
                group,
                version: _,
            } if group == "clusterpedia.io" => {
                let _ = namespace;
                vec![format!(
                    "{} {verb} {resource}/{name}/{subresource}",
                    who.user
                )]
            }
            Attributes::Resource {
                verb,
                group,
                // Rules know no versions, as those of a kube-apiserver.
                version: _,
                resource,
                subresource,
                namespace,
                name,
            } => {
                let mut what = resource.clone();
                for (sign, part) in [('.', group), ('/', subresource)] {
                    if !part.is_empty() {
                        what = format!("{what}{sign}{part}");
                    }
                }
                let user = &who.user;
                let of = |place: &str| {
                    let any = format!("{user} {verb} {what} in {place}");
                    let this = format!("{user} {verb} {what} {name} in {place}");
                    [any, this]
                };
                [of("*"), of(namespace)].concat()
            }
        };
        let granted = self.rules.contains("everybody may do everything")
            || wanted.iter().any(|rule| self.rules.contains(rule.as_str()));
        Ok(if granted {
            Decision::Allowed
        } else {
            Decision::Denied
        })
    }
}
