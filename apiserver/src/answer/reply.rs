//! Answers: made whole, streamed by a [`ListStream`], or rewritten while they are taken.

use bytes::Bytes;
use http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, RETRY_AFTER, VARY, WARNING,
};
use http::{HeaderValue, Response, StatusCode};

use crate::answer::budget::{Allowance, Reservation};
use crate::answer::document::Document;
use crate::answer::gzip;
use crate::answer::listing::ListStream;
use crate::answer::outbox::{OUTBOX, Outbox};
use crate::answer::rewrite::{Rewrite, Rewritten};
use crate::answer::status::ApiError;
use crate::request::negotiate::Notation;

/// What a request and its answer may hold without a reservation: with 400 requests in flight these are 6 MiB.
const SMALL: usize = 16 << 10;
/// JSON of this length is small as YAML, too: two bytes, `1,`, become a line of 66 at most.
const SHORT: usize = SMALL / 33;

/// An answer before it is sent.
pub(crate) struct Reply {
    pub(crate) head: Response<()>,
    pub(crate) content: Content,
    /// What is held to compress it, if it is to be.
    pub(crate) gzip: Option<Reservation>,
    /// It is never compressed.
    is_secret: bool,
}

/// What is in an answer.
pub(crate) enum Content {
    /// All of it, with what it holds of the budget. A document that is kept for everybody and a few words hold nothing: nobody waits
    /// behind lists to learn what the server is.
    Whole(Bytes),
    /// All of it, and nothing has been reserved.
    Made(Bytes),
    /// An object that is rewritten while it is taken.
    Rewritten(Rewritten),
    /// A list, still to be read.
    List(Box<ListStream>),
}

impl Content {
    fn is_long(&self) -> bool {
        match self {
            Self::Whole(bytes) | Self::Made(bytes) => bytes.len() >= gzip::LONG,
            Self::Rewritten(object) => object.json.len() >= gzip::LONG,
            Self::List(list) => list.is_long(),
        }
    }
}

impl Reply {
    fn new(code: StatusCode, content_type: &'static str, content: Content) -> Self {
        let mut head = Response::new(());
        *head.status_mut() = code;
        let headers = head.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
        headers.insert(VARY, HeaderValue::from_static("Accept, Accept-Encoding"));
        Self {
            head,
            content,
            gzip: None,
            is_secret: false,
        }
    }

    /// An object as JSON, written as it was asked for. The reservation was made before it was read, the outbox is part of it.
    pub(crate) async fn object(
        json: Vec<u8>,
        (notation, pretty): (Notation, bool),
        held: Reservation,
        outbox: Outbox,
    ) -> Result<Self, ApiError> {
        let held = outbox.hold(json, held).await;
        let json = held.map_err(|_| ApiError::too_many_bytes())?;
        let content = match Rewrite::to(notation, pretty) {
            Rewrite::Nothing => Content::Whole(json),
            rewrite => Content::Rewritten(Rewritten {
                json,
                rewrite,
                outbox,
            }),
        };
        Ok(Self::new(StatusCode::OK, notation.content_type(), content))
    }

    /// A list, as it is read.
    pub(crate) fn list(stream: ListStream) -> Self {
        Self::new(
            StatusCode::OK,
            stream.content_type(),
            Content::List(Box::new(stream)),
        )
    }

    /// A few words.
    pub(crate) fn text(code: StatusCode, text: String) -> Self {
        Self::new(
            code,
            "text/plain; charset=utf-8",
            Content::Whole(text.into()),
        )
    }

