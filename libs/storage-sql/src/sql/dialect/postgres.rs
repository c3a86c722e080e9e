//! PostgreSQL's spelling. It takes no hints: what a statement is planned by is set where a transaction begins.

use super::part::{Many, ObjIndex, Upsert};
use super::spelling::Spelling;

pub(super) const SPELLING: Spelling = Spelling {
    many: Many::Arrays,
    obj,
    by_key: "",
    then_join: " CROSS JOIN ",
    sum_of_n: "CAST(COALESCE(SUM(n), 0) AS BIGINT)",
    // It takes any type, and whatever somebody else has made for a type of ours would be meant before it.
    count: "pg_catalog.count(",
    as_int: " AS BIGINT)",
    insert_into: "INSERT INTO ",
    on_conflict,
};

fn obj(_: ObjIndex) -> &'static str {
    "obj o"
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
            " ON CONFLICT (cluster, type) DO UPDATE SET \
             is_open = CASE WHEN stream.is_open IN (0, 3) THEN excluded.is_open ELSE stream.is_open END, \
             epoch = excluded.epoch"
        }
        Upsert::Unposted => " ON CONFLICT (type, term) DO NOTHING",
        Upsert::Owner => " ON CONFLICT (name) DO UPDATE SET seen = excluded.seen",
        Upsert::Health => {
            " ON CONFLICT (cluster) DO UPDATE SET healthy = excluded.healthy, reason = excluded.reason, \
             version = COALESCE(excluded.version, health.version)"
        }
    }
}
