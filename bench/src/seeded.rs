//! Objects of the generator that fills members, with what a member adds to them. Pure.

use anyhow::{Context as _, Result};

/// A pod that has this member before the others of the first object that begins like this.
pub(crate) fn with_first(pod: &[u8], beginning: &str, member: &str) -> Result<Vec<u8>> {
    let found = pod
        .windows(beginning.len())
        .position(|part| part == beginning.as_bytes());
    let found = found.with_context(|| format!("a seeded pod has no {beginning}"))?;
    let (head, rest) = pod.split_at(found + beginning.len());
    Ok([head, member.as_bytes(), rest].concat())
}
