//! Go's text templates with the functions of sprig, as policies for Clusterpedia are written: parsed when they are compiled, rendered over
//! the source object as it is, within the limits of every template.
//!
//! A test compares what they render to with what Go renders, over random templates.

mod check;
mod floats;
mod functions;
mod hexadecimal;
mod literals;
mod parse;
pub(super) mod print;
mod printf;
mod quote;
mod reads;
mod run;
mod stop;
mod tokens;
mod tree;
mod value;
mod walk;

use std::sync::Arc;

use serde_json::Value as Json;

use super::{
    bounded::Bounded,
    budget::Budget,
    reads::Reads,
    rules::{Scope, TEMPLATE_LIMIT, TemplateError},
    tags::place,
};
use parse::Parsed;
use print::NO_VALUE;
use run::Run;
use stop::Stop;
use value::Value;

#[cfg(test)]
pub(super) use functions::{
    all as functions_table,
    call::{Function, Takes},
};
#[cfg(test)]
pub(super) use value::LOOKED_AT;

/// The names of all functions, in order.
pub(super) fn function_names() -> Vec<&'static str> {
    functions::names()
}

/// A compiled Go template.
#[derive(Clone, Debug)]
pub(super) struct GoTemplate {
    parsed: Parsed,
    /// For the places in errors.
    text: Arc<str>,
}

/// Compiles a template, and says what of the source object it reads.
pub(super) fn compile(text: &str, scope: Scope<'_>) -> Result<(GoTemplate, Reads), TemplateError> {
    if text.len() > TEMPLATE_LIMIT {
        return Err(TemplateError::TooLong);
    }
    let parsed = parse::parse(text)?;
    check::check(&parsed, scope).map_err(|wrong| wrong.located(text))?;
    let reads = reads::of(&parsed);
    let text = Arc::from(text);
    Ok((GoTemplate { parsed, text }, reads))
}

impl GoTemplate {
    /// The text for these values.
    pub(super) fn render(&self, data: &Json, budget: &Budget) -> Result<String, TemplateError> {
        let mut out = Bounded::default();
        let ran = Run::of(&self.parsed, budget, &mut out).over(&Value::of(data));
        if let Some(exceeded) = budget.exceeded() {
            return Err(exceeded);
        }
        match ran {
            Ok(()) => Ok(out.into_text().replace(NO_VALUE, "")),
            Err(Stop::Full) => Err(TemplateError::OutputTooLong),
            Err(Stop::TooDeep) => Err(TemplateError::TooDeep),
            Err(Stop::Limit) => Err(TemplateError::TooMuchWork),
            Err(Stop::Failed { at, message }) => {
                let (line, column) = place(&self.text, at);
                let message = format!("line {line}, column {column}: {message}");
                Err(TemplateError::Render(message))
            }
        }
    }
}
