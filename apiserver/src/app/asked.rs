//! The parts of a request that decide its answer.

use http::header::{ACCEPT, ACCEPT_ENCODING, HeaderName, IF_NONE_MATCH};
use http::request::Parts;

use crate::answer::budget::Allowance;
use crate::answer::document::Written;
use crate::answer::status::ApiError;
use crate::caller::identity::Caller;
use crate::discovery;
use crate::request::negotiate::{self, Discovery, Notation};
use crate::turns::Asker;

/// The parts of a request that decide its answer.
pub(super) struct Asked<'a> {
    pub(super) caller: &'a Caller,
    /// The bytes that the answer may hold.
    pub(super) allowance: Allowance,
    /// The path, decoded.
    pub(super) segments: &'a [String],
    pub(super) query: &'a str,
    /// All `Accept` headers as one.
    pub(super) accept: Option<String>,
    /// What `If-None-Match` names.
    pub(super) known: Vec<&'a str>,
}

impl<'a> Asked<'a> {
    pub(super) fn of(
        parts: &'a Parts,
        segments: &'a [String],
        caller: &'a Caller,
        allowance: Allowance,
    ) -> Self {
        Self {
            caller,
            allowance,
            segments,
            query: parts.uri.query().unwrap_or_default(),
            accept: accept(parts),
            known: parts
                .headers
                .get_all(IF_NONE_MATCH)
                .into_iter()
                .filter_map(|value| value.to_str().ok())
                .collect(),
        }
    }

    /// Whose turn it is, where turns are shared out.
    pub(super) fn asker(&self) -> Asker {
        Asker::user(&self.caller.account)
    }

    pub(super) fn discovery(&self) -> Result<Discovery, ApiError> {
        let chosen = negotiate::discovery(self.accept.as_deref());
        chosen.map(|(form, _)| form).ok_or_else(|| {
            let aggregated = discovery::aggregated_content_type(Notation::Json);
            ApiError::not_acceptable(&format!("{}, {aggregated}", negotiate::SERVED))
        })
    }

    /// How a document that has one form is to be written.
    pub(super) fn plain(&self) -> Result<Written, ApiError> {
        let notation = negotiate::document(self.accept.as_deref())
            .ok_or_else(|| ApiError::not_acceptable(negotiate::SERVED))?;
        Ok(Written {
            notation,
            content_type: notation.content_type(),
        })
    }

    /// How the document of aggregated discovery is to be written, once [`Asked::discovery`] has said that it is wanted.
    pub(super) fn aggregated(&self) -> Written {
        let chosen = negotiate::discovery(self.accept.as_deref());
        let notation = chosen.map(|(_, notation)| notation).unwrap_or_default();
        Written {
            notation,
            content_type: discovery::aggregated_content_type(notation),
        }
    }
}

/// All `Accept` headers as one.
pub(super) fn accept(parts: &Parts) -> Option<String> {
    joined(parts, &ACCEPT)
}

/// Whether the answer may be compressed.
pub(super) fn takes_gzip(parts: &Parts) -> bool {
    joined(parts, &ACCEPT_ENCODING).is_some_and(|accepted| negotiate::takes_gzip(&accepted))
}

/// All headers of one name as one.
fn joined(parts: &Parts, name: &HeaderName) -> Option<String> {
    let values = parts.headers.get_all(name).into_iter();
    let texts: Vec<&str> = values.filter_map(|value| value.to_str().ok()).collect();
    (!texts.is_empty()).then(|| texts.join(","))
}
