//! How a value looks in a column that a custom resource declares.
//!
//! A value that is not of its column's type is shown as nothing, and so is a path that leads nowhere; an object is never too odd to
//! be printed.

use jiff::Timestamp;
use serde_json::Value;

use super::age;
use super::cells::Cells;
use super::json_path::JsonPath;
use super::slot::Slot;
use super::values;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Integer,
    Number,
    Boolean,
    Date,
    /// A type that no value has.
    Other,
}

impl Kind {
    pub(super) fn of(name: &str) -> Self {
        match name {
            "string" => Self::Text,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            "date" => Self::Date,
            _ => Self::Other,
        }
    }
}

/// Writes the cell for what was found at the beginning of a path, followed along the rest of it.
pub(super) fn write(
    cells: &mut Cells<'_>,
    found: &Slot<'_>,
    rest: &JsonPath,
    kind: Kind,
    now: Timestamp,
) {
    let shown = match found {
        Slot::Value(json) if rest.is_empty() && kind == Kind::Text && json.starts_with('"') => {
            return cells.json(json);
        }
        Slot::Value(json) => values::read::<Value>(json.as_bytes())
            .ok()
            .and_then(|value| rest.first(&value).and_then(|value| show(&value, kind, now))),
        Slot::Absent | Slot::Each(_) | Slot::Count(_) => None,
    };
    match shown {
        Some(value) => cells.json(&value.to_string()),
        None => cells.json("null"),
    }
}

fn show(value: &Value, kind: Kind, now: Timestamp) -> Option<Value> {
    match (kind, value) {
        (Kind::Text, value) => Some(text(value).into()),
        (Kind::Integer, Value::Number(number)) => whole(number).map(Value::from),
        (Kind::Number, Value::Number(number)) => Some(number.clone().into()),
        (Kind::Boolean, Value::Bool(value)) => Some((*value).into()),
        (Kind::Date, Value::String(text)) => Some(since(text, now).into()),
        _ => None,
    }
}

/// The number without what follows its point; the largest there is for one that is larger.
#[allow(
    clippy::cast_possible_truncation,
    reason = "a kube-apiserver cuts the fraction off as well"
)]
fn whole(number: &serde_json::Number) -> Option<i64> {
    number
        .as_i64()
        .or_else(|| number.as_f64().map(|value| value as i64))
}

/// Anything as a text: lists and objects as JSON.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "<no value>".to_owned(),
        Value::Number(number) if number.is_f64() => fraction(number.as_f64().unwrap_or_default()),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(_) | Value::Object(_) => escaped(&value.to_string()),
    }
}

/// A fraction as a kube-apiserver prints it: `1.5`, `1e-05`, `1.25e+06`.
fn fraction(value: f64) -> String {
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..6).contains(&exponent) {
        return value.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}

/// JSON with the characters escaped that mean something in HTML, as a kube-apiserver writes it. They only occur inside of texts.
fn escaped(json: &str) -> String {
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

fn since(text: &str, now: Timestamp) -> String {
    if text.is_empty() {
        return age::since(None, now);
    }
    match text.parse() {
        Ok(time) => age::since(Some(time), now),
        Err(_) => "<invalid>".to_owned(),
    }
}
