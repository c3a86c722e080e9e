//! What an API server or the way to it had to say, fit for logs and conditions.
//!
//! An invalid object is told by the fields that are wrong and an unreadable answer by that alone:
//! the full texts quote values, and these may be credentials.

use std::error::Error;
use std::io;
use std::iter::successors;

use kube::runtime::watcher;

use crate::limited::{NoAnswer, TooLong};

/// The reason that kube gives to an error that came without a `Status`: its message is the whole page.
const NO_STATUS: &str = "Failed to parse error data";

/// Causes of causes that are looked at; kube, hyper, its connector and what that stands on are six.
const CAUSES: usize = 16;
/// Of a certificate that is not trusted: what is wrong with it, of which its names are as long as whoever made it likes.
const WORDS: usize = 200;

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
    /// Another credential: the API server does not know who asks.
    Unauthenticated,
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
    /// Another CA, or another name for the API server. Waiting, where whoever serves there is about to have another certificate.
    Untrusted,
    /// A list: the version to go on from is gone.
    Expired,
    /// Waiting for a place: others of its kind take the API server long, so it was not asked for.
    Held,
}

impl TroubleKind {
    /// Whether it is the API server's, or the way's to it, and waiting is all that helps.
    pub fn is_outage(self) -> bool {
        match self {
            Self::Unavailable
            | Self::Failed
            | Self::Unanswered
            | Self::Untrusted
            | Self::Expired => true,
            Self::Invalid
            | Self::Forbidden
            | Self::Unauthenticated
            | Self::Missing
            | Self::Conflict
            | Self::Held => false,
        }
    }

    /// Whether a request that failed in this way fails in the same way for other objects.
    pub fn is_of_many(self) -> bool {
        self.is_outage() || matches!(self, Self::Forbidden | Self::Unauthenticated)
    }

    /// In one word: it is the same for each object, which messages name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Forbidden => "forbidden",
            Self::Unauthenticated => "unauthenticated",
            Self::Missing => "missing",
            Self::Conflict => "conflict",
            Self::Unavailable => "unavailable",
            Self::Failed => "failed",
            Self::Unanswered => "unanswered",
            Self::Untrusted => "untrusted",
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
            kube::Error::Service(cause) if cause.is::<TooLong>() => {
                Self::unavailable("the answer of the API server is longer than it may be")
            }
            kube::Error::HyperError(_) | kube::Error::Service(_) => unreached(error),
            kube::Error::Auth(_) => Self::unavailable("the credentials for the API server fail"),
            _ => Self::unavailable("the request to the API server failed"),
        }
    }
}

impl From<&kube::core::Status> for Trouble {
    fn from(status: &kube::core::Status) -> Self {
        let kind = match status.code {
            400 | 413 | 422 => TroubleKind::Invalid,
            401 => TroubleKind::Unauthenticated,
            403 => TroubleKind::Forbidden,
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
            TroubleKind::Unauthenticated => "the API server does not know who asks (401): the credential is wrong, or its time is over".to_owned(),
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

/// What the way there had to say. It has seen neither a request nor an answer.
fn unreached(error: &kube::Error) -> Trouble {
    const WHAT: &str = "the API server can't be reached";
    let causes = successors(error.source(), |cause: &&(dyn Error + 'static)| {
        (*cause).source()
    })
    .take(CAUSES);
    let reason = causes.filter_map(reason).next();
    let (kind, words) = reason.unwrap_or((TroubleKind::Unavailable, String::new()));
    let message = match words.as_str() {
        "" => WHAT.to_owned(),
        words => format!("{WHAT}: {words}"),
    };
    Trouble { kind, message }
}

/// What a cause says, if that is something which people do something about. The same trouble has the same words each time, so no port is in them.
fn reason(cause: &(dyn Error + 'static)) -> Option<(TroubleKind, String)> {
    const CERTIFICATE: &str = "invalid peer certificate: ";
    if cause.to_string() == "dns error" {
        return Some((TroubleKind::Unavailable, "its name is not found".to_owned()));
    }
    let mut cause = cause.downcast_ref::<io::Error>()?;
    // What breaks within TLS comes in another one, which does not tell it as its source.
    while let Some(within) = cause.get_ref().and_then(|within| within.downcast_ref()) {
        cause = within;
    }
    let inner = cause.get_ref().map(ToString::to_string).unwrap_or_default();
    if let Some(words) = inner.strip_prefix(CERTIFICATE) {
        let words: String = words.chars().take(WORDS).collect();
        return Some((
            TroubleKind::Untrusted,
            format!("its certificate is not trusted: {words}"),
        ));
    }
    let words = match cause.kind() {
        io::ErrorKind::ConnectionRefused => "the connection is refused",
        io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::UnexpectedEof => "the connection breaks off",
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
            "there is no way to it"
        }
        io::ErrorKind::TimedOut => "the connection takes too long",
        _ => return None,
    };
    Some((TroubleKind::Unavailable, words.to_owned()))
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
    fn what_is_wrong_on_the_way_is_told_in_the_same_words_each_time() {
        let told = |error: io::Error| {
            let trouble = Trouble::from(&kube::Error::Service(Box::new(Way(error))));
            (trouble.kind, trouble.message)
        };
        let refused = |port: u16| {
            let address = std::net::SocketAddr::from(([127, 0, 0, 1], port));
            std::net::TcpStream::connect(address).expect_err("nobody listens")
        };
        let unreached = "the API server can't be reached".to_owned();
        let words = format!("{unreached}: the connection is refused");
        assert_eq!(told(refused(1)), (TroubleKind::Unavailable, words.clone()));
        assert_eq!(told(refused(2)), (TroubleKind::Unavailable, words));
        let untrusted = io::Error::new(
            io::ErrorKind::InvalidData,
            "invalid peer certificate: UnknownIssuer",
        );
        let words = format!("{unreached}: its certificate is not trusted: UnknownIssuer");
        assert_eq!(told(untrusted), (TroubleKind::Untrusted, words));
        let within_tls = io::Error::other(io::Error::from(io::ErrorKind::UnexpectedEof));
        let words = format!("{unreached}: the connection breaks off");
        assert_eq!(told(within_tls), (TroubleKind::Unavailable, words));
        let other = io::Error::other("a secret");
        assert_eq!(told(other), (TroubleKind::Unavailable, unreached));
    }

    /// As hyper's: what broke is its source.
    #[derive(Debug, thiserror::Error)]
    #[error("client error (Connect)")]
    struct Way(#[source] io::Error);

    #[test]
    fn who_is_not_known_is_told_what_to_look_at() {
        let status = kube::core::Status::failure("Unauthorized", "Unauthorized").with_code(401);
        let trouble = Trouble::from(&status);
        assert_eq!(trouble.kind, TroubleKind::Unauthenticated);
        assert!(trouble.message.contains("credential is wrong"), "{trouble}");
        assert!(trouble.kind.is_of_many() && !trouble.kind.is_outage());
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
