//! Cutting a watch's bytes into lines, with a limit to what one line may hold. Pure.

use bytes::Bytes;
use memchr::memchr;

/// What is kept of a line that is too long: the metadata of an object mostly comes first, and fits.
pub(crate) const PREFIX_BYTES: usize = 64 << 10;

/// A line, or an item of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// All of it.
    Whole(Bytes),
    /// Its beginning, and how long it was.
    TooLong { prefix: Bytes, length: usize },
}

/// Bytes that came in and are not cut yet.
#[derive(Debug)]
pub(crate) struct Lines {
    chunk: Bytes,
    line: Gathered,
}

impl Lines {
    /// A line may have `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            chunk: Bytes::new(),
            line: Gathered::new(limit),
        }
    }

    /// Adds bytes; call [`Lines::next`] until it has none left before the next ones.
    pub(crate) fn push(&mut self, chunk: Bytes) {
        debug_assert!(self.chunk.is_empty(), "the last chunk is used up");
        self.chunk = chunk;
    }

    /// Bytes that are held of a line which is not whole yet.
    pub(crate) fn unfinished(&self) -> usize {
        self.line.held()
    }

    /// Whether bytes have come in of a line that is not at its end.
    pub(crate) fn holds_part(&self) -> bool {
        self.line.length > 0 || !self.chunk.is_empty()
    }

    /// The next whole line, empty ones left out.
    pub(crate) fn next(&mut self) -> Option<Piece> {
        while !self.chunk.is_empty() {
            let Some(end) = memchr(b'\n', &self.chunk) else {
                let rest = std::mem::take(&mut self.chunk);
                self.line.add(&rest);
                return None;
            };
            // With the end of the line, so that nothing is left that would keep what it was read into: a kind that is silent for
            // long would keep 8 KiB and more for a bookmark.
            let mut part = self.chunk.split_to(end + 1);
            part.truncate(end);
            let piece = self.line.finish(part);
            if piece != Piece::Whole(Bytes::new()) {
                return Some(piece);
            }
        }
        None
    }
}

/// A piece whose bytes come in several chunks.
#[derive(Debug)]
pub(crate) struct Gathered {
    bytes: Vec<u8>,
    length: usize,
    limit: usize,
}

impl Gathered {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            bytes: Vec::new(),
            length: 0,
            limit,
        }
    }

    /// What it takes in memory.
    pub(crate) fn held(&self) -> usize {
        self.bytes.capacity()
    }

    /// Adds bytes; past the limit only the beginning is kept.
    pub(crate) fn add(&mut self, part: &[u8]) {
        self.length += part.len();
        if self.length <= self.limit {
            self.bytes.extend_from_slice(part);
            return;
        }
        let room = PREFIX_BYTES.saturating_sub(self.bytes.len());
        self.bytes.extend_from_slice(&part[..part.len().min(room)]);
        self.bytes.truncate(PREFIX_BYTES);
        self.bytes.shrink_to_fit();
    }

    /// Ends the piece with its last bytes. A piece that came in one chunk is not copied.
    pub(crate) fn finish(&mut self, last: Bytes) -> Piece {
        if self.length == 0 && last.len() <= self.limit {
            return Piece::Whole(last);
        }
        self.add(&last);
        let length = std::mem::take(&mut self.length);
        let bytes = Bytes::from(std::mem::take(&mut self.bytes));
        if length <= self.limit {
            Piece::Whole(bytes)
        } else {
            Piece::TooLong {
                prefix: bytes,
                length,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(text: &[u8], sizes: &[usize], limit: usize) -> Vec<Piece> {
        let mut lines = Lines::new(limit);
        let mut found = Vec::new();
        let mut rest = Bytes::copy_from_slice(text);
        let mut sizes = sizes.iter().cycle();
        while !rest.is_empty() {
            let size = sizes.next().map_or(1, |size| *size.max(&1)).min(rest.len());
            lines.push(rest.split_to(size));
            found.extend(std::iter::from_fn(|| lines.next()));
        }
        found
    }

    proptest! {
        #[test]
        fn chunks_do_not_matter(
            text in "[ab\n]{0,40}",
            sizes in prop::collection::vec(1usize..9, 1..5),
        ) {
            let whole: Vec<_> = text
                .rsplit_once('\n')
                .map_or("", |(complete, _)| complete)
                .split('\n')
                .filter(|line| !line.is_empty())
                .map(|line| match line.len() {
                    0..=6 => Piece::Whole(Bytes::copy_from_slice(line.as_bytes())),
                    length => Piece::TooLong { prefix: Bytes::copy_from_slice(line.as_bytes()), length },
                })
                .collect();
            prop_assert_eq!(cut(text.as_bytes(), &sizes, 6), whole);
        }
    }

    #[test]
    fn a_line_that_has_begun_is_known_until_it_ends() {
        let mut lines = Lines::new(10);
        assert!(!lines.holds_part());
        for (chunk, ends, holds) in [("ab", 0, true), ("c\nd", 1, true), ("\n", 1, false)] {
            lines.push(Bytes::from_static(chunk.as_bytes()));
            let cut = std::iter::from_fn(|| lines.next()).count();
            assert_eq!((cut, lines.holds_part()), (ends, holds), "{chunk:?}");
        }
        let long = [b'x'; 20];
        lines.push(Bytes::copy_from_slice(&long));
        assert!(lines.next().is_none() && lines.holds_part());
    }

    #[test]
    fn a_line_that_was_taken_keeps_nothing_of_what_it_came_in() {
        let buffer = Bytes::from(b"{}\n".to_vec());
        let mut lines = Lines::new(100);
        lines.push(buffer.clone());
        assert!(lines.next().is_some());
        assert!(buffer.is_unique());
    }

    #[test]
    fn only_the_beginning_of_an_overlong_line_is_kept() {
        let text = [vec![b'x'; 3 * PREFIX_BYTES], b"\nok\n".to_vec()].concat();
        let found = cut(&text, &[1000], 2 * PREFIX_BYTES);
        let Piece::TooLong { prefix, length } = &found[0] else {
            panic!("the line is too long");
        };
        assert_eq!((prefix.len(), *length), (PREFIX_BYTES, 3 * PREFIX_BYTES));
        assert_eq!(found[1], Piece::Whole(Bytes::from_static(b"ok")));
    }
}
