//! JSON that is rewritten as YAML while it streams by. Neither an object nor a list nor a text is ever held: what is kept between two
//! pieces is the place in the document, and how the text is written that is being read.
//!
//! Maps and lists become blocks, as kubectl prints them. Texts are plain where no reader could take them for something else, blocks
//! of lines where they have lines, and quoted otherwise. What is nested too deep for lines of its own is written as JSON is.

mod characters;
mod scalar;

use crate::answer::lines::{DEEPEST, has_room};
use scalar::{Scalar, Spot};

/// Rewrites JSON that comes in parts, which do not end within a text or a number.
#[derive(Debug, Default)]
pub(crate) struct Yaml {
    /// The maps and lists that are open and stand on lines of their own.
    open: Vec<Frame>,
    /// How many are open below those, all on one line.
    flow: usize,
    /// What is being written, and comes next in the JSON.
    scalar: Option<(Role, Scalar)>,
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

/// What a text or a number is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Key,
    /// A key that is too long to stand before its colon.
    LongKey,
    Value,
}

/// The longest key that may stand before its colon on one line: YAML allows 1024 characters, its quotes and escapes included.
const LONGEST_KEY: usize = 1000;

impl Yaml {
    /// Rewrites as much as there is room for, and tells how much that was.
    pub(super) fn fill(&mut self, json: &[u8], out: &mut Vec<u8>) -> usize {
        let mut rest = json;
        while !rest.is_empty() && has_room(out) {
            let taken = match self.scalar.take() {
                Some((role, scalar)) => self.go_on(role, scalar, rest, out),
                None => self.step(rest, out),
            };
            rest = &rest[taken..];
        }
        json.len() - rest.len()
    }

    /// Takes one sign, or none where a text or a number begins that has to be taken as a whole.
    fn step(&mut self, rest: &[u8], out: &mut Vec<u8>) -> usize {
        match rest[0] {
            byte @ (b'{' | b'[') => self.open(byte, out),
            byte @ (b'}' | b']') => self.close(byte, out),
            b',' if self.flow > 0 => out.extend_from_slice(b", "),
            b':' if self.flow > 0 => out.extend_from_slice(b": "),
            b',' | b':' => {}
            byte if byte.is_ascii_whitespace() => {}
            _ => return self.begin(rest, out),
        }
        1
    }

    /// A text or a number begins: it is a key or a value. Takes its quote.
    fn begin(&mut self, rest: &[u8], out: &mut Vec<u8>) -> usize {
        let is_key = scalar::is_key(rest);
        let spot = match (is_key, self.flow > 0) {
            (_, true) => Spot::Flow,
            (true, false) => {
                self.begin_entry(out);
                Spot::Key
            }
            (false, false) => {
                let indent = self.begin_value(out);
                if self.after_key() {
                    out.push(b' ');
                }
                // Lines cannot be indented less than nothing, which is where a text alone would stand.
                if self.open.is_empty() {
                    Spot::Alone
                } else {
                    Spot::Value { indent }
                }
            }
        };
        let (scalar, taken) = Scalar::of(rest, spot);
        let role = match is_key {
            false => Role::Value,
            true if scalar.written_length(rest) > LONGEST_KEY => {
                out.extend_from_slice(b"? ");
                Role::LongKey
            }
            true => Role::Key,
        };
        scalar.open(out);
        self.scalar = Some((role, scalar));
        taken
    }

    /// Writes more of a text or a number, and what follows its end.
    fn go_on(&mut self, role: Role, mut scalar: Scalar, rest: &[u8], out: &mut Vec<u8>) -> usize {
        let taken = scalar.write(rest, out);
        if !scalar.is_complete() {
            self.scalar = Some((role, scalar));
            return taken;
        }
        let quote = scalar.close(out);
        match role {
            _ if self.flow > 0 => {}
            Role::Value => {
                out.push(b'\n');
                self.end_value();
            }
            Role::Key => self.end_key(out),
            Role::LongKey => {
                out.push(b'\n');
                self.new_line(out);
                self.end_key(out);
            }
        }
        taken + quote
    }

    fn end_key(&mut self, out: &mut Vec<u8>) {
        out.push(b':');
        if let Some(map) = self.open.last_mut() {
            map.after_key = true;
        }
    }

    fn open(&mut self, bracket: u8, out: &mut Vec<u8>) {
        if self.flow > 0 {
            self.flow += 1;
            return out.push(bracket);
        }
        let indent = self.begin_value(out);
        let in_map = self.after_key();
        if self.open.len() >= DEEPEST {
            if in_map {
                out.push(b' ');
            }
            self.flow = 1;
            return out.push(bracket);
        }
        let is_map = bracket == b'{';
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

    fn close(&mut self, bracket: u8, out: &mut Vec<u8>) {
        if self.flow > 0 {
            self.flow -= 1;
            out.push(bracket);
            if self.flow == 0 {
                out.push(b'\n');
                self.end_value();
            }
            return;
        }
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

    /// Writes what stands before an entry of the innermost map or list.
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
