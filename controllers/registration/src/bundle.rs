//! Whom the control plane is to trust: the CAs of this process, beside those that others have said. Pure, but for the time that is told to it.
//!
//! Replicas may have CAs of their own for a while: of a Secret and of cert-manager, or of a file that has come to some of them only. Each that said its own alone would
//! have the control plane refuse the others. So what is there stays for a day. The [`Counts`] are on the APIService and outlive a process: each that sees a CA of others for
//! an hour, in which nobody counted it, counts one more, and whose CA it is begins its count anew. By that the others see that somebody says it. Whether a CA is
//! over does not matter: nobody trusts one that is, and no clock that is wrong takes any away, since none is asked.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::counts::{Counts, Mark};

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";
/// As long as a process sees a CA before it counts one more.
const HOUR: Duration = Duration::from_secs(60 * 60);
/// As long as a new CA of ours waits until it signs.
const KEPT: u8 = 24;
/// Before those who count it have come to an end, whatever time of an hour it is for each.
const ANEW: u8 = KEPT / 2;
/// CAs of others. Of one that renews its own there are three, and no more than two change hands at a time.
pub(crate) const OTHERS: usize = 8;

/// CAs that are remembered.
const REMEMBERED: usize = 64;

/// What is known of the CAs of others.
#[derive(Debug, Default)]
pub(crate) struct Bundle(BTreeMap<String, Seen>);

/// What is to be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// The CAs, as PEM.
    pub(crate) ca: String,
    /// For how long those of others have been seen.
    pub(crate) counts: Counts,
}

#[derive(Clone, Copy, Debug)]
enum Seen {
    /// It is there with this count, from then on.
    With(u8, Instant),
    /// It was there for a day, and is to go with the next write.
    Leaving,
    /// It was taken away.
    TakenAway,
    /// It came back, or its count began anew: somebody says it who is there as long as this process is.
    Meant,
}

impl Bundle {
    /// What is to be there, which is what was found if nothing is wrong with it.
    pub(crate) fn wanted(
        &mut self,
        ours: &str,
        found: &str,
        counted: &Counts,
        now: Instant,
    ) -> Wanted {
        let (own, all) = (certificates(ours), certificates(found));
        let others: Vec<&str> = all.iter().copied().filter(|ca| !has(&own, ca)).collect();
        self.forget(&others);
        let (mut kept, mut counts) = (Vec::new(), Counts::default());
        for other in &others {
            let count = self.counted(other, counted.of(&Mark::of(&key(other))), now);
            if let Some(count) = count
                && kept.len() < OTHERS
            {
                kept.push(*other);
                counts.set(Mark::of(&key(other)), count);
            }
        }
        for mark in own.iter().map(|ca| Mark::of(&key(ca))) {
            let count = counted.of(&mark);
            counts.set(mark, if count < ANEW { count } else { 0 });
        }
        let is_right = kept.len() == others.len() && own.iter().all(|ca| has(&all, ca));
        let ca = if is_right && !own.is_empty() {
            found.to_owned()
        } else {
            joined(ours, &kept)
        };
        Wanted { ca, counts }
    }

    /// Those that went without this process.
    fn forget(&mut self, others: &[&str]) {
        let is_full = self.0.len() > REMEMBERED;
        self.0.retain(|ca, seen| {
            let is_there = others.iter().any(|other| key(other) == *ca);
            is_there || (!is_full && !matches!(seen, Seen::With(..)))
        });
    }

    /// What its count is to be; `None`: it goes.
    fn counted(&mut self, other: &str, told: u8, now: Instant) -> Option<u8> {
        let seen = self.0.entry(key(other)).or_insert(Seen::With(told, now));
        *seen = match *seen {
            Seen::With(count, _) if told < count => Seen::Meant,
            Seen::With(count, _) if told > count => Seen::With(told, now),
            Seen::With(count, since) => match now.duration_since(since) {
                short if short < HOUR => Seen::With(count, since),
                _ if count + 1 < KEPT => return Some(count + 1),
                _ => Seen::Leaving,
            },
            Seen::Leaving if told + 1 < KEPT => Seen::Meant,
            Seen::Leaving => Seen::Leaving,
            Seen::TakenAway | Seen::Meant => Seen::Meant,
        };
        (!matches!(seen, Seen::Leaving)).then_some(told)
    }

    /// What was wanted last has been written.
    pub(crate) fn written(&mut self) {
        for seen in self.0.values_mut() {
            if matches!(seen, Seen::Leaving) {
                *seen = Seen::TakenAway;
            }
        }
    }
}

/// Whether a bundle has one of these CAs.
pub(crate) fn trusts_any(bundle: &str, cas: &str) -> bool {
    let all = certificates(bundle);
    certificates(cas).into_iter().any(|ca| has(&all, ca))
}

fn joined(ours: &str, others: &[&str]) -> String {
    let mut all = ours.to_owned();
    for ca in others {
        if !all.ends_with('\n') {
            all.push('\n');
        }
        all.push_str(ca);
        all.push('\n');
    }
    all
}

/// The certificates of a text, as they are written there.
fn certificates(pem: &str) -> Vec<&str> {
    let begun = pem.match_indices(BEGIN).map(|(start, _)| &pem[start..]);
    begun
        .filter_map(|rest| Some(&rest[..rest.find(END)? + END.len()]))
        .collect()
}

fn has(all: &[&str], ca: &str) -> bool {
    all.iter().any(|known| key(known) == key(ca))
}

