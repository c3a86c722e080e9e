//! The functions that templates may call, in the order of arguments that sprig has (what it
//! works on comes last), as pure functions over JSON values.
//!
//! Absent on purpose: anything that reads the environment, the clock, the network or chance.

use base64::{Engine, prelude::BASE64_STANDARD};
use handlebars::{
    Context, Handlebars, Helper, HelperDef, PathAndJson, RenderContext, RenderError,
    RenderErrorReason, ScopedJson,
};
use serde_json::Value;

type Body = fn(&[&Value]) -> Result<Value, String>;

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
}

/// Every function of ours. Handlebars' own that may be called besides are and, or, not, eq, ne,
/// lt, lte, gt, gte, len and lookup.
pub const FUNCTIONS: &[Function] = &[
    function("b64dec", &["text"], "text decoded from base64", b64dec),
    function("b64enc", &["text"], "text encoded as base64", b64enc),
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
    function(
        "get",
        &["map", "key"],
        "the value of a key, or nothing",
        |a| Ok(a[0].get(text(a[1])?).cloned().unwrap_or_default()),
    ),
    function(
        "hasCondition",
        &["object", "type", "status"],
        HAS_CONDITION,
        has_condition,
    ),
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
    function("lower", &["text"], "text in lower case", |a| {
        Ok(text(a[0])?.to_lowercase().into())
    }),
    function(
        "replace",
        &["old", "new", "text"],
        "text with every old as new",
        |a| Ok(text(a[2])?.replace(&text(a[0])?, &text(a[1])?).into()),
    ),
    function(
        "required",
        &["message", "value"],
        "value; fails with message if empty",
        |a| {
            if is_empty(a[1]) {
                Err(text(a[0])?)
            } else {
                Ok(a[1].clone())
            }
        },
    ),
    function(
        "toJson",
        &["value"],
        "value as JSON, which is YAML too",
        |a| Ok(a[0].to_string().into()),
    ),
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
];

/// Functions that Handlebars brings and templates may call.
pub(super) const BUILT_IN: &[&str] = &[
    "and", "eq", "gt", "gte", "len", "lookup", "lt", "lte", "ne", "not", "or",
];

/// Functions that Handlebars brings and that need a block.
pub(super) const BLOCKS: &[&str] = &["each", "if", "unless", "with"];

const HAS_CONDITION: &str = "whether status.conditions of object has type with status";

const fn function(
    name: &'static str,
    arguments: &'static [&'static str],
    gives: &'static str,
    body: Body,
) -> Function {
    Function {
        name,
        arguments,
        gives,
        body,
    }
}

/// Makes every function known to Handlebars.
pub(super) fn register(handlebars: &mut Handlebars<'static>) {
    for function in FUNCTIONS {
        handlebars.register_helper(function.name, Box::new(*function));
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

impl HelperDef for Function {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        call: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, RenderError> {
        let failed =
            |message: String| RenderErrorReason::Other(format!("{}: {message}", self.name));
        let arguments: Vec<&Value> = call.params().iter().map(PathAndJson::value).collect();
        if arguments.len() != self.arguments.len() {
            let usage = self.arguments.join(" ");
            return Err(failed(format!("is called as {} {usage}", self.name)).into());
        }
        let value = (self.body)(&arguments).map_err(failed)?;
        Ok(ScopedJson::Derived(value))
    }
}

fn b64dec(arguments: &[&Value]) -> Result<Value, String> {
    let bytes = BASE64_STANDARD
        .decode(text(arguments[0])?.trim())
        .map_err(|_| "the argument is not base64".to_owned())?;
    let text =
        String::from_utf8(bytes).map_err(|_| "what was decoded is not UTF-8 text".to_owned())?;
    Ok(text.into())
}

fn b64enc(arguments: &[&Value]) -> Result<Value, String> {
    Ok(BASE64_STANDARD.encode(text(arguments[0])?).into())
}

fn has_condition(arguments: &[&Value]) -> Result<Value, String> {
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
