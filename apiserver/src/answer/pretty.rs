//! `?pretty=true`: JSON that is indented while it streams by, without being parsed.

/// Indents JSON that comes in pieces. Keeps its place between them.
#[derive(Debug, Default)]
pub(crate) struct Pretty {
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// A bracket was opened and nothing has followed: an empty object or list stays on its line.
    opened: bool,
}

impl Pretty {
    /// Indents the next piece.
    pub(crate) fn indent(&mut self, piece: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(piece.len() * 2);
        for &byte in piece {
            if self.in_string {
                self.within_string(byte);
                out.push(byte);
            } else {
                self.outside_string(byte, &mut out);
            }
        }
        out
    }

    fn within_string(&mut self, byte: u8) {
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' => self.escaped = true,
            b'"' => self.in_string = false,
            _ => {}
        }
    }

    fn outside_string(&mut self, byte: u8, out: &mut Vec<u8>) {
        if byte.is_ascii_whitespace() {
            return;
        }
        let closes = matches!(byte, b'}' | b']');
        if closes {
            self.depth = self.depth.saturating_sub(1);
        }
        if self.opened != closes {
            self.new_line(out);
        }
        self.opened = matches!(byte, b'{' | b'[');
        out.push(byte);
        match byte {
            b'{' | b'[' => self.depth += 1,
            b'"' => self.in_string = true,
            b':' => out.push(b' '),
            b',' => self.new_line(out),
            _ => {}
        }
    }

    fn new_line(&self, out: &mut Vec<u8>) {
        out.push(b'\n');
        out.resize(out.len() + 2 * self.depth, b' ');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn indented(text: &str, piece: usize) -> String {
        let mut pretty = Pretty::default();
        let bytes = text
            .as_bytes()
            .chunks(piece)
            .flat_map(|part| pretty.indent(part))
            .collect();
        String::from_utf8(bytes).expect("text")
    }

    #[test]
    fn json_is_indented_as_people_write_it() {
        let text = r#"{"a":[1,{"b":"x,{\"}"}],"c":{},"d":[],"e":-1.5,"f":[[]]}"#;
        let expected = "{\n  \"a\": [\n    1,\n    {\n      \"b\": \"x,{\\\"}\"\n    }\n  ],\n  \"c\": {},\n  \"d\": [],\n  \
                        \"e\": -1.5,\n  \"f\": [\n    []\n  ]\n}";
        assert_eq!(indented(text, 1000), expected);
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<i32>().prop_map(Into::into),
            "\\PC{0,6}".prop_map(Into::into)
        ];
        leaf.prop_recursive(4, 20, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
                proptest::collection::vec(("[a-z\"\\\\]{0,3}", inner), 0..4)
                    .prop_map(|pairs| serde_json::Value::Object(pairs.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn indenting_is_what_serde_does_whatever_the_pieces(value in json(), piece in 1_usize..9) {
            let text = value.to_string();
            let expected = serde_json::to_string_pretty(&value).expect("JSON");
            prop_assert_eq!(indented(&text, piece), expected);
        }
    }
}
