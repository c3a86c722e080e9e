//! Base64, JSON and digests.

use std::fmt::{self, Write};

use base64::{Engine, prelude::BASE64_STANDARD};
use sha2::{Digest, Sha256, Sha512};

use super::{
    call::{Answer, Arguments, Function, Takes},
    from_json::{parsed, parsed_or_nil},
};
use crate::template::go::{floats, stop::Failure, value::Value};

const ANYTHING: &[Takes] = &[Takes::Anything];
const TEXT: &[Takes] = &[Takes::Text];

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("b64enc", TEXT, |arguments| {
        Ok(BASE64_STANDARD.encode(&*arguments.text()).into())
    }),
    Function::new("b64dec", TEXT, decoded),
    Function::new("sha256sum", TEXT, |arguments| {
        Ok(hexadecimal(&Sha256::digest(arguments.text().as_bytes())).into())
    }),
    Function::new("sha512sum", TEXT, |arguments| {
        Ok(hexadecimal(&Sha512::digest(arguments.text().as_bytes())).into())
    }),
    Function::new("toJson", ANYTHING, |arguments| {
        json_or_nothing(arguments, Form::SHORT)
    }),
    Function::new("mustToJson", ANYTHING, |arguments| {
        json(arguments, Form::SHORT)
    }),
    Function::new("toRawJson", ANYTHING, |arguments| {
        json(arguments, Form::RAW)
    }),
    Function::new("mustToRawJson", ANYTHING, |arguments| {
        json(arguments, Form::RAW)
    }),
    Function::new("toPrettyJson", ANYTHING, |arguments| {
        json_or_nothing(arguments, Form::PRETTY)
    }),
    Function::new("mustToPrettyJson", ANYTHING, |arguments| {
        json(arguments, Form::PRETTY)
    }),
    Function::new("fromJson", TEXT, parsed_or_nil),
    Function::new("mustFromJson", TEXT, |arguments| {
        let value = parsed(arguments)?;
        value.ok_or_else(|| Failure::of("the argument is not JSON"))
    }),
];

/// What is not base64 gives what sprig says of it, as sprig does.
fn decoded<'a>(arguments: &mut Arguments<'_, 'a>) -> Answer<'a> {
    match decode(arguments.text().as_bytes()) {
        Ok(bytes) => {
            let text = String::from_utf8(bytes);
            let text = text.map_err(|_| Failure::of("what was decoded is not UTF-8 text"))?;
            Ok(text.into())
        }
        Err(place) => Ok(format!("illegal base64 data at input byte {place}").into()),
    }
}

/// With line breaks anywhere, and without a look at bits that count for nothing. Else the place where it is wrong.
fn decode(text: &[u8]) -> Result<Vec<u8>, usize> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let mut at = 0;
    loop {
        let mut four = [0; 4];
        let mut count = 0;
        while count < 4 {
            let Some(&byte) = text.get(at) else {
                return if count == 0 {
                    Ok(bytes)
                } else {
                    Err(at - count)
                };
            };
            at += 1;
            match byte {
                b'\n' | b'\r' => {}
                b'=' => {
                    padding(text, at, count)?;
                    bytes.extend(&three(four)[..count - 1]);
                    return Ok(bytes);
                }
                _ => {
                    four[count] = digit(byte).ok_or(at - 1)?;
                    count += 1;
                }
            }
        }
        bytes.extend(three(four));
    }
}

/// What follows the first sign behind so many digits.
fn padding(text: &[u8], mut at: usize, digits: usize) -> Result<(), usize> {
    let after_breaks = |at: usize| {
        let breaks = text[at..]
            .iter()
            .take_while(|byte| matches!(byte, b'\n' | b'\r'));
        at + breaks.count()
    };
    match digits {
        0 | 1 => return Err(at - 1),
        2 => {
            at = after_breaks(at);
            match text.get(at) {
                None => return Err(text.len()),
                Some(b'=') => at += 1,
                Some(_) => return Err(at - 1),
            }
        }
        _ => {}
    }
    let end = after_breaks(at);
    if end < text.len() { Err(end) } else { Ok(()) }
}

fn digit(byte: u8) -> Option<u8> {
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}

