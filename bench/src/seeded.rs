//! Objects of the generator that fills members, with what a member adds to them. Pure.

use anyhow::{Context as _, Result};

/// A pod that has this member before the others of the first object that begins like this.
pub(crate) fn with_first(pod: &[u8], beginning: &str, member: &str) -> Result<Vec<u8>> {
    let (head, rest) = pod.split_at(find(pod, beginning)? + beginning.len());
    Ok([head, member.as_bytes(), rest].concat())
}

/// Where this begins in a pod.
pub(crate) fn find(pod: &[u8], part: &str) -> Result<usize> {
    let found = pod
        .windows(part.len())
        .position(|window| window == part.as_bytes());
    found.with_context(|| format!("a seeded pod has no {part}"))
}
