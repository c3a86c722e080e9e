//! The outline of a JSON text that comes in pieces: what stands in its first two levels and in no array. What is deeper is left out as it comes, so
//! the metadata of an object or a list takes little room whatever else was sent with it, and however many objects were: these are counted. Pure.

/// Kind, version and metadata without labels and annotations: some hundred bytes, and a thousand for a continue token.
const MOST_BYTES: usize = 8 << 10;
/// The text itself, and the metadata in it. What stands in each other beyond that is kept as an empty pair of brackets.
const KEPT_DEPTH: usize = 2;
/// Where an array stands that the text itself has, and its objects one deeper: those of a list.
const ITEMS_DEPTH: usize = 1;

/// What has come of it.
#[derive(Debug)]
pub(crate) struct Outline {
    kept: Vec<u8>,
    depth: usize,
    /// Down to where it is kept: less than elsewhere in an array.
    kept_depth: usize,
    in_string: bool,
    escaped: bool,
    items: u64,
}

impl Default for Outline {
    fn default() -> Self {
        Self {
            kept: Vec::new(),
            depth: 0,
            kept_depth: KEPT_DEPTH,
            in_string: false,
            escaped: false,
            items: 0,
        }
    }
}

impl Outline {
    /// Takes the next piece; `false` if there is more than any answer has that is meant.
    #[must_use]
    pub(crate) fn push(&mut self, piece: &[u8]) -> bool {
        for byte in piece {
            if self.keeps(*byte) {
                if self.kept.len() == MOST_BYTES {
                    return false;
                }
                self.kept.push(*byte);
            }
        }
        true
    }

    /// As text.
    pub(crate) fn text(&self) -> &[u8] {
        &self.kept
    }

    /// Objects that have begun in the array of the text: a list has one, of its items.
    pub(crate) fn items(&self) -> u64 {
        self.items
    }

    /// Whether the next byte is in it.
    fn keeps(&mut self, byte: u8) -> bool {
        let before = self.depth;
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' if self.in_string => self.escaped = true,
            b'"' => self.in_string = !self.in_string,
            _ if self.in_string => {}
            b'{' => {
                let is_item = self.kept_depth == ITEMS_DEPTH && self.depth == ITEMS_DEPTH + 1;
                self.items += u64::from(is_item);
                self.depth += 1;
            }
            b'[' => {
                self.kept_depth = self.kept_depth.min(self.depth);
                self.depth += 1;
            }
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        let is_kept = before.min(self.depth) <= self.kept_depth;
        if self.depth <= self.kept_depth {
            self.kept_depth = KEPT_DEPTH;
        }
        is_kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: &str) {
        for size in [1, 7, text.len()] {
            let mut outline = Outline::default();
            assert!(
                text.as_bytes()
                    .chunks(size)
                    .all(|piece| outline.push(piece))
            );
            assert_eq!(String::from_utf8_lossy(outline.text()), want, "by {size}");
        }
    }

    #[test]
    fn what_is_deeper_than_metadata_is_left_out() {
        check(
            r#"{"metadata":{"uid":"u","labels":{"a":"b"},"managedFields":[{"x":1},2]},"spec":{"finalizers":["k"]}}"#,
            r#"{"metadata":{"uid":"u","labels":{},"managedFields":[]},"spec":{"finalizers":[]}}"#,
        );
        check(
            r#"{"items":[{"metadata":{"name":"a"}}],"metadata":{"resourceVersion":"7"}}"#,
            r#"{"items":[],"metadata":{"resourceVersion":"7"}}"#,
        );
        check(
            r#"{"a":[[1,[2]],{"b":[3]}],"c":{"d":[4],"e":{"f":[5]},"g":6},"h":7}"#,
            r#"{"a":[],"c":{"d":[],"e":{},"g":6},"h":7}"#,
        );
        check(r#"[{"a":1},[2]]"#, "[]");
        check(
            r#"{"a":"}]\"{[\\","b":{"c":{"d":"}}}\"]"}},"e":1}"#,
            r#"{"a":"}]\"{[\\","b":{"c":{}},"e":1}"#,
        );
    }

    #[test]
    fn objects_of_a_list_are_counted_and_nothing_else() {
        let cases = [
            (r#"{"items":[],"metadata":{}}"#, 0),
            (r#"{"items":null,"metadata":{"managedFields":[{},{}]}}"#, 0),
            (
                r#"{"items":[{"metadata":{"labels":{"a":"b"},"managedFields":[{},{}]}}]}"#,
                1,
            ),
            (
                r#"{"metadata":{"x":[{}]},"items":[{"a":[[{}],{}]},{},{"b":"},{"}]}"#,
                3,
            ),
            (r#"[{},{}]"#, 0),
        ];
        for (text, want) in cases {
            let mut outline = Outline::default();
            assert!(outline.push(text.as_bytes()));
            assert_eq!(outline.items(), want, "{text}");
        }
    }

    #[test]
    fn no_more_is_kept_than_metadata_takes() {
        let deep = format!(r#"{{"items":[{{"data":"{}"}}]}}"#, "x".repeat(1 << 20));
        check(&deep, r#"{"items":[]}"#);
        // Of an API that knows no limit to a list.
        let many = format!(r#"{{"items":[{}{{}}]}}"#, r#"{"kind":"A"},"#.repeat(10_000));
        check(&many, r#"{"items":[]}"#);
        let endless = [("", "a"), (r#"{"metadata":{"uid":""#, "u")];
        for (begin, rest) in endless {
            let mut outline = Outline::default();
            assert!(outline.push(begin.as_bytes()));
            let mut pushed = (0..=MOST_BYTES).map(|_| outline.push(rest.as_bytes()));
            assert!(!pushed.all(|fits| fits), "{begin}{rest}");
            assert_eq!(outline.text().len(), MOST_BYTES, "{begin}{rest}");
        }
    }
}
