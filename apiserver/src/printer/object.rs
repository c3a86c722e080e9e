//! The pieces of objects that several printers read.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use serde::de::{Deserialize, Deserializer, Visitor};

/// A JSON string, borrowed unless it holds escapes. Absent and null are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Text<'a>(Cow<'a, str>);

impl Text<'_> {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The time it holds; `None` if it holds none.
    pub(super) fn time(&self) -> Option<Timestamp> {
        self.0.parse().ok()
    }
}

impl From<&'static str> for Text<'_> {
    fn from(text: &'static str) -> Self {
        Self(Cow::Borrowed(text))
    }
}

impl PartialEq<str> for Text<'_> {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or null")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Text::default())
            }
        }
        deserializer.deserialize_any(TextVisitor)
    }
}

/// Reads null as the default value.
pub(super) fn nullable<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// A map of texts.
pub(super) type Texts<'a> = BTreeMap<Text<'a>, Text<'a>>;

/// `a=1,b=2`, or `<none>`. Pairs are sorted as they are read, so that `app.kubernetes.io/name=x` comes before `app=y`.
pub(super) fn pairs(texts: &Texts<'_>) -> String {
    if texts.is_empty() {
        return super::row::NONE.to_owned();
    }
    let mut pairs: Vec<String> = texts
        .iter()
        .map(|(key, value)| format!("{}={}", key.as_str(), value.as_str()))
        .collect();
    pairs.sort_unstable();
    pairs.join(",")
}

/// One entry of `status.conditions`.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
pub(super) struct StatusCondition<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) status: Text<'a>,
    #[serde(borrow)]
    pub(super) reason: Text<'a>,
    #[serde(rename = "lastTransitionTime", borrow)]
    pub(super) last_transition_time: Text<'a>,
}

/// Whether the first condition of this type is true.
pub(super) fn is_true(conditions: &[StatusCondition<'_>], kind: &str) -> bool {
    let found = conditions.iter().find(|condition| condition.kind == *kind);
    found.is_some_and(|condition| condition.status == *"True")
}

/// `deployments.apps`, or `pods`.
pub(super) fn resource_and_group(resource: &Text<'_>, group: &Text<'_>) -> String {
    let dot = if group.is_empty() { "" } else { "." };
    format!("{}{dot}{}", resource.as_str(), group.as_str())
}
