//! Words that somebody else may have chosen, for a terminal: what would move its cursor, colour its text or turn its direction is written out instead.

/// The text with every such character as `\u{1b}`; its lines and tabs stay.
pub(crate) fn visible(text: &str) -> String {
    let mut words = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => words.push(character),
            hidden if is_hidden(hidden) => words.extend(hidden.escape_unicode()),
            shown => words.push(shown),
        }
    }
    words
}

/// The same of a name, which is part of a line: whatever would end that is written out as well.
pub(crate) fn visible_name(name: &str) -> String {
    let mut words = String::with_capacity(name.len());
    for character in name.chars() {
        match is_hidden(character) {
            true => words.extend(character.escape_unicode()),
            false => words.push(character),
        }
    }
    words
}

/// Controls, those of Unicode that end a line or turn its direction included.
pub(crate) fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_moves_a_cursor_or_turns_a_line() {
        assert_eq!(
            visible("a\u{1b}[2Jä\r\u{9b}\u{202e}b\u{2067}\n\tc"),
            "a\\u{1b}[2Jä\\u{d}\\u{9b}\\u{202e}b\\u{2067}\n\tc"
        );
        assert_eq!(visible_name("a\u{1b}[2J\n\tä"), "a\\u{1b}[2J\\u{a}\\u{9}ä");
    }
}
