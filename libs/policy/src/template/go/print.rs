//! Values as text, as Go prints them: one after the other, or by a format.

use std::fmt::{Error, Result, Write};

use super::{
    floats::{self, DIGITS, repeated, zeros},
    quote,
    value::{List, Map, Value},
};
use crate::template::bounded::Out;

/// What Go prints for what is not there. Clusterpedia takes it out of every result, wherever it is from.
pub(super) const NO_VALUE: &str = "<no value>";

/// Digits of a floating point number that take as long to find as it takes to look at a value.
const DIGITS_OF_VALUE: usize = 8;

/// What a format says of one value.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flags {
    pub(super) minus: bool,
    pub(super) plus: bool,
    pub(super) sharp: bool,
    pub(super) space: bool,
    pub(super) zero: bool,
    /// `%#v`, in the syntax of Go.
    pub(super) syntax: bool,
    pub(super) width: Option<usize>,
    pub(super) precision: Option<usize>,
}

/// Writes values to a text that may not take all of them.
pub(super) struct Printer<'o, W> {
    pub(super) out: &'o mut W,
    pub(super) flags: Flags,
    /// What was asked for and is not offered.
    pub(super) refused: Option<&'static str>,
}

/// Of values one after the other, with a space between two that are no texts.
pub(super) fn print(out: &mut impl Out, values: &[Value<'_>]) -> Result {
    let mut printer = Printer::new(out);
    let is_text = |value: &Value<'_>| matches!(value, Value::Text(_));
    for (place, value) in values.iter().enumerate() {
        if place > 0 && !is_text(value) && !is_text(&values[place - 1]) {
            printer.out.write_char(' ')?;
        }
        printer.argument(value, 'v')?;
    }
    Ok(())
}

/// On a line.
pub(super) fn print_line(out: &mut impl Out, values: &[Value<'_>]) -> Result {
    let mut printer = Printer::new(out);
    for (place, value) in values.iter().enumerate() {
        if place > 0 {
            printer.out.write_char(' ')?;
        }
        printer.argument(value, 'v')?;
    }
    printer.out.write_char('\n')
}

impl<'o, W: Out> Printer<'o, W> {
    pub(super) fn new(out: &'o mut W) -> Self {
        Self {
            out,
            flags: Flags::default(),
            refused: None,
        }
    }

    /// A value by a verb.
    pub(super) fn argument(&mut self, value: &Value<'_>, verb: char) -> Result {
        match (value, verb) {
            (Value::Missing | Value::Nil, 'T' | 'v') => self.padded("<nil>"),
            (Value::Missing | Value::Nil, _) => self.bad_verb(value, verb),
            (_, 'T') => self.plain_text(value.type_name()),
            (_, 'p') => self.refuse("%p is not offered"),
            _ => self.value(value, verb),
        }
    }

    fn value(&mut self, value: &Value<'_>, verb: char) -> Result {
        match value {
            // No value is an error to wrap.
            Value::List(_) | Value::Map(_) if verb == 'w' => self.bad_verb(value, verb),
            Value::Missing | Value::Nil if self.flags.syntax => {
                self.out.write_str("interface {}(nil)")
            }
            Value::Missing | Value::Nil => self.out.write_str("<nil>"),
            Value::Bool(holds) => match verb {
                't' | 'v' => self.padded(if *holds { "true" } else { "false" }),
                _ => self.bad_verb(value, verb),
            },
            Value::Int(number) | Value::Int64(number) => {
                self.integer(value, number.unsigned_abs(), *number < 0, verb)
            }
            Value::Byte(number) if verb == 'v' && self.flags.syntax => {
                write!(self.out, "0x{number:x}")
            }
            Value::Byte(number) => self.integer(value, u64::from(*number), false, verb),
            Value::Float(number) => self.float(value, *number, verb),
            Value::Text(text) => self.text(value, text, verb),
            Value::List(list) => self.list(value, list, verb),
            Value::Map(map) => self.map(value, map, verb),
        }
    }

    fn list(&mut self, value: &Value<'_>, list: &List<'_>, verb: char) -> Result {
        let syntax = self.flags.syntax;
        if syntax {
            self.out.write_str(value.type_name())?;
            if list.is_nil() {
                return self.out.write_str("(nil)");
            }
        }
        self.out.write_char(if syntax { '{' } else { '[' })?;
        self.out.look_at(list.len())?;
        for (place, item) in list.iter().enumerate() {
            if place > 0 {
                self.out.write_str(if syntax { ", " } else { " " })?;
            }
            self.value(&item, verb)?;
        }
        self.out.write_char(if syntax { '}' } else { ']' })
    }

    fn map(&mut self, value: &Value<'_>, map: &Map<'_>, verb: char) -> Result {
        let syntax = self.flags.syntax;
        if syntax {
            write!(self.out, "{}{{", value.type_name())?;
        } else {
            self.out.write_str("map[")?;
        }
        self.out.look_at(2 * map.len())?;
        for (place, (name, field)) in map.fields().into_iter().enumerate() {
            if place > 0 {
                self.out.write_str(if syntax { ", " } else { " " })?;
            }
            self.value(&Value::Text(name), verb)?;
            self.out.write_char(':')?;
            self.value(&field, verb)?;
        }
        self.out.write_char(if syntax { '}' } else { ']' })
    }

    /// `%!verb(type=value)`
    fn bad_verb(&mut self, value: &Value<'_>, verb: char) -> Result {
        write!(self.out, "%!{verb}(")?;
        if matches!(value, Value::Missing | Value::Nil) {
            self.out.write_str("<nil>")?;
        } else {
            write!(self.out, "{}=", value.type_name())?;
            self.value(value, 'v')?;
        }
        self.out.write_char(')')
    }

    pub(super) fn refuse(&mut self, what: &'static str) -> Result {
        self.refused = Some(what);
        Err(Error)
    }

    fn text(&mut self, value: &Value<'_>, text: &str, verb: char) -> Result {
        match verb {
            'v' if self.flags.syntax => self.quoted(text),
            'v' | 's' => self.plain_text(text),
            'q' => self.quoted(text),
            'x' | 'X' => self.hexadecimal(text.as_bytes(), verb),
            _ => self.bad_verb(value, verb),
        }
    }

    fn plain_text(&mut self, text: &str) -> Result {
        let text = self.truncated(text);
        self.padded(text)
    }

    fn quoted(&mut self, text: &str) -> Result {
        let text = self.truncated(text);
        let Flags { sharp, plus, .. } = self.flags;
        self.padded_by(|mut out| {
            if sharp && quote::fits_backquotes(text) {
                write!(out, "`{text}`")
            } else {
                quote::text(&mut out, text, plus)
            }
        })
    }

    fn truncated<'t>(&self, text: &'t str) -> &'t str {
        let Some(precision) = self.flags.precision else {
            return text;
        };
        let end = text.char_indices().nth(precision);
        end.map_or(text, |(end, _)| &text[..end])
    }

    fn hexadecimal(&mut self, bytes: &[u8], verb: char) -> Result {
        let Flags { sharp, space, .. } = self.flags;
        let most = self.flags.precision.unwrap_or(bytes.len());
        let bytes = &bytes[..most.min(bytes.len())];
        self.padded_by(|out| {
            for (place, byte) in bytes.iter().enumerate() {
                if place > 0 && space {
                    out.write_char(' ')?;
                }
                if sharp && (place == 0 || space) {
                    write!(out, "0{verb}")?;
                }
                if verb == 'x' {
                    write!(out, "{byte:02x}")?;
                } else {
                    write!(out, "{byte:02X}")?;
                }
            }
            Ok(())
        })
    }

    fn integer(&mut self, value: &Value<'_>, magnitude: u64, negative: bool, verb: char) -> Result {
        let code = if negative {
            magnitude.wrapping_neg()
        } else {
            magnitude
        };
        let digits = match verb {
            'v' | 'd' => magnitude.to_string(),
            'b' => format!("{magnitude:b}"),
            'o' | 'O' => format!("{magnitude:o}"),
            'x' => format!("{magnitude:x}"),
            'X' => format!("{magnitude:X}"),
            'c' => return self.padded(character(code).encode_utf8(&mut [0; 4])),
            'q' => {
                let mut quoted = String::new();
                quote::character(&mut quoted, character(code), self.flags.plus)?;
                return self.padded(&quoted);
            }
            'U' => return self.unicode(code),
            _ => return self.bad_verb(value, verb),
        };
        self.digits(&digits, negative, verb)
    }

    /// Digits with zeros, a prefix and a sign before them.
    fn digits(&mut self, digits: &str, negative: bool, verb: char) -> Result {
        let flags = self.flags;
        let signed = negative || flags.plus || flags.space;
        let wanted = match (flags.precision, flags.width) {
            (Some(0), width) if digits == "0" => return self.spaces(width.unwrap_or_default()),
            (Some(precision), _) => precision,
            (None, Some(width)) if flags.zero && !flags.minus => {
                width.saturating_sub(usize::from(signed))
            }
            _ => 0,
        };
        let filled = wanted.saturating_sub(digits.len());
        let mut prefix = String::new();
        if negative {
            prefix.push('-');
        } else if flags.plus {
            prefix.push('+');
        } else if flags.space {
            prefix.push(' ');
        }
        match verb {
            'O' => prefix.push_str("0o"),
            'b' if flags.sharp => prefix.push_str("0b"),
            'x' | 'X' if flags.sharp => prefix.extend(['0', verb]),
            _ => {}
        }
        if matches!(verb, 'o' | 'O') && flags.sharp && filled == 0 && !digits.starts_with('0') {
            prefix.push('0');
        }
        let length = prefix.len() + filled + digits.len();
        let around = flags.width.unwrap_or_default().saturating_sub(length);
        if !flags.minus {
            self.spaces(around)?;
        }
        self.out.write_str(&prefix)?;
        zeros(self.out, filled)?;
        self.out.write_str(digits)?;
        if flags.minus {
            self.spaces(around)?;
        }
        Ok(())
    }

    fn unicode(&mut self, code: u64) -> Result {
        let digits = format!("{code:X}");
        let wanted = self.flags.precision.unwrap_or_default().max(4);
        let filled = wanted.saturating_sub(digits.len());
        let shown = u32::try_from(code).ok().and_then(char::from_u32);
        let shown = shown.filter(|shown| self.flags.sharp && quote::is_printed(*shown));
        let shown = shown.map_or_else(String::new, |shown| format!(" '{shown}'"));
        let length = 2 + filled + digits.len() + shown.chars().count();
        let around = self.flags.width.unwrap_or_default().saturating_sub(length);
        let minus = self.flags.minus;
        if !minus {
            self.spaces(around)?;
        }
        self.out.write_str("U+")?;
        zeros(self.out, filled)?;
        write!(self.out, "{digits}{shown}")?;
        if minus {
            self.spaces(around)?;
        }
        Ok(())
    }

    fn float(&mut self, value: &Value<'_>, number: f64, verb: char) -> Result {
        let flags = self.flags;
        let (verb, usual) = match verb {
            'v' => ('g', None),
            'g' | 'G' => (verb, None),
            'e' | 'E' | 'f' | 'F' => (verb, Some(6)),
            'b' | 'x' | 'X' => return self.refuse("floating point numbers have no %b, %x and %X"),
            _ => return self.bad_verb(value, verb),
        };
        if flags.sharp {
            return self.refuse("# is not offered for floating point numbers");
        }
        let precision = flags.precision.or(usual);
        if matches!(verb, 'e' | 'E') && precision > Some(DIGITS) {
            return self.refuse("%e has no more than 1,100 digits");
        }
        // They are found before it is known that they are zeros, of which `%g` writes none.
        let found = precision.unwrap_or_default().min(DIGITS);
        self.out.look_at(found / DIGITS_OF_VALUE)?;
        // What is asked for beyond is written as it is paid for.
        let zeros_behind = match verb {
            'f' | 'F' if number.is_finite() => precision.unwrap_or_default().saturating_sub(DIGITS),
            _ => 0,
        };
        let mut text = String::new();
        floats::write(
            &mut text,
            number,
            verb,
            precision.map(|most| most.min(DIGITS)),
        )?;
        let (sign, digits) = match text.strip_prefix(['-', '+']) {
            Some(digits) if text.starts_with('-') => (Some('-'), digits),
            Some(digits) if flags.plus || !flags.space => (Some('+'), digits),
            Some(digits) => (Some(' '), digits),
            None if flags.plus => (Some('+'), text.as_str()),
            None => (flags.space.then_some(' '), text.as_str()),
        };
        let length = usize::from(sign.is_some()) + digits.len() + zeros_behind;
        let around = flags.width.unwrap_or_default().saturating_sub(length);
        let fills = flags.zero && !flags.minus && number.is_finite();
        if !flags.minus && !fills {
            self.spaces(around)?;
        }
        if let Some(sign) = sign {
            self.out.write_char(sign)?;
        }
        if fills {
            zeros(self.out, around)?;
        }
        self.out.write_str(digits)?;
        zeros(self.out, zeros_behind)?;
        if flags.minus {
            self.spaces(around)?;
        }
        Ok(())
    }

    fn padded(&mut self, text: &str) -> Result {
        self.padded_by(|out| out.write_str(text))
    }

    /// What is written like this, with what is missing to the width. Nothing is kept of it: a text that is written out may be many times as long.
    fn padded_by(&mut self, write: impl Fn(&mut dyn Write) -> Result) -> Result {
        let flags = self.flags;
        let Some(width) = flags.width else {
            return write(self.out);
        };
        let mut length = Length(0);
        write(&mut length)?;
        let around = width.saturating_sub(length.0);
        if flags.minus {
            write(self.out)?;
            return self.spaces(around);
        }
        if flags.zero {
            zeros(self.out, around)?;
        } else {
            self.spaces(around)?;
        }
        write(self.out)
    }

    fn spaces(&mut self, count: usize) -> Result {
        const SPACES: &str = "                                                                ";
        repeated(self.out, count, SPACES)
    }
}

/// How many characters are written.
struct Length(usize);

impl Write for Length {
    fn write_str(&mut self, text: &str) -> Result {
        self.0 += text.chars().count();
        Ok(())
    }
}

/// What has this code, or the sign for what has none.
fn character(code: u64) -> char {
    let character = u32::try_from(code).ok().and_then(char::from_u32);
    character.unwrap_or(char::REPLACEMENT_CHARACTER)
}
