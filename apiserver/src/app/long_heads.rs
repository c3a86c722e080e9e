//! Heads of requests that wait for their answers: of long ones there are so many at a time, and a share of them for each asker.
//!
//! A request keeps its head until its answer begins, and until then may wait for reviews, a search and room. Short heads cost little.

use std::sync::Arc;

use http::request::Parts;

use crate::answer::status::ApiError;
use crate::turns::{Asker, Turn, TurnSizes, Turns};

/// A head of this length is long: several times what a client sends that has a token, some dozens of groups and a short query.
const LONG: usize = 16 << 10;
/// What a field takes in memory beside its name and its value, of which HTTP/2 lets it have none.
const AROUND_FIELD: usize = 100;

/// 64 heads of 256 KiB, which is the most that one may have in memory, are 16 MiB. A request has its head for some milliseconds, so that
/// one asker may bring a thousand a second.
const LONG_HEADS: TurnSizes = TurnSizes {
    at_once: 64,
    at_once_per_asker: 16,
    in_line: 64,
    in_line_per_asker: 16,
};

/// The long heads of all requests.
pub(super) struct LongHeads(Arc<Turns>);

impl Default for LongHeads {
    fn default() -> Self {
        Self(Turns::new(LONG_HEADS))
    }
}

impl LongHeads {
    /// Counts a request's head while what it gives lives, if it is long; refuses it if there are too many.
    pub(super) fn count(&self, parts: &Parts, asker: &Asker) -> Result<Option<Turn>, ApiError> {
        if length(parts) < LONG {
            return Ok(None);
        }
        let counted = self.0.now(asker);
        counted.map(Some).ok_or_else(ApiError::too_many_long_heads)
    }
}

/// About what a head takes in memory.
fn length(parts: &Parts) -> usize {
    let query = parts.uri.query().unwrap_or_default();
    let fields = parts.headers.iter();
    let fields = fields.map(|(name, value)| name.as_str().len() + value.len() + AROUND_FIELD);
    parts.uri.path().len() + query.len() + fields.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(fields: usize, value: usize, is_long: bool) {
        let mut request = http::Request::get("https://localhost/apis");
        for number in 0..fields {
            request = request.header(format!("x-{number}"), "x".repeat(value));
        }
        let (parts, ()) = request.body(()).expect("a request").into_parts();
        let counted = LongHeads::default().count(&parts, &Asker::user("alice"));
        let counted = counted.expect("there is room for one");
        assert_eq!(counted.is_some(), is_long, "{fields} fields of {value}");
    }

    #[test]
    fn a_head_is_long_by_what_it_takes_in_memory() {
        check(10, 1000, false);
        check(10, 2000, true);
        check(100, 1, false);
        check(200, 1, true);
    }
}
