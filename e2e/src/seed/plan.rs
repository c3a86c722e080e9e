//! What to put into a member.

/// What to put.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// How many objects, pods for the most part.
    pub count: usize,
    /// Another number gives other objects, beside those of this one.
    pub seed: u64,
}
