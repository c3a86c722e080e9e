//! JSON that is rewritten as YAML while it streams by. Neither an object nor a list is ever held: what is kept between two pieces is
//! the place in the document and the one text or number that is being read.
//!
//! Maps and lists become blocks, as kubectl prints them. Texts are plain where no reader could take them for something else, blocks
//! of lines where they have lines, and quoted otherwise.

mod text;

use text::Lines;

/// Rewrites JSON that comes in pieces.
#[derive(Debug, Default)]
pub(crate) struct Yaml {
    /// The maps and lists that are open.
    open: Vec<Frame>,
    /// A text or a number whose end has not come yet.
    token: Vec<u8>,
    in_string: bool,
    escaped: bool,
}

/// A map or a list that is open.
#[derive(Clone, Copy, Debug)]
struct Frame {
    is_map: bool,
    /// Where its lines begin.
    indent: usize,
    /// Its first entry stands on the line of what it belongs to.
    inline: bool,
    /// It has no entry so far.
    empty: bool,
    /// A key has been written, its value has not.
    after_key: bool,
}

/// The longest key that may stand before its colon on one line: YAML allows 1024 characters, its quotes and escapes included.
const LONGEST_KEY: usize = 1000;

impl Yaml {
    /// Rewrites the next piece.
    pub(crate) fn rewrite(&mut self, piece: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(piece.len() + piece.len() / 4);
        let mut rest = piece;
        while let Some((&byte, after)) = rest.split_first() {
            if self.in_string {
                rest = self.within_string(rest, &mut out);
                continue;
            }
            rest = after;
            self.outside_string(byte, &mut out);
        }
        out
    }

    /// Takes what belongs to the text, and gives the rest.
    fn within_string<'a>(&mut self, rest: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
        if std::mem::take(&mut self.escaped) {
            self.token.push(rest[0]);
            return &rest[1..];
        }
        let Some(end) = rest.iter().position(|byte| matches!(byte, b'"' | b'\\')) else {
            self.token.extend_from_slice(rest);
            return &[];
        };
        let (taken, rest) = rest.split_at(end + 1);
        self.token.extend_from_slice(taken);
        if taken.ends_with(b"\\") {
            self.escaped = true;
        } else {
            self.in_string = false;
            self.end_token(out);
        }
        rest
    }

    fn outside_string(&mut self, byte: u8, out: &mut Vec<u8>) {
        match byte {
            b'"' => {
                self.in_string = true;
                self.token.push(byte);
            }
            b'{' | b'[' => self.open(byte == b'{', out),
            b'}' | b']' => {
                self.end_token(out);
                self.close(out);
            }
            b',' => self.end_token(out),
            b':' => {}
            _ if byte.is_ascii_whitespace() => self.end_token(out),
            _ => self.token.push(byte),
        }
    }

    /// A text, a number or a word is complete: it is a key or a value.
    fn end_token(&mut self, out: &mut Vec<u8>) {
        if self.token.is_empty() {
            return;
        }
        let token = std::mem::take(&mut self.token);
        let is_key = |frame: &Frame| frame.is_map && !frame.after_key;
        if self.open.last().is_some_and(is_key) {
            self.key(&token, out);
        } else {
            self.scalar(&token, out);
        }
        // Its room is used for the next one.
        self.token = token;
        self.token.clear();
    }

    fn key(&mut self, token: &[u8], out: &mut Vec<u8>) {
        self.begin_entry(out);
        let start = out.len();
        text::write_key(token, out);
        if out.len() - start > LONGEST_KEY {
            out.splice(start..start, *b"? ");
            out.push(b'\n');
            self.new_line(out);
        }
        out.push(b':');
        if let Some(map) = self.open.last_mut() {
            map.after_key = true;
        }
    }

    fn scalar(&mut self, token: &[u8], out: &mut Vec<u8>) {
        let indent = self.begin_value(out);
        if self.after_key() {
            out.push(b' ');
        }
        if token.starts_with(b"\"") {
            // Lines cannot be indented less than nothing, which is where a text alone would stand.
            let lines = if self.open.is_empty() {
                Lines::Quoted
            } else {
                Lines::Block(indent)
            };
            text::write_value(token, lines, out);
        } else {
            out.extend_from_slice(token);
        }
        out.push(b'\n');
        self.end_value();
    }

    fn open(&mut self, is_map: bool, out: &mut Vec<u8>) {
        let indent = self.begin_value(out);
        let in_map = self.after_key();
        self.open.push(Frame {
            is_map,
            // A list stands no deeper than the key that it belongs to.
            indent: if in_map && !is_map {
                indent - 2
            } else {
                indent
            },
            inline: !in_map,
            empty: true,
            after_key: false,
        });
    }

    fn close(&mut self, out: &mut Vec<u8>) {
        let Some(closed) = self.open.pop() else {
            return;
        };
        if closed.empty {
            if self.after_key() {
                out.push(b' ');
            }
            out.extend_from_slice(if closed.is_map { b"{}\n" } else { b"[]\n" });
        }
        self.end_value();
    }

    /// Writes what stands before an entry of the innermost map or list, and gives how deep its value would stand.
    fn begin_entry(&mut self, out: &mut Vec<u8>) {
        let Some(frame) = self.open.last_mut() else {
            return;
        };
        let first = std::mem::take(&mut frame.empty);
        if first && frame.inline {
            return;
        }
        if first {
            out.push(b'\n');
        }
        self.new_line(out);
    }

    /// Writes what stands before a value, and gives how deep it stands.
    fn begin_value(&mut self, out: &mut Vec<u8>) -> usize {
        let Some(frame) = self.open.last().copied() else {
            return 0;
        };
        if !frame.is_map {
            self.begin_entry(out);
            out.extend_from_slice(b"- ");
        }
        frame.indent + 2
    }

    fn end_value(&mut self) {
        if let Some(frame) = self.open.last_mut() {
            frame.after_key = false;
        }
    }

    fn after_key(&self) -> bool {
        self.open.last().is_some_and(|frame| frame.after_key)
    }

    fn new_line(&self, out: &mut Vec<u8>) {
        let indent = self.open.last().map_or(0, |frame| frame.indent);
        out.resize(out.len() + indent, b' ');
    }
}

#[cfg(test)]
mod tests;
