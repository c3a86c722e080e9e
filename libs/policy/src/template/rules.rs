//! What a template may name and how long it may be, and what is wrong with one that does not keep to it.

use super::bounded::OUTPUT_LIMIT;

/// Longest template, in bytes. The API server holds a whole policy to 1.5 MiB; a PediaCluster
/// with an inline kubeconfig needs a hundredth of this.
pub const TEMPLATE_LIMIT: usize = 256 * 1024;

/// What is wrong with a template or with its result. Says where and what, never a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// Too long to be looked at.
    #[error("template is longer than {TEMPLATE_LIMIT} bytes")]
    TooLong,
    /// Not Handlebars.
    #[error("line {line}, column {column}: {message}")]
    Syntax {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What the parser says.
        message: String,
    },
    /// It parses, but can't mean anything.
    #[error("line {line}, column {column}: {message}")]
    Meaning {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What is wrong.
        message: String,
    },
    /// It failed for this source object.
    #[error("{0}")]
    Render(String),
    /// The result is too long.
    #[error("result is longer than {OUTPUT_LIMIT} bytes")]
    OutputTooLong,
}

/// What a template may name.
#[derive(Clone, Copy, Debug)]
pub enum Scope<'a> {
    /// `source` alone.
    Source,
    /// `source`, and `references` of these keys.
    References(&'a [&'a str]),
}
