//! Text in quotes, as Go quotes it.

use std::fmt::{Result, Write};

/// A text as a string of Go; in ASCII alone if asked for.
pub(super) fn text(out: &mut impl Write, text: &str, ascii: bool) -> Result {
    out.write_char('"')?;
    for character in text.chars() {
        escaped(out, character, '"', ascii)?;
    }
    out.write_char('"')
}

/// A character as one of Go.
pub(super) fn character(out: &mut impl Write, character: char, ascii: bool) -> Result {
    out.write_char('\'')?;
    escaped(out, character, '\'', ascii)?;
    out.write_char('\'')
}

fn escaped(out: &mut impl Write, character: char, quote: char, ascii: bool) -> Result {
    let short = match character {
        '\x07' => 'a',
        '\x08' => 'b',
        '\x0c' => 'f',
        '\n' => 'n',
        '\r' => 'r',
        '\t' => 't',
        '\x0b' => 'v',
        '\\' => '\\',
        _ if character == quote => quote,
        _ if is_printed(character) && (character.is_ascii() || !ascii) => {
            return out.write_char(character);
        }
        '\0'..=' ' | '\x7f' => return write!(out, "\\x{:02x}", u32::from(character)),
        '\u{80}'..='\u{ffff}' => return write!(out, "\\u{:04x}", u32::from(character)),
        _ => return write!(out, "\\U{:08x}", u32::from(character)),
    };
    out.write_char('\\')?;
    out.write_char(short)
}

/// Whether it can be seen: letters, marks, numbers, punctuation, symbols, and the space.
pub(super) fn is_printed(character: char) -> bool {
    if character.is_ascii() {
        return matches!(character, ' '..='~');
    }
    // Rust escapes the same for a reader; behind a letter marks are not escaped as such.
    let mut word = String::from("a");
    word.push(character);
    word.escape_debug().nth(1) == Some(character)
}

/// Whether it can stand in backquotes as it is.
pub(super) fn fits_backquotes(text: &str) -> bool {
    text.chars().all(|character| {
        !matches!(character, '`' | '\x7f' | '\u{feff}') && (character >= ' ' || character == '\t')
    })
}
