//! What a transaction begins with: its isolation, its limits, and by what its statements are planned. One text, and one round trip.

use std::fmt::Write as _;

use super::limits::Limits;

/// What a transaction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Read,
    Write,
    /// A change of the schema may take as long as it takes.
    Migrate,
}

impl Purpose {
    fn begin(self) -> &'static str {
        match self {
            Self::Read => "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY",
            // Not READ WRITE: who sets `default_transaction_read_only`, as providers do when a disk is full, means us as well.
            Self::Write | Self::Migrate => "BEGIN ISOLATION LEVEL READ COMMITTED",
        }
    }
}

/// Statements are planned once, without their values, and along indexes: what the server believes of its tables, which is nothing of those that
/// are new, says then no more than which of two equal ways is taken.
const PLANNING: [(&str, &str); 6] = [
    ("plan_cache_mode", "force_generic_plan"),
    ("enable_seqscan", "off"),
    ("enable_bitmapscan", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    // A statement that is planned along indexes looks dear, and is compiled for longer than it takes.
    ("jit", "off"),
];

/// Since PostgreSQL 14. Keys are looked up once each, so what is remembered of them is never asked for again.
const MEMORY_OF_KEYS: (&str, &str) = ("enable_memoize", "off");
const HAS_MEMORY: u32 = 140_000;

/// What plans were made while tables were small, or empty, is forgotten by this. It comes after all that is set: the isolation has to be said first.
const FORGET_PLANS: &str = "; DISCARD PLANS";

/// The text, for a server of this version. A query is answered together with the beginning.
pub(super) fn text(
    purpose: Purpose,
    limits: Limits,
    version: u32,
    forgets: bool,
    query: Option<&str>,
) -> String {
    let mut text = String::from(purpose.begin());
    let mut set = |name: &str, value: &dyn std::fmt::Display| {
        let _ = write!(text, "; SET LOCAL {name} = {value}");
    };
    let lock = match query {
        None => limits.lock,
        Some(_) => limits.lock_of_reads,
    };
    set("lock_timeout", &lock.as_millis().max(1));
    // 0 would be no limit.
    let idle = limits.idle.as_millis().max(1);
    set("idle_in_transaction_session_timeout", &idle);
    if purpose == Purpose::Migrate {
        return text;
    }
    set("statement_timeout", &limits.statement.as_millis().max(1));
    for (name, value) in PLANNING {
        set(name, &value);
    }
    if version >= HAS_MEMORY {
        set(MEMORY_OF_KEYS.0, &MEMORY_OF_KEYS.1);
    }
    text.push_str(if forgets { FORGET_PLANS } else { "" });
    if let Some(query) = query {
        let _ = write!(text, "; {query}");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_transaction_begins_with_all_that_it_wants_to_be_set() {
        let limits = Limits {
            begin: Duration::from_secs(5),
            statement: Duration::from_secs(30),
            silence: Duration::from_secs(35),
            lock: Duration::from_millis(1500),
            lock_of_reads: Duration::from_millis(1200),
            idle: Duration::from_secs(10),
            prepared: true,
        };
        let old = text(Purpose::Read, limits, 130_000, false, Some("SELECT 1"));
        assert!(old.starts_with(
            "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; SET LOCAL lock_timeout = 1200; "
        ));
        assert!(old.contains("; SET LOCAL statement_timeout = 30000; "));
        assert!(!old.contains("memoize") && old.ends_with("; SELECT 1"));
        let whole = text(Purpose::Read, limits, 130_000, false, None);
        assert!(whole.contains("SET LOCAL lock_timeout = 1500; "));
        let new = text(Purpose::Write, limits, 150_000, true, None);
        let begun = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = 1500; ";
        assert!(new.starts_with(begun), "{new}");
        assert!(new.ends_with("; SET LOCAL enable_memoize = off; DISCARD PLANS"));
        let migration = text(Purpose::Migrate, limits, 150_000, false, None);
        assert!(!migration.contains("statement_timeout"));
        for text in [old, whole, new, migration] {
            let idle = "; SET LOCAL idle_in_transaction_session_timeout = 10000";
            assert!(text.contains(idle), "{text}");
        }
    }
}
