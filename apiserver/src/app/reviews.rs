//! Reviews of the caller by the caller: `kubectl auth can-i`, `auth can-i --list`, `auth whoami`.
//!
//! They are answered with what this server would decide about such a request below the same view: `grants` asks what the request would
//! ask, `access` says so of one, `rules` of one type after the other. What is not served at all is a no.

mod access;
mod grants;
mod rules;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::asked::Asked;
use super::context::Context;
use super::posted::Posted;
use super::view::Seen;
use crate::answer::reply::Reply;
use crate::answer::status::ApiError;
use crate::request::protobuf;
use crate::request::target::Review;

/// What every review has.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Envelope {
    kind: String,
    api_version: String,
    spec: Value,
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
            Review::Access => self.access(seen, &parsed(&spec)?, asked).await?,
            Review::Rules => self.rules(seen, &spec, asked).await?,
            Review::Identity => identity(asked),
        };
        let mut answer = json!({
            "kind": review.kind(),
            "apiVersion": format!("{}/v1", review.group()),
            "metadata": {},
            "spec": spec,
            "status": status,
        });
        if review == Review::Identity {
            answer["metadata"] = json!({"creationTimestamp": (self.clock)().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()});
        }
        Ok(Reply::created(
            answer.to_string().into_bytes(),
            written.notation,
        ))
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
fn spec_of(review: Review, posted: &Posted) -> Result<Value, ApiError> {
    let envelope: Envelope = match posted {
        Posted::Json(bytes) => serde_json::from_slice(bytes)
            .map_err(|error| ApiError::bad_request(format!("the body is not a review: {error}")))?,
        Posted::Protobuf(bytes) => {
            let value = protobuf::review(bytes)
                .ok_or_else(|| ApiError::bad_request("the body is not a review"))?;
            parsed(&value)?
        }
    };
    let api_version = format!("{}/v1", review.group());
    if envelope.kind != review.kind() || envelope.api_version != api_version {
        let kind = review.kind();
        return Err(ApiError::bad_request(format!(
            "the body is not a {kind} of {api_version}"
        )));
    }
    Ok(if envelope.spec.is_null() {
        json!({})
    } else {
        envelope.spec
    })
}

fn parsed<T: DeserializeOwned>(spec: &Value) -> Result<T, ApiError> {
    T::deserialize(spec).map_err(|error| ApiError::bad_request(format!("invalid spec: {error}")))
}
