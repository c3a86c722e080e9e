//! What is written in a template as a number or a string, by Go's rules.

use super::{hexadecimal, tokens::Kind};

/// A number as written, for each kind of parameter that it fits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Number {
    /// As an integer, if it is one.
    pub(super) integer: Option<i64>,
    pub(super) float: f64,
    /// Where any kind will do it is a floating point number.
    pub(super) is_float: bool,
}

type Read<T> = Result<T, &'static str>;

/// Reads a number or a character.
pub(super) fn number(kind: Kind, text: &str) -> Read<Number> {
    match kind {
        Kind::Character => character(text),
        Kind::Complex => Err(COMPLEX),
        _ if text.ends_with('i') && !text.contains(['x', 'X']) => Err(COMPLEX),
        _ => plain(text),
    }
}

const COMPLEX: &str = "complex numbers are not offered";
const NO_NUMBER: &str = "this is no number";

#[expect(clippy::cast_precision_loss, reason = "as Go converts it")]
fn plain(text: &str) -> Read<Number> {
    let parts = Parts::of(text).ok_or(NO_NUMBER)?;
    if let Some((magnitude, negative)) = parts.integer() {
        let integer = signed(magnitude, negative);
        // What is too large for one kind of integer is one of another for Go, and can't be used.
        let float = if negative {
            -(magnitude as f64)
        } else {
            magnitude as f64
        };
        if integer.is_none() && (negative || parts.explicit) {
            return Err("the number is too large");
        }
        // Behind a sign Go takes the digit for the sign of an exponent.
        let looks_like_one = parts.explicit && parts.base == 16 && text.contains(['e', 'E']);
        return Ok(Number {
            integer,
            float,
            is_float: looks_like_one,
        });
    }
    let float: f64 = match parts.base {
        16 => hexadecimal::float(&parts.digits).ok_or(NO_NUMBER)?,
        10 if text.contains(['.', 'e', 'E']) => parts.digits.parse().map_err(|_| NO_NUMBER)?,
        _ => return Err(NO_NUMBER),
    };
    if !float.is_finite() {
        return Err("the number is too large");
    }
    let float = if parts.sign == Some('-') {
        -float
    } else {
        float
    };
    Ok(Number {
        integer: whole(float),
        float,
        is_float: true,
    })
}

/// A floating point number as an integer, where it is one.
#[expect(clippy::cast_possible_truncation, reason = "the range is looked at")]
fn whole(float: f64) -> Option<i64> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    let fits = (-LIMIT..LIMIT).contains(&float) && float.trunc() == float;
    fits.then_some(float as i64)
}

fn signed(magnitude: u64, negative: bool) -> Option<i64> {
    if negative {
        0_i64.checked_sub_unsigned(magnitude)
    } else {
        i64::try_from(magnitude).ok()
    }
}

/// What an integer is made of.
struct Parts {
    sign: Option<char>,
    base: u32,
    /// The sign says that it can't be unsigned.
    explicit: bool,
    digits: String,
}

impl Parts {
    fn of(text: &str) -> Option<Self> {
        let sign = text.chars().next().filter(|sign| "+-".contains(*sign));
        let bare = &text[sign.map_or(0, char::len_utf8)..];
        let prefixed = |prefixes: [&str; 2]| prefixes.iter().find_map(|p| bare.strip_prefix(*p));
        let (base, digits) = if let Some(digits) = prefixed(["0x", "0X"]) {
            (16, digits)
        } else if let Some(digits) = prefixed(["0o", "0O"]) {
            (8, digits)
        } else if let Some(digits) = prefixed(["0b", "0B"]) {
            (2, digits)
        } else if bare.len() > 1 && bare.starts_with('0') && is_of_digits(bare) {
            (8, &bare[1..])
        } else {
            (10, bare)
        };
        underscores_separate(digits, base).then(|| Self {
            sign,
            base,
            explicit: sign.is_some(),
            digits: digits.replace('_', ""),
        })
    }

    fn integer(&self) -> Option<(u64, bool)> {
        let magnitude = u64::from_str_radix(&self.digits, self.base).ok()?;
        // A sign between prefix and digits is none.
        let signless = !self.digits.starts_with(['+', '-']);
        signless.then_some((magnitude, self.sign == Some('-')))
    }
}

fn is_of_digits(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'_')
}

