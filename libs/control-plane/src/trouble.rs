//! What an API server or the way to it had to say, fit for logs and conditions.
//!
//! An invalid object is told by the fields that are wrong and an unreadable answer by that alone:
//! the full texts quote values, and these may be credentials.

use kube::runtime::watcher;

use crate::limited::NoAnswer;

/// The reason that kube gives to an error that came without a `Status`: its message is the whole page.
const NO_STATUS: &str = "Failed to parse error data";

/// A request that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Trouble {
    /// What a controller does about it.
    pub kind: TroubleKind,
    /// What people read.
    pub message: String,
}

/// Kinds of trouble, by what helps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TroubleKind {
    /// Another object, or another name.
    Invalid,
    /// A permission.
    Forbidden,
    /// Something that is not there.
    Missing,
    /// Looking again: somebody else changed or owns it.
    Conflict,
    /// Waiting.
    Unavailable,
    /// Waiting as well, or a look at the API server: it answers, and fails at this.
    Failed,
    /// Waiting: there was no answer, so there may be none to other requests either.
    Unanswered,
    /// A list: the version to go on from is gone.
    Expired,
    /// Waiting for a place: others of its kind take the API server long, so it was not asked for.
    Held,
}

impl TroubleKind {
    /// Whether it is the API server's, or the way's to it, and waiting is all that helps.
    pub fn is_outage(self) -> bool {
        match self {
            Self::Unavailable | Self::Failed | Self::Unanswered | Self::Expired => true,
            Self::Invalid | Self::Forbidden | Self::Missing | Self::Conflict | Self::Held => false,
        }
    }

    /// Whether a request that failed in this way fails in the same way for other objects.
    pub fn is_of_many(self) -> bool {
        self.is_outage() || self == Self::Forbidden
    }

    /// In one word: it is the same for each object, which messages name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Forbidden => "forbidden",
            Self::Missing => "missing",
            Self::Conflict => "conflict",
            Self::Unavailable => "unavailable",
            Self::Failed => "failed",
            Self::Unanswered => "unanswered",
            Self::Expired => "expired",
            Self::Held => "held",
        }
    }
}

impl From<kube::Error> for Trouble {
    fn from(error: kube::Error) -> Self {
        Self::from(&error)
    }
}

impl From<&kube::Error> for Trouble {
    fn from(error: &kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::from(status.as_ref()),
            kube::Error::SerdeError(_) | kube::Error::FromUtf8(_) => {
                Self::unavailable("the answer can't be read")
            }
            kube::Error::Service(cause) if cause.is::<NoAnswer>() => Self::unanswered(),
            kube::Error::HyperError(_) | kube::Error::Service(_) => {
                Self::unavailable("the API server can't be reached")
            }
            kube::Error::Auth(_) => Self::unavailable("the credentials for the API server fail"),
            _ => Self::unavailable("the request to the API server failed"),
        }
    }
}

impl From<&kube::core::Status> for Trouble {
    fn from(status: &kube::core::Status) -> Self {
        let kind = match status.code {
            400 | 413 | 422 => TroubleKind::Invalid,
            401 | 403 => TroubleKind::Forbidden,
            404 => TroubleKind::Missing,
            409 => TroubleKind::Conflict,
            410 => TroubleKind::Expired,
            500 => TroubleKind::Failed,
            _ => TroubleKind::Unavailable,
        };
        let message = match kind {
            TroubleKind::Invalid if status.code == 413 => {
                "the API server finds the object too large".to_owned()
            }
            TroubleKind::Invalid => invalid_fields(status),
            _ if status.message.is_empty() || status.reason == NO_STATUS => {
                format!("the API server says {}", status.code)
            }
            _ => status.message.clone(),
        };
        Self { kind, message }
    }
}

impl From<&watcher::Error> for Trouble {
    fn from(error: &watcher::Error) -> Self {
        match error {
            watcher::Error::InitialListFailed(cause)
            | watcher::Error::WatchStartFailed(cause)
            | watcher::Error::WatchFailed(cause) => Self::from(cause),
            watcher::Error::WatchError(status) => Self::from(status.as_ref()),
            watcher::Error::NoResourceVersion => Self::unavailable("it can't be watched"),
        }
    }
}

impl Trouble {
    /// There was no answer.
    pub fn unanswered() -> Self {
        Self {
            kind: TroubleKind::Unanswered,
            message: "the API server does not answer in time".to_owned(),
        }
    }

    /// Trouble that waiting may end.
    pub fn unavailable(message: &str) -> Self {
        Self {
            kind: TroubleKind::Unavailable,
            message: message.to_owned(),
        }
    }
}

fn invalid_fields(status: &kube::core::Status) -> String {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let fields: Vec<String> = causes
        .filter(|cause| !cause.field.is_empty())
        .map(|cause| format!("{} ({})", cause.field, cause.reason))
        .collect();
    if fields.is_empty() {
        "the API server finds the object invalid".to_owned()
    } else {
        format!(
            "the API server finds the object invalid: {}",
            fields.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Secret;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_invalid_object_is_told_by_field_and_never_by_value() {
        let status: kube::core::Status = serde_json::from_value(json!({
            "code": 422,
            "reason": "Invalid",
            "message": "spec.tokenData: Invalid value: \"s3cret\"",
            "details": {"causes": [{
                "field": "spec.tokenData",
                "reason": "FieldValueInvalid",
                "message": "Invalid value: \"s3cret\"",
            }]},
        }))
        .unwrap();
        let trouble = Trouble::from(&status);
        assert_eq!(trouble.kind, TroubleKind::Invalid);
        assert_eq!(
            trouble.message,
            "the API server finds the object invalid: spec.tokenData (FieldValueInvalid)"
        );
    }

    #[test]
    fn no_answer_that_is_not_understood_is_quoted() {
        const VALUE: &str = "hunter2";
        let misread = |answer: &str| {
            let error = serde_json::from_str::<Secret>(answer).expect_err("it is no Secret");
            kube::Error::SerdeError(error)
        };
        let page = kube::core::Status::failure(VALUE, NO_STATUS).with_code(502);
        let errors = [
            misread(&format!(r#"{{"data": "{VALUE}"}}"#)),
            misread(&format!(r#"{{"kind": "{VALUE}"}}"#)),
            kube::Error::Api(page.boxed()),
        ];
        for error in errors {
            assert!(error.to_string().contains(VALUE), "{error} is no example");
            let trouble = Trouble::from(&error);
            assert!(!trouble.message.contains(VALUE), "{trouble}");
            let trouble = Trouble::from(&watcher::Error::InitialListFailed(error));
            assert!(!trouble.message.contains(VALUE), "{trouble}");
        }
    }

    #[test]
    fn an_object_that_is_too_large_says_nothing_of_others() {
        let message = "Request entity too large: limit is 3145728";
        let status = kube::core::Status::failure(message, "RequestEntityTooLarge").with_code(413);
        let trouble = Trouble::from(&status);
        assert_eq!(trouble.message, "the API server finds the object too large");
        assert!(!trouble.kind.is_of_many());
    }

    #[test]
    fn a_missing_right_is_told_in_the_servers_words() {
        let message = "secrets is forbidden: User \"x\" cannot list resource \"secrets\"";
        let status = kube::core::Status::failure(message, "Forbidden").with_code(403);
        let trouble = Trouble::from(&status);
        assert_eq!(
            (trouble.kind, trouble.message.as_str()),
            (TroubleKind::Forbidden, message)
        );
    }
}
