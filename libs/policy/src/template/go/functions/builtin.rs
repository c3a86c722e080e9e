//! Go's own functions.

use std::{cmp::Ordering, fmt::Write};

use super::call::{Answer, Arguments, Function, Takes, printed};
use crate::template::go::{
    print::{self, Printer},
    printf, quote,
    stop::Failure,
    value::{Of, Value},
};

const VALUE: Takes = Takes::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    // Both are answered where they are called, and see no more arguments than they need.
    Function::with_more("and", &[VALUE], VALUE, |arguments| Ok(arguments.value())),
    Function::with_more("or", &[VALUE], VALUE, |arguments| Ok(arguments.value())),
    Function::new("not", &[VALUE], |arguments| {
        Ok((!arguments.value().is_true()).into())
    }),
    Function::new("len", &[VALUE], length),
    Function::with_more("index", &[VALUE], VALUE, index),
    Function::with_more("print", &[], Takes::Anything, |arguments| {
        let values = arguments.rest();
        Ok(printed(&values, arguments)?.into())
    }),
    Function::with_more("println", &[], Takes::Anything, |arguments| {
        let values = arguments.rest();
        let text = arguments.written(|out| print::print_line(out, &values))?;
        Ok(text.into())
    }),
    Function::with_more("printf", &[Takes::Text], Takes::Anything, format),
    Function::with_more("html", &[], Takes::Anything, |arguments| {
        escape(arguments, html)
    }),
    Function::with_more("js", &[], Takes::Anything, |arguments| {
        escape(arguments, script)
    }),
    Function::with_more("urlquery", &[], Takes::Anything, |arguments| {
        escape(arguments, query)
    }),
    Function::with_more("eq", &[VALUE], VALUE, equal_to_one),
    Function::new("ne", &[VALUE, VALUE], |arguments| {
        let (one, other) = (arguments.value(), arguments.value());
        Ok((!equal(one, other)?).into())
    }),
    Function::new("lt", &[VALUE, VALUE], |arguments| {
        ordered(arguments, |order| order == Some(Ordering::Less))
    }),
    Function::new("le", &[VALUE, VALUE], |arguments| {
        ordered(arguments, |order| order.is_some_and(Ordering::is_le))
    }),
    Function::new("gt", &[VALUE, VALUE], |arguments| {
        // What has no order is not less and not the same, which is what Go asks.
        ordered(arguments, |order| order.is_none_or(Ordering::is_gt))
    }),
    Function::new("ge", &[VALUE, VALUE], |arguments| {
        ordered(arguments, |order| order != Some(Ordering::Less))
    }),
];

fn length<'a>(arguments: &mut Arguments<'_, 'a>) -> Answer<'a> {
    let length = match arguments.value() {
        Value::Text(text) => text.len(),
        Value::List(list) => list.len(),
        Value::Map(map) => map.len(),
        _ => return Err(Failure::of("the argument has no length")),
    };
    Ok(Value::Int(i64::try_from(length).unwrap_or(i64::MAX)))
}

fn index<'a>(arguments: &mut Arguments<'_, 'a>) -> Answer<'a> {
    let mut value = arguments.value().unwrapped();
    if matches!(value, Value::Missing) {
        return Err(Failure::of("there is nothing to look into"));
    }
    for place in arguments.rest() {
        value = look_into(&value, &place)?;
    }
    Ok(value)
}

fn look_into<'a>(value: &Value<'a>, place: &Value<'a>) -> Answer<'a> {
    match (value, place) {
        (Value::Missing | Value::Nil, _) => Err(Failure::of("there is nothing to look into")),
        (Value::Text(text), place) => {
            let bytes = text.as_bytes();
            let place = place_in(place, bytes.len())?;
            Ok(Value::Byte(bytes[place]))
        }
        (Value::List(list), place) => {
            let found = list.get(place_in(place, list.len())?);
            found.ok_or_else(|| Failure::of("the place is not in the list"))
        }
        (Value::Map(map), Value::Text(name)) => {
            Ok(map.get(name).unwrap_or_else(|| match map.of() {
                Of::Texts => "".into(),
                _ => Value::Nil,
            }))
        }
        (Value::Map(_), _) => Err(Failure::of("a map has texts for names")),
        _ => Err(Failure::of("the argument is neither a list nor a map")),
    }
}

fn place_in(place: &Value<'_>, length: usize) -> Result<usize, Failure> {
    let place = match place {
        Value::Int(place) | Value::Int64(place) => usize::try_from(*place).ok(),
        Value::Byte(place) => Some(usize::from(*place)),
        _ => return Err(Failure::of("a place is an integer")),
    };
    let place = place.filter(|place| *place < length);
    place.ok_or_else(|| Failure::of("the place is not in it"))
}

