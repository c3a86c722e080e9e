//! The functions that templates may call, in the order of arguments that sprig has (what it
//! works on comes last), as pure functions over JSON values.
//!
//! Absent on purpose: anything that reads the environment, the clock, the network or chance.

use std::cmp::Ordering;

use base64::{Engine, prelude::BASE64_STANDARD};
use handlebars::{RenderError, RenderErrorReason};
use serde_json::{Number, Value};

use super::{
    budget::{Budget, Exceeded},
    labels::{self, Labels},
    rules::NOT_TOLD,
};

/// What a function does.
#[derive(Clone, Copy, Debug)]
enum Body {
    Value(fn(&[&Value]) -> Result<Value, Failure>),
    Labels(fn(&[&Value]) -> Result<Labels, Failure>),
}

/// Why a call gives nothing.
enum Failure {
    /// In words that say no value.
    Because(String),
    /// In the words of its first argument, which are told where they are written in the template.
    Told,
}

impl From<String> for Failure {
    fn from(why: String) -> Self {
        Self::Because(why)
    }
}

/// Spends what a call takes beyond its texts and what it gives.
type Cost = fn(&[&Value], &Budget) -> Result<(), Exceeded>;

/// A function of templates.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// Its arguments.
    pub arguments: &'static [&'static str],
    /// What it gives.
    pub gives: &'static str,
    body: Body,
    cost: Cost,
}

/// Every function of ours. Handlebars' own that may be called besides are and, or, not and len,
/// which take no more time for a large value than for a small one.
pub const FUNCTIONS: &[Function] = &[
    function("b64dec", &["text"], "text decoded from base64", b64dec),
    function("b64enc", &["text"], "text encoded as base64", b64enc),
    of_labels(
        "carriedLabels",
        &["labels"],
        "the first 48 labels by name, without those that tools and control planes act on",
        |a| Ok(labels::carried(a[0])),
    ),
    Function {
        cost: everything,
        ..function(
            "carriedTaints",
            &["taints"],
            "taints without those by which controllers say how a cluster fares",
            |a| Ok(labels::carried_taints(a[0])),
        )
    },
    function(
        "contains",
        &["part", "text"],
        "whether part is in text",
        |a| Ok(text(a[1])?.contains(&text(a[0])?).into()),
    ),
    function(
        "default",
        &["other", "value"],
        "value, or other if value is empty",
        |a| {
            Ok(if is_empty(a[1]) {
                a[0].clone()
            } else {
                a[1].clone()
            })
        },
    ),
    Function {
        cost: everything,
        ..function("eq", &["one", "other"], "whether they are the same", |a| {
            Ok((a[0] == a[1]).into())
        })
    },
    function(
        "get",
        &["map", "key"],
        "the value of a key, or nothing",
        |a| Ok(a[0].get(text(a[1])?).cloned().unwrap_or_default()),
    ),
    function("gt", &["one", "other"], "whether one is greater", |a| {
        Ok((compare(a[0], a[1]) == Some(Ordering::Greater)).into())
    }),
    function(
        "gte",
        &["one", "other"],
        "whether one is greater, or they are equal",
        |a| Ok(compare(a[0], a[1]).is_some_and(Ordering::is_ge).into()),
    ),
    Function {
        cost: conditions,
        ..function(
            "hasCondition",
            &["object", "type", "status"],
            HAS_CONDITION,
            has_condition,
        )
    },
    function("hasKey", &["map", "key"], "whether map has the key", |a| {
        Ok(a[0].get(text(a[1])?).is_some().into())
    }),
    function(
        "hasPrefix",
        &["prefix", "text"],
        "whether text begins with prefix",
        |a| Ok(text(a[1])?.starts_with(&text(a[0])?).into()),
    ),
    function(
        "hasSuffix",
        &["suffix", "text"],
        "whether text ends with suffix",
        |a| Ok(text(a[1])?.ends_with(&text(a[0])?).into()),
    ),
    function(
        "lookup",
        &["whole", "place"],
        "the item of a list, or field of a map, or nothing",
        |a| Ok(look_up(a[0], a[1]).cloned().unwrap_or_default()),
    ),
    function("lower", &["text"], "text in lower case", |a| {
        Ok(text(a[0])?.to_lowercase().into())
    }),
    function("lt", &["one", "other"], "whether one is less", |a| {
        Ok((compare(a[0], a[1]) == Some(Ordering::Less)).into())
    }),
    function(
        "lte",
        &["one", "other"],
        "whether one is less, or they are equal",
        |a| Ok(compare(a[0], a[1]).is_some_and(Ordering::is_le).into()),
    ),
    Function {
        cost: everything,
        ..function("ne", &["one", "other"], "whether they differ", |a| {
            Ok((a[0] != a[1]).into())
        })
    },
    Function {
        cost: replaced,
        ..function(
            "replace",
            &["old", "new", "text"],
            "text with every old as new",
            |a| Ok(text(a[2])?.replace(&text(a[0])?, &text(a[1])?).into()),
        )
    },
    function(
        "required",
        &["message", "value"],
        "value; fails with message if empty",
        |a| {
            if is_empty(a[1]) {
                Err(Failure::Told)
            } else {
                Ok(a[1].clone())
            }
        },
    ),
    of_labels(
        "setLabel",
        &["key", "value", "labels"],
        "labels with value, made a label's, for key, whatever they said of it; without key if value is empty",
        |a| Ok(labels::with_set(&text(a[0])?, a[1], a[2])),
    ),
    Function {
        cost: everything,
        ..function(
            "toJson",
            &["value"],
            "value as JSON, which is YAML too",
            |a| Ok(a[0].to_string().into()),
        )
    },
    function("trim", &["text"], "text without the space around it", |a| {
        Ok(text(a[0])?.trim().into())
    }),
    function(
        "trimPrefix",
        &["prefix", "text"],
        "text without the prefix",
        |a| {
            let (prefix, text) = (text(a[0])?, text(a[1])?);
            Ok(text.strip_prefix(&prefix).unwrap_or(&text).into())
        },
    ),
    function(
        "trimSuffix",
        &["suffix", "text"],
        "text without the suffix",
        |a| {
            let (suffix, text) = (text(a[0])?, text(a[1])?);
            Ok(text.strip_suffix(&suffix).unwrap_or(&text).into())
        },
    ),
    function("upper", &["text"], "text in upper case", |a| {
        Ok(text(a[0])?.to_uppercase().into())
    }),
    of_labels(
        "withLabel",
        &["key", "value", "labels"],
        "labels and one more, with value made a label's; as they are if key is there, value is empty or they are 64",
        |a| Ok(labels::with_one(&text(a[0])?, a[1], a[2])),
    ),
    of_labels(
        "withLabels",
        &["prefix", "list", "labels"],
        "labels, up to 64, and prefix/NAME for each item of list: a text is the name, a map has name, or key and effect, and value",
        |a| Ok(labels::with_each(&text(a[0])?, a[1], a[2])),
    ),
];

