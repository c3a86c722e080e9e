//! Turns to ask the host: so many questions at the same time, so many that wait for their turn, and a share of both for each asker.
//!
//! Anybody can make us ask, and the host has other work. Turns are given in the order of arrival, but one asker never has more than a
//! part of them, so that a line behind one asker is that asker's own. When the line is full, whoever has most in it makes room for who
//! has less; others are turned away at once and come back. A question that the host has begun to answer is never broken off: that
//! would cost the host a connection, and the turn would be given away while the host still works.

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::sync::Arc;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::{CancellationToken, DropGuard};

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
    hall: Arc<Hall>,
    /// Ends the questions that are being asked when nobody can want their answers any more.
    _ending: DropGuard,
}

struct Hall {
    sizes: TurnSizes,
    all: Arc<Semaphore>,
    line: Mutex<Line>,
    ending: CancellationToken,
}

#[derive(Default)]
struct Line {
    length: usize,
    /// The next one's number.
    next: u64,
    /// Everybody who is in line.
    askers: HashMap<Asker, Share>,
}

struct Share {
    length: usize,
    turns: Arc<Semaphore>,
    /// Those who have no turn yet, in the order of arrival.
    waiting: BTreeMap<u64, CancellationToken>,
}

/// A place in the line, until it is dropped or somebody who has less in line gets it.
pub(crate) struct Place {
    hall: Arc<Hall>,
    asker: Asker,
    number: u64,
    own: Arc<Semaphore>,
    sent_away: CancellationToken,
}

/// A turn, until it is dropped. Who has one is still in line.
struct Turn {
    _own: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
    place: Place,
}

impl Turns {
    pub(crate) fn new(sizes: TurnSizes) -> Self {
        let ending = CancellationToken::new();
        Self {
            hall: Arc::new(Hall {
                sizes,
                all: Arc::new(Semaphore::new(sizes.at_once)),
                line: Mutex::default(),
                ending: ending.clone(),
            }),
            _ending: ending.drop_guard(),
        }
    }

    /// A place at the end of the line, if there is one.
    pub(crate) fn enter(&self, asker: &Asker) -> Result<Place, ReviewFailed> {
        let sizes = self.hall.sizes;
        let mut line = self.hall.line();
        let own = line.askers.get(asker).map_or(0, |share| share.length);
        if own >= sizes.in_line_per_asker {
            return Err(ReviewFailed::CrowdedByAsker);
        }
        if line.length >= sizes.in_line && !line.make_room(own) {
            return Err(ReviewFailed::Crowded);
        }
        let number = line.next;
        line.next += 1;
        line.length += 1;
        let share = line.askers.entry(asker.clone()).or_insert_with(|| Share {
            length: 0,
            turns: Arc::new(Semaphore::new(sizes.at_once_per_asker)),
            waiting: BTreeMap::new(),
        });
        share.length += 1;
        let sent_away = CancellationToken::new();
        share.waiting.insert(number, sent_away.clone());
        Ok(Place {
            hall: Arc::clone(&self.hall),
            asker: asker.clone(),
            number,
            own: Arc::clone(&share.turns),
            sent_away,
        })
    }
}

impl Hall {
    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Line {
    /// Sends the newest away of whoever has most in line, if that leaves them with no less than somebody gets who has `own`.
    fn make_room(&mut self, own: usize) -> bool {
        let waiting = self.askers.values_mut();
        let waiting = waiting.filter(|share| !share.waiting.is_empty());
        let Some(most) = waiting.max_by_key(|share| share.length) else {
            return false;
        };
        if most.length <= own + 1 {
            return false;
        }
        if let Some((_, newest)) = most.waiting.pop_last() {
            newest.cancel();
            most.length -= 1;
            self.length -= 1;
        }
        true
    }
}

impl Place {
    /// Cancelled if somebody else gets the place, which nobody does who has begun to ask.
    pub(crate) fn sent_away(&self) -> CancellationToken {
        self.sent_away.clone()
    }

