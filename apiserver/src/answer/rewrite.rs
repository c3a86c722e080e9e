//! What stands between the JSON that is made and the bytes that are sent: nothing, indentation, or YAML.

use crate::answer::pretty::Pretty;
use crate::answer::yaml::Yaml;
use crate::request::negotiate::Notation;

/// Rewrites JSON that comes in pieces into what was asked for.
#[derive(Debug)]
pub(crate) enum Rewrite {
    /// JSON as it is.
    Nothing,
    /// JSON, indented.
    Pretty(Pretty),
    /// YAML, which is indented anyway.
    Yaml(Box<Yaml>),
}

impl Rewrite {
    pub(crate) fn to(notation: Notation, pretty: bool) -> Self {
        match notation {
            Notation::Json if pretty => Self::Pretty(Pretty::default()),
            Notation::Json => Self::Nothing,
            Notation::Yaml => Self::Yaml(Box::default()),
        }
    }

    /// Rewrites the next piece.
    pub(crate) fn piece(&mut self, json: Vec<u8>) -> Vec<u8> {
        match self {
            Self::Nothing => json,
            Self::Pretty(pretty) => pretty.indent(&json),
            Self::Yaml(yaml) => yaml.rewrite(&json),
        }
    }
}
