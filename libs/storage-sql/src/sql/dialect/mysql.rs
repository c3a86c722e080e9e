//! The spelling of MySQL and MariaDB.

use super::part::{Many, ObjIndex, Upsert};
use super::spelling::Spelling;

pub(super) const SPELLING: Spelling = Spelling {
    many: Many::Selects,
    obj,
    by_key: " FORCE INDEX (PRIMARY)",
    then_join: " STRAIGHT_JOIN ",
    sum_of_n: "CAST(COALESCE(SUM(n), 0) AS SIGNED)",
    count: "COUNT(",
    as_int: " AS SIGNED)",
    insert_into: "INSERT INTO ",
    on_conflict,
};

fn obj(index: ObjIndex) -> &'static str {
    match index {
        ObjIndex::Key => "obj o FORCE INDEX (obj_key)",
        ObjIndex::Created => "obj o FORCE INDEX (obj_created)",
        ObjIndex::Name => "obj o FORCE INDEX (obj_name)",
    }
}

fn on_conflict(target: Upsert) -> &'static str {
    match target {
        Upsert::Object => {
            " ON DUPLICATE KEY UPDATE created = VALUES(created), rv = VALUES(rv), \
             rv_text = VALUES(rv_text), size = VALUES(size), rev = VALUES(rev), \
             form = VALUES(form)"
        }
        Upsert::Block => " ON DUPLICATE KEY UPDATE n = VALUES(n), ids = VALUES(ids)",
        Upsert::Counter => " ON DUPLICATE KEY UPDATE n = VALUES(n)",
        Upsert::Stream => {
            " ON DUPLICATE KEY UPDATE \
             is_open = CASE WHEN is_open IN (0, 3) THEN VALUES(is_open) ELSE is_open END, epoch = VALUES(epoch)"
        }
        Upsert::Unposted => " ON DUPLICATE KEY UPDATE seq = seq",
        Upsert::Owner => " ON DUPLICATE KEY UPDATE seen = VALUES(seen)",
        Upsert::Health => {
            " ON DUPLICATE KEY UPDATE healthy = VALUES(healthy), reason = VALUES(reason), \
             version = COALESCE(VALUES(version), version)"
        }
    }
}
