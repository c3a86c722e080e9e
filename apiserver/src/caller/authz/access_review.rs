//! Questions about what callers may do, and SubjectAccessReviews that answer them.

use std::sync::Arc;

use async_trait::async_trait;
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
    SubjectAccessReviewStatus,
};
use kube::api::PostParams;
use kube::{Api, Client};

use crate::caller::attributes::Attributes;
use crate::caller::identity::Identity;
use crate::caller::review::{ReviewFailed, ask};
use crate::counters::Counters;

/// The host's answer to one question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Yes.
    Allowed,
    /// No.
    Denied,
}

/// Answers questions about what callers may do.
#[async_trait]
pub(crate) trait AccessReviewer: Send + Sync {
    /// Whether `who` may do `what`.
    async fn review(&self, who: &Identity, what: &Attributes) -> Result<Decision, ReviewFailed>;
}

/// Asks the host.
pub(crate) struct KubeReviews {
    api: Api<SubjectAccessReview>,
    counters: Arc<Counters>,
}

impl KubeReviews {
    pub(crate) fn new(client: Client, counters: Arc<Counters>) -> Self {
        Self {
            api: Api::all(client),
            counters,
        }
    }
}

#[async_trait]
impl AccessReviewer for KubeReviews {
    async fn review(&self, who: &Identity, what: &Attributes) -> Result<Decision, ReviewFailed> {
        self.counters.reviewed();
        let review = SubjectAccessReview {
            spec: spec(who, what),
            ..SubjectAccessReview::default()
        };
        let answer = ask(self.api.create(&PostParams::default(), &review)).await?;
        let is_clear = |status: SubjectAccessReviewStatus| {
            // One that says both is broken.
            status.allowed && status.denied != Some(true)
        };
        Ok(if answer.status.is_some_and(is_clear) {
            Decision::Allowed
        } else {
            Decision::Denied
        })
    }
}

fn spec(who: &Identity, what: &Attributes) -> SubjectAccessReviewSpec {
    let Identity {
        user,
        uid,
        groups,
        extra,
    } = who.clone();
    let mut spec = SubjectAccessReviewSpec {
        user: Some(user),
        uid: (!uid.is_empty()).then_some(uid),
        groups: Some(groups),
        extra: (!extra.is_empty()).then_some(extra),
        ..SubjectAccessReviewSpec::default()
    };
    match what.clone() {
        Attributes::Path(path) => {
            spec.non_resource_attributes = Some(NonResourceAttributes {
                path: Some(path),
                verb: Some("get".to_owned()),
            });
        }
        Attributes::Resource {
            verb,
            group,
            version,
            resource,
            subresource,
            namespace,
            name,
        } => {
            let some = |text: String| (!text.is_empty()).then_some(text);
            spec.resource_attributes = Some(ResourceAttributes {
                verb: Some(verb.to_owned()),
                group: some(group),
                version: some(version),
                resource: some(resource),
                subresource: some(subresource),
                namespace: some(namespace),
                name: some(name),
                ..ResourceAttributes::default()
            });
        }
    }
    spec
}

#[cfg(test)]
mod tests;
