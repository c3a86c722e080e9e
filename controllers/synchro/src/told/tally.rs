//! What one stream has in the store, how new that is and how far its first list is: counted by the stream as it writes, read when the status is made. Pure.
//!
//! Nothing is read from the store for it. Who opens a stream is told how many objects it has, and nobody else writes it from then on. How long their bodies are is
//! known where there were none, from an audit, and from whoever had the stream before, by the status: where that process ended without a last word, what it wrote in
//! the last minutes is not in it, until the next audit.

use std::time::Duration;

use armadex_crds::{ResourceSyncCondition, ResourceSyncStatus};
use armadex_storage::Written;
use jiff::{SignedDuration, Timestamp};

/// How long nothing may prove what is stored before that is told. Above the 150 s after which a watch that has brought bookmarks is given up, and above
/// the 105 s in which one that has none is found complete, so that nothing is told of a stream that does well.
pub(crate) const BEHIND: Duration = Duration::from_secs(180);
/// Percent of a first list are told in such steps: each is a write of a status.
const STEP: u64 = 5;

/// What is known of one stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    objects: Option<u64>,
    bytes: Option<u64>,
    last_event: Option<Timestamp>,
    proved: Option<Timestamp>,
    /// When the member told how far it is, before the watch that is followed now.
    checked: Option<Timestamp>,
    /// Batches that changed something.
    writes: u64,
    /// Bytes by which all of these made what is stored longer.
    grown: i64,
    /// A batch is on its way to the store, which may have it already.
    writing: bool,
    /// Whether what is stored was listed to its end once; `None`: that is not known yet.
    listed: Option<bool>,
    /// It was as far as others know, and may be another member's.
    was_listed: bool,
}

/// What there is in the store when a stream is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rows {
    /// All that a list of the member that is connected had.
    Listed,
    /// What the member had, and a list whose end nobody has seen. Where one was stored to its end before, all that it had is there as well.
    Unfinished,
    /// Nothing, what is hidden, or what another member had.
    Others,
}

/// How far a first list is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listing {
    /// So many percent of so many objects, in steps.
    Of { percent: u64, objects: u64 },
    /// Pages come in, and the member does not tell how many are left.
    Untold,
}

/// What was written up to a moment, for whoever looks at what is stored meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    writes: u64,
    grown: i64,
    writing: bool,
}

impl Tally {
    /// What the status says that another process has left, of a stream that begins now; `all_were_listed`: so it says of all of them. Of one that was not behind
    /// then it is not known since when it is, which is told from now on.
    pub(crate) fn of(told: &ResourceSyncCondition, all_were_listed: bool, now: Timestamp) -> Self {
        let number = |number: Option<i64>| number.and_then(|number| u64::try_from(number).ok());
        let behind = told.behind_since.as_ref().map(|time| time.0);
        let was_followed = told.status == ResourceSyncStatus::Syncing && !told.initial_list_phase;
        // Of what was never listed it is not told since when it is behind.
        let was_listed = all_were_listed || was_followed || behind.is_some();
        Self {
            bytes: number(told.bytes),
            last_event: told.last_event_time.as_ref().map(|time| time.0),
            proved: was_listed.then(|| behind.unwrap_or(now)),
            was_listed,
            ..Self::default()
        }
    }

    /// The store says how many objects there are, and what they are is known.
    pub(crate) fn opened(&mut self, objects: u64, rows: Rows) {
        self.objects = Some(objects);
        self.writing = false;
        if objects == 0 {
            self.bytes = Some(0);
        }
        let was_listed = self.was_listed || self.listed == Some(true);
        self.listed = Some(match rows {
            Rows::Listed => true,
            Rows::Unfinished => was_listed,
            Rows::Others => false,
        });
        self.was_listed = self.listed == Some(true);
        if rows == Rows::Others {
            self.proved = None;
        }
    }

    /// Who the member is may be another than before, so that nothing is known of what is stored.
    pub(crate) fn is_in_doubt(&mut self) {
        self.was_listed |= self.listed == Some(true);
        self.listed = None;
    }

    /// What others say of it is too old.
    pub(crate) fn forgets_others(&mut self) {
        self.was_listed = false;
    }

    /// What was hidden, and is all that a list of this member had, is shown.
    pub(crate) fn is_shown(&mut self) {
        self.listed = Some(true);
    }

    /// A batch goes to the store.
    pub(crate) fn writes(&mut self) {
        self.writing = true;
    }

    /// A batch was stored.
    pub(crate) fn wrote(&mut self, written: Written, now: Timestamp) {
        self.writing = false;
        let Written {
            added,
            changed,
            deleted,
            unchanged: _,
            bytes,
        } = written;
        if added + changed + deleted == 0 {
            return;
        }
        self.writes += 1;
        self.grown = self.grown.saturating_add(bytes);
        self.last_event = Some(now);
        let count = |objects: u64| objects.saturating_add(added).saturating_sub(deleted);
        self.objects = self.objects.map(count);
        self.bytes = self.bytes.map(|known| known.saturating_add_signed(bytes));
    }

