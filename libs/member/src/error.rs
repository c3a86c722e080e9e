//! What can be wrong with a configuration, and what can go wrong while talking to a member.

use std::time::Duration;

use serde::Deserialize;
use serde_json::error::Category;

use crate::words::Words;

/// A PediaCluster from which no connection can be made. The message is shown to the user in a condition; it names the field and
/// never what is in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A field that is needed is empty.
    #[error("{field} is required{hint}")]
    Missing {
        /// The field.
        field: String,
        /// What would do instead; empty, or begins with a separator.
        hint: &'static str,
    },
    /// A field holds what cannot be used.
    #[error("{field} {problem}")]
    Invalid {
        /// The field.
        field: String,
        /// What is wrong, as a clause after the field's name.
        problem: String,
    },
    /// A kubeconfig asks for what an imported one may not: running a command or reading a file of this host.
    #[error("{field} is not allowed in an imported kubeconfig: {why}")]
    Forbidden {
        /// The field.
        field: String,
        /// Why not.
        why: &'static str,
    },
    /// Secrets are not read.
    #[error(
        "spec.authenticationFrom is ignored: the feature gate ClusterAuthenticationFromSecret is off"
    )]
    SecretsIgnored,
    /// A Secret is not there, or lacks the key.
    #[error("secret {namespace}/{name}: {problem}")]
    Secret {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A credential of a Secret may not be sent where the PediaCluster says.
    #[error("secret {secret} may not be used for {endpoint}: {why}")]
    Unbound {
        /// Namespace and name of the Secret.
        secret: String,
        /// Where its credential would go.
        endpoint: String,
        /// Why not, and what would do.
        why: String,
    },
    /// A way that only a policy may open, of a PediaCluster that none is known to have rendered.
    #[error("{field} may only be what a policy rendered ({why})")]
    Unrendered {
        /// The field.
        field: &'static str,
        /// What is known of the policy.
        why: &'static str,
    },
    /// A policy rendered something else under this name.
    #[error(
        "the PediaClusterLifecycle of this name rendered another connection{}, and nothing is asked of {endpoint} in its \
         place: take back what was edited, or edit what the policy renders it from",
        to(rendered)
    )]
    Replaced {
        /// Where the PediaCluster would lead.
        endpoint: String,
        /// Where what was rendered leads; empty if that can't be told.
        rendered: String,
    },
    /// Nor is it known whether it may.
    #[error(
        "whether a policy rendered this connection is not known: PediaClusterLifecycles have not been listed yet{}",
        after_colon(why)
    )]
    Unlisted {
        /// Why not; empty if it only takes a moment.
        why: String,
    },
}

fn after_colon(why: &str) -> String {
    match why {
        "" => String::new(),
        why => format!(": {why}"),
    }
}

fn to(endpoint: &str) -> String {
    match endpoint {
        "" => String::new(),
        endpoint => format!(", to {endpoint}"),
    }
}

impl ConfigError {
    pub(crate) fn missing(field: &str) -> Self {
        Self::Missing {
            field: field.to_owned(),
            hint: "",
        }
    }

    pub(crate) fn invalid(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Invalid {
            field: field.into(),
            problem: problem.into(),
        }
    }
}

/// A request to a member that did not end well.
#[derive(Debug, thiserror::Error)]
pub enum MemberError {
    /// No connection, or it broke.
    #[error("{reason}")]
    Unreachable {
        /// The chain of causes, as one text. TLS and HTTP/2 quote what the peer sent.
        reason: Words,
    },
    /// It was reached, and TLS did not come about: one of both takes the other for somebody else.
    #[error("{reason}")]
    Untrusted {
        /// The chain of causes, as one text.
        reason: Words,
    },
    /// Nobody was asked: it may not be connected to.
    #[error("{reason}")]
    Barred {
        /// The chain of causes, as one text.
        reason: Words,
    },
    /// A phase of the request took too long.
    #[error("no {phase} within {} s", after.as_secs())]
    TimedOut {
        /// What was waited for.
        phase: &'static str,
        /// How long.
        after: Duration,
    },
    /// It took longer than there was room for beside others. In the same words for all that give way.
    #[error("no {phase} before others needed its room")]
    GaveWay {
        /// What was waited for.
        phase: &'static str,
    },
    /// It says more of what it serves than there was room for: it is to be asked anew where there is more.
    #[error("what it serves is more than others say")]
    Large,
    /// The member answered with an error.
    #[error("{message}")]
    Status {
        /// HTTP status.
        code: u16,
        /// The member's words, or the status in words.
        message: Words,
        /// How long the member asks to be left alone.
        retry_after: Option<Duration>,
        /// Of a list whose continue token has expired: where it may go on, as it is now.
        fresh_token: Option<String>,
        /// What it is about.
        details: Option<Box<StatusDetails>>,
    },
    /// There is nothing by which the member could be told from others.
    #[error("{what} is not to be had")]
    Nameless {
        /// By what it was to be known.
        what: &'static str,
    },
    /// The answer is not what Kubernetes answers.
    #[error("the answer to {path} is not understood: {problem}")]
    Malformed {
        /// What was asked.
        path: String,
        /// What is wrong with the answer.
        problem: Words,
    },
}

/// What the `details` of a `Status` say it is about: an object of whoever answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct StatusDetails {
    /// Its group.
    pub group: String,
    /// Its resource, which Kubernetes calls its kind here.
    pub kind: String,
    /// Its name.
    pub name: String,
}

