//! Texts that are too long for their cell: takes what stands between the quotes of a JSON text, gives the beginning that fits.

/// What stands at the end of a text that was cut.
pub(super) const CUT: &str = "…";

/// The beginning of a text that has at most so many bytes, with whole characters and whole escapes.
pub(super) fn fitting(text: &str, most: usize) -> &str {
    let mut end = 0;
    while end < text.len() {
        let next = end + step(&text[end..]);
        if next > most {
            break;
        }
        end = next;
    }
    &text[..text.floor_char_boundary(end)]
}

/// How long the next character is as it is written.
fn step(text: &str) -> usize {
    match text.as_bytes() {
        // Two escapes that are one character.
        [
            b'\\',
            b'u',
            b'd' | b'D',
            b'8' | b'9' | b'a' | b'b' | b'A' | b'B',
            _,
            _,
            b'\\',
            b'u',
            ..,
        ] => 12,
        [b'\\', b'u', ..] => 6,
        [b'\\', ..] => 2,
        _ => text.chars().next().map_or(1, char::len_utf8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, most: usize, expected: &str) {
        assert_eq!(fitting(text, most), expected, "{most} of {text}");
        let json = format!("\"{}{CUT}\"", fitting(text, most));
        assert!(serde_json::from_str::<String>(&json).is_ok(), "{json}");
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        check("abc", 3, "abc");
        check("abc", 2, "ab");
        check("abc", 0, "");
        check("aéb", 2, "a");
        check("aéb", 3, "aé");
        check("a€", 3, "a");
    }

    #[test]
    fn a_text_is_cut_between_escapes() {
        for (most, expected) in [
            (1, "a"),
            (2, "a"),
            (3, r"a\n"),
            (8, r"a\n"),
            (9, r"a\n\u0001"),
        ] {
            check(r"a\n\u0001b", most, expected);
        }
        for most in 1..13 {
            check(r"a\ud83d\ude00b", most, "a");
        }
        check(r"a\ud83d\ude00b", 13, r"a\ud83d\ude00");
    }
}
