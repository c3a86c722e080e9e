//! For how long a watch is asked for: as long as it may be without being cut off on its way.

use std::time::Duration;

use crate::stream::silence::{CERTAIN, SILENT};

/// Below the 5 minutes after which many load balancers cut a connection off.
const LONGEST_WATCH: u32 = 290;
/// So that watches that began together do not end together.
const SHORTEST_WATCH: u32 = 230;
/// Of the first watch of a stream, or after a check: all streams of a fleet may begin theirs within a minute, and each generation of them
/// would be begun anew as close together, for an hour and more. Long enough for a silence to be believed.
const SHORTEST_FIRST_WATCH: u32 = 120;
const _: () = assert!((SILENT.as_secs() + CERTAIN.as_secs()) < SHORTEST_FIRST_WATCH as u64);
/// How much longer a watch may be where one came to its own end: nothing between here and the member cuts off what is not idle. Where one is
/// cut off that is longer than [`LONGEST_WATCH`], no other is.
const LONGER: u32 = 2;

/// How long the next watch may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Pace {
    /// It is the first one, and ends at any time.
    #[default]
    First,
    /// As long as what is idle may be.
    Usual,
    /// Longer: one came to its own end.
    Long,
    /// As long as what is idle may be, for ever: a longer one was cut off.
    Cut,
}

impl Pace {
    /// For how many seconds the next watch is asked for.
    pub(super) fn seconds(self) -> u32 {
        let (shortest, longest) = match self {
            Self::First => (SHORTEST_FIRST_WATCH, LONGEST_WATCH),
            Self::Usual | Self::Cut => (SHORTEST_WATCH, LONGEST_WATCH),
            Self::Long => (LONGER * SHORTEST_WATCH, LONGER * LONGEST_WATCH),
        };
        rand::random_range(shortest..=longest)
    }

    /// What follows a watch that took so long, and ended when it was to end or before.
    pub(super) fn after(self, in_time: bool, took: Duration) -> Self {
        let is_cut = took > Duration::from_secs(LONGEST_WATCH.into());
        match (self, in_time) {
            (Self::Cut, _) => Self::Cut,
            (_, true) => Self::Long,
            (_, false) if is_cut => Self::Cut,
            (_, false) => Self::Usual,
        }
    }
}
