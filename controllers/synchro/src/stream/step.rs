//! The life of one stream as a state machine. Pure: [`step`] takes what just happened and says what to do next; doing it is
//! [`crate::stream`].
//!
//! ```text
//! Opening ──> Checking ──> Watching ──> Watching ...      the stored position is good: nothing is listed
//!    │            │            ├──> Checking               the watch broke, or ended early: is the member still the one it was?
//!    │            │            └──> Listing                an audit found that something differs
//!    └────────────┴──> Listing ──> Sweeping ──> Watching   it is not good, there is none, or the cluster is too full for a watch
//!                         └──────────────────> Watching   one page, and nothing was stored before
//! ```

use std::fmt;
use std::hash::{BuildHasher, RandomState};

use armadex_model::ObjectKey;
use armadex_storage::{MemberPosition, Phase};

use crate::stream::limit::Limit;
use crate::stream::turns::Room;

/// What a stream is doing.
#[derive(Debug)]
pub(crate) enum State {
    /// Taking the stream over in the store.
    Opening,
    /// Asking the member whether a watch from this version would tell everything since.
    Checking {
        /// The stored version.
        version: String,
    },
    /// Reading pages of a list.
    Listing(Listing),
    /// Deleting what is stored and was not in the list.
    Sweeping(Sweep),
    /// Following a watch.
    Watching {
        /// The version to go on from.
        version: String,
    },
}

/// A list that is being read.
#[derive(Default)]
pub(crate) struct Listing {
    /// Where the next page begins; `None` before the first.
    pub(crate) token: Option<String>,
    /// Version of the first page, which is that of the whole list.
    pub(crate) version: String,
    /// What was in it so far.
    pub(crate) seen: Seen,
    /// There may be rows that are not in the list.
    pub(crate) over_rows: bool,
    /// The member was restored: the stored position is of a past that it has no more, and the store does not know that yet.
    pub(crate) disowns: bool,
    /// The store knows that it is under way, since it has rows of it, say.
    pub(crate) marked: bool,
    /// Of the type there may be so many, however many others there are, as far as the list has as many.
    pub(crate) may_have: u64,
    /// The cluster is full, so no more of it is written: what it does not have is swept.
    pub(crate) only_sweeps: bool,
    /// Something of it was not written, so it is not stored.
    pub(crate) left_out: bool,
    /// The token is one that the member gave in the place of an expired one.
    pub(crate) renewed: bool,
    /// Objects that are to come after the last page, as far as the member says.
    pub(crate) remaining: u64,
    /// Objects that its whole pages were asked for with.
    pub(crate) asked_for: u64,
    /// How many its next page is asked for with.
    pub(crate) limit: Limit,
    /// Answers in a row that refused its token.
    pub(crate) refused: u8,
    /// Failures in a row of the page that it is at.
    pub(crate) failed: u8,
    /// What it holds of the room for long lists.
    pub(crate) room: Option<Box<Room>>,
}

impl fmt::Debug for Listing {
    /// Without its token, which is the member's and of any length.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listing")
            .field("is_first", &self.token.is_none())
            .field("version", &self.version)
            .field("seen", &self.seen)
            .field("over_rows", &self.over_rows)
            .field("remaining", &self.remaining)
            .field("refused", &self.refused)
            .field("failed", &self.failed)
            .finish_non_exhaustive()
    }
}

/// A list that was read and is being compared with what is stored.
#[derive(Debug)]
pub(crate) struct Sweep {
    /// Version of the list.
    pub(crate) version: String,
    /// What was in it.
    pub(crate) seen: Seen,
    /// The last stored key that was compared.
    pub(crate) after: Option<ObjectKey>,
    /// Whether there is anything to compare.
    pub(crate) over_rows: bool,
    /// The store knows that the list is under way.
    pub(crate) marked: bool,
    /// All of the list is stored.
    pub(crate) is_stored: bool,
}

