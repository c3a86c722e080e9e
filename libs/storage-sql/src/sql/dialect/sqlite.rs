//! SQLite's spelling.

use super::part::{Many, ObjIndex};
use super::postgres;
use super::spelling::Spelling;

pub(super) const SPELLING: Spelling = Spelling {
    many: Many::Values,
    obj,
    by_key: "",
    then_join: " CROSS JOIN ",
    sum_of_n: "COALESCE(SUM(n), 0)",
    count: "COUNT(",
    as_int: " AS BIGINT)",
    // `OR FAIL` leaves out the statement journal: a copy of each page before the statement changes it.
    insert_into: "INSERT OR FAIL INTO ",
    on_conflict: postgres::SPELLING.on_conflict,
};

fn obj(index: ObjIndex) -> &'static str {
    match index {
        ObjIndex::Key => "obj o INDEXED BY obj_key",
        ObjIndex::Created => "obj o INDEXED BY obj_created",
        ObjIndex::Name => "obj o INDEXED BY obj_name",
    }
}
