//! A dialect as data.

use super::part::{Many, ObjIndex, Upsert};

/// What a dialect spells in its own way; [`super::Dialect`] says what each is for.
pub(super) struct Spelling {
    pub(super) many: Many,
    pub(super) obj: fn(ObjIndex) -> &'static str,
    pub(super) by_key: &'static str,
    pub(super) then_join: &'static str,
    pub(super) sum_of_n: &'static str,
    pub(super) count: &'static str,
    pub(super) as_int: &'static str,
    pub(super) insert_into: &'static str,
    pub(super) on_conflict: fn(Upsert) -> &'static str,
}