fn three([a, b, c, d]: [u8; 4]) -> [u8; 3] {
    [a << 2 | b >> 4, b << 4 | c >> 2, c << 6 | d]
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// How JSON is written.
#[derive(Clone, Copy)]
struct Form {
    /// What has a meaning in HTML is written as its number.
    escapes: bool,
    indents: bool,
}

impl Form {
    const SHORT: Self = Self {
        escapes: true,
        indents: false,
    };
    const PRETTY: Self = Self {
        escapes: true,
        indents: true,
    };
    const RAW: Self = Self {
        escapes: false,
        indents: false,
    };
}

fn json<'a>(arguments: &mut Arguments<'_, 'a>, form: Form) -> Answer<'a> {
    let value = arguments.value();
    if !has_json(&value, arguments)? {
        return Err(Failure::of("JSON has no such number"));
    }
    let text = arguments.written(|out| Writer { out, form }.value(&value, 0))?;
    Ok(text.into())
}

fn json_or_nothing<'a>(arguments: &mut Arguments<'_, 'a>, form: Form) -> Answer<'a> {
    match json(arguments, form) {
        Err(Failure::Message(_)) => Ok("".into()),
        answer => answer,
    }
}

/// Whether there is no number in it that is none. Pays for the look.
fn has_json(value: &Value<'_>, arguments: &Arguments<'_, '_>) -> Result<bool, Failure> {
    value.pay(arguments.budget)?;
    Ok(is_json(value))
}

fn is_json(value: &Value<'_>) -> bool {
    match value {
        Value::Float(number) => number.is_finite(),
        Value::List(list) => list.iter().all(|item| is_json(&item)),
        Value::Map(map) => map.fields().iter().all(|(_, field)| is_json(field)),
        _ => true,
    }
}

struct Writer<'o, W> {
    out: &'o mut W,
    form: Form,
}

impl<W: Write> Writer<'_, W> {
    fn value(&mut self, value: &Value<'_>, depth: usize) -> fmt::Result {
        match value {
            Value::Missing | Value::Nil => self.out.write_str("null"),
            Value::Bool(holds) => write!(self.out, "{holds}"),
            Value::Int(number) | Value::Int64(number) => write!(self.out, "{number}"),
            Value::Byte(number) => write!(self.out, "{number}"),
            Value::Float(number) => self.float(*number),
            Value::Text(text) => self.text(text),
            Value::List(list) if list.is_nil() => self.out.write_str("null"),
            Value::List(list) => {
                self.out.write_char('[')?;
                for (place, item) in list.iter().enumerate() {
                    self.next(place, depth)?;
                    self.value(&item, depth + 1)?;
                }
                self.end(list.len(), depth)?;
                self.out.write_char(']')
            }
            Value::Map(map) => {
                self.out.write_char('{')?;
                for (place, (name, field)) in map.fields().into_iter().enumerate() {
                    self.next(place, depth)?;
                    self.text(&name)?;
                    self.out
                        .write_str(if self.form.indents { ": " } else { ":" })?;
                    self.value(&field, depth + 1)?;
                }
                self.end(map.len(), depth)?;
                self.out.write_char('}')
            }
        }
    }

    fn next(&mut self, place: usize, depth: usize) -> fmt::Result {
        if place > 0 {
            self.out.write_char(',')?;
        }
        self.line(depth + 1)
    }

    fn end(&mut self, items: usize, depth: usize) -> fmt::Result {
        if items > 0 { self.line(depth) } else { Ok(()) }
    }

    fn line(&mut self, depth: usize) -> fmt::Result {
        if !self.form.indents {
            return Ok(());
        }
        self.out.write_char('\n')?;
        (0..depth).try_for_each(|_| self.out.write_str("  "))
    }

    fn float(&mut self, number: f64) -> fmt::Result {
        let size = number.abs();
        if size == 0.0 || (1e-6..1e21).contains(&size) {
            return floats::write(self.out, number, 'f', None);
        }
        let mut text = String::new();
        floats::write(&mut text, number, 'e', None)?;
        self.out.write_str(&text.replace("e-0", "e-"))
    }

    fn text(&mut self, text: &str) -> fmt::Result {
        self.out.write_char('"')?;
        for character in text.chars() {
            self.character(character)?;
        }
        self.out.write_char('"')
    }

    fn character(&mut self, character: char) -> fmt::Result {
        let escape = match character {
            '"' | '\\' => character,
            '\x08' => 'b',
            '\x0c' => 'f',
            '\n' => 'n',
            '\r' => 'r',
            '\t' => 't',
            '<' | '>' | '&' if self.form.escapes => return self.code(character),
            '\0'..='\x1f' | '\u{2028}' | '\u{2029}' => return self.code(character),
            _ => return self.out.write_char(character),
        };
        self.out.write_char('\\')?;
        self.out.write_char(escape)
    }

    fn code(&mut self, character: char) -> fmt::Result {
        write!(self.out, "\\u{:04x}", u32::from(character))
    }
}
