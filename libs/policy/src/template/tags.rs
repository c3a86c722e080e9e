//! The tags of a template, `{{ ... }}`, as text and without parsing what is in them.

/// A tag that is no comment.
pub(super) struct Tag<'a> {
    /// Where it opens.
    pub(super) at: usize,
    /// What is between the braces.
    pub(super) inside: &'a str,
}

/// Every tag from the beginning on.
pub(super) fn tags(text: &str) -> impl Iterator<Item = Tag<'_>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        while let Some(at) = text[from..].find("{{").map(|found| from + found) {
            let begin = at + 2;
            if let Some(end) = end_of_comment(&text[begin..]) {
                from = begin + end;
                continue;
            }
            let length = end_of_tag(&text[begin..]);
            from = begin + length;
            let inside = &text[begin..from];
            return Some(Tag { at, inside });
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

/// Where a Handlebars comment ends, if this is one. It may hold anything.
fn end_of_comment(tag: &str) -> Option<usize> {
    let close = match tag {
        long if long.starts_with("!--") => "--}}",
        short if short.starts_with('!') => "}}",
        _ => return None,
    };
    Some(tag.find(close).map_or(tag.len(), |at| at + close.len()))
}

/// Length of the tag up to its closing braces; braces in strings don't close it.
fn end_of_tag(tag: &str) -> usize {
    let mut quote = None;
    let mut escaped = false;
    for (at, character) in tag.char_indices() {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(open) if character == '\\' && open != '`' => escaped = true,
            Some(open) if character == open => quote = None,
            Some(_) => {}
            None if matches!(character, '"' | '\'' | '`') => quote = Some(character),
            None if tag[at..].starts_with("}}") => return at,
            None => {}
        }
    }
    tag.len()
}
