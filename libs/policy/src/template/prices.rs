//! What the pieces of a template cost in steps, and which names they mention. Pure.

use handlebars::{
    Path, Template,
    template::{HelperTemplate, Parameter, TemplateElement},
};

use super::rules::BYTES_OF_STEP;

/// What a tag prints is copied, turned into text and written. A call in the place of a name, `{{(lower x)}}`, is made once to see whether
/// it gives the name of a function, and up to twice to print what it gives.
const AS_A_NAME: usize = 3;

/// An `each` or `with` of what a function gave keeps that, and again item by item or under a name.
const KEPT: usize = 3;

/// Steps of one pass: one for each piece, and what its arguments take, as far as it is rendered at most once
/// in a pass. What is in an inner `each` pays for itself.
pub(super) fn of_body(template: &Template) -> usize {
    let pieces = template.elements.iter().map(|element| match element {
        TemplateElement::HelperBlock(block) if block.name.as_name() == Some("each") => {
            1 + of_call(block) + block.inverse.as_ref().map_or(0, of_body)
        }
        TemplateElement::HelperBlock(block) => {
            let bodies = block.template.iter().chain(&block.inverse);
            1 + of_call(block) + bodies.map(of_body).sum::<usize>()
        }
        element => of_element(element),
    });
    1 + pieces.sum::<usize>()
}

/// Steps that it takes to copy a path: one for each segment, or more for a long one.
pub(super) fn of_path_to(segments: &[String]) -> usize {
    let of_segment = |segment: &String| 1 + segment.len() / BYTES_OF_STEP;
    segments.iter().map(of_segment).sum()
}

/// Every name in a piece, but not in the blocks that stand in it, and how often what it leads to is copied.
pub(super) fn mentions(element: &TemplateElement) -> Vec<(&Parameter, usize)> {
    let mut found = Vec::new();
    match element {
        TemplateElement::Expression(call) | TemplateElement::HtmlExpression(call) => {
            gather(call, 1, &mut found);
        }
        TemplateElement::HelperBlock(block) => {
            let keeps = matches!(block.name.as_name(), Some("each" | "with"));
            gather(block, if keeps { KEPT } else { 1 }, &mut found);
        }
        _ => {}
    }
    found
}

fn gather<'a>(call: &'a HelperTemplate, times: usize, found: &mut Vec<(&'a Parameter, usize)>) {
    let arguments = call.params.iter().chain(call.hash.values());
    let arguments = arguments.map(|argument| (argument, times));
    for (argument, times) in [(&call.name, AS_A_NAME)].into_iter().chain(arguments) {
        match argument {
            Parameter::Path(_) => found.push((argument, times)),
            Parameter::Subexpression(inner) => {
                if let TemplateElement::Expression(inner) = &*inner.element {
                    gather(inner, times, found);
                }
            }
            _ => {}
        }
    }
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
    let times = match call.name {
        Parameter::Subexpression(_) => AS_A_NAME,
        _ => 1,
    };
    times * of_argument(&call.name) + arguments.map(of_argument).sum::<usize>()
}

fn of_argument(argument: &Parameter) -> usize {
    match argument {
        Parameter::Subexpression(inner) => of_element(&inner.element),
        Parameter::Path(Path::Relative((segments, text))) => {
            segments.len() + text.len() / BYTES_OF_STEP
        }
        Parameter::Path(Path::Local((levels, name, _))) => 1 + levels + name.len() / BYTES_OF_STEP,
        Parameter::Name(_) => 0,
        _ => 1,
    }
}
