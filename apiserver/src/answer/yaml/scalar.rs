//! Texts and numbers in YAML, written a part at a time: as they are, plain, in quotes, or as a block of lines.

use super::characters::{all, first, harmless, is_printable};
use crate::answer::lines::has_room;

/// A text or a number that is being written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scalar {
    style: Style,
    is_text: bool,
    /// Bytes of JSON between its quotes that have not been written.
    left: usize,
}

/// Where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spot {
    /// Before a colon.
    Key,
    /// In a map or a list, where its lines stand this deep.
    Value { indent: usize },
    /// Within brackets.
    Flow,
    /// It is the whole document.
    Alone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    /// As it stands in JSON.
    AsIs,
    /// Between quotes.
    Quoted,
    /// As lines that stand this deep, and with what says how many line breaks end it.
    Block { indent: usize, sign: &'static str },
}

/// What a reader takes for something else than a text, in one version of YAML or another.
const WORDS: [&str; 16] = [
    "y", "n", "yes", "no", "on", "off", "true", "false", "null", "nil", "none", "nan", "inf",
    "infinity", "t", "f",
];

/// Whether what begins here is a text with a colon behind it.
pub(super) fn is_key(json: &[u8]) -> bool {
    let Some(text) = json.strip_prefix(b"\"") else {
        return false;
    };
    let after = text.get(text_length(text) + 1..).unwrap_or_default();
    after.trim_ascii_start().starts_with(b":")
}

impl Scalar {
    /// What begins here, and how much is taken before its content.
    pub(super) fn of(json: &[u8], spot: Spot) -> (Self, usize) {
        let Some(text) = json.strip_prefix(b"\"") else {
            let scalar = Self {
                style: Style::AsIs,
                is_text: false,
                left: word_length(json),
            };
            return (scalar, 0);
        };
        let left = text_length(text);
        let scalar = Self {
            style: style(&text[..left], spot),
            is_text: true,
            left,
        };
        (scalar, 1)
    }

    /// How long it will be. `json` is what [`Scalar::of`] was given.
    pub(super) fn written_length(&self, json: &[u8]) -> usize {
        let text = json.get(1..=self.left).unwrap_or_default();
        let mut room = Vec::with_capacity(16);
        let lengths = all(text).map(|one| {
            room.clear();
            write_quoted(one, &mut room);
            room.len()
        });
        lengths.sum::<usize>() + 2
    }

    pub(super) fn is_complete(&self) -> bool {
        self.left == 0
    }

    /// Writes what stands before its content.
    pub(super) fn open(&self, out: &mut Vec<u8>) {
        match self.style {
            Style::AsIs => {}
            Style::Quoted => out.push(b'"'),
            Style::Block { indent, sign } => {
                out.extend_from_slice(sign.as_bytes());
                out.push(b'\n');
                out.resize(out.len() + indent, b' ');
            }
        }
    }

    /// Writes what stands after its content, and tells how much is taken behind it.
    pub(super) fn close(&self, out: &mut Vec<u8>) -> usize {
        if self.style == Style::Quoted {
            out.push(b'"');
        }
        usize::from(self.is_text)
    }

    /// Writes as much of its content as there is room for, and tells how much that was.
    pub(super) fn write(&mut self, json: &[u8], out: &mut Vec<u8>) -> usize {
        let content = &json[..self.left.min(json.len())];
        let mut rest = content;
        while !rest.is_empty() && has_room(out) {
            let run = match self.style {
                Style::AsIs => rest.len(),
                Style::Quoted | Style::Block { .. } => harmless(rest),
            };
            let run = run.min(out.capacity() - out.len());
            out.extend_from_slice(&rest[..run]);
            rest = &rest[run..];
            if run == 0 {
                rest = self.write_one(rest, out);
            }
        }
        let taken = content.len() - rest.len();
        self.left -= taken;
        taken
    }

