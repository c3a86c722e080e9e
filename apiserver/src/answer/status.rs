//! Errors as clients see them: every refusal and failure is a Kubernetes `Status` with a reason and a code.
//!
//! A message never carries the text of a driver or of another server; what operators need is logged where the error is made.

use std::borrow::Cow;

use armadex_model::params::InvalidParams;
use armadex_storage::StoreError;
use http::StatusCode;
use serde::Serialize;

use crate::seldom::Seldom;

/// What a client gets instead of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ApiError {
    pub(crate) code: StatusCode,
    reason: &'static str,
    message: String,
    details: Option<Box<Details>>,
    /// What the path takes instead, where its method is refused.
    allow: Option<&'static str>,
}

/// What the error is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Details {
    #[serde(skip_serializing_if = "String::is_empty")]
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    group: String,
    /// The plural resource name, as Kubernetes fills it in.
    #[serde(skip_serializing_if = "String::is_empty")]
    kind: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    causes: Vec<Cause>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_seconds: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Cause {
    reason: &'static str,
    message: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Status<'a> {
    kind: &'static str,
    api_version: &'static str,
    metadata: Empty,
    status: &'static str,
    message: &'a str,
    reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'a Details>,
    code: u16,
}

#[derive(Serialize)]
struct Empty {}

/// Bytes of a message: what it is about stands in its first lines, and whoever is refused by the hundred may take none of them.
const LONGEST_MESSAGE: usize = 2 << 10;
/// Bytes of a name that is told again: as many as Kubernetes allows one to have.
const LONGEST_NAME: usize = 253;

/// How long a client that was turned away waits before it comes back.
const RETRY_AFTER_SECONDS: u32 = 1;

impl ApiError {
    fn new(code: StatusCode, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason,
            message: cut(&message.into(), LONGEST_MESSAGE).into_owned(),
            details: None,
            allow: None,
        }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    pub(crate) fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized")
    }

    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "Forbidden", message)
    }

    /// There is nothing under this path.
    pub(crate) fn no_such_path() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "NotFound",
            "the server could not find the requested resource",
        )
    }

    /// The type is served, the object is not there.
    pub(crate) fn no_such_object(group: &str, resource: &str, name: &str) -> Self {
        let [group, resource, name] = [group, resource, name].map(told);
        let qualified = if group.is_empty() {
            resource.to_string()
        } else {
            format!("{resource}.{group}")
        };
        let mut error = Self::new(
            StatusCode::NOT_FOUND,
            "NotFound",
            format!("{qualified} {name:?} not found"),
        );
        error.details = Some(Box::new(Details {
            name: name.into_owned(),
            group: group.into_owned(),
            kind: resource.into_owned(),
            ..Details::default()
        }));
        error
    }

    /// The path takes other methods: those in `allow`, which may be none.
    pub(crate) fn method_not_allowed(allow: &'static str, message: impl Into<String>) -> Self {
        let mut error = Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message);
        error.allow = Some(allow);
        error
    }

    pub(crate) fn not_acceptable(accepted: &str) -> Self {
        Self::new(
            StatusCode::NOT_ACCEPTABLE,
            "NotAcceptable",
            format!("only the following media types are accepted: {accepted}"),
        )
    }

    pub(crate) fn unsupported_media_type(accepted: &str) -> Self {
        Self::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "UnsupportedMediaType",
            format!(
                "the body of the request was in an unknown format - accepted media types include: {accepted}"
            ),
        )
    }

    pub(crate) fn too_large(limit: usize) -> Self {
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "RequestEntityTooLarge",
            format!("Request entity is too large: limit is {limit}"),
        )
    }

    /// The token or the revision is not valid any more; a client starts anew.
    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(StatusCode::GONE, "Expired", message)
    }

    pub(crate) fn too_many_requests() -> Self {
        Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            "TooManyRequests",
            "too many requests are in flight, please try again later",
        )
        .retrying()
    }

    /// One user has taken up a share of what all may.
    pub(crate) fn too_many_requests_of_user() -> Self {
        Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            "TooManyRequests",
            "too many requests of this user are in flight, please try again later",
        )
        .retrying()
    }

    /// Requests whose heads are long take up what there is for them.
    pub(crate) fn too_many_long_heads() -> Self {
        Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            "TooManyRequests",
            "too many requests with long heads are in flight, please try again later",
        )
        .retrying()
    }

    /// Answers that were made wait for their clients and take up what there is for them.
    pub(crate) fn too_many_bytes() -> Self {
        Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            "TooManyRequests",
            "too many answers wait for clients to take them, please try again later",
        )
        .retrying()
    }

    /// What decides about requests has to be asked about too many of them.
    pub(crate) fn too_many_reviews(which: &str) -> Self {
        Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            "TooManyRequests",
            format!("too many reviews {which}, please try again later"),
        )
        .retrying()
    }

    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "ServiceUnavailable",
            message,
        )
        .retrying()
    }

    /// The request asks for a revision that is yet to come.
    pub(crate) fn revision_too_large(asked: u64, current: i64) -> Self {
        let mut error = Self::new(
            StatusCode::GATEWAY_TIMEOUT,
            "Timeout",
            format!("Timeout: Too large resource version: {asked}, current: {current}"),
        )
        .retrying();
        if let Some(details) = &mut error.details {
            details.causes.push(Cause {
                reason: "ResourceVersionTooLarge",
                message: "Too large resource version".to_owned(),
            });
        }
        error
    }

    /// HTTP/1.0 ends such an answer with the connection: a part of it would look like the whole.
    pub(crate) fn old_protocol() -> Self {
        Self::new(
            StatusCode::HTTP_VERSION_NOT_SUPPORTED,
            "HTTPVersionNotSupported",
            "this answer is sent as it is made, which takes HTTP/1.1 or HTTP/2",
        )
    }

    pub(crate) fn timed_out() -> Self {
        Self::new(
            StatusCode::GATEWAY_TIMEOUT,
            "Timeout",
            "the request did not finish within its time",
        )
    }

    pub(crate) fn internal() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "InternalError",
            "an internal error occurred; the server's log has the details",
        )
    }

    fn retrying(mut self) -> Self {
        self.details.get_or_insert_default().retry_after_seconds = Some(RETRY_AFTER_SECONDS);
        self
    }

    /// The value of the `Retry-After` header.
    pub(crate) fn retry_after(&self) -> Option<u32> {
        self.details.as_ref()?.retry_after_seconds
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The value of the `Allow` header.
    pub(crate) fn allow(&self) -> Option<&'static str> {
        self.allow
    }

    /// The `Status` object.
    pub(crate) fn body(&self) -> Vec<u8> {
        let status = Status {
            kind: "Status",
            api_version: "v1",
            metadata: Empty {},
            status: "Failure",
            message: &self.message,
            reason: self.reason,
            details: self.details.as_deref(),
            code: self.code.as_u16(),
        };
        serde_json::to_vec(&status).expect("texts and numbers are always encodable")
    }
}