/// The status of an answer that a proxy before the member did not get in time, or the member itself.
const GATEWAY_TIMEOUT: u16 = 504;
/// Of one that has too much to do, as a kube-apiserver's priority and fairness says it.
const TOO_MANY_REQUESTS: u16 = 429;
/// Those that say nothing of what was asked for: unauthorized, forbidden, too late, too often.
const OF_WHO_ASKS_OR_WHEN: [u16; 4] = [401, 403, 408, TOO_MANY_REQUESTS];
/// How long a member may ask to be left alone: one that asks for more is asked again then. A kube-apiserver asks for some seconds.
pub const LONGEST_WAIT: Duration = Duration::from_secs(60);

impl MemberError {
    /// HTTP status of the answer, if there was one.
    #[must_use]
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Status { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// The position or the continue token is too old: 410.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.code() == Some(410)
    }

    /// It knows who asks, who may not ask for that: 403.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        self.code() == Some(403)
    }

    /// By what was asked for nobody can know who the member is, and by something else one may.
    #[must_use]
    pub fn hides_identity(&self) -> bool {
        self.is_forbidden() || matches!(self, Self::Nameless { .. })
    }

    /// What was asked for was waited for in vain, here or by a proxy before the member: more of it is waited for longer.
    #[must_use]
    pub fn took_long(&self) -> bool {
        matches!(self, Self::TimedOut { .. }) || self.code() == Some(GATEWAY_TIMEOUT)
    }

    /// Somebody else answered in the place of the member, or it has no room.
    #[must_use]
    pub fn is_of_a_gateway(&self) -> bool {
        matches!(self.code(), Some(502 | 503 | GATEWAY_TIMEOUT))
    }

    /// Whether it may be the continue token of a list that is refused, and not who asks, or when. The member may not know it: it was restored, or is an
    /// aggregated API whose tokens live no longer than its process. Those in Kubernetes are told to be too old.
    #[must_use]
    pub fn may_refuse_token(&self) -> bool {
        match self {
            Self::Malformed { .. } => true,
            Self::Status { code, .. } => {
                !self.is_of_a_gateway() && !OF_WHO_ASKS_OR_WHEN.contains(code)
            }
            _ => false,
        }
    }

    /// The token that the member gave in the place of an expired one: with it the rest of the list comes, of a later version than what
    /// came before.
    #[must_use]
    pub fn fresh_token(&self) -> Option<&str> {
        match self {
            Self::Status { fresh_token, .. } if self.is_gone() => fresh_token.as_deref(),
            _ => None,
        }
    }

    /// Nothing came back, not so much as a refusal to talk.
    #[must_use]
    pub fn is_silence(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::TimedOut { .. })
    }

    /// What the answer says it is about, if it is an error that says so.
    #[must_use]
    pub fn details(&self) -> Option<&StatusDetails> {
        match self {
            Self::Status { details, .. } => details.as_deref(),
            _ => None,
        }
    }

    /// How long the member asks to be left alone.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Whether it may be that a list was asked for as the beginning of a watch, which an API server before Kubernetes 1.32 does not know, nor one in which the feature gate
    /// `WatchList` is off: it finds the parameters invalid (422).
    #[must_use]
    pub fn refuses_streamed_list(&self) -> bool {
        matches!(self.code(), Some(400 | 422))
    }

    /// It is there and has too much to do: 429. A 503 may be of somebody who answers in its place.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.code() == Some(TOO_MANY_REQUESTS)
    }

    /// For how long whoever answers asks to be left alone, where it is there and that is all that is wrong: it has too much to do (429, with or without a time), or
    /// says when it has room again (503 with one).
    #[must_use]
    pub fn asks_to_wait(&self) -> Option<Duration> {
        match self.code() {
            Some(TOO_MANY_REQUESTS) => Some(self.retry_after().unwrap_or_default()),
            Some(503) => self.retry_after(),
            _ => None,
        }
    }

    pub(crate) fn unreachable(error: &(dyn std::error::Error + 'static)) -> Self {
        let reason = chain(error).into();
        if is_of::<rustls::Error>(error) {
            Self::Untrusted { reason }
        } else if is_of::<Barred>(error) {
            Self::Barred { reason }
        } else {
            Self::Unreachable { reason }
        }
    }

    pub(crate) fn malformed(path: &str, problem: impl Into<Words>) -> Self {
        Self::Malformed {
            path: path.to_owned(),
            problem: problem.into(),
        }
    }

    /// A body that is compressed, and not as it should be.
    pub(crate) fn unpacked(problem: &'static str) -> Self {
        Self::malformed("a compressed list", problem)
    }

    /// An answer that was not decoded. Where, and of which kind the error is: its own words quote the answer, which may come from
    /// anything that listens at the address.
    pub(crate) fn undecoded(path: &str, error: &serde_json::Error) -> Self {
        let what = match error.classify() {
            Category::Syntax => "it is not JSON",
            Category::Eof => "it breaks off",
            Category::Data | Category::Io => "it is not what is expected there",
        };
        let (line, column) = (error.line(), error.column());
        Self::malformed(path, format!("{what}, at line {line} column {column}"))
    }
}

/// None of the addresses of a name may be connected to, in words.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Barred(pub(crate) String);

/// Whether an error came of one of this type. What an error of IO was made of is none of its causes.
fn is_of<E: std::error::Error + 'static>(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if error.is::<E>() {
            return true;
        }
        let io = error.downcast_ref::<std::io::Error>();
        next = match io.and_then(std::io::Error::get_ref) {
            Some(within) => Some(within),
            None => error.source(),
        };
    }
    false
}

/// An error and its causes in one line; a cause that its parent repeats is left out.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let words = inner.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        cause = inner.source();
    }
    text
}
