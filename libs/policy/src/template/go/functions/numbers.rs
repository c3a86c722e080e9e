//! Numbers.

use std::fmt::Write;

use super::call::{Answer, Arguments, Function, Takes, printed};
use crate::template::go::{
    literals,
    stop::Failure,
    value::{Of, Value},
};

const ONE: &[Takes] = &[Takes::Anything];
const TWO: &[Takes] = &[Takes::Anything, Takes::Anything];
const STEPS: &[Takes] = &[Takes::Int, Takes::Int, Takes::Int];

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("atoi", &[Takes::Text], |arguments| {
        Ok(Value::Int(decimal(&arguments.text())))
    }),
    Function::new("int", ONE, |arguments| {
        Ok(Value::Int(as_integer(&arguments.value())))
    }),
    Function::new("int64", ONE, |arguments| {
        Ok(Value::Int64(as_integer(&arguments.value())))
    }),
    Function::new("float64", ONE, |arguments| {
        Ok(Value::Float(as_float(&arguments.value())))
    }),
    Function::new("toDecimal", ONE, octal),
    Function::new("add1", ONE, |arguments| {
        Ok(Value::Int64(as_integer(&arguments.value()).wrapping_add(1)))
    }),
    Function::with_more("add", &[], Takes::Anything, |arguments| {
        fold(arguments, Some(0), i64::wrapping_add)
    }),
    Function::new("sub", TWO, |arguments| {
        fold(arguments, None, i64::wrapping_sub)
    }),
    Function::with_more("mul", ONE, Takes::Anything, |arguments| {
        fold(arguments, None, i64::wrapping_mul)
    }),
    Function::new("div", TWO, |arguments| divide(arguments, i64::wrapping_div)),
    Function::new("mod", TWO, |arguments| divide(arguments, i64::wrapping_rem)),
    Function::with_more("max", ONE, Takes::Anything, |arguments| {
        fold(arguments, None, i64::max)
    }),
    Function::with_more("biggest", ONE, Takes::Anything, |arguments| {
        fold(arguments, None, i64::max)
    }),
    Function::with_more("min", ONE, Takes::Anything, |arguments| {
        fold(arguments, None, i64::min)
    }),
    Function::new("ceil", ONE, |arguments| {
        Ok(Value::Float(as_float(&arguments.value()).ceil()))
    }),
    Function::new("floor", ONE, |arguments| {
        Ok(Value::Float(as_float(&arguments.value()).floor()))
    }),
    Function::with_more("round", &[Takes::Anything, Takes::Int], Takes::Float, round),
    Function::new("until", &[Takes::Int], |arguments| {
        let count = arguments.integer();
        let step = if count < 0 { -1 } else { 1 };
        integers(until(0, count, step, arguments)?)
    }),
    Function::new("untilStep", STEPS, |arguments| {
        let (start, stop, step) = (
            arguments.integer(),
            arguments.integer(),
            arguments.integer(),
        );
        integers(until(start, stop, step, arguments)?)
    }),
    Function::with_more("seq", &[], Takes::Int, sequence),
];

/// What sprig takes a value for where it wants an integer. What is none is 0.
#[expect(clippy::cast_possible_truncation, reason = "the range is looked at")]
pub(super) fn as_integer(value: &Value<'_>) -> i64 {
    match value {
        Value::Int(number) | Value::Int64(number) => *number,
        Value::Byte(number) => i64::from(*number),
        Value::Bool(holds) => i64::from(*holds),
        Value::Text(text) => literals::integer(without_zeros(text)).unwrap_or_default(),
        Value::Float(number) => {
            let fits = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(number);
            if fits { *number as i64 } else { i64::MIN }
        }
        _ => 0,
    }
}

/// `5.00` is 5.
fn without_zeros(text: &str) -> &str {
    let bare = text.trim_end_matches('0');
    match bare.strip_suffix('.') {
        Some(whole) if bare.len() < text.len() => whole,
        _ => text,
    }
}

