//! Looks over a template before it is parsed: the parser's time grows with the square of the tags
//! and of their nesting, and a template of the longest length would take it minutes.

use super::{
    rules::TemplateError,
    tags::{place, tags},
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

/// `else if`, `else with`, or `^if`.
fn is_another_case(inside: &str) -> bool {
    let rest = inside.strip_prefix("else").or(inside.strip_prefix('^'));
    rest.is_some_and(|rest| !rest.trim_matches([' ', '~', '\t', '\r', '\n']).is_empty())
}
