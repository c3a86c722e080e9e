//! Letters in another case, as Go has them: each becomes one letter, where Rust has as many as it takes.

/// In upper case. What would be several letters stays, but for Greek letters with a small iota below, which have one each.
pub(super) fn upper(letter: char) -> char {
    let mut upper = letter.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(upper), None) => upper,
        _ => with_iota(letter).unwrap_or(letter),
    }
}

pub(super) fn lower(letter: char) -> char {
    letter.to_lowercase().next().unwrap_or(letter)
}

/// As a word begins with it: letters that are two, and those of Georgian, have a form of their own for that.
pub(super) fn title(letter: char) -> char {
    match letter {
        '\u{1c4}'..='\u{1c6}' => '\u{1c5}',
        '\u{1c7}'..='\u{1c9}' => '\u{1c8}',
        '\u{1ca}'..='\u{1cc}' => '\u{1cb}',
        '\u{1f1}'..='\u{1f3}' => '\u{1f2}',
        '\u{10d0}'..='\u{10ff}' => letter,
        _ => upper(letter),
    }
}

/// In the other case. Numbers and marks that have one, as Roman numerals, are no letters.
pub(super) fn swapped(letter: char, begins: bool) -> Option<char> {
    match letter {
        '\u{345}' | '\u{2160}'..='\u{217f}' | '\u{24b6}'..='\u{24e9}' => None,
        _ if lower(letter) != letter => Some(lower(letter)),
        _ if !letter.is_lowercase() => None,
        _ if begins => Some(title(letter)),
        _ => Some(upper(letter)),
    }
}

fn with_iota(letter: char) -> Option<char> {
    let further = match letter {
        '\u{1f80}'..='\u{1f87}' | '\u{1f90}'..='\u{1f97}' | '\u{1fa0}'..='\u{1fa7}' => 8,
        '\u{1fb3}' | '\u{1fc3}' | '\u{1ff3}' => 9,
        _ => return None,
    };
    char::from_u32(u32::from(letter) + further)
}
