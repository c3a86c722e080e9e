//! Lists.

use std::borrow::Borrow;

use super::{
    call::{Answer, Arguments, Function, Takes, as_text, as_texts, is_empty},
    numbers::as_integer,
    values::are_the_same,
};
use crate::template::go::{
    stop::Failure,
    value::{ITEM, LIST_ITSELF, List, Of, Text, Value},
};

const ANYTHING: Takes = Takes::Anything;
const LIST: &[Takes] = &[ANYTHING];
const WITH_ONE: &[Takes] = &[ANYTHING, ANYTHING];
const OF_SIZE: &[Takes] = &[Takes::Int, ANYTHING];

pub(super) const FUNCTIONS: &[Function] = &[
    Function::with_more("list", &[], ANYTHING, listed),
    Function::with_more("tuple", &[], ANYTHING, listed),
    Function::new("first", LIST, first),
    Function::new("mustFirst", LIST, first),
    Function::new("last", LIST, last),
    Function::new("mustLast", LIST, last),
    Function::new("rest", LIST, |arguments| without_one(arguments, 1, 0)),
    Function::new("mustRest", LIST, |arguments| without_one(arguments, 1, 0)),
    Function::new("initial", LIST, |arguments| without_one(arguments, 0, 1)),
    Function::new("mustInitial", LIST, |arguments| {
        without_one(arguments, 0, 1)
    }),
    Function::new("append", WITH_ONE, append),
    Function::new("mustAppend", WITH_ONE, append),
    Function::new("push", WITH_ONE, append),
    Function::new("mustPush", WITH_ONE, append),
    Function::new("prepend", WITH_ONE, prepend),
    Function::new("mustPrepend", WITH_ONE, prepend),
    Function::with_more("concat", &[], ANYTHING, concat),
    Function::new("reverse", LIST, reverse),
    Function::new("mustReverse", LIST, reverse),
    Function::new("compact", LIST, compact),
    Function::new("mustCompact", LIST, compact),
    Function::new("uniq", LIST, unique),
    Function::new("mustUniq", LIST, unique),
    Function::with_more("without", LIST, ANYTHING, without),
    Function::with_more("mustWithout", LIST, ANYTHING, without),
    Function::new("has", WITH_ONE, has),
    Function::new("mustHas", WITH_ONE, has),
    Function::with_more("slice", LIST, ANYTHING, slice),
    Function::with_more("mustSlice", LIST, ANYTHING, slice),
    Function::new("chunk", OF_SIZE, chunk),
    Function::new("mustChunk", OF_SIZE, chunk),
    Function::new("join", &[Takes::Text, ANYTHING], join),
    Function::new("toStrings", LIST, |arguments| {
        let value = arguments.value();
        texts(as_texts(&value, arguments)?)
    }),
    Function::new("sortAlpha", LIST, sort),
];

fn listed<'a>(arguments: &mut Arguments<'_, 'a>) -> Answer<'a> {
    arguments.pay(LIST_ITSELF)?;
    arguments.pay_items(arguments.given.len())?;
    Value::list(arguments.rest())
}

/// A list of texts.
pub(super) fn texts<'a>(texts: impl IntoIterator<Item = Text<'a>>) -> Answer<'a> {
    Value::list_of(Of::Texts, texts.into_iter().map(Value::Text).collect())
}

fn first<'a>(arguments: &mut Arguments<'_, 'a>) -> Answer<'a> {
    Ok(arguments.unpaid_list()?.get(0).unwrap_or(Value::Nil))
}

fn last<'a>(arguments: &mut Arguments<'_, 'a>) -> Answer<'a> {
    let list = arguments.unpaid_list()?;
    let last = list.len().checked_sub(1).and_then(|place| list.get(place));
    Ok(last.unwrap_or(Value::Nil))
}

fn without_one<'a>(arguments: &mut Arguments<'_, 'a>, begin: usize, end: usize) -> Answer<'a> {
    let list = arguments.list()?;
    arguments.pay(LIST_ITSELF)?;
    match list.len() {
        0 => Ok(Value::nil_list(Of::Anything)),
        length => Value::list(part(&list, begin, length - end)),
    }
}

fn part<'a>(list: &List<'a>, begin: usize, end: usize) -> Vec<Value<'a>> {
    (begin..end).filter_map(|place| list.get(place)).collect()
}

fn append<'a>(arguments: &mut Arguments<'_, 'a>) -> Answer<'a> {
    let list = arguments.list()?;
    arguments.pay(LIST_ITSELF)?;
    let one = arguments.value();
    Value::list(list.iter().chain([one]).collect())
}

fn prepend<'a>(arguments: &mut Arguments<'_, 'a>) -> Answer<'a> {
    let list = arguments.list()?;
    arguments.pay(LIST_ITSELF)?;
    let one = arguments.value();
    Value::list([one].into_iter().chain(list.iter()).collect())
}

