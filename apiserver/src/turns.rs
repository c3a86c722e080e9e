//! Turns: what only so many may do at the same time, shared out among all who want to.
//!
//! The next turn is given to who has the fewest, and the last ones that are free are for those who have none: a line behind one asker is
//! that asker's own. Connections on which nobody has proved who they are count together with the others of their address before they
//! count by themselves. Who gets no turn at once waits in line, if the line has room: when it is full, whoever has most in it makes room
//! for who has less. Nothing here knows what a turn is for, and those who do not want to wait ask for a turn now or none.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// The last turns that are free are for those who have none: one part of all in so many.
const LAST: usize = 4;

/// Who wants a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asker {
    crowd: Crowd,
    member: u64,
}

/// Whose askers count together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Crowd {
    /// Somebody who has proved who they are: one asker.
    User(String),
    /// Where connections come from on which nobody has.
    Address(IpAddr),
}

impl Asker {
    /// Somebody who has proved who they are.
    pub(crate) fn user(name: impl Into<String>) -> Self {
        let crowd = Crowd::User(name.into());
        Self { crowd, member: 0 }
    }

    /// A connection from this address on which nobody has; the number tells it from all others.
    pub(crate) fn stranger(address: IpAddr, number: u64) -> Self {
        Self {
            crowd: Crowd::Address(address),
            member: number,
        }
    }

    pub(crate) fn is_stranger(&self) -> bool {
        matches!(self.crowd, Crowd::Address(_))
    }
}

/// How many turns there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TurnSizes {
    /// At the same time.
    pub(crate) at_once: usize,
    /// Of these, for one asker.
    pub(crate) at_once_per_asker: usize,
    /// Those who have one or wait for one.
    pub(crate) in_line: usize,
    /// Of these, of one asker.
    pub(crate) in_line_per_asker: usize,
}

/// Why there is no place in line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// Too many wait.
    OfAll,
    /// Too many of the same asker wait.
    OfAsker,
}

/// The turns and who waits for them.
pub(crate) struct Turns {
    sizes: TurnSizes,
    line: Mutex<Line>,
}

struct Line {
    free: usize,
    /// Those who have a turn and those who wait.
    length: usize,
    /// The next one's number.
    next: u64,
    /// Everybody who is in line.
    crowds: HashMap<Crowd, HashMap<u64, Member>>,
}

#[derive(Default)]
struct Member {
    /// Turns that it has.
    running: usize,
    /// Places without a turn, in the order of arrival.
    waiting: BTreeMap<u64, Waiting>,
}

struct Waiting {
    sent_away: CancellationToken,
    /// There if a turn is wanted as soon as there is one.
    call: Option<oneshot::Sender<Turn>>,
}

/// A place in the line, until it is dropped or somebody who has less in line gets it.
pub(crate) struct InLine {
    turns: Arc<Turns>,
    asker: Asker,
    number: u64,
    sent_away: CancellationToken,
}

/// A turn, until it is dropped. Who has one makes room for nobody.
pub(crate) struct Turn {
    turns: Arc<Turns>,
    asker: Asker,
}

impl Turns {
    pub(crate) fn new(sizes: TurnSizes) -> Arc<Self> {
        let line = Line {
            free: sizes.at_once,
            length: 0,
            next: 0,
            crowds: HashMap::new(),
        };
        Arc::new(Self {
            sizes,
            line: Mutex::new(line),
        })
    }

    /// A turn now, if there is one.
    pub(crate) fn now(self: &Arc<Self>, asker: &Asker) -> Option<Turn> {
        let mut line = self.line();
        let members = line.crowds.get(&asker.crowd);
        let of_crowd = members.map_or(0, running);
        let own = members.and_then(|members| members.get(&asker.member));
        if !line.may_have_one(self.sizes, of_crowd, own.map_or(0, |own| own.running)) {
            return None;
        }
        line.length += 1;
        line.begin(asker);
        drop(line);
        Some(self.turn_of(asker.clone()))
    }

    /// A turn as soon as there is one, if there is a place to wait for it.
    pub(crate) async fn wait(self: &Arc<Self>, asker: &Asker) -> Result<Turn, Full> {
        self.enter(asker)?.turn().await
    }

    /// A place at the end of the line, if there is one.
    pub(crate) fn enter(self: &Arc<Self>, asker: &Asker) -> Result<InLine, Full> {
        let mut line = self.line();
        if line.length_of(asker) >= self.sizes.in_line_per_asker {
            return Err(Full::OfAsker);
        }
        if line.length >= self.sizes.in_line && !line.make_room(asker) {
            return Err(Full::OfAll);
        }
        let number = line.next;
        line.next += 1;
        line.length += 1;
        let sent_away = CancellationToken::new();
        let waiting = Waiting {
            sent_away: sent_away.clone(),
            call: None,
        };
        line.member(asker).waiting.insert(number, waiting);
        Ok(InLine {
            turns: Arc::clone(self),
            asker: asker.clone(),
            number,
            sent_away,
        })
    }

    /// How many have a turn or wait for one.
    #[cfg(test)]
    pub(crate) fn length(&self) -> usize {
        self.line().length
    }

    /// Gives turns to those who are next, as long as there are any.
    fn call(self: &Arc<Self>) {
        loop {
            let next = self.line().take_next(self.sizes);
            let Some((asker, call)) = next else { return };
            // Whoever has gone away gives it back by dropping it, which calls the next.
            drop(call.send(self.turn_of(asker)));
        }
    }

