//! Values of any kind.

use super::call::{Answer, Arguments, Function, Takes, as_text, is_empty};
use crate::template::{
    budget::{Budget, Exceeded},
    go::{
        stop::Failure,
        value::{ITEM, Value},
    },
};

const ANYTHING: Takes = Takes::Anything;
const ONE: &[Takes] = &[ANYTHING];
const NAMED: &[Takes] = &[Takes::Text, ANYTHING];

pub(super) const FUNCTIONS: &[Function] = &[
    Function::with_more("default", ONE, ANYTHING, |arguments| {
        let otherwise = arguments.value();
        let value = arguments.given.next();
        Ok(value.filter(|value| !is_empty(value)).unwrap_or(otherwise))
    }),
    Function::new("empty", ONE, |arguments| {
        Ok(is_empty(&arguments.value()).into())
    }),
    Function::with_more("coalesce", &[], ANYTHING, |arguments| {
        let values = arguments.rest();
        let found = values.into_iter().find(|value| !is_empty(value));
        Ok(found.unwrap_or(Value::Nil))
    }),
    Function::with_more("all", &[], ANYTHING, |arguments| {
        Ok((!arguments.rest().iter().any(is_empty)).into())
    }),
    Function::with_more("any", &[], ANYTHING, |arguments| {
        Ok((!arguments.rest().iter().all(is_empty)).into())
    }),
    Function::new("ternary", &[ANYTHING, ANYTHING, Takes::Bool], |arguments| {
        let (one, other) = (arguments.value(), arguments.value());
        Ok(if arguments.holds() { one } else { other })
    }),
    Function::new("fail", &[Takes::Text], |_| Err(Failure::Told)),
    Function::new("toString", ONE, |arguments| {
        let value = arguments.value();
        Ok(Value::Text(as_text(&value, arguments)?))
    }),
    Function::new("deepCopy", ONE, copy),
    Function::new("mustDeepCopy", ONE, copy),
    Function::new("deepEqual", &[ANYTHING, ANYTHING], deep_equal),
    Function::new("typeOf", ONE, |arguments| {
        Ok(arguments.value().type_name().into())
    }),
    Function::new("typeIs", NAMED, |arguments| {
        let name = arguments.text();
        Ok((*name == *arguments.value().type_name()).into())
    }),
    Function::new("typeIsLike", NAMED, |arguments| {
        let name = arguments.text();
        let of = arguments.value().type_name();
        Ok((*name == *of || format!("*{}", &*name) == of).into())
    }),
    Function::new("kindOf", ONE, |arguments| {
        Ok(arguments.value().kind_name().into())
    }),
    Function::new("kindIs", NAMED, |arguments| {
        let name = arguments.text();
        Ok((*name == *arguments.value().kind_name()).into())
    }),
];

/// Nothing is changed once it is made, so a copy is the same.
fn copy<'a>(arguments: &mut Arguments<'_, 'a>) -> Answer<'a> {
    match arguments.value() {
        Value::Nil => Err(Failure::of("there is nothing to copy")),
        value => Ok(value),
    }
}

fn deep_equal<'a>(arguments: &mut Arguments<'_, 'a>) -> Answer<'a> {
    let (one, other) = (arguments.value(), arguments.value());
    Ok(are_the_same(&one, &other, arguments.budget)?.into())
}

/// Whether type and value are the same, through and through. Pays for what it looks at.
pub(super) fn are_the_same(
    one: &Value<'_>,
    other: &Value<'_>,
    budget: &Budget,
) -> Result<bool, Exceeded> {
    budget.spend_bytes(ITEM)?;
    Ok(match (one, other) {
        (Value::Missing | Value::Nil, Value::Missing | Value::Nil) => true,
        (Value::Bool(one), Value::Bool(other)) => one == other,
        (Value::Int(one), Value::Int(other)) | (Value::Int64(one), Value::Int64(other)) => {
            one == other
        }
        (Value::Byte(one), Value::Byte(other)) => one == other,
        (Value::Float(one), Value::Float(other)) => one == other,
        (Value::Text(one), Value::Text(other)) => {
            budget.spend_bytes(one.len().min(other.len()) + 1)?;
            one == other
        }
        (Value::List(one), Value::List(other)) => {
            let alike = (one.of(), one.is_nil(), one.len());
            if alike != (other.of(), other.is_nil(), other.len()) {
                return Ok(false);
            }
            for (one, other) in one.iter().zip(other.iter()) {
                if !are_the_same(&one, &other, budget)? {
                    return Ok(false);
                }
            }
            true
        }
        (Value::Map(one), Value::Map(other)) => {
            if (one.of(), one.len()) != (other.of(), other.len()) {
                return Ok(false);
            }
            budget.spend_bytes(one.price())?;
            for (name, one) in one.fields() {
                let same = match other.get(&name) {
                    Some(other) => are_the_same(&one, &other, budget)?,
                    None => false,
                };
                if !same {
                    return Ok(false);
                }
            }
            true
        }
        _ => false,
    })
}