/// Functions that Handlebars brings and templates may call.
pub(super) const BUILT_IN: &[&str] = &["and", "len", "not", "or"];

/// Functions that Handlebars brings and that need a block.
pub(super) const BLOCKS: &[&str] = &["each", "if", "unless", "with"];

const HAS_CONDITION: &str = "whether status.conditions of object has type with status";

const fn function(
    name: &'static str,
    arguments: &'static [&'static str],
    gives: &'static str,
    body: fn(&[&Value]) -> Result<Value, Failure>,
) -> Function {
    Function {
        name,
        arguments,
        gives,
        body: Body::Value(body),
        cost: |_, _| Ok(()),
    }
}

const fn of_labels(
    name: &'static str,
    arguments: &'static [&'static str],
    gives: &'static str,
    body: fn(&[&Value]) -> Result<Labels, Failure>,
) -> Function {
    Function {
        name,
        arguments,
        gives,
        body: Body::Labels(body),
        cost: everything,
    }
}

/// What went wrong, without the words that Handlebars puts around it.
pub(super) fn describe(error: &RenderError) -> String {
    let reason = error.reason().to_string();
    match (error.line_no, error.column_no) {
        (Some(line), Some(column)) => format!("line {line}, column {column}: {reason}"),
        _ => reason,
    }
}

impl Function {
    /// Spends what a call with these arguments takes, before it takes it.
    pub(super) fn pay(&self, arguments: &[&Value], budget: &Budget) -> Result<(), Exceeded> {
        let texts = arguments.iter().filter(|argument| argument.is_string());
        texts
            .clone()
            .try_for_each(|text| budget.spend_value(text))?;
        // Too few arguments are told by the call.
        if arguments.len() == self.arguments.len() {
            (self.cost)(arguments, budget)?;
        }
        Ok(())
    }

