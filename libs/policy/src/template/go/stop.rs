//! Why a rendering does not come to its end.

use crate::template::{budget::Exceeded, rules::NOT_TOLD};

/// What a function says of a call that it can't answer. Never says a value.
#[derive(Debug)]
pub(super) enum Failure {
    /// A limit; the words are put by whoever looks at the budget afterwards.
    Limit,
    Message(String),
    /// In the words of its only argument, which are told where they are written in the template.
    Told,
}

impl Failure {
    pub(super) fn of(message: impl Into<String>) -> Self {
        Self::Message(message.into())
    }
}

impl From<Exceeded> for Failure {
    fn from(_: Exceeded) -> Self {
        Self::Limit
    }
}

/// What ends a rendering.
#[derive(Debug)]
pub(super) enum Stop {
    /// A limit of the budget, which knows which one it was.
    Limit,
    /// The result is too long.
    Full,
    /// Blocks, parentheses and templates stand in each other too deep.
    TooDeep,
    /// It failed at this place of the template.
    Failed { at: usize, message: String },
}

impl From<Exceeded> for Stop {
    fn from(_: Exceeded) -> Self {
        Self::Limit
    }
}

impl Stop {
    pub(super) fn at(at: usize, message: impl Into<String>) -> Self {
        let message = message.into();
        Self::Failed { at, message }
    }

    /// Of a function's failure.
    pub(super) fn of(at: usize, name: &str, failure: Failure) -> Self {
        match failure {
            Failure::Limit => Self::Limit,
            Failure::Message(message) => Self::at(at, format!("{name}: {message}")),
            Failure::Told => Self::at(at, format!("{name}: {NOT_TOLD}")),
        }
    }
}