fn format<'a>(arguments: &mut Arguments<'_, 'a>) -> Answer<'a> {
    let format = arguments.text();
    let values = arguments.rest();
    let mut refused = None;
    let text = arguments.written(|out| {
        let mut printer = Printer::new(out);
        let written = printf::printf(&mut printer, &format, &values);
        refused = printer.refused;
        written
    });
    match refused {
        Some(refused) => Err(Failure::of(refused)),
        None => Ok(text?.into()),
    }
}

type Escape = fn(&mut dyn Write, char) -> std::fmt::Result;

fn escape<'a>(arguments: &mut Arguments<'_, 'a>, escape: Escape) -> Answer<'a> {
    let mut values = arguments.rest();
    for value in &mut values {
        if matches!(value, Value::Missing | Value::Nil) {
            *value = print::NO_VALUE.into();
        }
    }
    let text = printed(&values, arguments)?;
    let escaped = arguments.written(|out| {
        text.chars()
            .try_for_each(|character| escape(out, character))
    })?;
    Ok(escaped.into())
}

fn html(out: &mut dyn Write, character: char) -> std::fmt::Result {
    match character {
        '"' => out.write_str("&#34;"),
        '\'' => out.write_str("&#39;"),
        '&' => out.write_str("&amp;"),
        '<' => out.write_str("&lt;"),
        '>' => out.write_str("&gt;"),
        '\0' => out.write_char('\u{fffd}'),
        _ => out.write_char(character),
    }
}

fn script(out: &mut dyn Write, character: char) -> std::fmt::Result {
    match character {
        '\\' | '\'' | '"' => write!(out, "\\{character}"),
        '<' | '>' | '&' | '=' | '\0'..='\x1f' => write!(out, "\\u{:04X}", u32::from(character)),
        _ if character.is_ascii() || quote::is_printed(character) => out.write_char(character),
        _ => write!(out, "\\u{:04X}", u32::from(character)),
    }
}

fn query(out: &mut dyn Write, character: char) -> std::fmt::Result {
    match character {
        ' ' => out.write_char('+'),
        '-' | '_' | '.' | '~' => out.write_char(character),
        _ if character.is_ascii_alphanumeric() => out.write_char(character),
        _ => {
            let mut bytes = [0; 4];
            let bytes = character.encode_utf8(&mut bytes).bytes();
            bytes
                .into_iter()
                .try_for_each(|byte| write!(out, "%{byte:02X}"))
        }
    }
}

fn equal_to_one<'a>(arguments: &mut Arguments<'_, 'a>) -> Answer<'a> {
    let one = arguments.value();
    let others = arguments.rest();
    if others.is_empty() {
        return Err(Failure::of("there is nothing to compare with"));
    }
    for other in others {
        if equal(one.clone(), other)? {
            return Ok(true.into());
        }
    }
    Ok(false.into())
}

fn equal(one: Value<'_>, other: Value<'_>) -> Result<bool, Failure> {
    match (one.unwrapped(), other.unwrapped()) {
        (Value::Missing, Value::List(list)) | (Value::List(list), Value::Missing) => {
            Ok(list.is_nil())
        }
        (Value::Missing, other) | (other, Value::Missing) => Ok(matches!(other, Value::Missing)),
        (Value::List(one), Value::List(other)) if one.is_nil() || other.is_nil() => {
            Ok(one.is_nil() == other.is_nil())
        }
        (Value::Bool(one), Value::Bool(other)) => Ok(one == other),
        (one, other) => match order(&one, &other) {
            Some(order) => Ok(order == Some(Ordering::Equal)),
            None => Err(not_compared()),
        },
    }
}

fn ordered<'a>(
    arguments: &mut Arguments<'_, 'a>,
    holds: fn(Option<Ordering>) -> bool,
) -> Answer<'a> {
    let (one, other) = (arguments.value(), arguments.value());
    let order = order(&one, &other).ok_or_else(not_compared)?;
    Ok(holds(order).into())
}

fn not_compared() -> Failure {
    Failure::of("values of these kinds are not compared")
}

/// How two values of one kind compare, if they can be.
fn order(one: &Value<'_>, other: &Value<'_>) -> Option<Option<Ordering>> {
    let integer = |value: &Value<'_>| match value {
        Value::Int(number) | Value::Int64(number) => Some(*number),
        Value::Byte(number) => Some(i64::from(*number)),
        _ => None,
    };
    match (one, other) {
        (Value::Text(one), Value::Text(other)) => Some(Some(one.cmp(other))),
        (Value::Float(one), Value::Float(other)) => Some(one.partial_cmp(other)),
        _ => Some(Some(integer(one)?.cmp(&integer(other)?))),
    }
}
