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
    tags(text).any(|tag| is_of_go(tag.inside))
}

fn is_of_go(action: &str) -> bool {
    let bare = without_strings(action);
    let words = bare.trim_matches(['~', ' ', '\t', '\r', '\n']);
    let first = words
        .split(|c: char| !c.is_ascii_alphanumeric())
        .next()
        .unwrap_or_default();
    let trims_before = ["- ", "-\n", "-\t"].iter();
    let trims_behind = [" -", "\n-", "\t-"].iter();
    let mut trims_before = trims_before.map(|mark| bare.starts_with(mark));
    let mut trims_behind = trims_behind.map(|mark| bare.ends_with(mark));
    trims_before.any(|trims| trims)
        || trims_behind.any(|trims| trims)
        || words.starts_with("/*")
        || ACTIONS.contains(&first)
        || bare.contains('`')
        || bare.contains(":=")
        || has_pipe(&bare)
        || has_token(&bare)
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
fn has_token(bare: &str) -> bool {
    let mut before = ' ';
    let mut characters = bare.chars().peekable();
    while let Some(character) = characters.next() {
        let starts_token = before.is_whitespace() || matches!(before, '(' | '~' | '-' | '{' | '=');
        let next = characters.peek().copied().unwrap_or(' ');
        match character {
            '$' if starts_token => return true,
            '.' if starts_token && !matches!(next, '.' | '/') => return true,
            _ => before = character,
        }
    }
    false
}
