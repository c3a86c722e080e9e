//! Addresses at which another cluster answers than the one that was connected: a member that was built anew, or a load balancer before several; and members that
//! do not say any more who they are. Pure: times and chance are passed in.
//!
//! Whoever is connected is listed, and what there is of another cluster goes. Done once that is right; done in turns without end it is two clusters' worth of
//! lists each time, and whoever searches finds now the one and now the other.

use std::time::Duration;

use armadex_backoff::Backoff;

/// What a member takes that was built anew.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
/// All lists of two clusters are little beside it.
const LAST_PAUSE: Duration = Duration::from_secs(600);
/// Who was connected for longer is none of those that answer in turns.
const STAYED: Duration = Duration::from_secs(600);

const ANOTHER: &str = "another cluster answers at this address";
const IN_TURNS: &str =
    "clusters answer at this address in turns, and it has to lead to one of them alone";
const NAMELESS: &str = "the member does not say any more who it is, in the way in which it did: the account lost that right";
const AT_TIMES: &str = "the member says who it is at times and at others not: grant the account that right, or take it away";

/// Why nobody goes on where the member that was connected is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lost {
    /// Another one answers.
    Another,
    /// It does not say any more who it is, in the way in which it did.
    Nameless,
}

/// Clusters that took each other's place at one address.
#[derive(Debug)]
pub(super) struct Strangers {
    pauses: Backoff,
}

impl Default for Strangers {
    fn default() -> Self {
        Self {
            pauses: Backoff::new(FIRST_PAUSE, LAST_PAUSE),
        }
    }
}

impl Strangers {
    /// A member was connected for so long.
    pub(super) fn connected_for(&mut self, lasted: Duration) {
        if lasted >= STAYED {
            self.pauses.reset();
        }
    }

    /// The member was lost. What is told of that, and for how long nobody is connected.
    pub(super) fn found(&mut self, lost: Lost, chance: f64) -> (&'static str, Duration) {
        let pause = self.pauses.next(chance);
        let words = match (lost, self.pauses.is_repeated()) {
            (Lost::Another, false) => ANOTHER,
            (Lost::Another, true) => IN_TURNS,
            (Lost::Nameless, false) => NAMELESS,
            (Lost::Nameless, true) => AT_TIMES,
        };
        (words, pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn clusters_that_answer_in_turns_are_left_alone_for_longer_and_longer() {
        let mut strangers = Strangers::default();
        for (lost, once, again) in [
            (Lost::Another, ANOTHER, IN_TURNS),
            (Lost::Nameless, NAMELESS, AT_TIMES),
        ] {
            let mut found = |lasted| {
                strangers.connected_for(lasted);
                let (words, pause) = strangers.found(lost, 1.0);
                (words, pause.as_secs())
            };
            assert_eq!(found(STAYED), (once, 5));
            for pause in [10, 20, 40, 80, 160, 320, 600, 600] {
                assert_eq!(found(MINUTE), (again, pause));
            }
            assert_eq!(found(STAYED), (once, 5));
        }
    }
}
