//! Whether lists of a member are asked for compressed: where the way to it is narrow. Times are passed in.
//!
//! To unpack takes us a sixth of what else is done with an object, and a page comes ten to twenty times as soon where it is the way that takes the time. In the
//! network of a data center it is not.

use std::sync::Mutex;
use std::time::Duration;

use armadex_member::Came;
use tokio::time::Instant;

use crate::lock::lock;

/// Bytes in a second. A page of 2 MB takes a second then, and to compress it 20 ms; it has some 150 KB.
const NARROW: f64 = 2e6;
/// A kube-apiserver compresses nothing that is shorter, and of what is short its first bytes are most of what is waited for.
const JUDGED: u64 = 128 << 10;
/// After that a page comes as it is, and tells whether the way is still narrow: it may have been so for a moment alone.
const NARROW_FOR: Duration = Duration::from_secs(600);

/// The way to one member.
#[derive(Debug, Default)]
pub(super) struct Link(Mutex<Width>);

#[derive(Debug, Default)]
enum Width {
    /// As far as is known.
    #[default]
    Wide,
    NarrowUntil(Instant),
    /// What came compressed was not to be read.
    PackedBadly,
}

impl Link {
    /// Whether a list is to come compressed.
    pub(super) fn is_narrow(&self, now: Instant) -> bool {
        matches!(*lock(&self.0), Width::NarrowUntil(until) if now < until)
    }

    /// A page came as it is.
    pub(super) fn brought(&self, Came { bytes, waited }: Came, now: Instant) {
        let is_narrow = bytes >= JUDGED && bytes as f64 / waited.as_secs_f64() < NARROW;
        let mut width = lock(&self.0);
        if is_narrow && !matches!(*width, Width::PackedBadly) {
            *width = Width::NarrowUntil(now + NARROW_FOR);
        }
    }

    /// No list of this connection is asked for compressed again.
    pub(super) fn packs_badly(&self) {
        *lock(&self.0) = Width::PackedBadly;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_is_narrow_for_a_while_after_a_page_that_came_slowly() {
        let (link, start) = (Link::default(), Instant::now());
        let came = |bytes, milliseconds| Came {
            bytes,
            waited: Duration::from_millis(milliseconds),
        };
        for wide in [
            came(2_000_000, 900),
            came(100_000, 20_000),
            came(0, 0),
            came(1 << 20, 0),
        ] {
            link.brought(wide, start);
            assert!(!link.is_narrow(start), "{wide:?}");
        }
        link.brought(came(2_000_000, 1_100), start);
        assert!(link.is_narrow(start + NARROW_FOR / 2));
        assert!(!link.is_narrow(start + NARROW_FOR));
        link.brought(came(2_000_000, 1_100), start + NARROW_FOR);
        assert!(link.is_narrow(start + NARROW_FOR));
        link.packs_badly();
        link.brought(came(2_000_000, 1_100), start);
        assert!(!link.is_narrow(start));
    }
}
