//! The query string as pairs of texts, decoded and not yet understood.

use std::collections::BTreeSet;

use super::invalid::{InvalidParams, check_names, malformed};
use super::names::{Ignored, Known, Standing};
use crate::NameFilter;
use crate::label::parse::shorten;

/// Pairs of a query string that are looked at: several times as many as there are parameters. A URL has room for 30,000, each of which would
/// be compared with all of our names.
const MOST: usize = 64;

/// Items of all lists together: what a URL has room for of names of a dozen characters. It has room for 30,000 of one, each of which takes
/// a hundred bytes for as long as the answer takes.
const MOST_ITEMS: usize = 5_000;

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
                .take(MOST + 1)
                .collect(),
        )
    }

    /// Looks at every name: refuses those that cannot be served as they were meant, and tells those that have no effect.
    pub(super) fn check(&self, known: &Known) -> Result<Ignored, InvalidParams> {
        if self.0.len() > MOST {
            return Err(InvalidParams::TooMany("query parameters", MOST));
        }
        let values = self.0.iter().map(|(_, value)| value.as_bytes());
        let commas = values.flatten().filter(|byte| **byte == b',').count();
        if commas >= MOST_ITEMS {
            return Err(InvalidParams::TooMany("items in lists", MOST_ITEMS));
        }
        let mut seen = BTreeSet::new();
        let mut ignored = Ignored::default();
        for (name, _) in &self.0 {
            let standing = known.standing(name);
            let again = !seen.insert(name.as_str());
            match (standing, again) {
                (Standing::Own | Standing::Kubernetes, false) => {}
                (Standing::Own, true) => return Err(InvalidParams::Repeated(name.clone())),
                (Standing::Kubernetes, true) => {
                    ignored.repeated.insert(name.clone());
                }
                (Standing::NotServed, _) => {
                    return Err(InvalidParams::NotServed(format!("query parameter {name}")));
                }
                (Standing::Misspelt(meant), _) => {
                    return Err(InvalidParams::Misspelt {
                        what: "query parameter",
                        name: shorten(name).to_owned(),
                        meant,
                    });
                }
                (Standing::Ignored, _) => {
                    ignored.unknown.insert(shorten(name).to_owned());
                }
            }
        }
        Ok(ignored)
    }

    /// The value of a parameter, the first if there are several; an empty one counts as absent.
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
        check_names(name, &names)?;
        Ok(Some(NameFilter::In(names)))
    }
}

/// How Kubernetes and Clusterpedia read a boolean parameter.
pub(crate) fn is_true(text: &str) -> bool {
    !text.eq_ignore_ascii_case("false") && text != "0"
}
