//! What was found in an object at the end of one path, and what a cell makes of it.

use serde::Deserialize;
use serde::de::Error as _;
use serde_json::Error;

use super::object::Text;
use super::values;

/// What was found at the end of one path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Slot<'a> {
    #[default]
    Absent,
    /// One value, as JSON.
    Value(&'a str),
    /// One value for each element of a list, as JSON, where it has one.
    Each(Vec<Option<&'a str>>),
    /// A number of entries.
    Count(i64),
}

impl<'a> Slot<'a> {
    pub(super) fn take(&mut self, json: &'a str) {
        match self {
            Self::Each(values) => values.push(Some(json)),
            Self::Absent | Self::Value(_) | Self::Count(_) => *self = Self::Value(json),
        }
    }

    /// Sees to it that a list with `elements` elements has as many values.
    pub(super) fn fill_up(&mut self, elements: usize) {
        if let Self::Each(values) = self {
            values.resize(elements, None);
        }
    }

    /// The JSON that is there; null counts as nothing.
    fn json(&self) -> Option<&'a str> {
        match self {
            Self::Value(json) if *json != "null" => Some(json),
            Self::Value(_) | Self::Absent | Self::Each(_) | Self::Count(_) => None,
        }
    }

    /// What is there, or the default of its type.
    pub(super) fn read<T: Default + Deserialize<'a>>(&self) -> Result<T, Error> {
        match self.json() {
            Some(json) => values::read(json.as_bytes()),
            None => Ok(T::default()),
        }
    }

    /// The text that is there, with its quotes.
    pub(super) fn text(&self) -> Result<Option<&'a str>, Error> {
        self.json().map(quoted).transpose()
    }

    /// The whole number that is there.
    pub(super) fn whole(&self) -> Result<Option<i64>, Error> {
        let parse = |json: &str| {
            json.parse()
                .map_err(|_| Error::custom("a whole number was expected"))
        };
        self.json().map(parse).transpose()
    }

    pub(super) fn number(&self, absent: i64) -> Result<i64, Error> {
        Ok(self.whole()?.unwrap_or(absent))
    }

    /// The text that is there, as the characters that it means; empty where there is none.
    pub(super) fn word(&self) -> Result<Text<'a>, Error> {
        self.read()
    }

    /// Whether there is anything.
    pub(super) fn is_there(&self) -> bool {
        self.json().is_some()
    }

    pub(super) fn boolean(&self) -> Result<Option<bool>, Error> {
        match self.json() {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(_) => Err(Error::custom("true or false was expected")),
        }
    }

    pub(super) fn count(&self) -> i64 {
        match self {
            Self::Count(entries) => *entries,
            Self::Absent | Self::Value(_) | Self::Each(_) => 0,
        }
    }
}

/// JSON that is a text.
pub(super) fn quoted(json: &str) -> Result<&str, Error> {
    if json.starts_with('"') {
        Ok(json)
    } else {
        Err(Error::custom("a text was expected"))
    }
}
