//! The values that a Go template handles, with the types that Go would give them: what prints the same may not be equal, as an
//! integer of an object (`int64`) and one of the template (`int`).
//!
//! What is in the source object or in the template is borrowed; what functions make is shared. Nothing is changed once it is made.

use std::{collections::BTreeMap, ops::Deref, rc::Rc};

use serde_json::Value as Json;

use super::stop::Failure;
use crate::template::budget::{Budget, Exceeded};

/// How deep values stand in each other, besides what an object brings: 127 levels, as its parser takes no more.
const DEPTH_LIMIT: usize = 128;

/// Bytes of a value in a list, without what it holds elsewhere.
pub(super) const ITEM: usize = size_of::<Value<'_>>();

/// Bytes that a short text of its own takes: how many hold it, and what the allocator rounds it up to.
pub(super) const SMALL: usize = 32;

/// Bytes that a list takes besides its items.
pub(super) const LIST_ITSELF: usize = size_of::<OwnList<'_>>() + 2 * SMALL;

/// Bytes that a field takes in a map that was made: nodes of the tree are half full at the worst.
pub(super) const FIELD: usize = 4 * ITEM;

/// Bytes that a map takes besides its fields: the first node of its tree has room for eleven.
pub(super) const MAP_ITSELF: usize = size_of::<OwnMap<'_>>() + 11 * 2 * ITEM + 2 * SMALL;

#[derive(Clone, Debug)]
pub(super) enum Value<'a> {
    /// No value at all, as of a key that is not there.
    Missing,
    /// A value that is null.
    Nil,
    Bool(bool),
    /// `int`: of the template.
    Int(i64),
    /// `int64`: of an object, and of arithmetic.
    Int64(i64),
    /// `uint8`: of a text.
    Byte(u8),
    Float(f64),
    Text(Text<'a>),
    List(List<'a>),
    Map(Map<'a>),
}

#[derive(Clone, Debug)]
pub(super) enum Text<'a> {
    Lent(&'a str),
    Own(Rc<str>),
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Lent(text) => text,
            Self::Own(text) => text,
        }
    }
}

/// What Go lets a list or map be of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    Anything,
    Texts,
    Ints,
    Lists,
}

#[derive(Clone, Debug)]
pub(super) enum List<'a> {
    Lent(&'a [Json]),
    Own(Rc<OwnList<'a>>),
}

#[derive(Debug)]
pub(super) struct OwnList<'a> {
    items: Vec<Value<'a>>,
    of: Of,
    /// For Go an empty list that was never made is another one than one that was.
    nil: bool,
    depth: usize,
}

#[derive(Clone, Debug)]
pub(super) enum Map<'a> {
    Lent(&'a serde_json::Map<String, Json>),
    Own(Rc<OwnMap<'a>>),
}

#[derive(Debug)]
pub(super) struct OwnMap<'a> {
    fields: BTreeMap<Text<'a>, Value<'a>>,
    of: Of,
    depth: usize,
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Text<'_> {}

impl PartialOrd for Text<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (**self).cmp(&**other)
    }
}

impl std::borrow::Borrow<str> for Text<'_> {
    fn borrow(&self) -> &str {
        self
    }
}

impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Self::Text(Text::Own(text.into()))
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Text::Lent(text))
    }
}

impl From<bool> for Value<'_> {
    fn from(holds: bool) -> Self {
        Self::Bool(holds)
    }
}

impl<'a> Value<'a> {
    /// Of an object, with the types that a Kubernetes client gives them.
    pub(super) fn of(json: &'a Json) -> Self {
        match json {
            Json::Null => Self::Nil,
            Json::Bool(holds) => Self::Bool(*holds),
            Json::Number(number) => match number.as_i64() {
                Some(integer) => Self::Int64(integer),
                None => Self::Float(number.as_f64().unwrap_or(f64::NAN)),
            },
            Json::String(text) => text.as_str().into(),
            Json::Array(items) => Self::List(List::Lent(items)),
            Json::Object(fields) => Self::Map(Map::Lent(fields)),
        }
    }

    /// A list of anything.
    pub(super) fn list(items: Vec<Self>) -> Result<Self, Failure> {
        Self::list_of(Of::Anything, items)
    }

    pub(super) fn list_of(of: Of, items: Vec<Self>) -> Result<Self, Failure> {
        let list = OwnList {
            depth: deeper(items.iter())?,
            items,
            of,
            nil: false,
        };
        Ok(Self::List(List::Own(Rc::new(list))))
    }

    /// The list that was never made.
    pub(super) fn nil_list(of: Of) -> Self {
        Self::List(List::Own(Rc::new(OwnList {
            items: Vec::new(),
            of,
            nil: true,
            depth: 1,
        })))
    }

    pub(super) fn map(fields: BTreeMap<Text<'a>, Self>) -> Result<Self, Failure> {
        Self::map_of(Of::Anything, fields)
    }

    pub(super) fn map_of(of: Of, fields: BTreeMap<Text<'a>, Self>) -> Result<Self, Failure> {
        let map = OwnMap {
            depth: deeper(fields.values())?,
            fields,
            of,
        };
        Ok(Self::Map(Map::Own(Rc::new(map))))
    }

    /// What is held where anything may be, which a value that is null does not go through.
    pub(super) fn unwrapped(self) -> Self {
        match self {
            Self::Nil => Self::Missing,
            value => value,
        }
    }

