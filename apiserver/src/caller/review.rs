//! Questions to the host's kube-apiserver: what they share.

use std::future::Future;
use std::time::Duration;

use crate::answer::status::{ApiError, chain};

/// Longer than a healthy kube-apiserver ever takes, much shorter than a client's patience.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The host did not answer. Nothing is decided; the request is turned away for now.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the host did not answer a review: {reason}")]
pub(crate) struct ReviewFailed {
    reason: String,
}

impl ReviewFailed {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
        }
    }
}

impl From<ReviewFailed> for ApiError {
    fn from(error: ReviewFailed) -> Self {
        tracing::warn!(error = %error, "a request was turned away unreviewed");
        Self::unavailable("the request cannot be reviewed now, please try again later")
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