    /// Everything is stored that the member had then.
    pub(crate) fn proved(&mut self, then: Timestamp) {
        self.proved = self.proved.max(Some(then));
    }

    /// The member told then how far it is, and a watch follows; `None`: none that goes by it.
    pub(crate) fn checked(&mut self, then: Option<Timestamp>) {
        self.checked = then;
    }

    /// The watch has brought all that there was when the member was asked.
    pub(crate) fn check_holds(&mut self) {
        self.proved = self.proved.max(self.checked);
    }

    /// A list begins, which may be the first.
    pub(crate) fn listing(&mut self) {
        self.listed = Some(self.listed == Some(true));
    }

    /// A list is stored to its end.
    pub(crate) fn listed(&mut self, now: Timestamp) {
        self.listed = Some(true);
        self.proved(now);
    }

    /// Where it stands now.
    pub(crate) fn mark(&self) -> Mark {
        Mark {
            writes: self.writes,
            grown: self.grown,
            writing: self.writing,
        }
    }

    /// So many bytes were added up from then on. What was written meanwhile is taken for what is not in it, which it may be, until the next audit.
    pub(crate) fn weighs(&mut self, bytes: u64, since: Mark) {
        self.bytes = Some(bytes.saturating_add_signed(self.grown.saturating_sub(since.grown)));
    }

    /// The store was seen to have so many objects, after that mark. Whether what was written meanwhile is in them nobody knows, so that does not count.
    pub(crate) fn counted(&mut self, objects: u64, since: Mark) {
        if since == self.mark() && !self.writing && self.objects.is_some() {
            self.objects = Some(objects);
        }
    }

    /// Objects that are stored.
    pub(crate) fn objects(&self) -> Option<u64> {
        self.objects
    }

    /// Bytes of their bodies.
    pub(crate) fn bytes(&self) -> Option<u64> {
        self.bytes
    }

    /// When the newest change was stored.
    pub(crate) fn last_event(&self) -> Option<Timestamp> {
        self.last_event
    }

    /// Whether what is stored was listed to its end once.
    pub(crate) fn is_listed(&self) -> Option<bool> {
        self.listed
    }

    /// Since when nothing proves what is stored, if that is for so long.
    pub(crate) fn behind_since(&self, now: Timestamp, least: Duration) -> Option<Timestamp> {
        let least = SignedDuration::try_from(least).unwrap_or(SignedDuration::MAX);
        self.proved
            .filter(|proved| now.duration_since(*proved) >= least)
    }
}

impl Listing {
    /// So many have come in, and so many are left, if the member tells. Of a list that goes on none is ever told to be whole.
    pub(crate) fn of(listed: u64, left: Option<u64>) -> Self {
        let Some(left) = left.filter(|left| *left > 0) else {
            return Self::Untold;
        };
        let objects = listed.saturating_add(left);
        Self::Of {
            percent: percent(listed, objects).min(100 - STEP),
            objects,
        }
    }

    /// How many percent.
    pub(crate) fn percent(self) -> Option<u64> {
        match self {
            Self::Of { percent, .. } => Some(percent),
            Self::Untold => None,
        }
    }
}

