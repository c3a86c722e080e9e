//! From a path and a value to the values that the path leads to.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::Value;

use super::{Comparison, End, JsonPath, Slice, Step};

/// Values looked at on the way. Descents within descents multiply, and a column shows one value: this is far more than one needs.
const MAX_VALUES: usize = 10_000;

/// The path leads nowhere in this value.
#[derive(Debug, PartialEq, Eq)]
struct Nowhere;

type Found<'v> = Vec<Cow<'v, Value>>;

impl JsonPath {
    /// The first value that the path leads to.
    pub(in super::super) fn first<'v>(&self, value: &'v Value) -> Option<Cow<'v, Value>> {
        let found = self.find(vec![Cow::Borrowed(value)]).ok()?;
        found.into_iter().next()
    }

    fn find<'v>(&self, mut from: Found<'v>) -> Result<Found<'v>, Nowhere> {
        for step in &self.steps {
            from = step.take(&from)?;
            if from.len() > MAX_VALUES {
                return Err(Nowhere);
            }
        }
        Ok(from)
    }
}

impl Step {
    fn take<'v>(&self, from: &Found<'v>) -> Result<Found<'v>, Nowhere> {
        let mut to = Vec::new();
        match self {
            Self::Field(name) => to.extend(from.iter().filter_map(|value| field(value, name))),
            Self::All => from.iter().for_each(|value| to.extend(inside(value))),
            Self::Descent => {
                for value in from {
                    descend(value.clone(), &mut to)?;
                }
            }
            Self::Slice(slice) => {
                for value in from.iter().filter(|value| !value.is_null()) {
                    slice.take(elements(value).ok_or(Nowhere)?, &mut to)?;
                }
            }
            Self::Union(paths) => {
                for path in paths {
                    to.extend(path.find(from.clone())?);
                }
            }
            Self::Filter(left, comparison) => {
                for value in from {
                    filter(
                        elements(value).ok_or(Nowhere)?,
                        left,
                        comparison.as_ref(),
                        &mut to,
                    )?;
                }
            }
            Self::Literal(literal) => to.resize(from.len(), Cow::Owned(literal.clone())),
            Self::Word => return Err(Nowhere),
        }
        Ok(to)
    }
}

fn field<'v>(value: &Cow<'v, Value>, name: &str) -> Option<Cow<'v, Value>> {
    match value {
        Cow::Borrowed(value) => value.get(name).map(Cow::Borrowed),
        Cow::Owned(value) => value.get(name).cloned().map(Cow::Owned),
    }
}

fn elements<'v>(value: &Cow<'v, Value>) -> Option<Found<'v>> {
    match value {
        Cow::Borrowed(Value::Array(list)) => Some(list.iter().map(Cow::Borrowed).collect()),
        Cow::Owned(Value::Array(list)) => Some(list.iter().cloned().map(Cow::Owned).collect()),
        _ => None,
    }
}

fn inside<'v>(value: &Cow<'v, Value>) -> Found<'v> {
    match value {
        Cow::Borrowed(Value::Object(map)) => map.values().map(Cow::Borrowed).collect(),
        Cow::Owned(Value::Object(map)) => map.values().cloned().map(Cow::Owned).collect(),
        list => elements(list).unwrap_or_default(),
    }
}

/// Every object and list within, from the outside in.
fn descend<'v>(value: Cow<'v, Value>, to: &mut Found<'v>) -> Result<(), Nowhere> {
    let within = inside(&value);
    if within.is_empty() {
        return Ok(());
    }
    if to.len() >= MAX_VALUES {
        return Err(Nowhere);
    }
    to.push(value);
    within.into_iter().try_for_each(|value| descend(value, to))
}

impl Slice {
    fn take<'v>(self, list: Found<'v>, to: &mut Found<'v>) -> Result<(), Nowhere> {
        let Some((start, end)) = self.bounds(list.len())? else {
            return Ok(());
        };
        let step = self.step.map_or(Ok(1), |step| {
            usize::try_from(step)
                .ok()
                .filter(|step| *step > 0)
                .ok_or(Nowhere)
        })?;
        let wanted = list.into_iter().skip(start).take(end - start);
        to.extend(wanted.step_by(step));
        Ok(())
    }

    /// From where to where; `None` if there is nothing between.
    fn bounds(self, length: usize) -> Result<Option<(usize, usize)>, Nowhere> {
        let length = i64::try_from(length).map_err(|_| Nowhere)?;
        let asked = self.start.unwrap_or(0);
        let start = if asked < 0 {
            asked.saturating_add(length)
        } else {
            asked
        };
        let end = match self.end {
            End::Open => length,
            End::OneElement => start.saturating_add(1),
            End::At(end) if end < 0 => end.saturating_add(length),
            End::At(end) => end,
        };
        if start == end {
            return Ok(None);
        }
        if start < 0 || start >= length || end < start || end > length {
            return Err(Nowhere);
        }
        let index = |bound: i64| usize::try_from(bound).map_err(|_| Nowhere);
        Ok(Some((index(start)?, index(end)?)))
    }
}

fn filter<'v>(
    list: Found<'v>,
    left: &JsonPath,
    comparison: Option<&(Comparison, JsonPath)>,
    to: &mut Found<'v>,
) -> Result<(), Nowhere> {
    for element in list {
        let found = left.find(vec![element.clone()]);
        let passes = match comparison {
            None => found.is_ok_and(|found| !found.is_empty()),
            Some((comparison, right)) => {
                let (left, right) = (one(&found?)?, one(&right.find(vec![element.clone()])?)?);
                match (left, right) {
                    (Some(left), Some(right)) => comparison.holds(&left, &right)?,
                    _ => false,
                }
            }
        };
        if passes {
            to.push(element);
        }
    }
    Ok(())
}

/// The only value, if there is any: only one can be compared.
fn one<'v>(found: &Found<'v>) -> Result<Option<Cow<'v, Value>>, Nowhere> {
    match found.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(one.clone())),
        _ => Err(Nowhere),
    }
}

impl Comparison {
    fn holds(self, left: &Value, right: &Value) -> Result<bool, Nowhere> {
        let ordering = match (left, right) {
            (Value::Bool(left), Value::Bool(right)) => {
                return match self {
                    Self::Equal => Ok(left == right),
                    Self::NotEqual => Ok(left != right),
                    _ => Err(Nowhere),
                };
            }
            (Value::String(left), Value::String(right)) => left.cmp(right),
            (Value::Number(left), Value::Number(right)) => {
                match (left.as_i64(), right.as_i64()) {
                    (Some(left), Some(right)) => left.cmp(&right),
                    (None, None) => fractions(left.as_f64(), right.as_f64()).ok_or(Nowhere)?,
                    // A whole number and a fraction are of two types.
                    _ => return Err(Nowhere),
                }
            }
            _ => return Err(Nowhere),
        };
        match self {
            Self::Less => Ok(ordering == Ordering::Less),
            Self::LessOrEqual => Ok(ordering != Ordering::Greater),
            Self::Equal => Ok(ordering == Ordering::Equal),
            Self::NotEqual => Ok(ordering != Ordering::Equal),
            Self::GreaterOrEqual => Ok(ordering != Ordering::Less),
            Self::Greater => Ok(ordering == Ordering::Greater),
            Self::Unknown => Err(Nowhere),
        }
    }
}

fn fractions(left: Option<f64>, right: Option<f64>) -> Option<Ordering> {
    left?.partial_cmp(&right?)
}
