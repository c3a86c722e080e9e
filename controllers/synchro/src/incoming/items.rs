//! Cutting the body of a list into its items while it comes in, so that one item is held at a time. Pure.
//!
//! The body is not decoded: strings and brackets are followed, which is enough to know where an item begins and ends. What is
//! between them is judged later, item by item, so a broken item does not break its page.

use bytes::Bytes;
use memchr::memchr2;
use serde::{Deserialize, Deserializer};

use crate::incoming::lines::{Gathered, Piece};

/// A list's own metadata: a version, a continue token and little else.
const METADATA_BYTES: usize = 64 << 10;
/// Names of members are compared with `metadata` and `items`; of a longer one the beginning is enough to tell.
const NAME_BYTES: usize = 16;

/// The body of a list that is being received.
#[derive(Debug)]
pub(crate) struct Items {
    chunk: Bytes,
    place: Cursor,
    depth: u32,
    text: Text,
    name: Vec<u8>,
    metadata: Gathered,
    found_metadata: Option<ListMetadata>,
    item: Gathered,
}

/// Where in the list the next byte is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cursor {
    /// Before the first brace.
    Start,
    /// In the list object, before or in a name.
    Name,
    /// After a name, in a value of no interest, or behind one that was.
    Other,
    /// In the value of `metadata`.
    Metadata,
    /// In the value of `items`, between items.
    Between,
    /// In an item.
    Item,
    /// After the last brace.
    End,
    /// What came is no list.
    Broken,
}

/// Whether the next byte is in a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Text {
    Outside,
    Inside,
    Escaped,
}

/// What a list says about itself.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ListMetadata {
    /// The collection's version.
    pub(crate) resource_version: String,
    /// Where the next page begins; empty on the last one.
    pub(crate) r#continue: String,
    /// Objects that are on later pages, if it says so. What is no such number, as some servers say, is not said.
    #[serde(deserialize_with = "if_it_is_a_number")]
    pub(crate) remaining_item_count: Option<u64>,
}

fn if_it_is_a_number<'de, D: Deserializer<'de>>(value: D) -> Result<Option<u64>, D::Error> {
    Ok(serde_json::Value::deserialize(value)?.as_u64())
}

