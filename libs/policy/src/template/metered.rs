//! Makes a template pay for what it repeats. Each pass of an `each` begins with a call that spends
//! what stands in it, and every function spends what it takes and gives.
//!
//! Handlebars has no place for the state of one rendering, so what spends from its budget is made
//! known to that rendering alone.

use std::sync::Arc;

use handlebars::{
    Context, Handlebars, Helper, HelperDef, PathAndJson, RenderContext, RenderError,
    RenderErrorReason, ScopedJson, Template,
    template::{HelperTemplate, Parameter, TemplateElement},
};
use serde_json::Value;

use super::{
    budget::{Budget, Exceeded},
    functions::{FUNCTIONS, Function},
};

/// Name of the call that pays. No template can name it: `walk` knows it not.
const PAY: &str = "armadex-pay";

/// Puts a call that pays at the beginning of each pass of an `each`.
pub(super) fn meter(template: &mut Template) {
    for element in &mut template.elements {
        let TemplateElement::HelperBlock(block) = element else {
            continue;
        };
        let repeats = block.name.as_name() == Some("each");
        for body in [&mut block.template, &mut block.inverse] {
            body.as_mut().into_iter().for_each(meter);
        }
        if let Some(body) = block.template.as_mut().filter(|_| repeats) {
            let price = price(body);
            let place = body.mapping.first().cloned();
            body.elements.insert(0, payment(price));
            body.mapping.splice(..0, place);
        }
    }
}

/// Makes every function known to a rendering, with the budget that it spends from.
pub(super) fn register(rendering: &mut RenderContext<'_, '_>, budget: &Arc<Budget>) {
    let payment = Payment(budget.clone());
    rendering.register_local_helper(PAY, Box::new(payment));
    for function in FUNCTIONS {
        let metered = Metered {
            function,
            budget: budget.clone(),
        };
        rendering.register_local_helper(function.name, Box::new(metered));
    }
}

/// `{{armadex-pay PRICE}}`, as a parsed template has it.
fn payment(price: usize) -> TemplateElement {
    let call = Template::compile(&format!("{{{{{PAY} {price}}}}}"));
    let element = call.ok().and_then(|mut call| call.elements.pop());
    element.expect("a call with a number is a template of one element")
}

/// Steps of one pass: one for each piece, and each argument of it, that is rendered at most once
/// in a pass. What is in an inner `each` pays for itself.
fn price(template: &Template) -> usize {
    let pieces = template.elements.iter().map(|element| match element {
        TemplateElement::HelperBlock(block) if block.name.as_name() == Some("each") => {
            1 + of_call(block) + block.inverse.as_ref().map_or(0, price)
        }
        TemplateElement::HelperBlock(block) => {
            let bodies = block.template.iter().chain(&block.inverse);
            1 + of_call(block) + bodies.map(price).sum::<usize>()
        }
        element => of_element(element),
    });
    1 + pieces.sum::<usize>()
}

fn of_element(element: &TemplateElement) -> usize {
    match element {
        TemplateElement::Expression(call) | TemplateElement::HtmlExpression(call) => {
            1 + of_call(call)
        }
        _ => 1,
    }
}

fn of_call(call: &HelperTemplate) -> usize {
    let arguments = call.params.iter().chain(call.hash.values());
    let of_argument = |argument: &Parameter| match argument {
        Parameter::Subexpression(inner) => of_element(&inner.element),
        _ => 1,
    };
    arguments.map(of_argument).sum()
}

struct Payment(Arc<Budget>);

impl HelperDef for Payment {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        call: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, RenderError> {
        let price = call.param(0).and_then(|price| price.value().as_u64());
        let price = price.and_then(|price| usize::try_from(price).ok());
        self.0.spend_steps(price.unwrap_or(1)).map_err(stop)?;
        Ok(Value::Null.into())
    }
}

struct Metered {
    function: &'static Function,
    budget: Arc<Budget>,
}

impl HelperDef for Metered {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        call: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, RenderError> {
        let arguments: Vec<&Value> = call.params().iter().map(PathAndJson::value).collect();
        self.function.pay(&arguments, &self.budget).map_err(stop)?;
        let value = self.function.call(&arguments)?;
        self.budget.spend_value(&value).map_err(stop)?;
        Ok(ScopedJson::Derived(value))
    }
}

/// The words are put by whoever looks at the budget afterwards.
fn stop(exceeded: Exceeded) -> RenderError {
    RenderErrorReason::Other(format!("{exceeded:?}")).into()
}
