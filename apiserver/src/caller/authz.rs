//! Whether a caller may: SubjectAccessReviews on the host, remembered for a moment.

mod access_review;

use std::sync::Arc;
use std::time::Duration;

use armadex_model::query::Scope;
use armadex_model::{GroupVersionResource, Query};
use sha2::{Digest as _, Sha256};

use crate::answer::status::{ApiError, told};
use crate::caller::attributes::{self, Attributes, MAX_NAMESPACES};
use crate::caller::identity::{Caller, Identity};
use crate::caller::kept::{Kept, Key};
use crate::caller::questions::Questions;
use crate::caller::review::ReviewFailed;
use crate::turns::{Asker, TurnSizes};
pub(crate) use access_review::{AccessReviewer, Decision, KubeReviews};

/// As long as a kube-apiserver's delegates remember.
const KEPT: Duration = Duration::from_secs(10);
/// Answers of about a hundred bytes each: a few megabytes at most.
const MAX_KEPT: u64 = 50_000;

/// A request asks one question after the other, so that as many wait as there may be requests in flight by the usual limits. At 5 ms
/// for a review, all users have 12,800 new answers a second and one of them 3,200: in the time that answers are kept, one user's
/// questions do not push all others' out.
const TURNS: TurnSizes = TurnSizes {
    at_once: 64,
    at_once_per_asker: 16,
    in_line: 500,
    in_line_per_asker: 125,
};

/// Decides about requests.
pub(crate) struct Authorizer {
    reviewer: Arc<dyn AccessReviewer>,
    kept: Kept<Decision>,
    questions: Questions,
    /// What may be seen of a type by whoever may list it.
    seen: Scope,
}

impl Authorizer {
    pub(crate) fn new(reviewer: Arc<dyn AccessReviewer>) -> Self {
        Self {
            seen: Scope::Everything,
            reviewer,
            kept: Kept::new(MAX_KEPT, KEPT),
            questions: Questions::new(TURNS),
        }
    }

    /// The same, where less may be seen.
    #[cfg(test)]
    pub(crate) fn within(self, seen: Scope) -> Self {
        Self { seen, ..self }
    }

    /// Grants or refuses one question.
    pub(crate) async fn require(&self, who: &Caller, what: &Attributes) -> Result<(), ApiError> {
        match self.decide(who, what).await? {
            Decision::Allowed => Ok(()),
            Decision::Denied => Err(refusal(&who.identity, what, "")),
        }
    }

    /// Whether one question is granted.
    pub(crate) async fn allows(
        &self,
        who: &Caller,
        what: &Attributes,
    ) -> Result<bool, ReviewFailed> {
        Ok(self.decide(who, what).await? == Decision::Allowed)
    }

    /// Grants the inner request of a list of one of its types, as far as the caller may see, or refuses it.
    pub(crate) async fn require_list(
        &self,
        who: &Caller,
        path_namespace: Option<&str>,
        query: &Query,
        resource: &GroupVersionResource,
    ) -> Result<Scope, ApiError> {
        let questions = attributes::inner_list(path_namespace, query, resource);
        if self.decide(who, &questions.first).await? == Decision::Allowed {
            return Ok(self.seen.clone());
        }
        if questions.otherwise.is_empty() {
            let hint = if path_namespace.is_some() {
                ""
            } else {
                NAME_A_NAMESPACE
            };
            return Err(refusal(&who.identity, &questions.first, hint));
        }
        for question in &questions.otherwise {
            self.require(who, question).await?;
        }
        // Every namespace that the query names is granted, and it shows no other.
        Ok(self.seen.clone())
    }

    async fn decide(&self, who: &Caller, what: &Attributes) -> Result<Decision, ReviewFailed> {
        if who.identity.is_master() {
            return Ok(Decision::Allowed);
        }
        let key = key(&who.identity, what);
        if let Some(decision) = self.kept.known(&key).await {
            return Ok(decision);
        }
        let place = self.questions.enter(&Asker::user(&who.account))?;
        let reviewer = Arc::clone(&self.reviewer);
        let (who, what) = (who.identity.clone(), what.clone());
        let question = async move { reviewer.review(&who, &what).await };
        self.kept.answer_in_turn(key, place, question).await
    }
}

/// Said to who may not list everywhere.
const NAME_A_NAMESPACE: &str = ": filtering namespace by namespace is not served yet, name a namespace (or at most 50 with ?namespaces=)";
const _: () = assert!(MAX_NAMESPACES == 50, "the text above names the number");

fn refusal(who: &Identity, what: &Attributes, hint: &str) -> ApiError {
    let user = told(&who.user);
    ApiError::forbidden(match what {
        Attributes::Path(path) => {
            let path = told(path);
            format!("User {user:?} cannot get path {path:?}")
        }
        Attributes::Resource {
            verb,
            group,
            version: _,
            resource,
            subresource,
            namespace,
            name,
        } => {
            let [group, resource, subresource, namespace, name] =
                [group, resource, subresource, namespace, name].map(|part| told(part));
            let object = if name.is_empty() {
                String::new()
            } else {
                format!(" {name:?}")
            };
            let below = if subresource.is_empty() {
                String::new()
            } else {
                format!("/{subresource}")
            };
            let place = if namespace.is_empty() {
                "at the cluster scope".to_owned()
            } else {
                format!("in the namespace {namespace:?}")
            };
            let qualified = if group.is_empty() {
                resource.to_string()
            } else {
                format!("{resource}.{group}")
            };
            format!(
                "{qualified}{object} is forbidden: User {user:?} cannot {verb} resource \"{resource}{below}\" \
                 in API group {group:?} {place}{hint}"
            )
        }
    })
}

/// One key for one question of one caller.
fn key(who: &Identity, what: &Attributes) -> Key {
    let text = serde_json::to_vec(&(who, what)).expect("texts are always encodable");
    Sha256::digest(text).into()
}

#[cfg(test)]
mod tests;
