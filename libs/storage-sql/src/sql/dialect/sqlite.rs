//! SQLite's spelling.

use super::part::{Many, ObjIndex, Upsert};
use super::postgres;
use super::spelling::Spelling;

pub(super) const SPELLING: Spelling = Spelling {
    many: Many::Values,
    obj,
    by_key: "",
    then_join: " CROSS JOIN ",
    sum_of_n: "COALESCE(SUM(n), 0)",
    as_int: " AS BIGINT)",
    // `OR FAIL` leaves out the statement journal: a copy of each page before the statement changes it.
    insert_into: "INSERT OR FAIL INTO ",
    on_conflict,
};

fn obj(index: ObjIndex) -> &'static str {
    match index {
        ObjIndex::Key => "obj o INDEXED BY obj_key",
        ObjIndex::Created => "obj o INDEXED BY obj_created",
        ObjIndex::Name => "obj o INDEXED BY obj_name",
    }
}

/// As PostgreSQL has it, but for the name of one function.
fn on_conflict(target: Upsert) -> &'static str {
    match target {
        Upsert::Stream => {
            " ON CONFLICT (cluster, type) DO UPDATE SET is_open = MAX(stream.is_open, 1), \
             epoch = excluded.epoch"
        }
        same => (postgres::SPELLING.on_conflict)(same),
    }
}