    fn turn_of(self: &Arc<Self>, asker: Asker) -> Turn {
        Turn {
            turns: Arc::clone(self),
            asker,
        }
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Line {
    /// Whether somebody may have one more, who has so many and whose crowd has so many.
    fn may_have_one(&self, sizes: TurnSizes, of_crowd: usize, own: usize) -> bool {
        match of_crowd {
            0 => self.free > 0,
            _ => self.free > sizes.at_once / LAST && own < sizes.at_once_per_asker,
        }
    }

    /// Who is next, and how they are told.
    fn take_next(&mut self, sizes: TurnSizes) -> Option<(Asker, oneshot::Sender<Turn>)> {
        let nobody_waits = self.length == sizes.at_once - self.free;
        if self.free == 0 || nobody_waits {
            return None;
        }
        let waiting = self.crowds.iter().flat_map(|(crowd, members)| {
            let of_crowd = running(members);
            let ranks = members.iter().filter_map(move |(member, own)| {
                let first = own.first_to_call()?;
                Some(((of_crowd, own.running, first), *member))
            });
            ranks.map(move |(rank, member)| (rank, member, crowd))
        });
        let next = waiting
            .filter(|((of_crowd, own, _), ..)| self.may_have_one(sizes, *of_crowd, *own))
            .min_by_key(|(rank, ..)| *rank);
        let ((_, _, number), member, crowd) = next?;
        let asker = Asker {
            crowd: crowd.clone(),
            member,
        };
        let call = self.known(&asker)?.waiting.remove(&number)?.call?;
        self.begin(&asker);
        Some((asker, call))
    }

    /// A place wants to be called; one that has gone is not.
    fn want(&mut self, asker: &Asker, number: u64, call: oneshot::Sender<Turn>) {
        let own = self.known(asker);
        if let Some(waiting) = own.and_then(|own| own.waiting.get_mut(&number)) {
            waiting.call = Some(call);
        }
    }

    fn begin(&mut self, asker: &Asker) {
        self.free -= 1;
        self.member(asker).running += 1;
    }

    fn end(&mut self, asker: &Asker) {
        self.free += 1;
        if let Some(own) = self.known(asker) {
            own.running -= 1;
        }
        self.leave(asker);
    }

    fn leave(&mut self, asker: &Asker) {
        self.length -= 1;
        let Some(members) = self.crowds.get_mut(&asker.crowd) else {
            return;
        };
        if members
            .get(&asker.member)
            .is_some_and(|own| own.length() == 0)
        {
            members.remove(&asker.member);
        }
        if members.is_empty() {
            self.crowds.remove(&asker.crowd);
        }
    }

    fn member(&mut self, asker: &Asker) -> &mut Member {
        let members = self.crowds.entry(asker.crowd.clone()).or_default();
        members.entry(asker.member).or_default()
    }

    /// Somebody who is in line.
    fn known(&mut self, asker: &Asker) -> Option<&mut Member> {
        self.crowds.get_mut(&asker.crowd)?.get_mut(&asker.member)
    }

    fn length_of(&self, asker: &Asker) -> usize {
        let members = self.crowds.get(&asker.crowd);
        let own = members.and_then(|members| members.get(&asker.member));
        own.map_or(0, Member::length)
    }

    /// Sends the newest away of whoever has most in line, if that leaves them with no less than `asker` gets.
    fn make_room(&mut self, asker: &Asker) -> bool {
        let waiting = self.crowds.iter().flat_map(|(crowd, members)| {
            let of_crowd = length(members);
            let waiting = members.iter().filter(|(_, own)| !own.waiting.is_empty());
            waiting.map(move |(member, own)| ((of_crowd, own.length()), crowd, *member))
        });
        let Some(((of_crowd, own), crowd, member)) = waiting.max_by_key(|(rank, ..)| *rank) else {
            return false;
        };
        let has_more = match *crowd == asker.crowd {
            true => own > self.length_of(asker) + 1,
            false => of_crowd > self.crowds.get(&asker.crowd).map_or(0, length) + 1,
        };
        if !has_more {
            return false;
        }
        let most = Asker {
            crowd: crowd.clone(),
            member,
        };
        let newest = self.known(&most).and_then(|own| own.waiting.pop_last());
        if let Some((_, newest)) = newest {
            newest.sent_away.cancel();
        }
        self.leave(&most);
        true
    }
}

impl Member {
    fn length(&self) -> usize {
        self.running + self.waiting.len()
    }

    /// The number of the first who wants to be called.
    fn first_to_call(&self) -> Option<u64> {
        let mut waiting = self.waiting.iter();
        let (number, _) = waiting.find(|(_, waiting)| waiting.call.is_some())?;
        Some(*number)
    }
}

fn running(members: &HashMap<u64, Member>) -> usize {
    members.values().map(|own| own.running).sum()
}

fn length(members: &HashMap<u64, Member>) -> usize {
    members.values().map(Member::length).sum()
}

impl InLine {
    /// Cancelled if somebody else gets the place, which nobody does who has had a turn.
    pub(crate) fn sent_away(&self) -> CancellationToken {
        self.sent_away.clone()
    }

    /// Waits for a turn.
    pub(crate) async fn turn(self) -> Result<Turn, Full> {
        let (call, called) = oneshot::channel();
        self.turns.line().want(&self.asker, self.number, call);
        self.turns.call();
        // Nobody calls who was sent away.
        called.await.map_err(|_| Full::OfAll)
    }
}

impl Drop for InLine {
    fn drop(&mut self) {
        let mut line = self.turns.line();
        let own = line.known(&self.asker);
        // It is not there any more if it was given a turn or sent away.
        if own.is_some_and(|own| own.waiting.remove(&self.number).is_some()) {
            line.leave(&self.asker);
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.turns.line().end(&self.asker);
        self.turns.call();
    }
}

#[cfg(test)]
mod tests;