    /// Waits for a turn and asks, in a task of its own: it goes on when nobody waits for the answer any more.
    pub(crate) async fn ask<T, E>(
        self,
        question: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<ReviewFailed> + Send + 'static,
    {
        let turn = self.turn().await?;
        let asking = tokio::spawn(async move {
            let ending = turn.place.hall.ending.clone();
            let answer = ending.run_until_cancelled_owned(question).await;
            drop(turn);
            answer.unwrap_or_else(|| Err(ReviewFailed::new("the server stops").into()))
        });
        let failed =
            |error| Err(ReviewFailed::new(format!("the review broke off: {error}")).into());
        asking.await.unwrap_or_else(failed)
    }

    /// Waits for a turn: the asker's own first, so that who waits for himself keeps nobody else waiting.
    async fn turn(self) -> Result<Turn, ReviewFailed> {
        let open = "turns are never closed";
        let own = Arc::clone(&self.own).acquire_owned().await.expect(open);
        let all = Arc::clone(&self.hall.all)
            .acquire_owned()
            .await
            .expect(open);
        self.stay()?;
        Ok(Turn {
            _own: own,
            _all: all,
            place: self,
        })
    }

    /// From now on the place is nobody else's.
    fn stay(&self) -> Result<(), ReviewFailed> {
        let mut line = self.hall.line();
        if self.sent_away.is_cancelled() {
            return Err(ReviewFailed::Crowded);
        }
        if let Some(share) = line.askers.get_mut(&self.asker) {
            share.waiting.remove(&self.number);
        }
        Ok(())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut line = self.hall.line();
        if self.sent_away.is_cancelled() {
            return;
        }
        line.length -= 1;
        if let Some(share) = line.askers.get_mut(&self.asker) {
            share.waiting.remove(&self.number);
            share.length -= 1;
            if share.length == 0 {
                line.askers.remove(&self.asker);
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
        let mut waiting: Vec<_> = places
            .into_iter()
            .map(|place| Box::pin(place.turn()))
            .collect();
        let turns_of_alice: Vec<_> = waiting
            .iter_mut()
            .filter_map(futures::FutureExt::now_or_never)
            .collect();
        assert_eq!(turns_of_alice.len(), 2);
        let place = turns.enter(&bob).expect("room");
        assert!(place.turn().now_or_never().is_some());
    }

    #[test]
    fn in_a_full_line_who_has_most_makes_room_until_all_have_as_much() {
        let (turns, askers) = (turns(), ["a", "b", "c"].map(user));
        let mut places: Vec<_> = (0..10)
            .map(|number| turns.enter(&askers[number % 2]).expect("room"))
            .collect();
        let ours: Vec<_> = (0..3)
            .map(|_| turns.enter(&askers[2]).expect("room"))
            .collect();
        let sent_away = |place: &&Place| place.sent_away().is_cancelled();
        assert_eq!(places.iter().filter(sent_away).count(), 3);
        assert_eq!(ours.iter().filter(sent_away).count(), 0);
        assert!(places[..6].iter().all(|place| !sent_away(&place)));
        assert!(matches!(
            turns.enter(&askers[2]),
            Err(ReviewFailed::Crowded)
        ));
        let newest = places.pop().expect("ten").turn().now_or_never();
        assert!(matches!(newest, Some(Err(ReviewFailed::Crowded))));
        places.remove(0);
        assert!(turns.enter(&askers[2]).is_ok());
        drop((places, ours));
        assert_eq!(turns.hall.line().length, 0);
    }

    #[test]
    fn nobody_makes_room_who_has_a_turn() {
        let turns = Turns::new(TurnSizes {
            at_once: 2,
            at_once_per_asker: 2,
            in_line: 2,
            in_line_per_asker: 2,
        });
        let alice = user("alice");
        let has_turn = [(); 2].map(|()| {
            let place = turns.enter(&alice).expect("room");
            place.turn().now_or_never().expect("a turn")
        });
        let bob = turns.enter(&user("bob"));
        assert!(matches!(bob, Err(ReviewFailed::Crowded)));
        drop(has_turn);
        assert!(turns.enter(&user("bob")).is_ok());
    }

    #[test]
    fn nobody_is_remembered_who_is_not_in_line() {
        let turns = turns();
        for number in 0..100 {
            let asker = Asker::Connection(number);
            let place = turns.enter(&asker).expect("room");
            assert!(place.turn().now_or_never().is_some());
        }
        let line = turns.hall.line();
        assert_eq!((line.length, line.askers.len()), (0, 0));
    }
}
