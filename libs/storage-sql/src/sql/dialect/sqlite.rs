//! SQLite's spelling.

use super::{ObjIndex, Upsert};

pub(super) const TUPLE_LIST: (&str, &str) = ("(VALUES ", ")");

pub(super) fn obj(index: ObjIndex) -> &'static str {
    match index {
        ObjIndex::Key => "obj o INDEXED BY obj_key",
        ObjIndex::Created => "obj o INDEXED BY obj_created",
        ObjIndex::Name => "obj o INDEXED BY obj_name",
    }
}

pub(super) fn on_conflict(target: Upsert) -> &'static str {
    match target {
        Upsert::Object => {
            " ON CONFLICT (oid) DO UPDATE SET created = excluded.created, rv = excluded.rv, \
             rv_text = excluded.rv_text, size = excluded.size, rev = excluded.rev, \
             label_hash = excluded.label_hash"
        }
        Upsert::Block => {
            " ON CONFLICT (term, type, nsid, first_oid) DO UPDATE SET n = excluded.n, \
             oids = excluded.oids"
        }
        Upsert::Counter => " ON CONFLICT (type, nsid) DO UPDATE SET n = n + excluded.n",
        Upsert::Stream => {
            " ON CONFLICT (cluster, type) DO UPDATE SET is_open = 1, epoch = excluded.epoch"
        }
    }
}