/// What happened.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The stream was taken over.
    Opened(Option<MemberPosition>),
    /// The member's present version of the collection.
    Present(String),
    /// A page was read and stored.
    Page {
        /// Version of the list.
        version: String,
        /// Where the next page begins.
        token: Option<String>,
    },
    /// The only page of a list was read, and stored together with the position that it leads to.
    Listed {
        /// Version of the list.
        version: String,
    },
    /// Stored keys were compared; `None` when all are and the position is stored.
    Swept(Option<ObjectKey>),
    /// The watch came to its end.
    Ended(Ended),
    /// The watch broke.
    Broke {
        /// The version to go on from.
        version: String,
    },
    /// The list is a long one, and there is no room for another.
    Crowded,
    /// Position or token are too old.
    Gone,
    /// The position is too old, and so was that of the list before: they take longer than the member keeps what happened.
    Outlasted,
    /// What is stored is not what the member has, and a watch would not bring it there.
    Differs,
    /// The continue token is too old, and the member gave another one: the rest of the list, as it is now.
    Expired(String),
    /// The request failed.
    Failed,
    /// Somebody else writes this stream.
    Fenced,
    /// The cluster has as many objects as it may have.
    Full,
}

/// How a watch ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// The version to go on from.
    pub(crate) version: String,
    /// What it was good for.
    pub(crate) good: Good,
    /// It was over before its time: somebody else may answer now.
    pub(crate) early: bool,
}

/// What a watch was good for. That its version rises proves nothing: a bookmark of any version costs whoever sends it nothing, and a member that answers
/// each watch with one would be asked without end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Good {
    /// It lasted.
    Lasted,
    /// It was over soon, and changes that it brought are stored.
    Changes,
    /// It was over soon and led nowhere: it was refused in all but words.
    Nothing,
}

/// What to do next, and when.
#[derive(Debug)]
pub(crate) struct Next {
    /// What to do.
    pub(crate) state: State,
    /// When.
    pub(crate) wait: Wait,
}

impl Next {
    fn new(state: State, wait: Wait) -> Self {
        Self { state, wait }
    }
}

/// How long to wait before the next thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Not at all; it goes well.
    No,
    /// As long as is fit after a failure.
    Backoff,
    /// Never long: it goes on, in many short pieces.
    Short,
    /// The same for a page of a list, where each page that comes is a success.
    Page,
    /// Long: whoever took the stream over should find peace.
    Fenced,
    /// Longer still: somebody has to do something about it.
    Full,
    /// Longer and longer: the next list is likely to lead as little to a watch.
    Outlasted,
}

impl Wait {
    /// Whether another cluster may be behind the address once it is over. Other waits follow a request or a watch that failed, after which that is asked where
    /// it is in doubt.
    pub(crate) fn is_long(self) -> bool {
        matches!(self, Self::Fenced | Self::Full)
    }
}

