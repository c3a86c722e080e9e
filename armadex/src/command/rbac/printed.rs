//! What is printed and told: objects as YAML, each with words about it. Pure.

use anyhow::Context as _;
use serde_json::Value;

use crate::visible::visible;

/// What comes of it.
pub(super) struct Printed {
    /// The objects as YAML.
    pub(super) text: String,
    /// What is to be known besides.
    pub(super) notes: Vec<String>,
    /// What is wrong with each policy that nothing is granted for.
    pub(super) refused: Vec<String>,
}

/// An object as YAML, below words about it.
pub(super) fn document(words: &str, object: &Value) -> anyhow::Result<String> {
    let comment = visible(words);
    let comment: String = comment.lines().map(|line| format!("# {line}\n")).collect();
    let object = serde_saphyr::to_string(object).context("cannot write YAML")?;
    Ok(format!("---\n{comment}{object}"))
}
