//! YAML that somebody else wrote: a kubeconfig, or what a template rendered. Read with limits to what it stands for, since with aliases a
//! few bytes stand for as much as their writer likes.

use serde::de::DeserializeOwned;
use serde_saphyr::{Error, Options, budget, options};

/// All scalars, those behind aliases as often as they are named. Twice the longest text that is read, a megabyte.
const MOST_BYTES: usize = 2 << 20;
/// Scalars, lists and maps, counted alike: a kubeconfig has some sixty for each cluster. At a hundred bytes each they are 5 MB.
const MOST_VALUES: usize = 50_000;

/// A text that was not read. Nothing of it is repeated: it may hold credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misread {
    /// It is not what is meant.
    #[error("is not understood{}", at(*.place))]
    Other {
        /// Line and column, if they are known.
        place: Option<(u64, u64)>,
    },
    /// It stands for too much.
    #[error(
        "stands for more than {} MiB or {MOST_VALUES} values, each alias counted as what it stands for",
        MOST_BYTES >> 20
    )]
    TooMuch,
}

/// The one document of a text.
pub fn read_yaml<T: DeserializeOwned>(text: &str) -> Result<T, Misread> {
    serde_saphyr::from_str_with_options(text, limits()).map_err(|error| misread(&error))
}

/// All documents of a text.
pub fn read_yaml_documents<T: DeserializeOwned>(text: &str) -> Result<Vec<T>, Misread> {
    serde_saphyr::from_multiple_with_options(text, limits()).map_err(|error| misread(&error))
}

fn limits() -> Options {
    options! {
        budget: budget! {
            max_nodes: MOST_VALUES,
            max_total_scalar_bytes: MOST_BYTES,
            max_recorded_anchor_events: MOST_VALUES,
            max_recorded_anchor_bytes: MOST_BYTES,
        },
        with_snippet: false,
    }
}

fn misread(error: &Error) -> Misread {
    match error {
        Error::Budget { .. } => Misread::TooMuch,
        // Behind an alias.
        Error::AliasError { error, .. } => misread(error),
        error => {
            let place = error.location();
            Misread::Other {
                place: place.map(|place| (place.line(), place.column())),
            }
        }
    }
}

fn at(place: Option<(u64, u64)>) -> String {
    place.map_or(String::new(), |(line, column)| {
        format!(" at line {line}, column {column}")
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn aliases_stand_for_no_more_than_a_text_may_have() {
        let honest = "a: &a {b: c}\nd: *a\n";
        let read: Value = read_yaml(honest).unwrap();
        assert_eq!(read, json!({"a": {"b": "c"}, "d": {"b": "c"}}));
        let long = "x".repeat(650 << 10);
        let aliases =
            |anchor: &str, times| format!("[&a {anchor}, {}]", vec!["*a"; times].join(", "));
        let many = format!("[{}]", vec!["1"; 1_000].join(", "));
        for (anchor, times) in [(&long, 98), (&long, 3), (&many, 90)] {
            let read = read_yaml::<Value>(&aliases(anchor, times));
            assert_eq!(read, Err(Misread::TooMuch), "{times}");
            let all = read_yaml_documents::<Value>(&aliases(anchor, times));
            assert_eq!(all, Err(Misread::TooMuch), "{times}");
        }
        assert!(read_yaml::<Value>(&aliases(&long, 1)).is_ok());
        assert!(read_yaml::<Value>(&aliases(&many, 40)).is_ok());
    }

    #[test]
    fn what_is_not_understood_is_told_by_its_place() {
        let error = read_yaml::<Value>("a: 1\nb: [hunter2\n").unwrap_err();
        let words = error.to_string();
        assert!(words.starts_with("is not understood at line "), "{words}");
        assert!(!words.contains("hunter2"), "{words}");
    }
}
