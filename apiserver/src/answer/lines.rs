//! How deep lines are indented, and how much may be written before somebody looks at the room that is left.

/// Maps and lists that are written on lines of their own, each two blanks further in. What is nested deeper is there and is
/// right, and a person has lost the thread anyway; without an end a member's 10 KB of brackets would become megabytes.
pub(super) const DEEPEST: usize = 32;
/// What is written between two looks at the room that is left: two lines with their indentation, a sign and some marks.
pub(super) const STEP: usize = 256;

/// Whether there is room for another step.
pub(super) fn has_room(out: &Vec<u8>) -> bool {
    out.capacity() - out.len() >= STEP
}
