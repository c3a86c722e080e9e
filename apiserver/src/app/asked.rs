//! The parts of a request that decide its answer.

use http::HeaderName;
use http::header::{ACCEPT, IF_NONE_MATCH};
use http::request::Parts;

use crate::answer::reply::Reply;
use crate::answer::status::ApiError;
use crate::caller::identity::Identity;
use crate::discovery;
use crate::request::negotiate::{self, Discovery};

/// The parts of a request that decide its answer.
pub(super) struct Asked<'a> {
    pub(super) caller: &'a Identity,
    pub(super) query: &'a str,
    /// All `Accept` headers as one.
    pub(super) accept: Option<String>,
    known: Option<&'a str>,
}

impl<'a> Asked<'a> {
    pub(super) fn of(parts: &'a Parts, caller: &'a Identity) -> Self {
        let header = |name: HeaderName| {
            let values = parts.headers.get_all(name).into_iter();
            let texts: Vec<&str> = values.filter_map(|value| value.to_str().ok()).collect();
            (!texts.is_empty()).then(|| texts.join(","))
        };
        Self {
            caller,
            query: parts.uri.query().unwrap_or_default(),
            accept: header(ACCEPT),
            known: parts
                .headers
                .get(IF_NONE_MATCH)
                .and_then(|value| value.to_str().ok()),
        }
    }

    pub(super) fn discovery(&self) -> Result<Discovery, ApiError> {
        negotiate::discovery(self.accept.as_deref()).ok_or_else(|| {
            ApiError::not_acceptable(&format!(
                "application/json, {}",
                discovery::AGGREGATED_CONTENT_TYPE
            ))
        })
    }

    /// A document that has one form.
    pub(super) fn document(&self, document: &serde_json::Value) -> Result<Reply, ApiError> {
        if !negotiate::plain_json(self.accept.as_deref()) {
            return Err(ApiError::not_acceptable("application/json"));
        }
        Ok(Reply::document(document, "application/json", self.known))
    }

    pub(super) fn aggregated(&self, document: &serde_json::Value) -> Reply {
        Reply::document(document, discovery::AGGREGATED_CONTENT_TYPE, self.known)
    }
}
