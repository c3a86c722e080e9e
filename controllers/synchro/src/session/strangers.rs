//! Addresses at which another cluster answers than the one that was connected: a member that was built anew, or a load balancer before several. Pure:
//! times and chance are passed in.
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

    /// Another cluster was found. What is told of that, and for how long nobody is connected.
    pub(super) fn found(&mut self, chance: f64) -> (&'static str, Duration) {
        let pause = self.pauses.next(chance);
        let words = match self.pauses.is_repeated() {
            true => IN_TURNS,
            false => ANOTHER,
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
        let mut found = |lasted| {
            strangers.connected_for(lasted);
            let (words, pause) = strangers.found(1.0);
            (words, pause.as_secs())
        };
        assert_eq!(found(MINUTE), (ANOTHER, 5));
        for pause in [10, 20, 40, 80, 160, 320, 600, 600] {
            assert_eq!(found(MINUTE), (IN_TURNS, pause));
        }
        assert_eq!(found(STAYED), (ANOTHER, 5));
    }
}
