//! What a condition says, before it is known since when. Pure.

use armadex_crds::conditions::ConditionStatus;

/// A condition without type and time.
pub(super) struct Said {
    pub(super) status: ConditionStatus,
    pub(super) reason: String,
    pub(super) message: String,
}

/// One that says this.
pub(super) fn said(
    status: ConditionStatus,
    reason: impl Into<String>,
    message: impl Into<String>,
) -> Said {
    Said {
        status,
        reason: reason.into(),
        message: message.into(),
    }
}
