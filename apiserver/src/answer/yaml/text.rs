//! Texts in YAML: plain, in quotes, or as a block of lines.

use std::borrow::Cow;

/// How a text with several lines is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lines {
    /// Between quotes, on one line.
    Quoted,
    /// As a block, its lines this deep.
    Block(usize),
}

/// What a reader takes for something else than a text, in one version of YAML or another.
const WORDS: [&str; 16] = [
    "y", "n", "yes", "no", "on", "off", "true", "false", "null", "nil", "none", "nan", "inf",
    "infinity", "t", "f",
];

/// Writes a key, given as JSON. A number as a key does not occur in JSON.
pub(super) fn write_key(json: &[u8], out: &mut Vec<u8>) {
    write_value(json, Lines::Quoted, out);
}

/// Writes a text, given as JSON.
pub(super) fn write_value(json: &[u8], lines: Lines, out: &mut Vec<u8>) {
    let Ok(text) = serde_json::from_slice::<Text<'_>>(json) else {
        // JSON is YAML as well.
        return out.extend_from_slice(json);
    };
    let text = text.0.as_ref();
    match lines {
        _ if is_plain(text) => out.extend_from_slice(text.as_bytes()),
        Lines::Block(indent) if is_block(text) => write_block(text, indent, out),
        Lines::Block(_) | Lines::Quoted => write_quoted(text, out),
    }
}

#[derive(serde::Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// Whether it begins like a word and is made of nothing that means something in YAML.
fn is_plain(text: &str) -> bool {
    let starts = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '/');
    if !starts || text.ends_with([' ', ':']) || text.contains(": ") || text.contains(" #") {
        return false;
    }
    let is_harmless = |byte: u8| byte.is_ascii_alphanumeric() || b"_./-@+;()=: ".contains(&byte);
    text.bytes().all(is_harmless) && !WORDS.iter().any(|word| word.eq_ignore_ascii_case(text))
}

/// Whether it has lines that can stand as they are: readable, the first not indented, none of blanks alone.
fn is_block(text: &str) -> bool {
    let is_blank = |line: &str| !line.is_empty() && line.trim_matches([' ', '\t']).is_empty();
    text.contains('\n')
        && !text.starts_with([' ', '\t', '\n'])
        && text
            .chars()
            .all(|one| one == '\n' || one == '\t' || is_printable(one))
        && !text.split('\n').any(is_blank)
}

fn write_block(text: &str, indent: usize, out: &mut Vec<u8>) {
    let body = text.trim_end_matches('\n');
    out.extend_from_slice(match text.len() - body.len() {
        0 => b"|-",
        1 => b"|",
        _ => b"|+",
    });
    // The caller ends the last line.
    let lines = text.strip_suffix('\n').unwrap_or(text);
    for line in lines.split('\n') {
        out.push(b'\n');
        if !line.is_empty() {
            out.resize(out.len() + indent, b' ');
            out.extend_from_slice(line.as_bytes());
        }
    }
}

fn write_quoted(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut room = [0; 4];
    for one in text.chars() {
        match one {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            '\n' => out.extend_from_slice(b"\\n"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\t' => out.extend_from_slice(b"\\t"),
            one if is_printable(one) => {
                out.extend_from_slice(one.encode_utf8(&mut room).as_bytes());
            }
            one => out.extend_from_slice(format!("\\U{:08X}", u32::from(one)).as_bytes()),
        }
    }
    out.push(b'"');
}

/// Whether a reader takes it as it is: no control, no line break of other alphabets, no mark of a byte order.
fn is_printable(one: char) -> bool {
    !one.is_control()
        && !matches!(
            one,
            '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
        )
}
