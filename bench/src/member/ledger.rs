//! What was asked of members so far.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

use super::request::Asked;
use super::role::Role;

/// What requests are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Purpose {
    Health,
    Discovery,
    List,
    Watch,
    Others,
}

const PURPOSES: [Purpose; 5] = [
    Purpose::Health,
    Purpose::Discovery,
    Purpose::List,
    Purpose::Watch,
    Purpose::Others,
];

impl From<&Asked> for Purpose {
    fn from(asked: &Asked) -> Self {
        match asked {
            Asked::Health => Self::Health,
            Asked::CoreDiscovery | Asked::Discovery | Asked::Types { .. } => Self::Discovery,
            Asked::List { .. } => Self::List,
            Asked::Watch { .. } => Self::Watch,
            Asked::Version | Asked::Identity | Asked::OtherGroup | Asked::Unknown => Self::Others,
        }
    }
}

/// Counts as it goes. A connection is one request more of those that say nothing, of whom nobody can ask anything else.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    requests: [[AtomicU64; PURPOSES.len()]; Role::ALL.len()],
    /// Lists of which a first page was asked for, of those that end.
    pub(super) lists_begun: AtomicU64,
    /// Lists whose last page was given.
    pub(super) lists_ended: AtomicU64,
    /// Lists that went on too late.
    pub(super) lists_expired: AtomicU64,
    /// Changes that were made.
    pub(super) changes: AtomicU64,
    /// Requests that were not understood.
    pub(super) unknown: AtomicU64,
}

/// Requests of members of each role by purpose.
pub(super) type Counts = BTreeMap<Role, BTreeMap<Purpose, u64>>;

impl Ledger {
    /// Counts a request.
    pub(super) fn note(&self, role: Role, purpose: Purpose) {
        self.requests[role as usize][purpose as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Those so far.
    pub(super) fn counts(&self) -> Counts {
        let of_role = |role: Role| {
            let counts = PURPOSES.map(|purpose| {
                let count = &self.requests[role as usize][purpose as usize];
                (purpose, count.load(Ordering::Relaxed))
            });
            (role, BTreeMap::from(counts))
        };
        Role::ALL.map(of_role).into()
    }
}

/// Those that came after `before`.
pub(super) fn since(before: &Counts, mut now: Counts) -> Counts {
    for (role, counts) in &mut now {
        for (purpose, count) in counts {
            let earlier = before.get(role).and_then(|counts| counts.get(purpose));
            *count -= earlier.copied().unwrap_or(0);
        }
    }
    now
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_role_and_purpose_from_a_moment_on() {
        let ledger = Ledger::default();
        ledger.note(Role::Healthy, Purpose::List);
        let before = ledger.counts();
        ledger.note(Role::Healthy, Purpose::List);
        ledger.note(Role::Silent, Purpose::Others);
        let counts = since(&before, ledger.counts());
        assert_eq!(counts[&Role::Healthy][&Purpose::List], 1);
        assert_eq!(counts[&Role::Silent][&Purpose::Others], 1);
        assert_eq!(counts.values().flat_map(BTreeMap::values).sum::<u64>(), 2);
    }
}