/// So many of all, in steps of percent.
pub(crate) fn percent(part: u64, all: u64) -> u64 {
    let percent = u128::from(part) * 100 / u128::from(all.max(1));
    // A percentage fits.
    u64::try_from(percent.min(100)).unwrap_or(100) / STEP * STEP
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a time")
    }

    fn written(added: u64, deleted: u64, bytes: i64) -> Written {
        Written {
            added,
            deleted,
            bytes,
            ..Written::default()
        }
    }

    #[test]
    fn what_is_stored_is_counted_from_what_was_there() {
        let mut tally = Tally::default();
        assert_eq!((tally.objects(), tally.bytes()), (None, None));
        tally.opened(7, Rows::Listed);
        tally.wrote(written(3, 1, 500), at(9));
        assert_eq!((tally.objects(), tally.bytes()), (Some(9), None));
        assert_eq!(tally.last_event(), Some(at(9)));
        tally.wrote(written(0, 0, 0), at(20));
        assert_eq!(tally.last_event(), Some(at(9)), "nothing changed");
        let mut new = Tally::default();
        new.opened(0, Rows::Others);
        new.wrote(written(2, 0, 500), at(1));
        new.wrote(written(0, 1, -200), at(2));
        assert_eq!((new.objects(), new.bytes()), (Some(1), Some(300)));
    }

    #[test]
    fn what_is_added_up_counts_with_what_was_written_meanwhile() {
        let mut tally = Tally::default();
        tally.opened(7, Rows::Listed);
        let mark = tally.mark();
        tally.wrote(written(1, 0, 100), at(1));
        tally.weighs(5_000, mark);
        assert_eq!(tally.bytes(), Some(5_100));
        tally.wrote(written(0, 1, -300), at(2));
        tally.weighs(6_000, mark);
        assert_eq!(tally.bytes(), Some(5_800));
        tally.weighs(6_000, tally.mark());
        assert_eq!(tally.bytes(), Some(6_000));
    }

    /// As of a batch that was stored and not answered: it changes nothing when it is written again.
    #[test]
    fn what_the_store_counts_is_taken_over_where_nothing_was_written_meanwhile() {
        let mut tally = Tally::default();
        tally.counted(3, tally.mark());
        assert_eq!(tally.objects(), None, "it may be another member's");
        tally.opened(7, Rows::Listed);
        tally.writes();
        tally.counted(8, tally.mark());
        assert_eq!(tally.objects(), Some(7), "it may be counted twice");
        tally.wrote(written(0, 0, 0), at(1));
        let mark = tally.mark();
        tally.counted(8, mark);
        assert_eq!(tally.objects(), Some(8));
        tally.writes();
        tally.wrote(written(1, 0, 100), at(2));
        tally.counted(8, mark);
        assert_eq!(tally.objects(), Some(9));
    }

    #[test]
    fn a_stream_is_behind_since_it_was_proved_last() {
        let mut tally = Tally::default();
        assert_eq!(
            tally.behind_since(at(900), BEHIND),
            None,
            "nothing is stored"
        );
        tally.listed(at(100));
        assert_eq!(tally.behind_since(at(279), BEHIND), None);
        assert_eq!(tally.behind_since(at(280), BEHIND), Some(at(100)));
        tally.proved(at(290));
        assert_eq!(tally.behind_since(at(300), BEHIND), None);
        tally.proved(at(90));
        assert_eq!(tally.behind_since(at(470), BEHIND), Some(at(290)));
    }

    #[test]
    fn what_has_been_listed_once_stays_so_while_it_is_listed_anew() {
        let mut tally = Tally::default();
        assert_eq!(tally.is_listed(), None);
        tally.listing();
        assert_eq!(tally.is_listed(), Some(false));
        tally.listed(at(1));
        tally.listing();
        assert_eq!(tally.is_listed(), Some(true));
        tally.opened(7, Rows::Unfinished);
        assert_eq!(tally.is_listed(), Some(true));
        tally.is_in_doubt();
        assert_eq!(tally.is_listed(), None, "it may be another member's");
        let mut others = tally.clone();
        tally.opened(7, Rows::Unfinished);
        assert_eq!(tally.is_listed(), Some(true));
        others.opened(7, Rows::Others);
        assert_eq!(others.is_listed(), Some(false));
        assert_eq!(others.behind_since(at(900), BEHIND), None);
        others.listing();
        others.opened(7, Rows::Unfinished);
        assert_eq!(others.is_listed(), Some(false), "what was listed is gone");
        others.is_shown();
        assert_eq!(others.is_listed(), Some(true));
    }

    fn told(status: ResourceSyncStatus, is_behind: bool) -> ResourceSyncCondition {
        let mut told = serde_json::json!({"version": "v1", "status": status,
            "initialListPhase": true, "lastTransitionTime": "1970-01-01T00:00:00Z"});
        if is_behind {
            told["behindSince"] = "1970-01-01T00:00:05Z".into();
        }
        serde_json::from_value(told).expect("a condition")
    }

    #[test]
    fn what_another_process_has_listed_stays_so_while_it_is_listed_anew() {
        let is_listed = |told: &ResourceSyncCondition, all, rows| {
            let mut tally = Tally::of(told, all, at(9));
            assert_eq!(tally.is_listed(), None);
            tally.opened(7, rows);
            tally.is_listed()
        };
        let first = told(ResourceSyncStatus::Pending, false);
        assert_eq!(is_listed(&first, false, Rows::Unfinished), Some(false));
        assert_eq!(is_listed(&first, true, Rows::Unfinished), Some(true));
        assert_eq!(is_listed(&first, true, Rows::Others), Some(false));
        let stopped = told(ResourceSyncStatus::Stop, true);
        assert_eq!(is_listed(&stopped, false, Rows::Unfinished), Some(true));
        let behind = |told, all| Tally::of(told, all, at(9)).behind_since(at(900), BEHIND);
        assert_eq!(behind(&stopped, false), Some(at(5)));
        assert_eq!(behind(&first, true), Some(at(9)));
        assert_eq!(behind(&first, false), None);
    }

    #[test]
    fn a_list_that_goes_on_is_told_in_steps_and_never_as_whole() {
        let of = |listed, left| Listing::of(listed, left).percent();
        assert_eq!(of(500, None), None);
        assert_eq!(of(500, Some(0)), None, "it goes on all the same");
        assert_eq!(of(500, Some(19_500)), Some(0));
        assert_eq!(of(1_000, Some(19_000)), Some(5));
        assert_eq!(of(1_999, Some(18_001)), Some(5));
        assert_eq!(of(u64::MAX, Some(1)), Some(95));
        assert_eq!(of(19_999, Some(1)), Some(95));
    }
}