    /// The value for these arguments. Labels that found no room in it are noted.
    /// `written`: the first of them is written in the template as it is.
    pub(super) fn call(
        &self,
        arguments: &[&Value],
        written: bool,
        budget: &Budget,
    ) -> Result<Value, RenderError> {
        let failed =
            |message: String| RenderErrorReason::Other(format!("{}: {message}", self.name));
        if arguments.len() != self.arguments.len() {
            let usage = self.arguments.join(" ");
            return Err(failed(format!("is called as {} {usage}", self.name)).into());
        }
        let given = match self.body {
            Body::Value(body) => body(arguments),
            Body::Labels(body) => body(arguments).map(|labels| {
                budget.note(&labels);
                labels.into_value()
            }),
        };
        let value = given.map_err(|failure| match failure {
            Failure::Because(why) => failed(why),
            Failure::Told if written => failed(text(arguments[0]).unwrap_or_default()),
            Failure::Told => failed(NOT_TOLD.to_owned()),
        });
        Ok(value?)
    }
}

fn everything(arguments: &[&Value], budget: &Budget) -> Result<(), Exceeded> {
    arguments
        .iter()
        .filter(|argument| !argument.is_string())
        .try_for_each(|argument| budget.spend_value(argument))
}

fn conditions(arguments: &[&Value], budget: &Budget) -> Result<(), Exceeded> {
    match arguments[0].pointer("/status/conditions") {
        Some(conditions) => budget.spend_value(conditions),
        None => Ok(()),
    }
}

/// Ten texts in each other that each make one of ten are ten thousand million bytes: the result is
/// counted before it is made.
fn replaced(arguments: &[&Value], budget: &Budget) -> Result<(), Exceeded> {
    let texts = (text(arguments[0]), text(arguments[1]), text(arguments[2]));
    let (Ok(old), Ok(new), Ok(whole)) = texts else {
        return Ok(());
    };
    let times = whole.matches(&*old).count();
    budget.spend_bytes(times.saturating_mul(new.len()))
}

fn b64dec(arguments: &[&Value]) -> Result<Value, Failure> {
    let bytes = BASE64_STANDARD
        .decode(text(arguments[0])?.trim())
        .map_err(|_| "the argument is not base64".to_owned())?;
    let text =
        String::from_utf8(bytes).map_err(|_| "what was decoded is not UTF-8 text".to_owned())?;
    Ok(text.into())
}

fn b64enc(arguments: &[&Value]) -> Result<Value, Failure> {
    Ok(BASE64_STANDARD.encode(text(arguments[0])?).into())
}

fn has_condition(arguments: &[&Value]) -> Result<Value, Failure> {
    let (type_, status) = (text(arguments[1])?, text(arguments[2])?);
    let conditions = arguments[0]
        .pointer("/status/conditions")
        .and_then(Value::as_array);
    let holds = conditions
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == *type_ && condition["status"] == *status);
    Ok(holds.into())
}

fn look_up<'a>(whole: &'a Value, place: &Value) -> Option<&'a Value> {
    match whole {
        Value::Array(items) => items.get(usize::try_from(place.as_u64()?).ok()?),
        Value::Object(fields) => fields.get(place.as_str()?),
        _ => None,
    }
}

/// As Handlebars compares: what is of one kind, and a number with a text that is one.
fn compare(one: &Value, other: &Value) -> Option<Ordering> {
    let number = |text: &str| text.parse::<Number>().ok();
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => compare_numbers(one, other),
        (Value::String(one), Value::String(other)) => Some(one.cmp(other)),
        (Value::Bool(one), Value::Bool(other)) => Some(one.cmp(other)),
        (Value::Number(one), Value::String(other)) => compare_numbers(one, &number(other)?),
        (Value::String(one), Value::Number(other)) => compare_numbers(&number(one)?, other),
        _ => None,
    }
}

fn compare_numbers(one: &Number, other: &Number) -> Option<Ordering> {
    match (one.as_i128(), other.as_i128()) {
        (Some(one), Some(other)) => Some(one.cmp(&other)),
        _ => one.as_f64()?.partial_cmp(&other.as_f64()?),
    }
}

/// A value as text; nothing is empty text.
fn text(value: &Value) -> Result<String, String> {
    match value {
        Value::Null => Ok(String::new()),
        Value::String(text) => Ok(text.clone()),
        Value::Bool(_) | Value::Number(_) => Ok(value.to_string()),
        Value::Array(_) | Value::Object(_) => Err("an argument is not text".to_owned()),
    }
}

/// What sprig calls empty.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(holds) => !holds,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}