    /// A refusal.
    pub(crate) fn error(error: &ApiError, notation: Notation) -> Self {
        let body = Rewrite::to(notation, false).whole(error.body());
        let mut reply = Self::new(
            error.code,
            notation.content_type(),
            Content::Whole(body.into()),
        );
        let headers = reply.head.headers_mut();
        if let Some(seconds) = error.retry_after() {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Some(methods) = error.allow() {
            headers.insert(ALLOW, HeaderValue::from_static(methods));
        }
        reply
    }

    /// A document that clients keep: answered with 304 when the client's copy is still right.
    pub(crate) fn document(document: &Document, known: &[&str]) -> Self {
        let Document {
            bytes,
            content_type,
            tag,
        } = document;
        let (code, bytes) = if document.is_known(known) {
            (StatusCode::NOT_MODIFIED, Bytes::new())
        } else {
            (StatusCode::OK, bytes.clone())
        };
        let mut reply = Self::new(code, content_type, Content::Whole(bytes));
        if let Some(tag) = tag {
            reply.head.headers_mut().insert(ETAG, tag.clone());
        }
        reply
    }

    /// Reserves what was made, if that is worth it.
    pub(crate) async fn hold(mut self, allowance: &Allowance) -> Result<Self, ApiError> {
        if let Content::Made(bytes) = &self.content
            && bytes.len() > SMALL
        {
            let held = allowance.reserve(bytes.len()).await?;
            self.content = Content::Whole(held.keep(bytes.clone()));
        }
        Ok(self)
    }

    /// Has a long answer compressed, if there is room for it now: it can be sent without.
    pub(crate) fn compressed(mut self, allowance: &Allowance) -> Self {
        if self.content.is_long() && !self.is_secret {
            self.gzip = allowance.reserve_lasting(gzip::HELD);
        }
        if self.gzip.is_some() {
            let headers = self.head.headers_mut();
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            // The same document in other bytes.
            if let Some(tag) = headers.get(ETAG).and_then(weak) {
                headers.insert(ETAG, tag);
            }
        }
        self
    }

    /// Keeps it from being compressed: how long a text becomes tells about a secret beside it to who can have that text written there and
    /// watch the wire.
    pub(crate) fn secret(mut self) -> Self {
        self.is_secret = true;
        self
    }

    /// Whether its end is told by nothing but the connection's where the protocol has no other sign.
    pub(crate) fn is_streamed(&self) -> bool {
        matches!(self.content, Content::Rewritten(_) | Content::List(_))
    }

    /// What was made of what a client sent. What may become long as YAML is rewritten while it is taken, when there is room for that.
    pub(crate) async fn created(
        json: Vec<u8>,
        notation: Notation,
        allowance: &Allowance,
    ) -> Result<Self, ApiError> {
        let mut reply = if notation == Notation::Json || json.len() <= SHORT {
            let made = Content::Made(Rewrite::to(notation, false).whole(json).into());
            Self::new(StatusCode::CREATED, notation.content_type(), made)
        } else {
            let mut held = allowance.reserve(json.len() + OUTBOX).await?;
            let outbox = Outbox::out_of(&mut held, allowance.clone());
            Self::object(json, (notation, false), held, outbox).await?
        };
        *reply.head.status_mut() = StatusCode::CREATED;
        Ok(reply)
    }

    /// Adds a warning that kubectl shows to its user.
    pub(crate) fn warn(mut self, text: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{}\"", quotable(text))) {
            self.head.headers_mut().append(WARNING, value);
        }
        self
    }
}

/// A tag that stands for a document in whatever bytes.
fn weak(tag: &HeaderValue) -> Option<HeaderValue> {
    HeaderValue::from_str(&format!("W/{}", tag.to_str().ok()?)).ok()
}

/// A text as it may stand between quotes in a header: printable ASCII, at most some lines long.
fn quotable(text: &str) -> String {
    const LONGEST: usize = 512;
    let printable = |char: char| {
        if (' '..='~').contains(&char) {
            char
        } else {
            '?'
        }
    };
    let mut quoted = String::new();
    for char in text.chars().map(printable) {
        let is_escaped = matches!(char, '"' | '\\');
        if quoted.len() + 1 + usize::from(is_escaped) > LONGEST {
            break;
        }
        if is_escaped {
            quoted.push('\\');
        }
        quoted.push(char);
    }
    quoted
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::answer::budget::Budget;
    use crate::answer::document::Written;

    #[test]
    fn a_long_answer_is_compressed_if_there_is_room() {
        let budget = Arc::new(Budget::new(16 << 20, Arc::default()));
        let allowance = Allowance::new(Arc::clone(&budget), Vec::new());
        let compressed = |length: usize| {
            let reply = Reply::text(StatusCode::OK, "x".repeat(length));
            let reply = reply.compressed(&allowance);
            let is_said = reply.head.headers().contains_key(CONTENT_ENCODING);
            assert_eq!(reply.gzip.is_some(), is_said);
            is_said
        };
        assert!(!compressed(gzip::LONG - 1));
        assert!(compressed(gzip::LONG));
        let all = std::iter::from_fn(|| allowance.reserve_now(usize::MAX));
        let all: Vec<Reservation> = all.collect();
        assert!(!compressed(gzip::LONG));
        drop(all);
        assert!(compressed(gzip::LONG));
    }

    #[test]
    fn a_document_that_the_client_has_is_not_sent_again() {
        let document_as = |value: serde_json::Value, notation: Notation| {
            let content_type = notation.content_type();
            Document::new(
                &value,
                Written {
                    notation,
                    content_type,
                },
            )
        };
        let document = document_as(serde_json::json!({"a": 1}), Notation::Json);
        let first = Reply::document(&document, &[]);
        let tag = first.head.headers()[ETAG]
            .to_str()
            .expect("text")
            .to_owned();
        let again = Reply::document(&document, &[&format!("\"x\", {tag}")]);
        assert_eq!(again.head.status(), StatusCode::NOT_MODIFIED);
        let yaml = document_as(serde_json::json!({"a": 1}), Notation::Yaml);
        let other = document_as(serde_json::json!({}), Notation::Json);
        for document in [yaml, other] {
            let reply = Reply::document(&document, &[&tag]);
            assert_eq!(reply.head.status(), StatusCode::OK);
        }
    }

    #[test]
    fn a_warning_cannot_break_out_of_its_header() {
        let reply = Reply::text(StatusCode::OK, String::new()).warn("a \"b\" \\ c\r\nd é");
        assert_eq!(
            reply.head.headers()[WARNING],
            r#"299 - "a \"b\" \\ c??d ?""#
        );
        assert_eq!(quotable(&format!("x{}", "\"".repeat(600))).len(), 511);
        assert_eq!(quotable(&"x".repeat(600)).len(), 512);
    }
}
