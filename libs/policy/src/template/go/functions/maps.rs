//! Maps.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    call::{Answer, Arguments, Function, Takes, as_text},
    lists,
};
use crate::template::go::{
    stop::Failure,
    value::{LIST_ITSELF, MAP_ITSELF, Map, Of, Text, Value},
};

const WITH_NAME: &[Takes] = &[Takes::Map, Takes::Text];

pub(super) const FUNCTIONS: &[Function] = &[
    Function::with_more("dict", &[], Takes::Anything, dict),
    Function::new("get", WITH_NAME, |arguments| {
        let (map, name) = (arguments.map(), arguments.text());
        Ok(map.and_then(|map| map.get(&name)).unwrap_or("".into()))
    }),
    Function::new("hasKey", WITH_NAME, |arguments| {
        let (map, name) = (arguments.map(), arguments.text());
        Ok(map.and_then(|map| map.get(&name)).is_some().into())
    }),
    Function::with_more("pluck", &[Takes::Text], Takes::Map, pluck),
    Function::with_more("keys", &[], Takes::Map, keys),
    Function::new("values", &[Takes::Map], values),
    Function::with_more("pick", &[Takes::Map], Takes::Text, |arguments| {
        chosen(arguments, true)
    }),
    Function::with_more("omit", &[Takes::Map], Takes::Text, |arguments| {
        chosen(arguments, false)
    }),
    Function::with_more("dig", &[Takes::Anything; 3], Takes::Anything, dig),
];

fn dict<'a>(arguments: &mut Arguments<'_, 'a>) -> Answer<'a> {
    arguments.pay(MAP_ITSELF)?;
    arguments.pay_fields(arguments.given.len().div_ceil(2))?;
    let mut fields = BTreeMap::new();
    let mut given = arguments.rest().into_iter();
    while let Some(name) = given.next() {
        let name = as_text(&name, arguments)?;
        fields.insert(name, given.next().unwrap_or("".into()));
    }
    Value::map(fields)
}

/// The fields of a map, paid for.
fn fields<'a>(
    map: Option<&Map<'a>>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Vec<(Text<'a>, Value<'a>)>, Failure> {
    let Some(map) = map else {
        return Ok(Vec::new());
    };
    arguments.pay(map.price())?;
    Ok(map.fields())
}

fn pluck<'a>(arguments: &mut Arguments<'_, 'a>) -> Answer<'a> {
    let name = arguments.text();
    arguments.pay(LIST_ITSELF)?;
    arguments.pay_items(arguments.given.len())?;
    let mut found = Vec::new();
    while arguments.given.len() > 0 {
        let map = arguments.map();
        found.extend(map.and_then(|map| map.get(&name)));
    }
    Value::list(found)
}

/// In order; for Go in none.
fn keys<'a>(arguments: &mut Arguments<'_, 'a>) -> Answer<'a> {
    arguments.pay(LIST_ITSELF)?;
    let mut names = Vec::new();
    while arguments.given.len() > 0 {
        let map = arguments.map();
        let fields = fields(map.as_ref(), arguments)?;
        names.extend(fields.into_iter().map(|(name, _)| name));
    }
    lists::texts(names)
}

fn values<'a>(arguments: &mut Arguments<'_, 'a>) -> Answer<'a> {
    arguments.pay(LIST_ITSELF)?;
    let map = arguments.map();
    let fields = fields(map.as_ref(), arguments)?;
    Value::list(fields.into_iter().map(|(_, field)| field).collect())
}

fn chosen<'a>(arguments: &mut Arguments<'_, 'a>, these: bool) -> Answer<'a> {
    let map = arguments.map();
    arguments.pay(MAP_ITSELF)?;
    arguments.pay_fields(arguments.given.len())?;
    let names: BTreeSet<_> = (0..arguments.given.len())
        .map(|_| arguments.text())
        .collect();
    let mut fields = fields(map.as_ref(), arguments)?;
    fields.retain(|(name, _)| names.contains(name) == these);
    arguments.pay_fields(fields.len())?;
    Value::map(fields.into_iter().collect())
}

fn dig<'a>(arguments: &mut Arguments<'_, 'a>) -> Answer<'a> {
    let mut given = arguments.rest();
    let (whole, otherwise) = (given.pop(), given.pop());
    let mut place = whole.unwrap_or(Value::Nil);
    let names = given.iter().map(|name| match name {
        Value::Text(name) => Ok(name),
        _ => Err(Failure::of("a map has texts for names")),
    });
    for name in names.collect::<Result<Vec<_>, _>>()? {
        let map = match &place {
            Value::Map(map) if map.of() == Of::Anything => map,
            _ => return Err(Failure::of("what is dug in is no map of anything")),
        };
        match map.get(name) {
            Some(found) => place = found,
            None => return Ok(otherwise.unwrap_or(Value::Nil)),
        }
    }
    Ok(place)
}