    /// Writes one character that needs some thought, and gives what is behind it.
    fn write_one<'a>(&self, json: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
        let Some((one, length)) = first(json) else {
            return &[];
        };
        let rest = &json[length..];
        match (self.style, one) {
            (Style::Block { indent, .. }, '\n') => write_line_break(rest, indent, out),
            (Style::Block { .. }, one) => write_as_is(one, out),
            (Style::AsIs | Style::Quoted, one) => write_quoted(one, out),
        }
        rest
    }
}

/// The bytes of a text before its closing quote.
fn text_length(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

/// The bytes of a number or a word.
fn word_length(json: &[u8]) -> usize {
    let ends =
        |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b',' | b':' | b'}' | b']' | b'"');
    // At least one, so that nothing stops the walk.
    json.iter().position(ends).unwrap_or(json.len()).max(1)
}

fn style(text: &[u8], spot: Spot) -> Style {
    match spot {
        Spot::Key | Spot::Value { .. } | Spot::Alone if is_plain(text) => Style::AsIs,
        Spot::Value { indent } => match lines(text) {
            Some(sign) => Style::Block { indent, sign },
            None => Style::Quoted,
        },
        Spot::Key | Spot::Flow | Spot::Alone => Style::Quoted,
    }
}

/// Whether it begins like a word and is made of nothing that means something in YAML, or in JSON.
fn is_plain(text: &[u8]) -> bool {
    let is_harmless = |byte: &u8| byte.is_ascii_alphanumeric() || b"_./-@+;()=: ".contains(byte);
    let starts = |first: &u8| first.is_ascii_alphabetic() || *first == b'/';
    text.first().is_some_and(starts)
        && !text.ends_with(b" ")
        && !text.ends_with(b":")
        && text.iter().all(is_harmless)
        && !text.windows(2).any(|pair| pair == b": ")
        && !WORDS
            .iter()
            .any(|word| word.as_bytes().eq_ignore_ascii_case(text))
}

/// What its block begins with, if it has lines that can stand as they are: readable, the first not indented, none of blanks alone.
fn lines(text: &[u8]) -> Option<&'static str> {
    let starts = first(text).is_some_and(|(one, _)| !matches!(one, ' ' | '\t' | '\n'));
    // Blanks since the line began, while there is nothing else in it.
    let (mut blanks, mut only_blanks) = (0, true);
    let (mut breaks, mut last_breaks) = (0, 0);
    for one in all(text) {
        match one {
            '\n' if only_blanks && blanks > 0 => return None,
            '\n' => {
                (blanks, only_blanks) = (0, true);
                breaks += 1;
                last_breaks += 1;
                continue;
            }
            ' ' | '\t' => blanks += 1,
            one if is_printable(one) => only_blanks = false,
            _ => return None,
        }
        last_breaks = 0;
    }
    if !starts || breaks == 0 || (only_blanks && blanks > 0) {
        return None;
    }
    Some(match last_breaks {
        0 => "|-",
        1 => "|",
        _ => "|+",
    })
}

/// The last line break of a text is the one that ends its last line, which whoever ends the value writes.
fn write_line_break(rest: &[u8], indent: usize, out: &mut Vec<u8>) {
    let Some((next, _)) = first(rest) else {
        return;
    };
    out.push(b'\n');
    if next != '\n' {
        out.resize(out.len() + indent, b' ');
    }
}

fn write_as_is(one: char, out: &mut Vec<u8>) {
    out.extend_from_slice(one.encode_utf8(&mut [0; 4]).as_bytes());
}

fn write_quoted(one: char, out: &mut Vec<u8>) {
    match one {
        '"' => out.extend_from_slice(b"\\\""),
        '\\' => out.extend_from_slice(b"\\\\"),
        '\n' => out.extend_from_slice(b"\\n"),
        '\r' => out.extend_from_slice(b"\\r"),
        '\t' => out.extend_from_slice(b"\\t"),
        one if is_printable(one) => write_as_is(one, out),
        one => out.extend_from_slice(format!("\\U{:08X}", u32::from(one)).as_bytes()),
    }
}