    pub(super) fn is_true(&self) -> bool {
        match self {
            Self::Missing | Self::Nil => false,
            Self::Bool(holds) => *holds,
            Self::Int(number) | Self::Int64(number) => *number != 0,
            Self::Byte(number) => *number != 0,
            Self::Float(number) => *number != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::List(list) => list.len() > 0,
            Self::Map(map) => map.len() > 0,
        }
    }

    /// The name of its type.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Missing | Self::Nil => "<nil>",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Int64(_) => "int64",
            Self::Byte(_) => "uint8",
            Self::Float(_) => "float64",
            Self::Text(_) => "string",
            Self::List(list) => match list.of() {
                Of::Anything => "[]interface {}",
                Of::Texts => "[]string",
                Of::Ints => "[]int",
                Of::Lists => "[][]interface {}",
            },
            Self::Map(map) => match map.of() {
                Of::Texts => "map[string]string",
                _ => "map[string]interface {}",
            },
        }
    }

    /// The name of its kind.
    pub(super) fn kind_name(&self) -> &'static str {
        match self {
            Self::Missing | Self::Nil => "invalid",
            Self::List(_) => "slice",
            Self::Map(_) => "map",
            value => value.type_name(),
        }
    }

    fn depth(&self) -> usize {
        match self {
            Self::List(List::Own(list)) => list.depth,
            Self::Map(Map::Own(map)) => map.depth,
            _ => 0,
        }
    }

    /// Spends what it takes to go over all of it.
    pub(super) fn pay(&self, budget: &Budget) -> Result<(), Exceeded> {
        let own = size_of::<Self>();
        match self {
            Self::Text(text) => budget.spend_bytes(own + text.len()),
            Self::List(List::Lent(items)) => {
                budget.spend_bytes(own)?;
                items.iter().try_for_each(|item| budget.spend_value(item))
            }
            Self::List(List::Own(list)) => {
                budget.spend_bytes(own)?;
                list.items.iter().try_for_each(|item| item.pay(budget))
            }
            Self::Map(Map::Lent(fields)) => {
                budget.spend_bytes(own)?;
                fields.iter().try_for_each(|(name, field)| {
                    budget.spend_bytes(own + name.len())?;
                    budget.spend_value(field)
                })
            }
            Self::Map(Map::Own(map)) => {
                budget.spend_bytes(own)?;
                map.fields.iter().try_for_each(|(name, field)| {
                    budget.spend_bytes(own + name.len())?;
                    field.pay(budget)
                })
            }
            _ => budget.spend_bytes(own),
        }
    }
}

/// Tests hold whoever looks at so many values to have paid for them.
#[cfg(not(test))]
const fn looked_at(_: usize) {}

#[cfg(test)]
fn looked_at(values: usize) {
    LOOKED_AT.with(|all| all.set(all.get() + values));
}

#[cfg(test)]
thread_local! {
    /// Values in lists and maps that this thread has looked at.
    pub(in crate::template) static LOOKED_AT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

fn deeper<'v, 'a: 'v>(values: impl Iterator<Item = &'v Value<'a>>) -> Result<usize, Failure> {
    let depth = 1 + values.map(Value::depth).max().unwrap_or_default();
    if depth > DEPTH_LIMIT {
        return Err(Failure::of("values are nested too deep"));
    }
    Ok(depth)
}

impl<'a> List<'a> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Lent(items) => items.len(),
            Self::Own(list) => list.items.len(),
        }
    }

    pub(super) fn of(&self) -> Of {
        match self {
            Self::Lent(_) => Of::Anything,
            Self::Own(list) => list.of,
        }
    }

    pub(super) fn is_nil(&self) -> bool {
        match self {
            Self::Lent(_) => false,
            Self::Own(list) => list.nil,
        }
    }

    pub(super) fn get(&self, place: usize) -> Option<Value<'a>> {
        looked_at(1);
        match self {
            Self::Lent(items) => items.get(place).map(Value::of),
            Self::Own(list) => list.items.get(place).cloned(),
        }
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = Value<'a>> + '_ {
        (0..self.len()).filter_map(|place| self.get(place))
    }
}

impl<'a> Map<'a> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Lent(fields) => fields.len(),
            Self::Own(map) => map.fields.len(),
        }
    }

    pub(super) fn of(&self) -> Of {
        match self {
            Self::Lent(_) => Of::Anything,
            Self::Own(map) => map.of,
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<Value<'a>> {
        looked_at(1);
        match self {
            Self::Lent(fields) => fields.get(name).map(Value::of),
            Self::Own(map) => map.fields.get(name).cloned(),
        }
    }

    /// Bytes that it takes to put all fields in order: their names are compared.
    pub(super) fn price(&self) -> usize {
        let names: usize = match self {
            Self::Lent(fields) => fields.keys().map(String::len).sum(),
            Self::Own(map) => map.fields.keys().map(|name| name.len()).sum(),
        };
        names.saturating_add(self.len().saturating_mul(2 * ITEM))
    }

    /// All fields, by the bytes of their names.
    pub(super) fn fields(&self) -> Vec<(Text<'a>, Value<'a>)> {
        looked_at(2 * self.len());
        match self {
            Self::Lent(fields) => {
                let fields = fields.iter();
                let mut fields: Vec<_> = fields
                    .map(|(name, field)| (Text::Lent(name), Value::of(field)))
                    .collect();
                fields.sort_by(|one, other| one.0.cmp(&other.0));
                fields
            }
            Self::Own(map) => {
                let fields = map.fields.iter();
                fields
                    .map(|(name, field)| (name.clone(), field.clone()))
                    .collect()
            }
        }
    }
}
