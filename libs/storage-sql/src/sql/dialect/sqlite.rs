//! SQLite's spelling.

use super::part::{Many, ObjIndex, Upsert};
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

fn on_conflict(target: Upsert) -> &'static str {
    match target {
        Upsert::Object => {
            " ON CONFLICT (id) DO UPDATE SET created = excluded.created, rv = excluded.rv, \
             rv_text = excluded.rv_text, size = excluded.size, rev = excluded.rev, \
             form = excluded.form"
        }
        Upsert::Block => {
            " ON CONFLICT (term, type, nsid, first_id) DO UPDATE SET n = excluded.n, \
             ids = excluded.ids"
        }
        Upsert::Counter => " ON CONFLICT (type, cluster, namespace) DO UPDATE SET n = excluded.n",
        Upsert::Stream => {
            " ON CONFLICT (cluster, type) DO UPDATE SET is_open = MAX(stream.is_open, 1), \
             epoch = excluded.epoch"
        }
        Upsert::Unposted => " ON CONFLICT (type, term) DO NOTHING",
        Upsert::Owner => " ON CONFLICT (name) DO UPDATE SET seen = excluded.seen",
    }
}
