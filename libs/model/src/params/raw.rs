//! The query string as pairs of texts, decoded and not yet understood.

use std::collections::BTreeSet;

use super::{InvalidParams, NOT_SERVED, malformed};
use crate::NameFilter;
use crate::label::parse::shorten;

/// The pairs of a query string, in order, percent-decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawParams(Vec<(String, String)>);

impl RawParams {
    /// Decodes a query string; a leading `?` may be there or not.
    #[must_use]
    pub fn from_query(query: &str) -> Self {
        let query = query.strip_prefix('?').unwrap_or(query);
        Self(
            form_urlencoded::parse(query.as_bytes())
                .into_owned()
                .collect(),
        )
    }

    /// Refuses names that are not known and names that occur twice.
    pub(super) fn check(&self, known: impl Fn(&str) -> bool) -> Result<(), InvalidParams> {
        let mut seen = BTreeSet::new();
        for (name, _) in &self.0 {
            if NOT_SERVED.contains(&name.as_str()) {
                return Err(InvalidParams::NotServed(format!("query parameter {name}")));
            }
            if !known(name) {
                return Err(InvalidParams::Unknown(shorten(name).to_owned()));
            }
            if !seen.insert(name.as_str()) {
                return Err(InvalidParams::Repeated(name.clone()));
            }
        }
        Ok(())
    }

    /// The value of a parameter; an empty one counts as absent. [`RawParams::check`] has seen to it that there is one at most.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.value(name).filter(|value| !value.is_empty())
    }

    /// A boolean as Kubernetes reads it: only `false` and `0` are false, so that `?watch` alone is true.
    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        self.value(name).map(is_true)
    }

    fn value(&self, name: &str) -> Option<&str> {
        let pair = self.0.iter().find(|(key, _)| key == name);
        pair.map(|(_, value)| value.as_str())
    }

    /// A list of names.
    pub(super) fn names(&self, name: &str) -> Result<Option<NameFilter>, InvalidParams> {
        let Some(text) = self.text(name) else {
            return Ok(None);
        };
        let names: BTreeSet<String> = text.split(',').map(|item| item.trim().to_owned()).collect();
        if names.contains("") {
            return Err(malformed(name, "a name in the list is empty"));
        }
        Ok(Some(NameFilter::In(names)))
    }
}

/// How Kubernetes and Clusterpedia read a boolean parameter.
pub(crate) fn is_true(text: &str) -> bool {
    !text.eq_ignore_ascii_case("false") && text != "0"
}