/// The same for the same certificate, however its lines are broken.
fn key(ca: &str) -> String {
    ca.chars().filter(|sign| !sign.is_whitespace()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ca(name: &str) -> String {
        format!("{BEGIN}\n{name}\n{END}\n")
    }

    fn both(one: &str, two: &str) -> String {
        ca(one) + &ca(two)
    }

    /// What is there, and what a process makes of it that looks once a minute.
    struct There {
        ca: String,
        counts: Counts,
        writes: u32,
        begun: Instant,
        minute: u32,
    }

    impl There {
        fn of(ca: String) -> Self {
            let (counts, begun) = (Counts::default(), Instant::now());
            Self {
                ca,
                counts,
                writes: 0,
                begun,
                minute: 0,
            }
        }

        fn is_looked_at(&mut self, bundle: &mut Bundle, ours: &str) {
            let now = self.begun + Duration::from_secs(60) * self.minute;
            let wanted = bundle.wanted(&ca(ours), &self.ca, &self.counts, now);
            if (&wanted.ca, &wanted.counts) != (&self.ca, &self.counts) {
                self.writes += 1;
                (self.ca, self.counts) = (wanted.ca, wanted.counts);
                bundle.written();
            }
        }

        fn has(&self, name: &str) -> bool {
            self.ca.contains(&ca(name))
        }
    }

    #[test]
    fn two_that_have_cas_of_their_own_come_to_rest_and_stay_trusted() {
        let (mut one, mut two) = (Bundle::default(), Bundle::default());
        let mut there = There::of(both("one", "two"));
        for minute in 0..10_000 {
            there.minute = minute;
            there.is_looked_at(&mut one, "one");
            there.is_looked_at(&mut two, "two");
            assert!(there.has("one") && there.has("two"), "{minute}");
            assert!(minute < 2000 || there.writes <= 30, "{}", there.writes);
        }
        assert_eq!(certificates(&there.ca).len(), 2);
    }

    #[test]
    fn what_nobody_says_any_more_goes_after_a_day() {
        let mut bundle = Bundle::default();
        let mut there = There::of(both("ours", "theirs"));
        for minute in 0..(24 * 60) {
            there.minute = minute;
            there.is_looked_at(&mut bundle, "ours");
            assert!(there.has("theirs"), "{minute}");
        }
        for minute in (24 * 60)..(25 * 60) {
            there.minute = minute;
            there.is_looked_at(&mut bundle, "ours");
        }
        assert_eq!(there.ca, ca("ours"));
        assert_eq!(there.counts, Counts::default());
    }

    /// As where pods come and go with the load.
    #[test]
    fn what_nobody_says_any_more_goes_though_no_process_lives_for_a_day() {
        let mut there = There::of(both("ours", "theirs"));
        let mut bundles = [Bundle::default(), Bundle::default()];
        for minute in 0..(48 * 60) {
            there.minute = minute;
            for (number, bundle) in (0..).zip(&mut bundles) {
                if (minute + 100 * number) % 200 == 0 {
                    *bundle = Bundle::default();
                }
                there.is_looked_at(bundle, "ours");
            }
        }
        assert_eq!(there.ca, ca("ours"));
    }

    /// One CA lives on, and of the other CA's processes none lives for long.
    #[test]
    fn what_somebody_says_stays_however_short_the_others_live() {
        let mut there = There::of(both("ours", "theirs"));
        let (mut short, mut long) = (Bundle::default(), Bundle::default());
        for minute in 0..10_000 {
            there.minute = minute;
            if minute % 200 == 0 {
                short = Bundle::default();
            }
            there.is_looked_at(&mut short, "ours");
            there.is_looked_at(&mut long, "theirs");
            assert!(there.has("theirs") && there.has("ours"), "{minute}");
        }
    }

    #[test]
    fn a_count_that_somebody_made_up_takes_nothing_away_before_an_hour_is_over() {
        let mut bundle = Bundle::default();
        let mark = Mark::of(&key(&ca("theirs")));
        let mut counts = Counts::default();
        counts.set(mark, u8::MAX);
        let begun = Instant::now();
        let there = both("ours", "theirs");
        let wanted = bundle.wanted(&ca("ours"), &there, &counts, begun);
        assert_eq!(wanted.ca, there);
    }

    #[test]
    fn what_could_not_be_taken_away_goes_with_the_next_write_and_stays_only_if_it_comes_back() {
        let mut bundle = Bundle::default();
        let begun = Instant::now();
        let there = both("ours", "theirs");
        let mut counts = Counts::default();
        counts.set(Mark::of(&key(&ca("theirs"))), KEPT - 1);
        let wanted = |bundle: &mut Bundle, now| {
            let wanted = bundle.wanted(&ca("ours"), &there, &counts, now);
            wanted.ca
        };
        assert_eq!(wanted(&mut bundle, begun), there);
        for _ in 0..2 {
            let ca_alone = wanted(&mut bundle, begun + HOUR);
            assert_eq!(ca_alone, ca("ours"), "the write failed");
        }
        bundle.written();
        assert_eq!(
            wanted(&mut bundle, begun + HOUR),
            there,
            "somebody says it again"
        );
    }

    #[test]
    fn ours_comes_beside_what_is_there_and_what_is_no_certificate_goes() {
        let wanted = |found: &str| {
            let (mut bundle, counts) = (Bundle::default(), Counts::default());
            let wanted = bundle.wanted(&ca("ours"), found, &counts, Instant::now());
            wanted.ca
        };
        assert_eq!(wanted(""), ca("ours"));
        assert_eq!(wanted("nonsense"), ca("ours"));
        assert_eq!(wanted(&ca("theirs")), both("ours", "theirs"));
        let others_first = both("theirs", "ours").replace('\n', "\r\n");
        assert_eq!(wanted(&others_first), others_first, "it is the same");
        let many: String = (0..20)
            .map(|number| ca(&format!("other-{number}")))
            .collect();
        assert_eq!(certificates(&wanted(&many)).len(), 1 + OTHERS);
    }
}
