//! Whom the control plane is to trust: the CAs of this process, beside those that others have said. Pure, but for the time that is told to it.
//!
//! Replicas may have CAs of their own for a while: of a Secret and of cert-manager, or of a file that has come to some of them only. Each that said its own alone would
//! have the control plane refuse the others. So what is there stays for a day, by this process's count. Whether a CA is over does not matter: nobody trusts one that is,
//! and a clock that is ahead takes none away.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";
/// As long as a new CA of ours waits until it signs.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// CAs of others. Of one that renews its own there are three, and no more than two change hands at a time.
const OTHERS: usize = 8;

/// CAs that are remembered.
const REMEMBERED: usize = 64;

/// What is known of the CAs of others.
#[derive(Debug, Default)]
pub(crate) struct Bundle(BTreeMap<String, Seen>);

#[derive(Clone, Copy, Debug)]
enum Seen {
    /// It is there, from then on.
    Since(Instant),
    /// It was there for a day, and is to go with the next write.
    Leaving,
    /// It was taken away.
    TakenAway,
    /// It came back: somebody says it who is there as long as this process is.
    Meant,
}

impl Bundle {
    /// What is to be there, which is what was found if nothing is wrong with it.
    pub(crate) fn wanted(&mut self, ours: &str, found: &str, now: Instant) -> String {
        let (own, all) = (certificates(ours), certificates(found));
        let others: Vec<&str> = all.iter().copied().filter(|ca| !has(&own, ca)).collect();
        self.forget(&others);
        let mut kept = Vec::new();
        for other in &others {
            if self.stays(other, now) && kept.len() < OTHERS {
                kept.push(*other);
            }
        }
        let is_right = kept.len() == others.len() && own.iter().all(|ca| has(&all, ca));
        if is_right && !own.is_empty() {
            return found.to_owned();
        }
        let mut wanted = ours.to_owned();
        for ca in kept {
            if !wanted.ends_with('\n') {
                wanted.push('\n');
            }
            wanted.push_str(ca);
            wanted.push('\n');
        }
        wanted
    }

    /// Those that went without this process.
    fn forget(&mut self, others: &[&str]) {
        let is_full = self.0.len() > REMEMBERED;
        self.0.retain(|ca, seen| {
            let is_there = others.iter().any(|other| key(other) == *ca);
            is_there || (!is_full && !matches!(seen, Seen::Since(_)))
        });
    }

    fn stays(&mut self, other: &str, now: Instant) -> bool {
        let seen = self.0.entry(key(other)).or_insert(Seen::Since(now));
        *seen = match *seen {
            Seen::Since(since) if now.duration_since(since) < KEPT => Seen::Since(since),
            Seen::Since(_) | Seen::Leaving => Seen::Leaving,
            Seen::TakenAway | Seen::Meant => Seen::Meant,
        };
        !matches!(seen, Seen::Leaving)
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

    #[test]
    fn two_that_have_cas_of_their_own_come_to_rest() {
        let (mut one, mut two) = (Bundle::default(), Bundle::default());
        let begun = Instant::now();
        let (mut there, mut writes, mut lacking) = (String::new(), 0, 0);
        for minute in 0..10_000 {
            let now = begun + Duration::from_secs(60 * minute);
            for (bundle, ours) in [(&mut one, ca("one")), (&mut two, ca("two"))] {
                let next = bundle.wanted(&ours, &there, now);
                bundle.written();
                writes += u32::from(next != there);
                lacking += u32::from(minute > 0 && !(next.contains("one") && next.contains("two")));
                there = next;
            }
        }
        // Two at first, and after a day each takes the other's away, once.
        assert!(writes <= 8 && lacking <= 4, "{writes} {lacking}");
        assert_eq!(certificates(&there).len(), 2);
    }

    #[test]
    fn what_nobody_says_any_more_goes_after_a_day() {
        let mut bundle = Bundle::default();
        let begun = Instant::now();
        let there = both("ours", "theirs");
        assert_eq!(bundle.wanted(&ca("ours"), &there, begun), there);
        let later = begun + KEPT - Duration::from_secs(1);
        assert_eq!(bundle.wanted(&ca("ours"), &there, later), there);
        assert_eq!(bundle.wanted(&ca("ours"), &there, begun + KEPT), ca("ours"));
    }

    #[test]
    fn what_could_not_be_taken_away_goes_with_the_next_write_and_stays_only_if_it_comes_back() {
        let mut bundle = Bundle::default();
        let begun = Instant::now();
        let there = both("ours", "theirs");
        let wanted = |bundle: &mut Bundle| bundle.wanted(&ca("ours"), &there, begun + KEPT);
        bundle.wanted(&ca("ours"), &there, begun);
        for _ in 0..2 {
            assert_eq!(wanted(&mut bundle), ca("ours"), "the write failed");
        }
        bundle.written();
        assert_eq!(wanted(&mut bundle), there, "somebody says it again");
    }

    #[test]
    fn ours_comes_beside_what_is_there_and_what_is_no_certificate_goes() {
        let wanted = |found: &str| Bundle::default().wanted(&ca("ours"), found, Instant::now());
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
