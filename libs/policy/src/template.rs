//! Templates of policies: compiled once, checked as far as text can be checked, rendered over
//! `source` and `references` within limits: of the template's length and shape, of the result's
//! length, and of the work and memory that it takes.
//!
//! Handlebars is the language. A Go template, as policies for Clusterpedia have them, is recognised and rendered as Go renders it. HTML is
//! never escaped. A missing field renders as nothing. Pure.

mod bounded;
mod budget;
mod functions;
mod go;
mod go_syntax;
mod labels;
mod metered;
mod prices;
mod reads;
mod rules;
mod scan;
mod shape;
mod stack;
mod tags;
mod turns;
mod walk;

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use armadex_crds::{Sensitive, TemplateEngineName};
use handlebars::{Context, Handlebars, RenderContext, Renderable};
use serde_json::{Map, Value};

use budget::Budget;
use rules::SOURCE;

pub use bounded::OUTPUT_LIMIT;
pub use functions::{FUNCTIONS, Function};
pub use reads::Reads;
pub use rules::{
    KEPT_LIMIT, STEP_LIMIT, STEPS_LIMIT, Scope, TAG_LIMIT, TAGS_LIMIT, TEMPLATE_LIMIT,
    TEMPLATES_LIMIT, TemplateError, WORK_LIMIT, WORKS_LIMIT,
};
pub use shape::{BRACES_LIMIT, OPENING_LIMIT};

/// A language that templates can be rendered in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateEngine {
    /// Handlebars with the functions of [`FUNCTIONS`].
    Handlebars,
    /// Go's text templates with those functions of sprig that depend on nothing but their arguments.
    GoTemplate,
}

/// The values that a template is rendered over: `source` and `references`. Made once for an object and borrowed by each template: to
/// copy it takes longer than to render, and what all of them may take is bounded.
#[derive(Clone, Debug)]
pub struct TemplateData {
    context: Sensitive<Context>,
    left: Arc<Budget>,
}

const REFERENCES: &str = "references";

impl TemplateData {
    /// Of a source object.
    pub fn of(source: Value) -> Self {
        let references = Value::Object(Map::new());
        let fields = [(SOURCE, source), (REFERENCES, references)];
        let fields = fields.map(|(name, value)| (name.to_owned(), value));
        let context = Context::from(Value::Object(Map::from_iter(fields)));
        Self {
            context: context.into(),
            left: Arc::new(Budget::of_all()),
        }
    }

    /// Adds a referenced object under its key.
    pub fn refer(&mut self, key: &str, object: Value) {
        let fields = self.context.expose_mut().data_mut();
        fields[REFERENCES][key] = object;
    }

    /// How many labels found no room in these, which were rendered over them as all until now, in words with what would help.
    pub fn warning(&self, labels: &BTreeMap<String, String>) -> Option<String> {
        self.left.warning(labels)
    }
}

/// A compiled template.
#[derive(Clone, Debug)]
pub struct Template {
    compiled: Compiled,
    reads: Reads,
}

#[derive(Clone, Debug)]
enum Compiled {
    Handlebars(Box<HandlebarsTemplate>),
    Go(Box<go::GoTemplate>),
}

#[derive(Clone, Debug)]
struct HandlebarsTemplate {
    parsed: handlebars::Template,
    /// The functions whose names stand in its text: a rendering needs to know no others.
    functions: Vec<&'static Function>,
}

impl TemplateEngine {
    /// The language of a policy: the one it names, else the one that its templates, given with
    /// the names of their fields, are written in. One Go template makes it a Go policy.
    pub fn choose<'a>(
        named: Option<TemplateEngineName>,
        templates: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        match named {
            Some(TemplateEngineName::Handlebars) => return Self::Handlebars,
            Some(TemplateEngineName::GoTemplate) => return Self::GoTemplate,
            None => {}
        }
        // One that is too long is not looked at: it is refused when it is compiled.
        let mut templates = templates.into_iter();
        let is_go = |text: &str| text.len() <= TEMPLATE_LIMIT && go_syntax::shows(text);
        if templates.any(|(_, text)| is_go(text)) {
            Self::GoTemplate
        } else {
            Self::Handlebars
        }
    }

    /// Compiles a template and checks the names in it.
    pub fn compile(self, text: &str, scope: Scope<'_>) -> Result<Template, TemplateError> {
        match self {
            Self::Handlebars => compile_handlebars(text, scope),
            Self::GoTemplate => {
                let (compiled, reads) = go::compile(text, scope)?;
                let compiled = Compiled::Go(Box::new(compiled));
                Ok(Template { compiled, reads })
            }
        }
    }

    /// Whether an object has no more templates than are compiled of one, given with the names of their fields.
    pub fn check_all<'a>(
        self,
        templates: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<(), TemplateError> {
        let templates = Vec::from_iter(templates);
        let bytes: usize = templates.iter().map(|(_, text)| text.len()).sum();
        if bytes > TEMPLATES_LIMIT {
            let longest = templates.iter().max_by_key(|(_, text)| text.len());
            let (field, text) = longest.copied().unwrap_or_default();
            return Err(TemplateError::TooLongTogether {
                bytes,
                longest: field.to_owned(),
                of_longest: text.len(),
            });
        }
        let tags = templates.iter().map(|(_, text)| self.tags(text));
        let tags: usize = tags.sum();
        if tags > TAGS_LIMIT {
            return Err(TemplateError::TooManyTags { tags });
        }
        Ok(())
    }

    fn tags(self, text: &str) -> usize {
        match self {
            Self::Handlebars => scan::scan(text).count(),
            Self::GoTemplate => text.matches("{{").count(),
        }
    }
}