/// An underscore stands between digits, or between a prefix and a digit.
fn underscores_separate(digits: &str, base: u32) -> bool {
    let is_digit = |byte: u8| char::from(byte).is_digit(base.max(10));
    let mut before = base != 10;
    let mut underscore = false;
    for byte in digits.bytes() {
        let digit = is_digit(byte);
        let misplaced = if byte == b'_' {
            !before
        } else {
            underscore && !digit
        };
        if misplaced {
            return false;
        }
        underscore = byte == b'_';
        before = digit;
    }
    !underscore
}

/// An integer as Go reads it from a text, with a prefix if it has one.
pub(super) fn integer(text: &str) -> Option<i64> {
    let (magnitude, negative) = Parts::of(text)?.integer()?;
    signed(magnitude, negative)
}

/// A floating point number as Go reads it from a text.
pub(super) fn float(text: &str) -> Option<f64> {
    if let Some(parts) = Parts::of(text).filter(|parts| parts.base == 16) {
        let float = hexadecimal::float(&parts.digits).filter(|float| float.is_finite())?;
        return Some(if parts.sign == Some('-') {
            -float
        } else {
            float
        });
    }
    if !underscores_separate(text.trim_start_matches(['+', '-']), 10) {
        return None;
    }
    let float: f64 = text.replace('_', "").parse().ok()?;
    let named = text.contains(['n', 'N']);
    (named || float.is_finite()).then_some(float)
}

fn character(text: &str) -> Read<Number> {
    let bad = "this is no character";
    let inside = text
        .strip_prefix('\'')
        .and_then(|text| text.strip_suffix('\''));
    let mut rest = inside.filter(|inside| !inside.is_empty()).ok_or(bad)?;
    let code = match unit(&mut rest, '\'').ok_or(bad)? {
        Unit::Character(character) => u32::from(character),
        Unit::Byte(byte) => u32::from(byte),
    };
    if !rest.is_empty() {
        return Err(bad);
    }
    Ok(Number {
        integer: Some(i64::from(code)),
        float: f64::from(code),
        is_float: false,
    })
}

/// Reads a string with its quotes.
pub(super) fn string(kind: Kind, text: &str) -> Read<String> {
    let inside = &text[1..text.len() - 1];
    if kind == Kind::Raw {
        return Ok(inside.replace('\r', ""));
    }
    let mut bytes = Vec::with_capacity(inside.len());
    let mut rest = inside;
    while !rest.is_empty() {
        match unit(&mut rest, '"').ok_or("an escape that no string has")? {
            Unit::Byte(byte) => bytes.push(byte),
            Unit::Character(character) => {
                bytes.extend(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
    }
    String::from_utf8(bytes).map_err(|_| "the bytes of the string are not UTF-8 text")
}

enum Unit {
    Character(char),
    Byte(u8),
}

/// Takes one character or escape.
fn unit(rest: &mut &str, quote: char) -> Option<Unit> {
    let first = take(rest)?;
    if first != '\\' {
        return (first != quote).then_some(Unit::Character(first));
    }
    let octal = rest.starts_with(|digit: char| digit.is_digit(8));
    if octal {
        return code(rest, 3, 8).and_then(byte);
    }
    let plain = match take(rest)? {
        'a' => '\x07',
        'b' => '\x08',
        'f' => '\x0c',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\x0b',
        '\\' => '\\',
        'x' => return code(rest, 2, 16).and_then(byte),
        'u' => char::from_u32(code(rest, 4, 16)?)?,
        'U' => char::from_u32(code(rest, 8, 16)?)?,
        escape if escape == quote => quote,
        _ => return None,
    };
    Some(Unit::Character(plain))
}

fn take(rest: &mut &str) -> Option<char> {
    let mut characters = rest.chars();
    let first = characters.next()?;
    *rest = characters.as_str();
    Some(first)
}

/// So many digits.
fn code(rest: &mut &str, digits: usize, base: u32) -> Option<u32> {
    let text = rest.get(..digits)?;
    *rest = &rest[digits..];
    let plain = text.chars().all(|digit| digit.is_digit(base));
    plain.then(|| u32::from_str_radix(text, base).ok())?
}

fn byte(code: u32) -> Option<Unit> {
    u8::try_from(code).ok().map(Unit::Byte)
}
