//! A text that is no location, and what is said of it. Of a URL no more than its scheme is repeated, whatever is wrong with it: the rest may
//! hold a password, or be a part of one that was not percent-encoded.

/// A text that is no location.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{shown} is no store: {reason}")]
pub struct InvalidLocation {
    shown: String,
    reason: String,
}

impl InvalidLocation {
    pub(super) fn new(text: &str, reason: impl Into<String>) -> Self {
        Self {
            shown: shown(text),
            reason: reason.into(),
        }
    }
}

fn shown(text: &str) -> String {
    let (scheme, rest) = match text.split_once(':') {
        None if text.contains('@') => return "what was given".to_owned(),
        None => return format!("{text:?}"),
        Some(parts) => parts,
    };
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.len() < 16
        && scheme.chars().all(|c| c.is_ascii_alphanumeric());
    match (is_scheme, rest.starts_with("//")) {
        (true, true) => format!("\"{scheme}://...\""),
        (true, false) if !rest.contains('@') => format!("\"{scheme}:...\""),
        _ => "what was given".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_text_no_more_is_told_than_its_scheme() {
        for (text, expected) in [
            ("store.db", r#""store.db""#),
            ("sqlite::memory:", r#""sqlite:...""#),
            ("postgres://u:secret@h/d", r#""postgres://...""#),
            ("postgres:/u:secret@h/d", "what was given"),
            ("u:secret@h", "what was given"),
            ("secret@h", "what was given"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }
}
