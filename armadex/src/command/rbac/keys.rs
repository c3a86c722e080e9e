//! Keys in the text of a template, be it YAML or JSON: what stands behind one, and the text without the fields whose keys are anybody's. Pure.

/// Labels and annotations, and the headers for a proxy.
const FREE: [&str; 2] = ["metadata", "proxyHeader"];

/// What stands behind the key that begins at a place of a text; none where that is a part of something else.
pub(super) fn value_behind<'a>(text: &'a str, at: usize, key: &str) -> Option<&'a str> {
    let before = text[..at].chars().next_back();
    if before.is_some_and(|sign| sign.is_alphanumeric() || "_-./".contains(sign)) {
        return None;
    }
    let behind = text[at + key.len()..].trim_start_matches(['"', '\'']);
    behind.trim_start().strip_prefix(':')
}

/// The text without the values of free fields, where `tag` stands in the place of each tag.
pub(super) fn without_free_fields(text: &str, tag: char) -> String {
    let (mut kept, mut rest) = (String::new(), text);
    while let Some((before, value)) = free_field(rest) {
        kept.push_str(before);
        let line = before.rsplit('\n').next().unwrap_or_default();
        rest = match value.trim_start_matches(' ').strip_prefix('{') {
            Some(fields) => behind_brace(fields).unwrap_or(value),
            None => behind_block(value, depth(line, tag), tag),
        };
    }
    kept + rest
}

/// What stands before the first of them, and behind its key.
fn free_field(text: &str) -> Option<(&str, &str)> {
    let first = |key: &&str| {
        let mut found = text.match_indices(*key);
        found.find_map(|(at, key)| Some((at, value_behind(text, at, key)?)))
    };
    let found = FREE.iter().filter_map(first);
    let (at, value) = found.min_by_key(|(at, _)| *at)?;
    Some((&text[..at], value))
}

/// What follows the brace that closes these fields; none where there is none.
fn behind_brace(fields: &str) -> Option<&str> {
    let mut open = 1;
    for (at, sign) in fields.char_indices() {
        match sign {
            '{' => open += 1,
            '}' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return Some(&fields[at + 1..]);
        }
    }
    None
}

/// What follows the lines that lie deeper than the key does, from the end of the last of them; all of it where the value begins on the key's own line.
fn behind_block(value: &str, key: usize, tag: char) -> &str {
    let mut lines = value.split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    if !is_blank(first, tag) {
        return value;
    }
    let block = lines.take_while(|line| is_blank(line, tag) || depth(line, tag) > key);
    let length = first.len() + block.map(str::len).sum::<usize>();
    let (block, _) = value.split_at(length);
    &value[block.trim_end_matches('\n').len()..]
}

/// Whether nothing but tags is on a line.
fn is_blank(line: &str, tag: char) -> bool {
    line.trim_matches(|sign: char| sign.is_whitespace() || sign == tag)
        .is_empty()
}

/// How many spaces a line begins with, tags left out.
fn depth(line: &str, tag: char) -> usize {
    let begin = line.chars().take_while(|sign| [' ', tag].contains(sign));
    begin.filter(|sign| *sign == ' ').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_under_keys_of_anybodys_is_left_out() {
        for (text, kept) in [
            (
                "metadata:\n  labels:\n    a: b\n\n  c: d\nspec:\n  e: f\n",
                "\nspec:\n  e: f\n",
            ),
            (
                "  metadata:\n    a: b\n  spec:\n    metadata: c\n",
                "  \n  spec:\n     c\n",
            ),
            ("metadata: {a: {b: c}, d: e}\nspec: f", "\nspec: f"),
            (
                r#"{"metadata": {"a": {}}, "spec": {"b": 1}}"#,
                r#"{", "spec": {"b": 1}}"#,
            ),
            ("metadata: @\nspec: a", "\nspec: a"),
            ("{metadata: @, spec: {a: b}}", "{ @, spec: {a: b}}"),
            ("metadata:\n@\n  a: b\n@spec: c", "\n@spec: c"),
            (
                "spec:\n  proxyHeader:\n    a: b\n  c: d\n",
                "spec:\n  \n  c: d\n",
            ),
            ("metadata: {a: b\nspec: c", " {a: b\nspec: c"),
            ("my-metadata:\n  a: b\n", "my-metadata:\n  a: b\n"),
            ("", ""),
        ] {
            assert_eq!(without_free_fields(text, '@'), kept, "{text}");
        }
    }
}
