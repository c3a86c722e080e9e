//! Reviews of the caller by the caller: `kubectl auth can-i`, `auth can-i --list`, `auth whoami`.
//!
//! They are answered with what this server would decide about such a request below the same view: `grants` asks what the request would
//! ask, `access` says so of one, `rules` of one type after the other. What is not served at all is a no.

mod access;
mod grants;
mod rules;

use k8s_openapi::api::authorization::v1::{
    SelfSubjectAccessReviewSpec, SelfSubjectRulesReviewSpec,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::asked::Asked;
use super::context::Context;
use super::posted::Posted;
use super::view::Seen;
use crate::answer::reply::Reply;
use crate::answer::status::ApiError;
use crate::request::protobuf;
use crate::request::target::Review;

/// What every review has. What it is about stays as it was written while the host is asked: a tree of it is a hundred times as long.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Envelope {
    kind: String,
    api_version: String,
    spec: Option<Box<RawValue>>,
}

/// A review with its answer.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Reviewed<'a> {
    api_version: String,
    kind: &'static str,
    metadata: Value,
    spec: &'a RawValue,
    status: Value,
}

impl Context {
    /// Answers a review. `posted` is its body; a review cannot be read.
    pub(super) async fn review(
        &self,
        seen: &Seen,
        review: Review,
        posted: Option<&Posted>,
        asked: &Asked<'_>,
    ) -> Result<Reply, ApiError> {
        let Some(posted) = posted else {
            return Err(ApiError::method_not_allowed(
                "POST",
                "the server does not allow this method on the requested resource: a review is posted",
            ));
        };
        let written = asked.plain()?;
        let spec = spec_of(review, posted)?;
        let status = match review {
            Review::Access => self.access(seen, &access_of(&spec)?, asked).await?,
            Review::Rules => {
                let SelfSubjectRulesReviewSpec { namespace } = parsed(&spec)?;
                self.rules(seen, &namespace.unwrap_or_default(), asked)
                    .await?
            }
            Review::Identity => identity(asked),
        };
        let metadata = match review {
            Review::Identity => {
                let now = (self.clock)().strftime("%Y-%m-%dT%H:%M:%SZ");
                json!({"creationTimestamp": now.to_string()})
            }
            Review::Access | Review::Rules => json!({}),
        };
        let answer = Reviewed {
            api_version: api_version_of(review),
            kind: review.kind(),
            metadata,
            spec: &spec,
            status,
        };
        let json = serde_json::to_vec(&answer).expect("its keys are texts");
        // Room may have to be waited for.
        drop(answer);
        drop(spec);
        Reply::created(json, written.notation, &asked.allowance).await
    }
}

/// The status of a `SelfSubjectReview`.
fn identity(asked: &Asked<'_>) -> Value {
    let caller = &asked.caller.identity;
    let mut user = json!({"username": caller.user, "groups": caller.groups});
    if !caller.uid.is_empty() {
        user["uid"] = json!(caller.uid);
    }
    if !caller.extra.is_empty() {
        user["extra"] = json!(caller.extra);
    }
    json!({"userInfo": user})
}

/// The `spec` of what was posted, if it is the review that its path names.
fn spec_of(review: Review, posted: &Posted) -> Result<Box<RawValue>, ApiError> {
    let envelope = match posted {
        Posted::Json(bytes) => serde_json::from_slice(bytes)
            .map_err(|error| ApiError::bad_request(format!("the body is not a review: {error}")))?,
        Posted::Protobuf(bytes) => {
            let read = protobuf::review(bytes)
                .ok_or_else(|| ApiError::bad_request("the body is not a review"))?;
            serde_json::from_str(&read.to_string()).expect("all of it that is read is a text")
        }
    };
    let Envelope {
        kind,
        api_version,
        spec,
    } = envelope;
    let expected = api_version_of(review);
    if kind != review.kind() || api_version != expected {
        let kind = review.kind();
        return Err(ApiError::bad_request(format!(
            "the body is not a {kind} of {expected}"
        )));
    }
    Ok(spec.unwrap_or_else(|| RawValue::from_string("{}".to_owned()).expect("JSON")))
}

fn api_version_of(review: Review) -> String {
    format!("{}/v1", review.group())
}

/// What an access review is about. A selector can only take from what is granted and is not looked at: a list of nothings in it, which is
/// short where it is written, is let go.
fn access_of(spec: &RawValue) -> Result<SelfSubjectAccessReviewSpec, ApiError> {
    let mut spec: SelfSubjectAccessReviewSpec = parsed(spec)?;
    if let Some(what) = &mut spec.resource_attributes {
        what.field_selector = None;
        what.label_selector = None;
    }
    Ok(spec)
}

fn parsed<T: DeserializeOwned>(spec: &RawValue) -> Result<T, ApiError> {
    serde_json::from_str(spec.get())
        .map_err(|error| ApiError::bad_request(format!("invalid spec: {error}")))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use k8s_openapi::api::authorization::v1::ResourceAttributes;

    use super::*;

    /// What is held of a body while the host is asked.
    #[track_caller]
    fn held(spec: &str) -> (Box<RawValue>, SelfSubjectAccessReviewSpec) {
        let head =
            r#""kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":"#;
        let posted = Posted::Json(Bytes::from(format!("{{{head}{spec}}}")));
        let held = spec_of(Review::Access, &posted).expect("a review");
        let read = access_of(&held).expect("attributes");
        (held, read)
    }

    #[test]
    fn a_review_does_not_grow_while_the_host_is_asked() {
        let nothings = r#""":0,"#.repeat(2000);
        let spec = format!(r#"{{{nothings} "resourceAttributes":{{"verb":"list"}}}}"#);
        let (text, read) = held(&spec);
        assert!(text.get() == spec, "{} of {}", text.get().len(), spec.len());
        let verb = read.resource_attributes.and_then(|what| what.verb);
        assert_eq!(verb.as_deref(), Some("list"));
        let nothings = "{},".repeat(2000);
        let selector = format!(r#"{{"requirements":[{nothings}{{}}]}}"#);
        let (_, read) = held(&format!(
            r#"{{"resourceAttributes":{{"fieldSelector":{selector},"labelSelector":{selector}}}}}"#
        ));
        assert_eq!(
            read.resource_attributes,
            Some(ResourceAttributes::default())
        );
    }
}
