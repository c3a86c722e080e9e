//! Floating point numbers as Go writes them.

use std::fmt::{Result, Write};

/// The most digits that are asked for here: a floating point number has no more than 1,074 behind its point that are not zero, and no more than 767
/// altogether. Rust can't be asked for more than 65,535.
pub(super) const DIGITS: usize = 1100;

/// Sign, digits and exponent of a number that is neither infinite nor none.
struct Parts {
    negative: bool,
    digits: String,
    /// Of the first digit.
    exponent: i32,
}

impl Parts {
    /// With the fewest digits that tell it from every other, or with so many.
    fn of(number: f64, digits: Option<usize>) -> Self {
        let text = match digits {
            None => format!("{number:e}"),
            Some(digits) => format!("{number:.*e}", digits.saturating_sub(1)),
        };
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        Self {
            negative: mantissa.starts_with('-'),
            digits: mantissa.replace(['-', '.'], ""),
            exponent: exponent.parse().unwrap_or_default(),
        }
    }
}

/// By one of the verbs `e`, `E`, `f`, `F`, `g` and `G`; without a precision, of which [`DIGITS`] is the highest, with as many digits as it
/// takes. A sign is written only for what is less than zero.
pub(super) fn write(
    out: &mut impl Write,
    number: f64,
    verb: char,
    precision: Option<usize>,
) -> Result {
    if number.is_nan() {
        return out.write_str("NaN");
    }
    if number.is_infinite() {
        return out.write_str(if number > 0.0 { "+Inf" } else { "-Inf" });
    }
    match verb {
        'e' | 'E' => {
            let digits = precision.map(|precision| precision + 1);
            with_exponent(out, &Parts::of(number, digits), verb, precision)
        }
        'f' | 'F' => match precision {
            Some(precision) => write!(out, "{number:.precision$}"),
            None => write!(out, "{number}"),
        },
        _ => shorter(out, number, verb, precision),
    }
}

fn with_exponent(
    out: &mut impl Write,
    parts: &Parts,
    verb: char,
    precision: Option<usize>,
) -> Result {
    if parts.negative {
        out.write_char('-')?;
    }
    let (first, rest) = parts.digits.split_at(1);
    out.write_str(first)?;
    let behind = precision.unwrap_or(rest.len());
    if behind > 0 {
        write!(out, ".{rest}")?;
        zeros(out, behind.saturating_sub(rest.len()))?;
    }
    let exponent = if verb.is_ascii_uppercase() { 'E' } else { 'e' };
    let sign = if parts.exponent < 0 { '-' } else { '+' };
    write!(out, "{exponent}{sign}{:02}", parts.exponent.unsigned_abs())
}

/// The shorter of both, by the size of the number.
fn shorter(out: &mut impl Write, number: f64, verb: char, precision: Option<usize>) -> Result {
    let wanted = precision.map(|precision| precision.max(1));
    let mut parts = Parts::of(number, wanted);
    let bare = parts.digits.trim_end_matches('0').len().max(1);
    parts.digits.truncate(bare);
    let digits = i32::try_from(parts.digits.len()).unwrap_or(i32::MAX);
    let before = parts.exponent + 1;
    let most = match wanted.map(|wanted| i32::try_from(wanted).unwrap_or(i32::MAX)) {
        None => SHORTEST,
        Some(wanted) if wanted > digits && digits >= before => digits,
        Some(wanted) => wanted,
    };
    if parts.exponent < -4 || parts.exponent >= most {
        let verb = if verb == 'G' { 'E' } else { 'e' };
        return with_exponent(out, &parts, verb, None);
    }
    plain(out, &parts, before)
}

/// With this exponent a number is written with it, where no precision was asked for.
const SHORTEST: i32 = 6;

fn plain(out: &mut impl Write, parts: &Parts, before: i32) -> Result {
    if parts.negative {
        out.write_char('-')?;
    }
    let Ok(before) = usize::try_from(before) else {
        out.write_str("0.")?;
        zeros(
            out,
            usize::try_from(before.unsigned_abs()).unwrap_or_default(),
        )?;
        return out.write_str(&parts.digits);
    };
    if before == 0 {
        return write!(out, "0.{}", parts.digits);
    }
    let (whole, fraction) = parts.digits.split_at(before.min(parts.digits.len()));
    out.write_str(whole)?;
    zeros(out, before.saturating_sub(parts.digits.len()))?;
    if fraction.is_empty() {
        return Ok(());
    }
    write!(out, ".{fraction}")
}

/// So many of them, in pieces: whoever writes to it may not take them all.
pub(super) fn zeros(out: &mut impl Write, count: usize) -> Result {
    repeated(
        out,
        count,
        "0000000000000000000000000000000000000000000000000000000000000000",
    )
}

/// So many characters of this text, which is made of one.
pub(super) fn repeated(out: &mut impl Write, count: usize, of: &str) -> Result {
    let mut left = count;
    while left > 0 {
        let piece = left.min(of.len());
        out.write_str(&of[..piece])?;
        left -= piece;
    }
    Ok(())
}
