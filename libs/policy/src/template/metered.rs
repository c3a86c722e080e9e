//! Makes a template pay for what it repeats and for what is copied. Each pass of an `each` begins with a call that spends what stands in
//! it, every function spends what it takes and gives, and in an `each` or `with` each mention of a name spends what it copies.
//!
//! Handlebars has no place for the state of one rendering, so what spends from its budget is made
//! known to that rendering alone.

use std::{
    mem::take,
    sync::{Arc, LazyLock},
};

use handlebars::{
    Context, Handlebars, Helper, HelperDef, PathAndJson, RenderContext, RenderError,
    RenderErrorReason, ScopedJson, Template,
    template::{HelperTemplate, Parameter, TemplateElement},
};
use serde_json::Value;

use super::{
    budget::{Budget, Exceeded},
    functions::Function,
    prices::{mentions, of_body, of_path_to},
};

/// Name of the call that pays: for so many steps, and for what a name leads to, so many times. No
/// template can name it: `walk` knows it not.
const PAY: &str = "armadex-pay";

/// Puts the calls that pay into a template.
pub(super) fn meter(template: &mut Template) {
    meter_in(template, false);
}

/// A name that is mentioned outside of every `each` and `with` leads into the data itself, by a path that is as long as the template
/// says: nothing is copied but that.
fn meter_in(template: &mut Template, rebound: bool) {
    let elements = take(&mut template.elements);
    let mut places = take(&mut template.mapping).into_iter();
    for mut element in elements {
        let place = places.next();
        if rebound {
            // Before the piece itself, so that what it is about to copy a thousand times is paid for first.
            for (path, times) in mentions(&element) {
                template.elements.push(payment(0, path, times));
                template.mapping.extend(place.clone());
            }
        }
        if let TemplateElement::HelperBlock(block) = &mut element {
            meter_block(block, rebound);
        }
        template.elements.push(element);
        template.mapping.extend(place);
    }
}

fn meter_block(block: &mut HelperTemplate, rebound: bool) {
    let repeats = block.name.as_name() == Some("each");
    let rebinds = repeats || block.name.as_name() == Some("with");
    if let Some(otherwise) = &mut block.inverse {
        meter_in(otherwise, rebound);
    }
    let Some(body) = &mut block.template else {
        return;
    };
    let price = of_body(body);
    meter_in(body, rebound || rebinds);
    if repeats {
        let place = body.mapping.first().cloned();
        body.elements.insert(0, payment(price, &THIS, 1));
        body.mapping.splice(..0, place);
    }
}

/// Makes these functions known to a rendering, with the budget that it spends from.
pub(super) fn register(
    rendering: &mut RenderContext<'_, '_>,
    functions: &[&'static Function],
    budget: &Arc<Budget>,
) {
    let payment = Payment(budget.clone());
    rendering.register_local_helper(PAY, Box::new(payment));
    for function in functions {
        let metered = Metered {
            function,
            budget: budget.clone(),
        };
        rendering.register_local_helper(function.name, Box::new(metered));
    }
}

/// `{{armadex-pay this STEPS TIMES}}`, as a parsed template has it.
static PAYMENT: LazyLock<HelperTemplate> = LazyLock::new(|| {
    let call = Template::compile(&format!("{{{{{PAY} this 0 0}}}}"));
    match call.ok().and_then(|mut call| call.elements.pop()) {
        Some(TemplateElement::Expression(call)) => *call,
        _ => panic!("a call with numbers is a template of one expression"),
    }
});

static THIS: LazyLock<Parameter> = LazyLock::new(|| PAYMENT.params[0].clone());

fn payment(steps: usize, path: &Parameter, times: usize) -> TemplateElement {
    let mut call = PAYMENT.clone();
    let numbers = [steps, times].map(|number| Parameter::Literal(number.into()));
    call.params = [path.clone()].into_iter().chain(numbers).collect();
    TemplateElement::Expression(Box::new(call))
}

struct Payment(Arc<Budget>);

impl Payment {
    fn pay(&self, found: &PathAndJson<'_>, steps: usize, times: usize) -> Result<(), Exceeded> {
        self.0.spend_steps(steps.max(1))?;
        let times = times.max(1);
        if let Some(path) = found.context_path() {
            let length = of_path_to(path);
            self.0.came_to(length);
            return self.0.spend_steps(times.saturating_mul(length));
        }
        if found.is_value_missing() {
            // It may have gone the longest way there is before it came to nothing.
            let length = self.0.longest_path();
            return self.0.spend_steps(times.saturating_mul(length));
        }
        (0..times).try_for_each(|_| self.0.spend_value(found.value()))
    }
}

impl HelperDef for Payment {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        call: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, RenderError> {
        let number = |place| {
            let number = call.param(place).and_then(|number| number.value().as_u64());
            number.and_then(|number| usize::try_from(number).ok())
        };
        let (steps, times) = (number(1).unwrap_or(1), number(2).unwrap_or(1));
        match call.param(0) {
            Some(found) => self.pay(found, steps, times).map_err(stop)?,
            None => self.0.spend_steps(1).map_err(stop)?,
        }
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
        let first = call.param(0);
        let written = first.is_some_and(|first| first.try_get_constant_value().is_some());
        let value = self.function.call(&arguments, written, &self.budget)?;
        self.budget.spend_value(&value).map_err(stop)?;
        Ok(ScopedJson::Derived(value))
    }
}

/// The words are put by whoever looks at the budget afterwards.
fn stop(exceeded: Exceeded) -> RenderError {
    RenderErrorReason::Other(format!("{exceeded:?}")).into()
}