#[expect(clippy::cast_precision_loss, reason = "as Go converts it")]
fn as_float(value: &Value<'_>) -> f64 {
    match value {
        Value::Float(number) => *number,
        Value::Text(text) => literals::float(text).unwrap_or_default(),
        value => as_integer(value) as f64,
    }
}

/// The nearest that there is for what is too large.
fn decimal(text: &str) -> i64 {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return 0;
    }
    let most = if text.starts_with('-') {
        i64::MIN
    } else {
        i64::MAX
    };
    text.parse().unwrap_or(most)
}

fn octal<'a>(arguments: &mut Arguments<'_, 'a>) -> Answer<'a> {
    let value = arguments.value();
    let text = printed(&[value], arguments)?;
    Ok(Value::Int64(
        i64::from_str_radix(&text, 8).unwrap_or_default(),
    ))
}

/// Beginning with the first of them where nothing else is said.
#[expect(clippy::unnecessary_wraps, reason = "the form of every function")]
fn fold<'a>(
    arguments: &mut Arguments<'_, 'a>,
    begin: Option<i64>,
    with: fn(i64, i64) -> i64,
) -> Answer<'a> {
    let begin = begin.unwrap_or_else(|| as_integer(&arguments.value()));
    let numbers = arguments.rest();
    let numbers = numbers.iter().map(as_integer);
    Ok(Value::Int64(numbers.fold(begin, with)))
}

fn divide<'a>(arguments: &mut Arguments<'_, 'a>, by: fn(i64, i64) -> i64) -> Answer<'a> {
    let (one, other) = (arguments.value(), arguments.value());
    match as_integer(&other) {
        0 => Err(Failure::of("nothing is divided by 0")),
        other => Ok(Value::Int64(by(as_integer(&one), other))),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the form of every function")]
fn round<'a>(arguments: &mut Arguments<'_, 'a>) -> Answer<'a> {
    let number = as_float(&arguments.value());
    let places = arguments.integer();
    let up_from = arguments.float().unwrap_or(0.5);
    let scale = 10_f64.powf(as_float(&Value::Int(places)));
    let scaled = scale * number;
    let rounded = if scaled - scaled.trunc() >= up_from {
        scaled.ceil()
    } else {
        scaled.floor()
    };
    Ok(Value::Float(rounded / scale))
}

/// From `start` on, before `stop`.
fn until(
    start: i64,
    stop: i64,
    step: i64,
    arguments: &Arguments<'_, '_>,
) -> Result<Vec<i64>, Failure> {
    let forward = stop >= start;
    if step == 0 || forward != (step > 0) {
        return Ok(Vec::new());
    }
    let count = stop.abs_diff(start).div_ceil(step.unsigned_abs());
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    arguments.pay_items(count.saturating_mul(2))?;
    let next = |number: &i64| number.checked_add(step);
    let numbers = std::iter::successors(Some(start), next);
    Ok(numbers.take(count).collect())
}

fn integers<'a>(numbers: Vec<i64>) -> Answer<'a> {
    Value::list_of(Of::Ints, numbers.into_iter().map(Value::Int).collect())
}

fn sequence<'a>(arguments: &mut Arguments<'_, 'a>) -> Answer<'a> {
    let given: Vec<i64> = (0..arguments.given.len())
        .map(|_| arguments.integer())
        .collect();
    let (start, end, step) = match *given {
        [end] => (1, end, None),
        [start, end] => (start, end, None),
        [start, step, end] => (start, end, Some(step)),
        _ => return Ok("".into()),
    };
    let direction = if end < start { -1 } else { 1 };
    if direction < 0 && step.is_some_and(|step| step > 0) {
        return Ok("".into());
    }
    let numbers = until(
        start,
        end.wrapping_add(direction),
        step.unwrap_or(direction),
        arguments,
    )?;
    let text = arguments.written(|out| {
        for (place, number) in numbers.iter().enumerate() {
            let space = if place > 0 { " " } else { "" };
            write!(out, "{space}{number}")?;
        }
        Ok(())
    })?;
    Ok(text.into())
}
