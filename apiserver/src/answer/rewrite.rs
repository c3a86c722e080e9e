//! What stands between the JSON that is made and the bytes that are sent: nothing, indentation, or YAML.
//!
//! What is rewritten may be many times as long as the JSON, so it is made in pieces of a size that is known beforehand, each when
//! there is room for it. Either way of writing stops to indent at some depth: what is written stays in proportion to what is read.

use bytes::{Buf as _, Bytes};

use crate::answer::lines::STEP;
use crate::answer::outbox::Outbox;
use crate::answer::pretty::Pretty;
use crate::answer::yaml::Yaml;
use crate::request::negotiate::Notation;

/// The most bytes that are rewritten at a time: less than half a millisecond of work.
const PIECE: usize = 32 << 10;
/// Rewrites JSON that comes in parts into what was asked for. A part does not end within a text or a number.
#[derive(Debug)]
pub(crate) enum Rewrite {
    /// JSON as it is.
    Nothing,
    /// JSON, indented.
    Pretty(Pretty),
    /// YAML, which is indented anyway.
    Yaml(Box<Yaml>),
}

impl Rewrite {
    pub(crate) fn to(notation: Notation, pretty: bool) -> Self {
        match notation {
            Notation::Json if pretty => Self::Pretty(Pretty::default()),
            Notation::Json => Self::Nothing,
            Notation::Yaml => Self::Yaml(Box::default()),
        }
    }

    /// Rewrites what is small and held by nobody: a document, a refusal.
    pub(crate) fn whole(mut self, json: Vec<u8>) -> Vec<u8> {
        if matches!(self, Self::Nothing) {
            return json;
        }
        let mut out = Vec::new();
        let mut rest = json.as_slice();
        while !rest.is_empty() {
            out.reserve(rest.len() + 2 * STEP);
            rest = &rest[self.fill(rest, &mut out)..];
        }
        out
    }

    /// Takes the next piece off the JSON, when there is room for it; `None` when nothing is left.
    pub(crate) async fn next(&mut self, json: &mut Bytes, outbox: &Outbox) -> Option<Bytes> {
        if json.is_empty() {
            return None;
        }
        if matches!(self, Self::Nothing) {
            return Some(std::mem::take(json));
        }
        // Seldom more than this is needed; where it is, another piece follows.
        let size = PIECE.min(2 * json.len() + 2 * STEP);
        let room = outbox.take(size).await;
        let mut out = Vec::with_capacity(size);
        let taken = self.fill(json, &mut out);
        json.advance(taken);
        Some(room.keep(out.into()))
    }

    /// Rewrites as much of the JSON as there is capacity for, and tells how much that was.
    fn fill(&mut self, json: &[u8], out: &mut Vec<u8>) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Pretty(pretty) => pretty.fill(json, out),
            Self::Yaml(yaml) => yaml.fill(json, out),
        }
    }
}

/// JSON, what it is rewritten into, and room for some of that.
pub(crate) struct Rewritten {
    pub(crate) json: Bytes,
    pub(crate) rewrite: Rewrite,
    pub(crate) outbox: Outbox,
}

impl Rewritten {
    /// Rewrites some more; `None` when all has been.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        self.rewrite.next(&mut self.json, &self.outbox).await
    }
}

#[cfg(test)]
mod tests;
