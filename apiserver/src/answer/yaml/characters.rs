//! The characters of a JSON text, read one by one where they stand, so that a text is nowhere held unescaped.

/// The character that a JSON text begins with, and how many bytes it has there. What is no character counts as the one for that.
pub(super) fn first(json: &[u8]) -> Option<(char, usize)> {
    match json {
        [] => None,
        [b'\\', b'u', ..] => Some(unicode(json)),
        [b'\\', escaped, ..] => Some((simple(*escaped), 2)),
        [ascii @ 0..=0x7f, ..] => Some((char::from(*ascii), 1)),
        _ => Some(multibyte(json)),
    }
}

/// All of them.
pub(super) fn all(json: &[u8]) -> impl Iterator<Item = char> + Clone {
    let mut rest = json;
    std::iter::from_fn(move || {
        let (one, length) = first(rest)?;
        rest = &rest[length..];
        Some(one)
    })
}

/// How many bytes at the beginning stand for themselves in every notation: printable ASCII but for the quote and the backslash.
pub(super) fn harmless(json: &[u8]) -> usize {
    let ends = |byte: &u8| !matches!(byte, b' '..=b'~') || matches!(byte, b'"' | b'\\');
    json.iter().position(ends).unwrap_or(json.len())
}

/// Whether a reader takes it as it is: no control, no line break of other alphabets, no mark of a byte order.
pub(super) fn is_printable(one: char) -> bool {
    !one.is_control()
        && !matches!(
            one,
            '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
        )
}

fn simple(escaped: u8) -> char {
    match escaped {
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        other => char::from(other),
    }
}

/// `\u` and four digits, twice for what is beyond the first plane.
fn unicode(json: &[u8]) -> (char, usize) {
    let unit = |at: usize| {
        let escape = json.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(escape).ok()?, 16).ok()
    };
    let Some(high) = unit(0) else {
        return (char::REPLACEMENT_CHARACTER, json.len().min(2));
    };
    let units = [Some(high), unit(6)].into_iter().map_while(|unit| unit);
    match char::decode_utf16(units).next() {
        Some(Ok(one)) => (one, 6 * one.len_utf16()),
        _ => (char::REPLACEMENT_CHARACTER, 6),
    }
}

fn multibyte(json: &[u8]) -> (char, usize) {
    let longest = &json[..json.len().min(4)];
    let chunk = longest.utf8_chunks().next();
    let one = chunk.and_then(|chunk| chunk.valid().chars().next());
    one.map_or((char::REPLACEMENT_CHARACTER, 1), |one| {
        (one, one.len_utf8())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str) {
        let text: String = serde_json::from_str(json).expect("JSON");
        let inside = &json.as_bytes()[1..json.len() - 1];
        assert_eq!(all(inside).collect::<String>(), text, "{json}");
    }

    #[test]
    fn characters_are_read_as_json_means_them() {
        check(r#""""#);
        check(r#""a/b\/c\"\\\b\f\n\r\tz""#);
        check(r#""\u0041\u00e9\u2028\ud83d\ude00é€😀""#);
    }

    #[test]
    fn what_is_no_character_is_replaced_and_nothing_else_is_lost() {
        for (broken, expected) in [
            (&b"a\\ud83dz"[..], "a\u{fffd}z"),
            (b"\\ud83d\\u0041", "\u{fffd}A"),
            (b"a\xffz", "a\u{fffd}z"),
            (b"\xe2\x82", "\u{fffd}\u{fffd}"),
            (b"\\u12", "\u{fffd}12"),
            (b"a\\", "a\\"),
        ] {
            assert_eq!(all(broken).collect::<String>(), expected);
        }
    }
}
