//! Looks over a template before it is parsed: the parser's time grows with the square of the tags
//! and of their nesting, and a template of the longest length would take it minutes. The parser calls
//! itself for what stands in each other, so that is bounded before it begins.
//!
//! What would make it unclear where a string or a tag ends without parsing (raw blocks, values in
//! braces, strings in brackets that are no list) is not offered.

use serde_json::Value;

use super::{
    rules::TemplateError,
    tags::{place, tags, unquoted},
};

/// Tags in one template. The shipped policy has 30. The parser takes up to a second for so many in a
/// build without optimisation, and half a minute for five times as many.
pub const TAG_LIMIT: usize = 1000;

/// Deeper blocks than anyone writes; keeps rendering off the end of the stack. An `else if` is one
/// level deeper than what it is the other case of.
pub(super) const DEPTH_LIMIT: usize = 32;

/// Checks number and nesting of the tags.
pub(super) fn check(text: &str) -> Result<(), TemplateError> {
    // Levels of each block that is open: its own, and one for each `else if`.
    let mut open: Vec<usize> = Vec::new();
    let mut depth = 0;
    for (count, tag) in tags(text).enumerate() {
        let inside = tag
            .inside
            .trim_start_matches(['{', '~', ' ', '\t', '\r', '\n']);
        if inside.starts_with('#') {
            open.push(1);
            depth += 1;
        } else if inside.starts_with('/') {
            depth -= open.pop().unwrap_or_default();
        } else if is_another_case(inside)
            && let Some(levels) = open.last_mut()
        {
            *levels += 1;
            depth += 1;
        }
        let wrong = if depth > DEPTH_LIMIT {
            "blocks are nested too deep".to_owned()
        } else if count >= TAG_LIMIT {
            format!("a template has no more than {TAG_LIMIT} tags")
        } else if let Err(wrong) = check_inside(tag.inside) {
            wrong.to_owned()
        } else {
            continue;
        };
        let (line, column) = place(text, tag.at);
        return Err(TemplateError::Meaning {
            line,
            column,
            message: wrong,
        });
    }
    Ok(())
}

/// Checks what stands in each other within a tag.
fn check_inside(inside: &str) -> Result<(), &'static str> {
    if inside.starts_with("{{") {
        return Err("raw blocks are not offered");
    }
    let opening = inside.len() - inside.trim_start_matches(['{', '~']).len();
    let mut depth: usize = 0;
    // Where the brackets that are being read end.
    let mut brackets = 0;
    for (at, character) in unquoted(inside) {
        match character {
            _ if at < opening || at < brackets => {}
            '[' => brackets = at + length_of_brackets(&inside[at..])?,
            '{' => return Err("a value in braces is not offered"),
            '(' if depth == DEPTH_LIMIT => return Err("calls are nested too deep"),
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

/// A name in brackets, as of a field with dots, or a list of single values.
fn length_of_brackets(text: &str) -> Result<usize, &'static str> {
    let mut lists = serde_json::Deserializer::from_str(text).into_iter::<Vec<Single>>();
    if let Some(Ok(_)) = lists.next() {
        return Ok(lists.byte_offset());
    }
    let end = text.find(']').map_or(text.len(), |end| end + 1);
    let is_name = |name: &str| !name.contains(['"', '\'', '`', '(', '[', '{']);
    match text[1..end].trim_end_matches(']') {
        name if is_name(name) => Ok(end),
        _ => Err("brackets hold a name without quotes and brackets, or a list of single values"),
    }
}

/// A value without values in it.
#[derive(serde::Deserialize)]
#[serde(try_from = "Value")]
struct Single;

impl TryFrom<Value> for Single {
    type Error = &'static str;

    fn try_from(value: Value) -> Result<Self, Self::Error> {
        match value {
            Value::Array(_) | Value::Object(_) => Err("it has values in it"),
            _ => Ok(Self),
        }
    }
}

/// `else if`, `else with`, or `^if`.
fn is_another_case(inside: &str) -> bool {
    let rest = inside.strip_prefix("else").or(inside.strip_prefix('^'));
    rest.is_some_and(|rest| !rest.trim_matches([' ', '~', '\t', '\r', '\n']).is_empty())
}
