//! The tags of a template of either language, `{{ ... }}`, as text and without parsing what is in them: good enough to tell the language
//! by. What they are to the parser of Handlebars is for `scan` to say.

/// A tag that is no comment.
pub(super) struct Tag<'a> {
    /// What is between the braces.
    pub(super) inside: &'a str,
}

/// Every tag from the beginning on.
pub(super) fn tags(text: &str) -> impl Iterator<Item = Tag<'_>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        while let Some(at) = text[from..].find("{{").map(|found| from + found) {
            let begin = at + 2;
            if is_escaped(&text[from..at]) {
                // An escape takes up to four braces.
                from = begin
                    + if text[begin..].starts_with("{{") {
                        2
                    } else {
                        0
                    };
                continue;
            }
            if let Some(end) = end_of_comment(&text[begin..]) {
                from = begin + end;
                continue;
            }
            let length = end_of_tag(&text[begin..]);
            from = begin + length;
            let inside = &text[begin..from];
            return Some(Tag { inside });
        }
        None
    })
}

/// Line and column, from 1.
pub(super) fn place(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..at];
    let line = before.matches('\n').count() + 1;
    let start_of_line = before.rfind('\n').map_or(0, |newline| newline + 1);
    (line, before[start_of_line..].chars().count() + 1)
}

/// Whether what follows this text is one: after one backslash, and not after several.
fn is_escaped(before: &str) -> bool {
    before.ends_with('\\') && !before.ends_with("\\\\")
}

/// Where a Handlebars comment ends, if this is one. It may hold anything. One that begins as a long one and never ends as one is a
/// short one.
fn end_of_comment(tag: &str) -> Option<usize> {
    let after = |from: usize, close: &str| {
        let found = tag[from..].find(close);
        found.map(|at| from + at + close.len())
    };
    let long = tag.strip_prefix("!--").and_then(|_| after(3, "--}}"));
    let short = tag.strip_prefix('!').map(|_| after(1, "}}"));
    long.or_else(|| short.map(|end| end.unwrap_or(tag.len())))
}

/// Length of the tag up to its closing braces; braces in strings don't close it.
fn end_of_tag(tag: &str) -> usize {
    let end = unquoted(tag).find(|(at, _)| tag[*at..].starts_with("}}"));
    end.map_or(tag.len(), |(at, _)| at)
}

/// The characters that stand in no string, with their places.
fn unquoted(tag: &str) -> impl Iterator<Item = (usize, char)> {
    let mut quote = None;
    let mut escaped = false;
    tag.char_indices().filter(move |(_, character)| {
        let character = *character;
        match quote {
            Some(_) if escaped => escaped = false,
            Some(open) if character == '\\' && open != '`' => escaped = true,
            Some(open) if character == open => quote = None,
            Some(_) => {}
            None if matches!(character, '"' | '\'' | '`') => quote = Some(character),
            None => return true,
        }
        false
    })
}
