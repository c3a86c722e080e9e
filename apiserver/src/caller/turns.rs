//! Turns to ask the host: so many questions at the same time, so many that wait for their turn, and a share of both for each asker.
//!
//! Anybody can make us ask, and the host has other work. Whoever finds the line full is turned away at once and comes back. Turns are
//! given in the order of arrival, but one asker never has more than a part of them, so that a line behind one asker is that asker's own.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, SemaphorePermit};

use super::review::ReviewFailed;

/// On whose account the host is asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Asker {
    /// Somebody who has proved who they are.
    User(String),
    /// A connection on which nobody has.
    Connection(u64),
}

/// How many questions there may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TurnSizes {
    /// Asked at the same time.
    pub(crate) at_once: usize,
    /// Of these, for one asker.
    pub(crate) at_once_per_asker: usize,
    /// Asked or waiting.
    pub(crate) in_line: usize,
    /// Of these, for one asker.
    pub(crate) in_line_per_asker: usize,
}

/// The turns and who waits for them.
pub(crate) struct Turns {
    sizes: TurnSizes,
    all: Semaphore,
    line: Mutex<Line>,
}

#[derive(Default)]
struct Line {
    length: usize,
    /// Everybody who is in line.
    askers: HashMap<Asker, Share>,
}

struct Share {
    length: usize,
    turns: Arc<Semaphore>,
}

/// A place in the line, until it is dropped.
pub(crate) struct Place<'a> {
    turns: &'a Turns,
    asker: &'a Asker,
    own: Arc<Semaphore>,
}

/// A turn, until it is dropped.
pub(crate) struct Turn<'a> {
    _own: SemaphorePermit<'a>,
    _all: SemaphorePermit<'a>,
}

impl Turns {
    pub(crate) fn new(sizes: TurnSizes) -> Self {
        Self {
            sizes,
            all: Semaphore::new(sizes.at_once),
            line: Mutex::default(),
        }
    }

    /// A place at the end of the line, if there is one.
    pub(crate) fn enter<'a>(&'a self, asker: &'a Asker) -> Result<Place<'a>, ReviewFailed> {
        let mut line = self.line();
        if line.length >= self.sizes.in_line {
            return Err(ReviewFailed::Crowded);
        }
        let share = line.askers.entry(asker.clone()).or_insert_with(|| Share {
            length: 0,
            turns: Arc::new(Semaphore::new(self.sizes.at_once_per_asker)),
        });
        if share.length >= self.sizes.in_line_per_asker {
            return Err(ReviewFailed::CrowdedByAsker);
        }
        share.length += 1;
        let own = Arc::clone(&share.turns);
        line.length += 1;
        Ok(Place {
            turns: self,
            asker,
            own,
        })
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place<'_> {
    /// Waits for a turn: the asker's own first, so that who waits for himself keeps nobody else waiting.
    pub(crate) async fn turn(&self) -> Turn<'_> {
        let open = "turns are never closed";
        let own = self.own.acquire().await.expect(open);
        let all = self.turns.all.acquire().await.expect(open);
        Turn {
            _own: own,
            _all: all,
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut line = self.turns.line();
        line.length -= 1;
        if let Some(share) = line.askers.get_mut(self.asker) {
            share.length -= 1;
            if share.length == 0 {
                line.askers.remove(self.asker);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn turns() -> Turns {
        Turns::new(TurnSizes {
            at_once: 4,
            at_once_per_asker: 2,
            in_line: 10,
            in_line_per_asker: 5,
        })
    }

    fn user(name: &str) -> Asker {
        Asker::User(name.to_owned())
    }

    #[test]
    fn one_asker_neither_fills_the_line_nor_takes_all_turns() {
        let (turns, alice, bob) = (turns(), user("alice"), user("bob"));
        let places: Vec<_> = (0..5).map(|_| turns.enter(&alice).expect("room")).collect();
        assert!(matches!(
            turns.enter(&alice),
            Err(ReviewFailed::CrowdedByAsker)
        ));
        let has_turn: Vec<_> = places
            .iter()
            .filter_map(|place| place.turn().now_or_never())
            .collect();
        assert_eq!(has_turn.len(), 2);
        let place = turns.enter(&bob).expect("room");
        assert!(place.turn().now_or_never().is_some());
    }

    #[test]
    fn a_full_line_turns_everybody_away_until_somebody_leaves() {
        let (turns, askers) = (turns(), ["a", "b", "c"].map(user));
        let mut places: Vec<_> = (0..10)
            .map(|number| turns.enter(&askers[number % 2]).expect("room"))
            .collect();
        assert!(matches!(
            turns.enter(&askers[2]),
            Err(ReviewFailed::Crowded)
        ));
        places.pop();
        assert!(turns.enter(&askers[2]).is_ok());
    }

    #[test]
    fn nobody_is_remembered_who_is_not_in_line() {
        let turns = turns();
        for number in 0..100 {
            let asker = Asker::Connection(number);
            let place = turns.enter(&asker).expect("room");
            assert!(place.turn().now_or_never().is_some());
        }
        let line = turns.line();
        assert_eq!((line.length, line.askers.len()), (0, 0));
    }
}
