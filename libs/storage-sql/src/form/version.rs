//! A member's resourceVersion: nearly always a number, opaque by contract.

/// A resourceVersion that can be sorted as a number and given back as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MemberVersion {
    /// Written as this number is.
    Number(i64),
    /// Anything else; sorts as 0.
    Text(String),
}

impl MemberVersion {
    pub(crate) fn new(text: &str) -> Self {
        match text.parse::<i64>() {
            Ok(number) if number.to_string() == text => Self::Number(number),
            _ => Self::Text(text.to_owned()),
        }
    }

    pub(crate) fn from_columns(number: i64, text: Option<String>) -> Self {
        text.map_or(Self::Number(number), Self::Text)
    }

    pub(crate) fn number(&self) -> i64 {
        match self {
            Self::Number(number) => *number,
            Self::Text(_) => 0,
        }
    }

    /// The text, where it is not the number's.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Number(_) => None,
            Self::Text(text) => Some(text),
        }
    }

    pub(crate) fn into_text(self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_comes_back_as_it_was() {
        for text in [
            "",
            "0",
            "42",
            "042",
            "+1",
            "abc",
            "9223372036854775808",
            "-3",
        ] {
            let version = MemberVersion::new(text);
            let stored =
                MemberVersion::from_columns(version.number(), version.text().map(String::from));
            assert_eq!(stored.into_text(), text);
        }
    }
}