/// Says what follows. `member` is the identity of the member that the stream is connected with.
pub(crate) fn step(state: State, outcome: Outcome, member: &str) -> Next {
    let go = |state| Next::new(state, Wait::No);
    let again = |state| Next::new(state, Wait::Backoff);
    let anew = |wait| Next::new(State::Opening, wait);
    match (state, outcome) {
        (State::Opening, Outcome::Opened(None)) => go(State::Listing(Listing::default())),
        (State::Opening, Outcome::Opened(Some(position))) => {
            go(match resumable(position, member) {
                Some(version) => State::Checking { version },
                None => State::Listing(Listing::over_rows()),
            })
        }
        (State::Checking { version }, Outcome::Present(present)) => {
            go(if is_behind(&present, &version) {
                State::Listing(Listing::over_rows_of_another_past())
            } else {
                State::Watching { version }
            })
        }
        (State::Listing(listing), Outcome::Page { version, token }) => Next {
            // One empty page after the other would be asked for without end.
            wait: match token.is_some() && listing.seen.of_page() == 0 {
                true => Wait::Page,
                false => Wait::No,
            },
            state: listing.next_page(version, token),
        },
        (State::Listing(_), Outcome::Listed { version }) => go(State::Watching { version }),
        (State::Sweeping(sweep), Outcome::Swept(Some(after))) => go(State::Sweeping(Sweep {
            after: Some(after),
            ..sweep
        })),
        (State::Sweeping(sweep), Outcome::Swept(None)) => go(State::Watching {
            version: sweep.version,
        }),
        (State::Watching { .. }, Outcome::Ended(ended)) => ended.next(),
        (State::Checking { .. } | State::Watching { .. }, Outcome::Differs) => {
            go(State::Listing(Listing::over_rows()))
        }
        (State::Watching { .. }, Outcome::Broke { version }) => again(State::Checking { version }),
        // It waits for room before its first page.
        (State::Listing(_), Outcome::Crowded) => go(State::Listing(Listing::over_rows())),
        (State::Listing(listing), Outcome::Expired(token)) => again(listing.renewed(token)),
        (_, Outcome::Gone | Outcome::Expired(_)) => again(State::Listing(Listing::over_rows())),
        (_, Outcome::Outlasted) => Next::new(State::Listing(Listing::over_rows()), Wait::Outlasted),
        (_, Outcome::Fenced) => anew(Wait::Fenced),
        (_, Outcome::Full) => anew(Wait::Full),
        (state @ State::Listing(_), Outcome::Failed) => Next::new(state, Wait::Page),
        (state, Outcome::Failed) => again(state),
        // No other pair is made; to begin anew is right whatever happened.
        _ => again(State::Opening),
    }
}

impl Ended {
    /// What follows.
    fn next(self) -> Next {
        let Self {
            version,
            good,
            early,
        } = self;
        Next {
            state: match early {
                true => State::Checking { version },
                false => State::Watching { version },
            },
            wait: match good {
                Good::Lasted => Wait::No,
                Good::Changes => Wait::Short,
                Good::Nothing => Wait::Backoff,
            },
        }
    }
}

/// The version that a watch may resume from, as far as the store can tell.
fn resumable(position: MemberPosition, member: &str) -> Option<String> {
    let MemberPosition {
        resource_version,
        member: stored,
        phase,
    } = position;
    (phase == Phase::Live && stored == member).then_some(resource_version)
}

/// Whether the member stands before the stored version, as one that was restored from a backup does; its watch would wait in
/// silence. What is no number can only be the same, and counts as behind otherwise.
pub(crate) fn is_behind(present: &str, stored: &str) -> bool {
    match (present.parse::<u64>(), stored.parse::<u64>()) {
        (Ok(present), Ok(stored)) => present < stored,
        _ => present != stored,
    }
}

impl Listing {
    /// A list of a stream that may have rows.
    fn over_rows() -> Self {
        Self {
            over_rows: true,
            ..Self::default()
        }
    }

    /// A list over rows that the member had before it was restored.
    fn over_rows_of_another_past() -> Self {
        Self {
            disowns: true,
            ..Self::over_rows()
        }
    }

    /// Before a page is asked for. The first one may have been tried before: what it stored then may be gone from the member by now,
    /// and the watch will begin after that. Later pages are of one version, however often they are read.
    pub(crate) fn begin_page(&mut self) {
        if self.token.is_none() {
            self.over_rows |= self.marked;
            self.seen = Seen::default();
        }
        self.seen.begin_page();
    }

    /// Whether a page that leads to this token brings the list on: not to where it is, nor over and over the same objects.
    pub(crate) fn gets_on(&mut self, token: &str) -> bool {
        self.token.as_deref() != Some(token) && self.seen.grow()
    }

    /// Whether the first page is being read, nothing was stored before this list, and all that it has told is. What it has stored itself is in it.
    pub(crate) fn is_first_over_nothing(&self) -> bool {
        self.token.is_none() && !self.over_rows && !self.only_sweeps
    }

