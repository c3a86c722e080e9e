//! Query strings that cannot be served, in words for their client.

use crate::label::parse::{Clause, shorten};

/// A query string that cannot be served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidParams {
    /// A value that does not follow its grammar.
    #[error("invalid {parameter}: {reason}")]
    Malformed {
        /// The URL parameter or search label.
        parameter: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Something that Clusterpedia or Kubernetes knows and this server does not serve.
    #[error("{0} is not served")]
    NotServed(String),
    /// Almost one of our own names. Ignoring it would show more than was asked for.
    #[error("unknown {what} {name:?}: did you mean {meant}?")]
    Misspelt {
        /// What kind of name it is.
        what: &'static str,
        /// What was typed.
        name: String,
        /// What we know.
        meant: &'static str,
    },
    /// A parameter of ours that stands for one value and occurs twice.
    #[error("query parameter {0:?} is given more than once")]
    Repeated(String),
    /// Parameters that exclude each other.
    #[error("{0}")]
    Conflict(&'static str),
    /// More of something than is looked at.
    #[error("more than {1} {0} at once: ask in several requests")]
    TooMany(&'static str, usize),
}

/// Requirements of one selector that are looked at: more than anybody types, and a search costs as much for each as for the first.
const MOST_REQUIREMENTS: usize = 64;

/// The clauses of a selector, each once. What a URL has room for is refused here, before anything is done for each.
pub(crate) fn distinct(clauses: Vec<Clause>) -> Result<Vec<Clause>, InvalidParams> {
    let mut kept: Vec<Clause> = Vec::new();
    for clause in clauses {
        if kept.contains(&clause) {
            continue;
        }
        if kept.len() == MOST_REQUIREMENTS {
            return Err(InvalidParams::TooMany("requirements", MOST_REQUIREMENTS));
        }
        kept.push(clause);
    }
    Ok(kept)
}

/// Names of a parameter. One with a control character is nobody's, and databases read some of them in ways of their own.
pub(crate) fn check_names<'a>(
    parameter: &str,
    names: impl IntoIterator<Item = &'a String>,
) -> Result<(), InvalidParams> {
    let mut names = names.into_iter();
    match names.find(|name| name.contains(char::is_control)) {
        Some(name) => {
            let reason = format!("the name {:?} has a control character", shorten(name));
            Err(malformed(parameter, reason))
        }
        None => Ok(()),
    }
}

pub(crate) fn malformed(parameter: &str, reason: impl Into<String>) -> InvalidParams {
    InvalidParams::Malformed {
        parameter: parameter.to_owned(),
        reason: reason.into(),
    }
}

pub(crate) fn not_a_number(parameter: &str, text: &str) -> InvalidParams {
    malformed(
        parameter,
        format!("{:?} is not a number in range", shorten(text)),
    )
}
