//! Questions to the host's kube-apiserver: what they share.

use std::future::Future;
use std::time::Duration;

use crate::answer::status::{ApiError, chain};
use crate::seldom::Seldom;

/// Longer than a healthy kube-apiserver ever takes, much shorter than a client's patience.
const TIMEOUT: Duration = Duration::from_secs(10);

/// There is no answer of the host. Nothing is decided; the request is turned away for now.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum ReviewFailed {
    /// It was asked.
    #[error("the host did not answer a review: {0}")]
    Unanswered(String),
    /// It was not: too many others wait to ask.
    #[error("too many reviews wait for the host")]
    Crowded,
    /// It was not: too many questions of the same asker wait.
    #[error("too many reviews of this asker wait for the host")]
    CrowdedByAsker,
}

impl ReviewFailed {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self::Unanswered(reason.into())
    }
}

static UNANSWERED: Seldom = Seldom::new();

impl From<ReviewFailed> for ApiError {
    fn from(error: ReviewFailed) -> Self {
        match error {
            ReviewFailed::Unanswered(_) => {
                if let Some(left_out) = UNANSWERED.turn() {
                    tracing::warn!(error = %error, left_out, "a request was turned away unreviewed");
                }
                Self::unavailable("the request cannot be reviewed now, please try again later")
            }
            // A flood of these is not to fill the log; they are counted as refused.
            ReviewFailed::Crowded => Self::too_many_reviews("wait for the control plane"),
            ReviewFailed::CrowdedByAsker => {
                Self::too_many_reviews("of this caller wait for the control plane")
            }
        }
    }
}

/// Asks, and gives up after a while.
pub(crate) async fn ask<T>(
    question: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, ReviewFailed> {
    match tokio::time::timeout(TIMEOUT, question).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(ReviewFailed::new(chain(&error))),
        Err(_) => Err(ReviewFailed::new("it took too long")),
    }
}