    /// A list goes on with the token that came in the place of an expired one. The rest of it is then of a later version than its
    /// beginning. The watch still begins at the version of the first page, so everything that happened since is told again: to the
    /// rows of the beginning it is news, to those of the rest it brings what they had before and then what they have, and what a
    /// sweep took away or left in between is put right in the same way. If the member cannot tell everything since, it refuses that watch as
    /// too old, and a new list is made. A token that expires before it brought a page leads nowhere: the list begins anew.
    fn renewed(self, token: String) -> State {
        if self.renewed || self.token.is_none() {
            return State::Listing(Self::over_rows());
        }
        State::Listing(Self {
            token: Some(token),
            renewed: true,
            refused: 0,
            failed: 0,
            ..self
        })
    }

    fn next_page(mut self, version: String, token: Option<String>) -> State {
        self.seen.end_page();
        let version = match self.token {
            None => version,
            Some(_) => self.version,
        };
        match token {
            Some(token) => State::Listing(Self {
                token: Some(token),
                version,
                renewed: false,
                ..self
            }),
            None => State::Sweeping(Sweep {
                version,
                seen: self.seen.sealed(),
                after: None,
                over_rows: self.over_rows,
                marked: self.marked,
                is_stored: !self.left_out,
            }),
        }
    }
}

/// Which keys a list had, as hashes: 8 bytes for each. Two keys in 2^64 hash alike; a stale row would then stay until the next list.
#[derive(Default)]
pub(crate) struct Seen {
    /// The first so many are sorted, and each is there once.
    hashes: Vec<u64>,
    sorted: usize,
    hasher: RandomState,
    /// Those of whole pages.
    before: usize,
    /// Those that are not kept, and those of whole pages.
    passed: u64,
    passed_before: u64,
    /// What the page has brought so far.
    of_page: usize,
    pages: u32,
    /// The number of pages at which it is looked at next.
    look_at: u32,
}

impl fmt::Debug for Seen {
    /// How many, and none of them: of a million that is written for each page of their list.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seen")
            .field("keys", &self.hashes.len())
            .field("of_page", &self.of_page)
            .field("pages", &self.pages)
            .finish_non_exhaustive()
    }
}

/// Pages after which a list is looked at for the first time; then after thrice as many, and so on, so that sorting costs little.
const FIRST_LOOK: u32 = 16;
/// Keys that are noted before they are looked at again: 8 MB.
const MOST_UNSORTED: usize = 1 << 20;

impl Seen {
    /// Notes a key.
    pub(crate) fn insert(&mut self, key: &ObjectKey) {
        self.hashes.push(self.hasher.hash_one(key));
        self.of_page += 1;
    }

    /// Notes an object that is not kept, so that what is stored by its key goes: a list of nothing else may have no end either.
    pub(crate) fn pass(&mut self, json: &[u8]) {
        self.hashes
            .push(self.hasher.hash_one(("passed over", json)));
        self.passed += 1;
        self.of_page += 1;
    }

    /// A page that broke off is read again.
    fn begin_page(&mut self) {
        self.hashes.truncate(self.before);
        self.passed = self.passed_before;
        self.of_page = 0;
    }

    fn end_page(&mut self) {
        self.before = self.hashes.len();
        self.passed_before = self.passed;
    }

    /// Keys that the list has brought so far; one that came twice may count twice.
    pub(crate) fn len(&self) -> u64 {
        self.hashes.len() as u64
    }

    /// Those of them that are kept.
    pub(crate) fn kept(&self) -> u64 {
        self.len().saturating_sub(self.passed)
    }

    /// Keys that the page has brought so far.
    pub(crate) fn of_page(&self) -> usize {
        self.of_page
    }

    /// A page is whole. `false` if more than half of what came lately had come before: such a list has no end.
    fn grow(&mut self) -> bool {
        self.pages = self.pages.saturating_add(1);
        let unsorted = self.hashes.len() - self.sorted;
        if self.pages < self.look_at.max(FIRST_LOOK) && unsorted < MOST_UNSORTED {
            return true;
        }
        self.look_at = self.pages.saturating_mul(3);
        let known = self.sorted;
        self.sort();
        2 * (self.sorted - known) >= unsorted
    }

    fn sort(&mut self) {
        self.hashes.sort_unstable();
        self.hashes.dedup();
        self.sorted = self.hashes.len();
    }

