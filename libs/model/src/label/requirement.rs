//! What is asked of one label or field.

use std::collections::BTreeSet;
use std::fmt;

/// One requirement of a selector; a selector is a list of these, all of which must hold.
///
/// `=`, `==` and `!=` are `In` and `NotIn` of one value. A negative operator also holds where the key is absent
/// (Kubernetes API conventions).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Requirement {
    /// The label key, or the field path.
    pub key: String,
    /// What must hold of its value.
    pub operator: Operator,
}

/// What a requirement asks of the value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// The value is one of these.
    In(BTreeSet<String>),
    /// The key is absent or its value is none of these.
    NotIn(BTreeSet<String>),
    /// The key is there.
    Exists,
    /// The key is not there.
    DoesNotExist,
    /// The value is an integer above this one.
    GreaterThan(i64),
    /// The value is an integer below this one.
    LessThan(i64),
}

impl Operator {
    /// Whether it holds of a label with this value; `None`: the key is not there.
    #[must_use]
    pub fn holds(&self, value: Option<&str>) -> bool {
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match self {
            Self::In(values) => value.is_some_and(|value| values.contains(value)),
            Self::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
            Self::Exists => value.is_some(),
            Self::DoesNotExist => value.is_none(),
            Self::GreaterThan(bound) => number().is_some_and(|number| number > *bound),
            Self::LessThan(bound) => number().is_some_and(|number| number < *bound),
        }
    }
}

impl Requirement {
    /// `key in (values)`.
    pub fn is_in<V: Into<String>>(
        key: impl Into<String>,
        values: impl IntoIterator<Item = V>,
    ) -> Self {
        let values = values.into_iter().map(Into::into).collect();
        Self {
            key: key.into(),
            operator: Operator::In(values),
        }
    }

    /// `key notin (values)`.
    pub fn is_not_in<V: Into<String>>(
        key: impl Into<String>,
        values: impl IntoIterator<Item = V>,
    ) -> Self {
        let values = values.into_iter().map(Into::into).collect();
        Self {
            key: key.into(),
            operator: Operator::NotIn(values),
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, operator } = self;
        let joined = |values: &BTreeSet<String>| {
            values
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(",")
        };
        match operator {
            Operator::In(values) => write!(f, "{key} in ({})", joined(values)),
            Operator::NotIn(values) => write!(f, "{key} notin ({})", joined(values)),
            Operator::Exists => write!(f, "{key}"),
            Operator::DoesNotExist => write!(f, "!{key}"),
            Operator::GreaterThan(bound) => write!(f, "{key}>{bound}"),
            Operator::LessThan(bound) => write!(f, "{key}<{bound}"),
        }
    }
}
