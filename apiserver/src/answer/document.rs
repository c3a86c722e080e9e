//! A document that clients keep: its bytes and the tag by which they ask whether theirs is still right.

use bytes::Bytes;
use http::HeaderValue;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::answer::rewrite::Rewrite;
use crate::request::negotiate::Notation;

/// A document as it is sent.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    pub(crate) bytes: Bytes,
    pub(crate) content_type: &'static str,
    /// What `ETag` says; no client's when it cannot be a header.
    pub(crate) tag: Option<HeaderValue>,
}

impl Document {
    pub(crate) fn new(value: &Value, written: Written) -> Self {
        let json = value.to_string().into_bytes();
        let bytes = Rewrite::to(written.notation, false).whole(json);
        let tag = HeaderValue::from_str(&format!("\"{}\"", hash(&bytes))).ok();
        Self {
            bytes: bytes.into(),
            content_type: written.content_type,
            tag,
        }
    }

    /// Whether a client that has what it names in `If-None-Match` has this document, in whatever bytes it came.
    pub(crate) fn is_known(&self, known: &[&str]) -> bool {
        let tag = self.tag.as_ref().and_then(|tag| tag.to_str().ok());
        let mut named = known.iter().flat_map(|known| known.split(','));
        named.any(|one| {
            let one = one.trim();
            one == "*" || Some(one.strip_prefix("W/").unwrap_or(one)) == tag
        })
    }
}

/// How a document is written, and what that is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) notation: Notation,
    pub(crate) content_type: &'static str,
}

/// The name of a document's content.
pub(crate) fn hash(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02X}")).collect()
}
