//! Looks over a parsed Handlebars template for names that can't mean anything: Handlebars itself
//! prints nothing for an unknown variable and sees an unknown function only when it is called.

use handlebars::template::{
    HelperTemplate, Parameter, Subexpression, Template, TemplateElement, TemplateMapping,
};
use handlebars::{Path, PathSeg};

use super::{
    functions::{BLOCKS, BUILT_IN, FUNCTIONS},
    rules::{Scope, TemplateError},
    shape::{CALLS_TOO_DEEP, DEPTH_LIMIT},
};

/// Whether names are looked up from the top, or in what `each` and `with` are about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Context {
    Top,
    Rebound,
}

struct Walk<'a> {
    scope: Scope<'a>,
}

/// Checks every name in a template.
pub(super) fn check(template: &Template, scope: Scope<'_>) -> Result<(), TemplateError> {
    Walk { scope }.template(template, Context::Top, 0)
}

impl Walk<'_> {
    fn template(
        &self,
        template: &Template,
        context: Context,
        depth: usize,
    ) -> Result<(), TemplateError> {
        for (index, element) in template.elements.iter().enumerate() {
            let place = template.mapping.get(index);
            if depth > DEPTH_LIMIT {
                return Err(located("blocks are nested too deep".into(), place));
            }
            if let TemplateElement::HelperBlock(block) = element {
                self.block(block, context, depth, place)?;
            } else {
                self.element(element, context, 0)
                    .map_err(|message| located(message, place))?;
            }
        }
        Ok(())
    }

    fn block(
        &self,
        block: &HelperTemplate,
        context: Context,
        depth: usize,
        place: Option<&TemplateMapping>,
    ) -> Result<(), TemplateError> {
        let name = block.name.as_name().unwrap_or_default();
        if !BLOCKS.contains(&name) {
            let known = BLOCKS.join(", ");
            return Err(located(
                format!("#{name} is no block; there are {known}"),
                place,
            ));
        }
        self.arguments(block, context, 0)
            .map_err(|message| located(message, place))?;
        let inside = if name == "each" || name == "with" {
            Context::Rebound
        } else {
            context
        };
        if let Some(body) = &block.template {
            self.template(body, inside, depth + 1)?;
        }
        if let Some(otherwise) = &block.inverse {
            self.template(otherwise, context, depth + 1)?;
        }
        Ok(())
    }

    /// `depth` calls stand around it.
    fn element(
        &self,
        element: &TemplateElement,
        context: Context,
        depth: usize,
    ) -> Result<(), String> {
        match element {
            TemplateElement::RawString(_) | TemplateElement::Comment(_) => Ok(()),
            TemplateElement::Expression(call) | TemplateElement::HtmlExpression(call) => {
                self.expression(call, context, depth)
            }
            _ => Err("partials and decorators are not offered".into()),
        }
    }

    /// `{{path}}` or `{{function argument ...}}`.
    fn expression(
        &self,
        call: &HelperTemplate,
        context: Context,
        depth: usize,
    ) -> Result<(), String> {
        if call.params.is_empty() && call.hash.is_empty() {
            return self.value(&call.name, context, depth);
        }
        self.function(call.name.as_name().unwrap_or_default())?;
        self.arguments(call, context, depth)
    }

    fn function(&self, name: &str) -> Result<(), String> {
        if BLOCKS.contains(&name) {
            return Err(format!(
                "{name} needs a block: {{{{#{name} ...}}}} ... {{{{/{name}}}}}"
            ));
        }
        let known =
            BUILT_IN.contains(&name) || FUNCTIONS.iter().any(|function| function.name == name);
        if known {
            Ok(())
        } else {
            Err(format!("{name} is no function that templates have"))
        }
    }

    fn arguments(
        &self,
        call: &HelperTemplate,
        context: Context,
        depth: usize,
    ) -> Result<(), String> {
        call.params
            .iter()
            .chain(call.hash.values())
            .try_for_each(|argument| self.value(argument, context, depth))
    }

    fn value(&self, value: &Parameter, context: Context, depth: usize) -> Result<(), String> {
        match value {
            Parameter::Literal(_) => Ok(()),
            Parameter::Path(path) => self.path(path, context),
            Parameter::Subexpression(_) if depth == DEPTH_LIMIT => Err(CALLS_TOO_DEEP.into()),
            Parameter::Subexpression(Subexpression { element, .. }) => {
                self.element(element, context, depth + 1)
            }
            Parameter::Name(name) => Err(format!("{name} is called without arguments")),
            _ => Err("an argument of an unknown kind".into()),
        }
    }

    fn path(&self, path: &Path, context: Context) -> Result<(), String> {
        let Path::Relative((segments, _)) = path else {
            return Ok(());
        };
        let mut names = segments.iter().filter_map(|segment| match segment {
            PathSeg::Named(name) => Some(name.as_str()),
            _ => None,
        });
        let from_root = matches!(segments.first(), Some(PathSeg::Ruled(_)));
        match (names.next(), context) {
            (Some(name), Context::Rebound) if !from_root => not_of_go(name),
            (Some(name), Context::Top) => self.root(name, names.next()),
            _ => Ok(()),
        }
    }

    /// The first name of a path that starts at the top.
    fn root(&self, name: &str, next: Option<&str>) -> Result<(), String> {
        match (name, self.scope) {
            ("source", _) => Ok(()),
            ("references", Scope::References(keys)) => match next {
                Some(key) if !keys.contains(&key) => Err(format!("no reference has the key {key}")),
                _ => Ok(()),
            },
            ("references", Scope::Source) => {
                Err("references can't be used here: only source is known".into())
            }
            _ => Err(format!(
                "{name} is unknown: a path begins with source or references"
            )),
        }
    }
}

/// Inside a block any name may be a field; these are a Go template that happens to parse.
fn not_of_go(name: &str) -> Result<(), String> {
    match name {
        "end" | "range" | "break" | "continue" => Err(format!(
            "{name} is Go template syntax; write this.{name} if a field is meant"
        )),
        _ => Ok(()),
    }
}

fn located(message: String, place: Option<&TemplateMapping>) -> TemplateError {
    let (line, column) = place.map_or((1, 1), |place| (place.0, place.1));
    TemplateError::Meaning {
        line,
        column,
        message,
    }
}
