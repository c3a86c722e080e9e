//! `printf`: a format with verbs, of which each takes a value.

use std::fmt::Result;

use super::{
    print::{Flags, Printer},
    value::Value,
};
use crate::template::bounded::Out;

/// Widths and precisions that Go takes for none.
const MOST: i64 = 1_000_000;

struct Format<'f, 'v, 'a> {
    text: &'f str,
    at: usize,
    values: &'v [Value<'a>],
    next: usize,
    /// Values were asked for by their number.
    numbered: bool,
    /// Those of this verb are there.
    good: bool,
    /// Where the last bracket closes: none is looked for behind it, at one verb after the other.
    closes: Option<usize>,
}

/// Writes the values by the format.
pub(super) fn printf<W: Out>(
    printer: &mut Printer<'_, W>,
    format: &str,
    values: &[Value<'_>],
) -> Result {
    let mut format = Format {
        text: format,
        at: 0,
        values,
        next: 0,
        numbered: false,
        good: true,
        closes: format.rfind(']'),
    };
    while let Some(length) = format.rest().find('%') {
        printer.out.write_str(&format.rest()[..length])?;
        format.at += length + 1;
        format.verb(printer)?;
    }
    printer.out.write_str(format.rest())?;
    if !format.numbered && format.next < values.len() {
        extra(printer, &values[format.next..])?;
    }
    Ok(())
}

fn extra<W: Out>(printer: &mut Printer<'_, W>, values: &[Value<'_>]) -> Result {
    printer.flags = Flags::default();
    printer.out.write_str("%!(EXTRA ")?;
    for (place, value) in values.iter().enumerate() {
        if place > 0 {
            printer.out.write_str(", ")?;
        }
        if !matches!(value, Value::Missing | Value::Nil) {
            write!(printer.out, "{}=", value.type_name())?;
        }
        printer.argument(value, 'v')?;
    }
    printer.out.write_char(')')
}

impl Format<'_, '_, '_> {
    /// One verb, behind its sign.
    fn verb<W: Out>(&mut self, printer: &mut Printer<'_, W>) -> Result {
        self.good = true;
        let mut flags = self.flags();
        let mut behind_number = self.number();
        self.width(printer, &mut flags, &mut behind_number)?;
        self.precision(printer, &mut flags, &mut behind_number)?;
        if !behind_number {
            self.number();
        }
        let Some(verb) = self.rest().chars().next() else {
            return printer.out.write_str("%!(NOVERB)");
        };
        self.at += verb.len_utf8();
        let value = self.values.get(self.next);
        match value {
            _ if verb == '%' => printer.out.write_char('%'),
            _ if !self.good => write!(printer.out, "%!{verb}(BADINDEX)"),
            None => write!(printer.out, "%!{verb}(MISSING)"),
            Some(value) => {
                if matches!(verb, 'v' | 'w') {
                    flags.syntax = flags.sharp;
                    flags.sharp = false;
                    flags.plus = false;
                }
                printer.flags = flags;
                self.next += 1;
                printer.argument(value, verb)
            }
        }
    }

    fn flags(&mut self) -> Flags {
        let mut flags = Flags::default();
        loop {
            match self.byte() {
                Some(b'#') => flags.sharp = true,
                Some(b'0') => flags.zero = true,
                Some(b'+') => flags.plus = true,
                Some(b'-') => flags.minus = true,
                Some(b' ') => flags.space = true,
                _ => return flags,
            }
            self.at += 1;
        }
    }

    fn width<W: Out>(
        &mut self,
        printer: &mut Printer<'_, W>,
        flags: &mut Flags,
        behind_number: &mut bool,
    ) -> Result {
        if self.byte() == Some(b'*') {
            self.at += 1;
            let width = self.value_as_number();
            if width.is_none() {
                printer.out.write_str("%!(BADWIDTH)")?;
            }
            if width.is_some_and(|width| width < 0) {
                flags.minus = true;
                flags.zero = false;
            }
            flags.width = width.and_then(|width| usize::try_from(width.unsigned_abs()).ok());
            *behind_number = false;
            return Ok(());
        }
        flags.width = self.digits();
        if *behind_number && flags.width.is_some() {
            self.good = false;
        }
        Ok(())
    }

    fn precision<W: Out>(
        &mut self,
        printer: &mut Printer<'_, W>,
        flags: &mut Flags,
        behind_number: &mut bool,
    ) -> Result {
        if self.byte() != Some(b'.') || self.rest().len() < 2 {
            return Ok(());
        }
        self.at += 1;
        if *behind_number {
            self.good = false;
        }
        *behind_number = self.number();
        if self.byte() != Some(b'*') {
            flags.precision = Some(self.digits().unwrap_or_default());
            return Ok(());
        }
        self.at += 1;
        let precision = self.value_as_number();
        flags.precision = precision.and_then(|precision| usize::try_from(precision).ok());
        if flags.precision.is_none() {
            printer.out.write_str("%!(BADPREC)")?;
        }
        *behind_number = false;
        Ok(())
    }

    /// The next value as a width or precision.
    fn value_as_number(&mut self) -> Option<i64> {
        let number = match self.values.get(self.next)? {
            Value::Int(number) | Value::Int64(number) => Some(*number),
            Value::Byte(number) => Some(i64::from(*number)),
            _ => None,
        };
        self.next += 1;
        number.filter(|number| (-MOST..=MOST).contains(number))
    }

    /// A number in the format. What is too large takes all of the rest.
    fn digits(&mut self) -> Option<usize> {
        let rest = self.rest();
        let length = rest.bytes().take_while(u8::is_ascii_digit).count();
        if length == 0 {
            return None;
        }
        let number = rest[..length].parse::<i64>().ok();
        let number = number.filter(|number| *number / 10 <= MOST);
        self.at += if number.is_some() { length } else { rest.len() };
        number.and_then(|number| usize::try_from(number).ok())
    }

    /// `[3]`: which value comes next. Whether it was one.
    fn number(&mut self) -> bool {
        if self.byte() != Some(b'[') {
            return false;
        }
        self.numbered = true;
        let rest = self.rest();
        let closes = self.closes.is_some_and(|last| last > self.at);
        let end = closes.then(|| rest.find(']')).flatten();
        let Some(end) = end.filter(|_| rest.len() > 2) else {
            self.at += 1;
            self.good = false;
            return false;
        };
        let inside = &rest[1..end];
        let digits = !inside.is_empty() && inside.bytes().all(|byte| byte.is_ascii_digit());
        let number = inside.parse::<usize>().ok();
        let number = number.filter(|number| digits && *number <= 1_000_000);
        self.at += end + 1;
        match number.and_then(|number| number.checked_sub(1)) {
            Some(place) if place < self.values.len() => {
                self.next = place;
                true
            }
            _ => {
                self.good = false;
                number.is_some()
            }
        }
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }
}