impl From<InvalidParams> for ApiError {
    fn from(error: InvalidParams) -> Self {
        Self::bad_request(error.to_string())
    }
}

static UNANSWERED: Seldom = Seldom::new();
/// A search that fails may be asked for again and again.
static FAILED: Seldom = Seldom::new();

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::Unavailable { .. } => {
                if !error.is_told()
                    && let Some(left_out) = UNANSWERED.turn()
                {
                    tracing::warn!(error = %chain(&error), left_out, "the store did not answer a search");
                }
                Self::unavailable("the store is not available, please try again later")
            }
            StoreError::Gone { reason } => Self::expired(reason.clone()),
            StoreError::Unsupported { what } => Self::bad_request(what.clone()),
            StoreError::Fenced { .. }
            | StoreError::Left { .. }
            | StoreError::TakenOver { .. }
            | StoreError::Differs { .. }
            | StoreError::Rejected { .. }
            | StoreError::Denied { .. }
            | StoreError::Broken { .. } => {
                if let Some(left_out) = FAILED.turn() {
                    tracing::error!(error = %chain(&error), left_out, "the store failed a search");
                }
                Self::internal()
            }
        }
    }
}

/// A name as a refusal tells it again: no longer than one can be.
pub(crate) fn told(name: &str) -> Cow<'_, str> {
    cut(name, LONGEST_NAME)
}

fn cut(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let (begin, _) = text.split_at(text.floor_char_boundary(most));
    Cow::Owned(format!("{begin}…"))
}

/// An error and what caused it, on one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(error: &ApiError) -> serde_json::Value {
        serde_json::from_slice(&error.body()).expect("a Status is JSON")
    }

    #[test]
    fn a_missing_object_is_named_in_the_details() {
        let status = json(&ApiError::no_such_object("apps", "deployments", "web"));
        assert_eq!(status["kind"], "Status");
        assert_eq!(status["message"], "deployments.apps \"web\" not found");
        assert_eq!(
            status["details"],
            serde_json::json!({"name": "web", "group": "apps", "kind": "deployments"})
        );
        assert_eq!(status["code"], 404);
    }

    #[test]
    fn the_text_of_a_driver_never_reaches_a_client() {
        let source = std::io::Error::other("SELECT secret FROM obj");
        let error = ApiError::from(StoreError::Unavailable {
            reason: "reading a page".into(),
            source: Box::new(source),
        });
        let body = String::from_utf8(error.body()).expect("text");
        assert!(
            !body.contains("SELECT") && error.retry_after() == Some(1),
            "{body}"
        );
    }
}