impl Items {
    /// An item may have `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            chunk: Bytes::new(),
            place: Cursor::Start,
            depth: 0,
            text: Text::Outside,
            name: Vec::new(),
            metadata: Gathered::new(METADATA_BYTES),
            found_metadata: None,
            item: Gathered::new(limit),
        }
    }

    /// Adds bytes; call [`Items::next`] until it has none left before the next ones.
    pub(crate) fn push(&mut self, chunk: Bytes) {
        debug_assert!(self.chunk.is_empty(), "the last chunk is used up");
        self.chunk = chunk;
    }

    /// The next item.
    pub(crate) fn next(&mut self) -> Option<Piece> {
        let chunk = std::mem::take(&mut self.chunk);
        let mut begin = 0;
        let mut at = 0;
        while at < chunk.len() {
            if self.text == Text::Inside && self.place != Cursor::Name {
                at += memchr2(b'"', b'\\', &chunk[at..]).unwrap_or(chunk.len() - at);
            }
            let Some(&byte) = chunk.get(at) else { break };
            let before = self.place;
            self.follow(byte);
            at += 1;
            match (before, self.place) {
                (Cursor::Between, Cursor::Item) | (Cursor::Other, Cursor::Metadata) => {
                    begin = at - 1;
                }
                (Cursor::Item, Cursor::Between) => {
                    self.chunk = chunk.slice(at..);
                    return Some(self.item.finish(chunk.slice(begin..at)));
                }
                (Cursor::Metadata, Cursor::Other) => self.read_metadata(chunk.slice(begin..at)),
                _ => {}
            }
        }
        match self.place {
            Cursor::Item => self.item.add(&chunk[begin..]),
            Cursor::Metadata => self.metadata.add(&chunk[begin..]),
            _ => {}
        }
        None
    }

    /// Bytes that are held of an item which is not whole yet, and of the list's metadata.
    pub(crate) fn unfinished(&self) -> usize {
        self.item.held() + self.metadata.held()
    }

    /// The list's metadata, once the whole body was pushed; `None` if it was no whole list.
    pub(crate) fn finish(self) -> Option<ListMetadata> {
        self.found_metadata.filter(|_| self.place == Cursor::End)
    }

    fn read_metadata(&mut self, last: Bytes) {
        if let Piece::Whole(json) = self.metadata.finish(last) {
            self.found_metadata = serde_json::from_slice(&json).ok();
        }
    }

    fn follow(&mut self, byte: u8) {
        match (self.text, byte) {
            (Text::Escaped, _) => self.text = Text::Inside,
            (Text::Inside, b'\\') => self.text = Text::Escaped,
            (Text::Inside, b'"') => self.text = Text::Outside,
            (Text::Inside, _) if self.name.len() < NAME_BYTES => self.name.push(byte),
            (Text::Inside, _) => {}
            (Text::Outside, b'"') => self.text_begins(),
            (Text::Outside, byte) => self.structure(byte),
        }
    }

    fn text_begins(&mut self) {
        self.text = Text::Inside;
        match self.place {
            Cursor::Name => self.name.clear(),
            Cursor::Between | Cursor::Start => self.place = Cursor::Broken,
            _ => {}
        }
    }

    /// A byte outside of strings.
    fn structure(&mut self, byte: u8) {
        match byte {
            b'{' | b'[' => self.open(byte),
            b'}' | b']' => self.close(),
            b':' if self.place == Cursor::Name => self.place = Cursor::Other,
            b',' if self.place == Cursor::Other && self.depth == 1 => self.place = Cursor::Name,
            b',' | b' ' | b'\t' | b'\r' | b'\n' => {}
            _ if [Cursor::Between, Cursor::Start].contains(&self.place) => {
                self.place = Cursor::Broken;
            }
            _ => {}
        }
    }

    fn open(&mut self, byte: u8) {
        self.depth += 1;
        self.place = match (self.place, self.depth, byte, self.name.as_slice()) {
            (Cursor::Start, 1, b'{', _) => Cursor::Name,
            (Cursor::Start | Cursor::Name, ..) | (Cursor::Between, _, b'[', _) => Cursor::Broken,
            (Cursor::Other, 2, b'[', b"items") => Cursor::Between,
            (Cursor::Other, 2, b'{', b"metadata") => Cursor::Metadata,
            (Cursor::Between, 3, b'{', _) => Cursor::Item,
            (place, ..) => place,
        };
    }

    fn close(&mut self) {
        let Some(depth) = self.depth.checked_sub(1) else {
            self.place = Cursor::Broken;
            return;
        };
        self.depth = depth;
        self.place = match (self.place, depth) {
            (Cursor::Broken, _) => Cursor::Broken,
            (_, 0) => Cursor::End,
            (Cursor::Item, 2) => Cursor::Between,
            (Cursor::Metadata | Cursor::Between, 1) => Cursor::Other,
            (place, _) => place,
        };
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(body: &[u8], size: usize, limit: usize) -> (Vec<Piece>, Option<ListMetadata>) {
        let mut items = Items::new(limit);
        let mut found = Vec::new();
        for chunk in body.chunks(size.max(1)) {
            items.push(Bytes::copy_from_slice(chunk));
            found.extend(std::iter::from_fn(|| items.next()));
        }
        (found, items.finish())
    }

    fn whole(texts: &[&str]) -> Vec<Piece> {
        let piece = |text: &&str| Piece::Whole(Bytes::copy_from_slice(text.as_bytes()));
        texts.iter().map(piece).collect()
    }

    const AWKWARD: [&str; 4] = [
        r#"{"a":"}]\"\\","items":[{"x":1}],"metadata":{"resourceVersion":"no"}}"#,
        "{}",
        r#"{"deep":[[{"x":["{"]}]]}"#,
        r#"{ "spaced" : 1 }"#,
    ];

    proptest! {
        #[test]
        fn chunks_and_order_do_not_matter(size in 1usize..40, first: bool) {
            let metadata = r#""metadata":{"resourceVersion":"42","continue":"t\"}"}"#;
            let items = format!(r#""items":[{}]"#, AWKWARD.join(" ,\n"));
            let (a, b) = if first { (metadata, items.as_str()) } else { (items.as_str(), metadata) };
            let body = format!(r#"{{"kind":"PodList","other":[{{"items":[1]}}],{a}, {b}}}"#);
            let (found, list) = cut(body.as_bytes(), size, 1000);
            prop_assert_eq!(found, whole(&AWKWARD));
            let list = list.unwrap();
            prop_assert_eq!((list.resource_version.as_str(), list.r#continue.as_str()), ("42", "t\"}"));
        }

        #[test]
        fn whatever_comes_is_cut_or_refused(bytes in "[{}\\[\\]\":,a\\\\ ]{0,60}", size in 1usize..9) {
            let _ = cut(bytes.as_bytes(), size, 8);
        }
    }

    #[test]
    fn half_a_list_and_no_list_are_refused() {
        let bodies = [
            "",
            "nope",
            "[]",
            r#"{"items":[]"#,
            r#"{"metadata":{"resourceVersion":"1"},"items":["text"]}"#,
            r#"{"metadata":{"resourceVersion":"1"},"items":[1]}"#,
        ];
        for body in bodies {
            assert_eq!(cut(body.as_bytes(), 7, 100).1, None, "{body}");
        }
        let empty = r#"{"metadata":{"resourceVersion":"1"},"items":null}"#;
        assert!(cut(empty.as_bytes(), 7, 100).1.is_some());
    }

    #[test]
    fn a_count_that_is_none_does_not_break_its_list() {
        let counts = [
            ("7", Some(7)),
            ("-1", None),
            ("1.5", None),
            ("\"7\"", None),
            ("null", None),
            ("{}", None),
        ];
        for (count, read) in counts {
            let body = format!(
                r#"{{"metadata":{{"resourceVersion":"1","remainingItemCount":{count}}},"items":[]}}"#
            );
            let list = cut(body.as_bytes(), 7, 100).1.expect("a list");
            assert_eq!(list.remaining_item_count, read, "{count}");
        }
    }

    #[test]
    fn an_item_that_is_too_long_does_not_break_its_page() {
        let body = r#"{"items":[{"a":"xxxxxxxxxxxx"},{"b":1}],"metadata":{"resourceVersion":"1"}}"#;
        let (found, list) = cut(body.as_bytes(), 5, 10);
        assert!(
            matches!(found[0], Piece::TooLong { length: 20, .. }),
            "{found:?}"
        );
        assert_eq!(found[1..], whole(&[r#"{"b":1}"#]));
        assert!(list.is_some());
    }
}
