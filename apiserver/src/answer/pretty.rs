//! `?pretty=true`: JSON that is indented while it streams by, without being parsed.

use crate::answer::lines::{DEEPEST, has_room};

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
    /// Indents as much as there is room for, and tells how much that was.
    pub(super) fn fill(&mut self, json: &[u8], out: &mut Vec<u8>) -> usize {
        for (index, &byte) in json.iter().enumerate() {
            if !has_room(out) {
                return index;
            }
            if self.in_string {
                self.within_string(byte);
                out.push(byte);
            } else {
                self.outside_string(byte, out);
            }
        }
        json.len()
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
        out.resize(out.len() + 2 * self.depth.min(DEEPEST), b' ');
    }
}
