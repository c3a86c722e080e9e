//! Tells a Go template from a Handlebars one by what only Go's parser takes: paths with a leading
//! dot, variables, pipelines, trim markers, comments, raw strings, and actions such as `if` and
//! `end` without `#` and `/`.
//!
//! What both languages take is left to Handlebars, which then knows every name in it or refuses.

use super::tags::tags;

/// Actions of Go that Handlebars writes with `#`, writes with `/`, or does not have.
const ACTIONS: [&str; 9] = [
    "if", "range", "with", "end", "define", "template", "block", "break", "continue",
];

/// Whether there is a sign of Go in a template.
pub(super) fn shows(text: &str) -> bool {
    first_sign(text).is_some()
}

/// The first sign of Go, in words.
pub(super) fn first_sign(text: &str) -> Option<&'static str> {
    tags(text).find_map(|tag| sign_in(tag.inside))
}

fn sign_in(action: &str) -> Option<&'static str> {
    let bare = without_strings(action);
    let words = bare.trim_matches(['~', ' ', '\t', '\r', '\n']);
    let first = words
        .split(|c: char| !c.is_ascii_alphanumeric())
        .next()
        .unwrap_or_default();
    if bare.starts_with("- ") || bare.starts_with("-\n") || bare.starts_with("-\t") {
        return Some("`{{-` trims space");
    }
    if bare.ends_with(" -") || bare.ends_with("\n-") || bare.ends_with("\t-") {
        return Some("`-}}` trims space");
    }
    if words.starts_with("/*") {
        return Some("`/* */` is a comment");
    }
    if ACTIONS.contains(&first) {
        return Some("an action without `#` or `/`");
    }
    if bare.contains('`') {
        return Some("a string in backquotes");
    }
    if bare.contains(":=") {
        return Some("`:=` declares a variable");
    }
    if has_pipe(&bare) {
        return Some("`|` is a pipeline");
    }
    token_sign(&bare)
}

/// The action with every string emptied, so that its syntax alone is left.
fn without_strings(action: &str) -> String {
    let mut bare = String::with_capacity(action.len());
    let mut quote = None;
    let mut escaped = false;
    for character in action.chars() {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(open) if character == '\\' && open != '`' => escaped = true,
            Some(open) if character == open => {
                quote = None;
                bare.push(character);
            }
            Some(_) => {}
            None => {
                if matches!(character, '"' | '\'' | '`') {
                    quote = Some(character);
                }
                bare.push(character);
            }
        }
    }
    bare
}

/// Block parameters, `as |item|`, are the one place where Handlebars has a bar.
fn has_pipe(bare: &str) -> bool {
    bare.split_once('|')
        .is_some_and(|(before, _)| !before.trim_end().ends_with(" as"))
}

/// A leading dot (`.source`, or `.` alone) or a variable (`$name`) at the start of a token.
fn token_sign(bare: &str) -> Option<&'static str> {
    let mut before = ' ';
    let mut characters = bare.chars().peekable();
    while let Some(character) = characters.next() {
        let starts_token = before.is_whitespace() || matches!(before, '(' | '~' | '-' | '{' | '=');
        let next = characters.peek().copied().unwrap_or(' ');
        match character {
            '$' if starts_token => return Some("`$` is a variable"),
            '.' if starts_token && !matches!(next, '.' | '/') => {
                return Some("a path with a leading dot");
            }
            _ => before = character,
        }
    }
    None
}