fn concat<'a>(arguments: &mut Arguments<'_, 'a>) -> Answer<'a> {
    let mut all = Vec::new();
    while arguments.given.len() > 0 {
        all.extend(arguments.list()?.iter());
    }
    if all.is_empty() {
        return Ok(Value::nil_list(Of::Anything));
    }
    Value::list(all)
}

fn reverse<'a>(arguments: &mut Arguments<'_, 'a>) -> Answer<'a> {
    Value::list(arguments.list()?.iter().rev().collect())
}

fn compact<'a>(arguments: &mut Arguments<'_, 'a>) -> Answer<'a> {
    let list = arguments.list()?;
    Value::list(list.iter().filter(|item| !is_empty(item)).collect())
}

fn unique<'a>(arguments: &mut Arguments<'_, 'a>) -> Answer<'a> {
    let list = arguments.list()?;
    let mut seen: Vec<Value<'a>> = Vec::new();
    for item in list.iter() {
        if !is_among(&item, &seen, arguments)? {
            seen.push(item);
        }
    }
    Value::list(seen)
}

fn without<'a>(arguments: &mut Arguments<'_, 'a>) -> Answer<'a> {
    let list = arguments.list()?;
    let omitted = arguments.rest();
    let mut kept = Vec::new();
    for item in list.iter() {
        if !is_among(&item, &omitted, arguments)? {
            kept.push(item);
        }
    }
    Value::list(kept)
}

fn has<'a>(arguments: &mut Arguments<'_, 'a>) -> Answer<'a> {
    let needle = arguments.value();
    let haystack = arguments.value();
    match haystack {
        Value::Nil => Ok(false.into()),
        Value::List(list) => Ok(is_among(&needle, list.iter(), arguments)?.into()),
        _ => Err(Failure::of("the last argument is no list")),
    }
}

/// Pays for those that it looks at.
fn is_among<'a>(
    value: &Value<'a>,
    those: impl IntoIterator<Item = impl Borrow<Value<'a>>>,
    arguments: &Arguments<'_, 'a>,
) -> Result<bool, Failure> {
    for other in those {
        if are_the_same(value, other.borrow(), arguments.budget)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn slice<'a>(arguments: &mut Arguments<'_, 'a>) -> Answer<'a> {
    let list = arguments.unpaid_list()?;
    let places = arguments.rest();
    if list.len() == 0 {
        return Ok(Value::Nil);
    }
    let place = |place: usize, other: usize| match places.get(place) {
        Some(given) => usize::try_from(as_integer(given)).unwrap_or(usize::MAX),
        None => other,
    };
    let (begin, end) = (place(0, 0), place(1, list.len()));
    if begin > end || end > list.len() {
        return Err(Failure::of("the places are not in the list"));
    }
    arguments.pay_items(end - begin)?;
    Value::list_of(list.of(), part(&list, begin, end))
}

fn chunk<'a>(arguments: &mut Arguments<'_, 'a>) -> Answer<'a> {
    let size = usize::try_from(arguments.integer()).unwrap_or_default();
    let list = arguments.list()?;
    if size == 0 {
        return Err(Failure::of("a chunk has one item at least"));
    }
    let begins = (0..list.len()).step_by(size);
    arguments.pay(begins.len().saturating_mul(ITEM + LIST_ITSELF))?;
    let chunks = begins.map(|begin| {
        let end = begin.saturating_add(size).min(list.len());
        Value::list(part(&list, begin, end))
    });
    Value::list_of(Of::Lists, chunks.collect::<Result<_, _>>()?)
}

fn join<'a>(arguments: &mut Arguments<'_, 'a>) -> Answer<'a> {
    let between = arguments.text();
    let value = arguments.value();
    let texts = as_texts(&value, arguments)?;
    let text = arguments.written(|out| {
        use std::fmt::Write;
        for (place, text) in texts.iter().enumerate() {
            if place > 0 {
                out.write_str(&between)?;
            }
            out.write_str(text)?;
        }
        Ok(())
    })?;
    Ok(text.into())
}

fn sort<'a>(arguments: &mut Arguments<'_, 'a>) -> Answer<'a> {
    let value = arguments.value();
    if !matches!(value, Value::List(_)) {
        return texts([as_text(&value, arguments)?]);
    }
    let mut sorted = as_texts(&value, arguments)?;
    arguments.pay(price_of_sorting(&sorted))?;
    sorted.sort();
    texts(sorted)
}

/// Bytes that are compared while these are sorted, at the worst: all of each, as often as the list can be halved and once more. They are paid for
/// before, as an order that is given up half-way is none.
fn price_of_sorting(texts: &[Text<'_>]) -> usize {
    let halvings = texts.len().checked_ilog2().unwrap_or_default();
    let times = usize::try_from(halvings).unwrap_or(usize::MAX) + 2;
    let bytes: usize = texts.iter().map(|text| text.len() + 1).sum();
    bytes.saturating_mul(times)
}