/// The names of the functions that Go templates may call, in order.
#[must_use]
pub fn go_functions() -> Vec<&'static str> {
    go::function_names()
}

/// The templates of references, given as namespace and name of each, with the names of their
/// fields.
pub fn of_references<'a>(
    references: impl Iterator<Item = (&'a str, &'a str)>,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    references.flat_map(|(namespace, name)| {
        [
            ("references[].namespaceTemplate", namespace),
            ("references[].nameTemplate", name),
        ]
    })
}

impl Template {
    /// What of the source object it reads.
    pub fn reads(&self) -> &Reads {
        &self.reads
    }

    /// The text for these values.
    pub fn render(&self, data: &TemplateData) -> Result<String, TemplateError> {
        let context = data.context.expose();
        let budget = Budget::of_one(&data.left);
        match &self.compiled {
            Compiled::Handlebars(template) => render_handlebars(template, context, budget),
            Compiled::Go(template) => template.render(context.data(), &budget),
        }
    }

    /// Whether the text is `true`, whatever its case and the space around it.
    pub fn says_true(&self, data: &TemplateData) -> Result<bool, TemplateError> {
        Ok(self.render(data)?.trim().eq_ignore_ascii_case("true"))
    }
}

fn render_handlebars(
    template: &HandlebarsTemplate,
    context: &Context,
    budget: Budget,
) -> Result<String, TemplateError> {
    let mut out = bounded::Bounded::default();
    let budget = Arc::new(budget);
    let mut rendering = RenderContext::new(None);
    metered::register(&mut rendering, &template.functions, &budget);
    let parsed = &template.parsed;
    let rendered = parsed.render(&HANDLEBARS, context, &mut rendering, &mut out);
    if out.is_full() {
        return Err(TemplateError::OutputTooLong);
    }
    if let Some(exceeded) = budget.exceeded() {
        return Err(exceeded);
    }
    rendered.map_err(|error| TemplateError::Render(functions::describe(&error)))?;
    let text = out.into_text();
    if text.contains(PRINTED_OBJECT) {
        return Err(TemplateError::Render(
            "an object is printed as text: use toJson".into(),
        ));
    }
    Ok(text)
}

/// What Handlebars prints for an object; no template wants that.
const PRINTED_OBJECT: &str = "[object]";

static HANDLEBARS: LazyLock<Handlebars<'static>> = LazyLock::new(|| {
    let mut handlebars = Handlebars::new();
    handlebars.register_escape_fn(handlebars::no_escape);
    // It would write values of Secrets into the log.
    handlebars.unregister_helper("log");
    handlebars
});

fn compile_handlebars(text: &str, scope: Scope<'_>) -> Result<Template, TemplateError> {
    if text.len() > TEMPLATE_LIMIT {
        return Err(TemplateError::TooLong);
    }
    shape::check(text)?;
    stack::on_one_of_its_own(|| parse(text, scope))
}

fn parse(text: &str, scope: Scope<'_>) -> Result<Template, TemplateError> {
    let mut parsed = handlebars::Template::compile(text).map_err(|error| {
        let (line, column) = error.pos().unwrap_or((1, 1));
        TemplateError::Syntax {
            line,
            column,
            message: error.reason().to_string(),
        }
    })?;
    walk::check(&parsed, scope)?;
    let reads = reads::of(&parsed);
    metered::meter(&mut parsed);
    let functions = FUNCTIONS.iter();
    let functions = functions.filter(|function| text.contains(function.name));
    let template = HandlebarsTemplate {
        parsed,
        functions: functions.collect(),
    };
    Ok(Template {
        compiled: Compiled::Handlebars(Box::new(template)),
        reads,
    })
}

#[cfg(test)]
mod tests;