    /// Ready to be asked; a page that was read twice counts once.
    fn sealed(mut self) -> Self {
        self.sort();
        self
    }

    /// Whether the list had this key.
    pub(crate) fn contains(&self, key: &ObjectKey) -> bool {
        self.hashes
            .binary_search(&self.hasher.hash_one(key))
            .is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(version: &str, member: &str, phase: Phase) -> MemberPosition {
        MemberPosition {
            resource_version: version.into(),
            member: member.into(),
            phase,
        }
    }

    /// The states that a stream goes through, as short words.
    fn walk(outcomes: Vec<Outcome>) -> String {
        let mut state = State::Opening;
        let mut words = vec![word(&state)];
        for outcome in outcomes {
            if let State::Listing(listing) = &mut state {
                listing.begin_page();
                listing.seen.insert(&ObjectKey::new("n", "a"));
            }
            let next = step(state, outcome, "m1");
            state = next.state;
            let wait = match next.wait {
                Wait::No => "",
                Wait::Backoff => "~",
                Wait::Short => "=",
                Wait::Page => "-",
                Wait::Fenced => "~~",
                Wait::Outlasted => "~~~",
                Wait::Full => "~~~~",
            };
            words.push(format!("{wait}{}", word(&state)));
        }
        words.join(" ")
    }

    fn word(state: &State) -> String {
        match state {
            State::Opening => "open".into(),
            State::Checking { version } => format!("check@{version}"),
            State::Listing(listing) => {
                let token = listing.token.as_deref().unwrap_or("first");
                format!("list:{token}@{}", listing.version)
            }
            State::Sweeping(sweep) => format!("sweep@{}", sweep.version),
            State::Watching { version } => format!("watch@{version}"),
        }
    }

    fn page(version: &str, token: Option<&str>) -> Outcome {
        Outcome::Page {
            version: version.into(),
            token: token.map(Into::into),
        }
    }

    fn opened(version: &str, member: &str, phase: Phase) -> Outcome {
        Outcome::Opened(Some(position(version, member, phase)))
    }

    fn ended(version: &str) -> Outcome {
        Outcome::Ended(Ended {
            version: version.into(),
            good: Good::Lasted,
            early: false,
        })
    }

    fn ended_early(version: &str, good: Good) -> Outcome {
        Outcome::Ended(Ended {
            version: version.into(),
            good,
            early: true,
        })
    }

    fn broke(version: &str) -> Outcome {
        Outcome::Broke {
            version: version.into(),
        }
    }

    fn present(version: &str) -> Outcome {
        Outcome::Present(version.into())
    }

    #[test]
    fn a_new_stream_lists_with_the_version_of_its_first_page() {
        let outcomes = vec![
            Outcome::Opened(None),
            page("10", Some("t")),
            page("12", None),
            Outcome::Swept(None),
        ];
        assert_eq!(
            walk(outcomes),
            "open list:first@ list:t@10 sweep@10 watch@10"
        );
    }

    #[test]
    fn a_list_that_is_stored_with_its_position_is_watched_at_once() {
        let listed = Outcome::Listed {
            version: "10".into(),
        };
        let outcomes = vec![Outcome::Opened(None), listed];
        assert_eq!(walk(outcomes), "open list:first@ watch@10");
    }

    #[test]
    fn a_first_page_that_is_read_again_is_compared_with_what_it_left() {
        let mut listing = Listing::default();
        listing.begin_page();
        assert!(listing.is_first_over_nothing());
        listing.seen.insert(&ObjectKey::new("n", "gone"));
        listing.marked = true;
        listing.begin_page();
        assert!(!listing.is_first_over_nothing());
        assert!(!listing.seen.contains(&ObjectKey::new("n", "gone")));
    }

    #[test]
    fn a_restart_resumes_and_lists_nothing() {
        let outcomes = vec![opened("9", "m1", Phase::Live), present("12"), ended("15")];
        assert_eq!(walk(outcomes), "open check@9 watch@9 watch@15");
    }

    #[test]
    fn a_watch_that_ends_before_its_time_is_checked() {
        let outcomes = vec![
            opened("9", "m1", Phase::Live),
            present("12"),
            ended_early("15", Good::Lasted),
            present("15"),
            ended_early("16", Good::Changes),
            present("16"),
            ended_early("17", Good::Nothing),
            present("odd"),
        ];
        assert_eq!(
            walk(outcomes),
            "open check@9 watch@9 check@15 watch@15 =check@16 watch@16 ~check@17 list:first@"
        );
        let odd = vec![opened("odd", "m1", Phase::Live), present("odd")];
        assert_eq!(walk(odd), "open check@odd watch@odd");
    }

    #[test]
    fn only_a_whole_list_of_this_very_member_is_resumed() {
        let listing = walk(vec![opened("9", "m1", Phase::Listing)]);
        let other = walk(vec![opened("9", "m2", Phase::Live)]);
        assert_eq!((listing.as_str(), &listing), ("open list:first@", &other));
    }

    #[test]
    fn a_member_that_fell_behind_is_listed() {
        for now in ["8", "x", ""] {
            let outcomes = vec![opened("9", "m1", Phase::Live), present(now)];
            assert_eq!(walk(outcomes), "open check@9 list:first@", "{now}");
        }
        let longer = vec![opened("9", "m1", Phase::Live), present("10")];
        assert_eq!(walk(longer), "open check@9 watch@9", "compared as numbers");
    }

    #[test]
    fn what_differs_is_listed_at_once() {
        let outcomes = vec![
            opened("9", "m1", Phase::Live),
            present("9"),
            Outcome::Differs,
            page("12", None),
            Outcome::Swept(None),
        ];
        assert_eq!(
            walk(outcomes),
            "open check@9 watch@9 list:first@ sweep@12 watch@12"
        );
    }

    #[test]
    fn a_broken_watch_is_checked_and_one_that_is_too_old_is_listed() {
        let resumed = vec![
            opened("9", "m1", Phase::Live),
            present("9"),
            broke("11"),
            Outcome::Failed,
            present("11"),
            ended_early("11", Good::Nothing),
            present("11"),
            Outcome::Gone,
            Outcome::Failed,
        ];
        assert_eq!(
            walk(resumed),
            "open check@9 watch@9 ~check@11 ~check@11 watch@11 ~check@11 watch@11 ~list:first@ -list:first@"
        );
    }

    #[test]
    fn an_expired_list_begins_anew_and_a_failed_page_is_read_again() {
        let outcomes = vec![
            Outcome::Opened(None),
            page("10", Some("t")),
            Outcome::Failed,
            Outcome::Gone,
            page("20", None),
        ];
        assert_eq!(
            walk(outcomes),
            "open list:first@ list:t@10 -list:t@10 ~list:first@ sweep@20"
        );
    }

    #[test]
    fn an_expired_list_goes_on_with_a_fresh_token_and_is_watched_from_its_first_version() {
        let expired = |token: &str| Outcome::Expired(token.into());
        let outcomes = vec![
            Outcome::Opened(None),
            page("10", Some("t")),
            expired("f1"),
            page("20", Some("u")),
            expired("f2"),
            Outcome::Failed,
            page("30", None),
            Outcome::Swept(None),
        ];
        assert_eq!(
            walk(outcomes),
            "open list:first@ list:t@10 ~list:f1@10 list:u@10 ~list:f2@10 -list:f2@10 sweep@10 watch@10"
        );
        let in_vain = vec![
            Outcome::Opened(None),
            page("10", Some("t")),
            expired("f1"),
            expired("f2"),
        ];
        assert_eq!(
            walk(in_vain),
            "open list:first@ list:t@10 ~list:f1@10 ~list:first@"
        );
    }

    #[test]
    fn a_stream_that_was_taken_over_waits_long() {
        let outcomes = vec![Outcome::Opened(None), Outcome::Fenced];
        assert_eq!(walk(outcomes), "open list:first@ ~~open");
    }

    #[test]
    fn only_the_first_list_of_an_empty_stream_has_nothing_to_sweep() {
        let over_rows = |outcomes: Vec<Outcome>| {
            let mut state = State::Opening;
            for outcome in outcomes {
                state = step(state, outcome, "m1").state;
            }
            match state {
                State::Listing(listing) => listing.over_rows,
                other => panic!("{other:?}"),
            }
        };
        assert!(!over_rows(vec![Outcome::Opened(None)]));
        assert!(over_rows(vec![Outcome::Opened(None), Outcome::Gone]));
        assert!(over_rows(vec![opened("", "m1", Phase::Listing)]));
    }

    #[test]
    fn empty_pages_are_asked_for_less_and_less_often() {
        let listing = State::Listing(Listing::default());
        let next = step(listing, page("10", Some("t")), "m1");
        assert!(matches!(next.wait, Wait::Page), "{next:?}");
        let next = step(next.state, page("10", None), "m1");
        assert!(matches!(next.wait, Wait::No), "{next:?}");
    }

    /// The number of the page at which a list is given up, with as many objects on each as `keys` says.
    fn given_up(keys: impl Fn(usize) -> Vec<usize>) -> Option<usize> {
        let mut state = State::Listing(Listing::default());
        for number in 1..200 {
            let State::Listing(mut listing) = state else {
                panic!("a list: {state:?}")
            };
            listing.begin_page();
            for key in keys(number) {
                listing.seen.insert(&ObjectKey::new("n", key.to_string()));
            }
            let token = number.to_string();
            if !listing.gets_on(&token) {
                return Some(number);
            }
            state = step(State::Listing(listing), page("10", Some(&token)), "m1").state;
        }
        None
    }

    #[test]
    fn a_list_that_tells_the_same_over_and_over_is_given_up() {
        assert_eq!(given_up(|_| vec![1, 2, 3]), Some(FIRST_LOOK as usize));
        let later = |number: usize| vec![number.min(100), 101 + number % 3];
        assert!(given_up(later).is_some());
        assert_eq!(given_up(|number| vec![2 * number, 2 * number + 1]), None);
        let mut same_place = Listing {
            token: Some("t".into()),
            ..Listing::default()
        };
        assert!(!same_place.gets_on("t"));
    }

    #[test]
    fn a_page_that_is_read_again_counts_once() {
        let mut listing = Listing::default();
        listing.begin_page();
        listing.seen.insert(&ObjectKey::new("n", "a"));
        let State::Listing(mut listing) = listing.next_page("10".into(), Some("t".into())) else {
            panic!("it goes on");
        };
        for _ in 0..5 {
            listing.begin_page();
            listing.seen.insert(&ObjectKey::new("n", "b"));
        }
        assert_eq!((listing.seen.hashes.len(), listing.seen.of_page()), (2, 1));
    }

    /// It is written for each page, where the log is to have so much.
    #[test]
    fn of_a_list_the_log_is_told_how_long_it_is() {
        let mut listing = Listing {
            token: Some("a token".into()),
            ..Listing::default()
        };
        for number in 0..10_000 {
            listing
                .seen
                .insert(&ObjectKey::new("n", number.to_string()));
        }
        let seen = Sweep {
            version: "10".into(),
            seen: std::mem::take(&mut listing.seen),
            after: None,
            over_rows: true,
            marked: true,
            is_stored: true,
        };
        let swept = format!("{:?}", State::Sweeping(seen));
        assert!(swept.contains("keys: 10000"), "{swept}");
        let listed = format!("{:?}", State::Listing(listing));
        assert!(!listed.contains("a token"), "{listed}");
        assert!(swept.len().max(listed.len()) < 256, "{swept} {listed}");
    }

    #[test]
    fn keys_of_a_list_are_remembered() {
        let mut seen = Seen::default();
        for name in ["b", "a", "b"] {
            seen.insert(&ObjectKey::new("n", name));
        }
        let seen = seen.sealed();
        assert_eq!(seen.hashes.len(), 2);
        assert!(seen.contains(&ObjectKey::new("n", "a")));
        assert!(!seen.contains(&ObjectKey::new("n", "c")));
    }
}
