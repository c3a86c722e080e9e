//! Whether a member was away for so long that it may be another one in all but its name when it returns. Pure: times are passed in.

use std::time::Duration;

use armadex_crds::IdentitySource;
use tokio::time::Instant;

/// Nobody puts a backup back in less, and a member that comes and goes is not audited each time.
const OUTAGE: Duration = Duration::from_secs(120);

/// One that is known by its CA is audited for less as well, and no more often than this: one that fails a few probes now and then would be audited all the time.
const SHORT_EVERY: Duration = Duration::from_secs(60 * 60);

/// Whether a member answers, and when a short outage counted last, or will.
#[derive(Debug, Default)]
pub(super) struct Away {
    state: State,
    short: Option<Instant>,
}

/// Since when a member does not answer.
#[derive(Debug, Default)]
enum State {
    /// It was not asked yet. If it does not answer, nobody knows for how long it has not: a session may have ended meanwhile, or a process.
    #[default]
    Unasked,
    /// It answered.
    Not,
    Since(Instant),
    /// Since before it was asked.
    Long,
}

impl Away {
    /// It does not answer.
    pub(super) fn is_away(&mut self, now: Instant) {
        match self.state {
            State::Unasked => self.state = State::Long,
            State::Not => self.state = State::Since(now),
            State::Since(_) | State::Long => {}
        }
    }

    /// It answers. From when on it is to be audited, if it was away for so long that it may have been put back to a backup; or built anew, which one that is known by its CA does not tell.
    pub(super) fn returns(&mut self, now: Instant, known_by: IdentitySource) -> Option<Instant> {
        let is_short = match std::mem::replace(&mut self.state, State::Not) {
            State::Unasked | State::Not => return None,
            State::Since(since) => now.duration_since(since) < OUTAGE,
            State::Long => false,
        };
        if !is_short {
            return Some(now);
        }
        (known_by == IdentitySource::CertificateAuthority).then(|| self.next_short(now))
    }

    /// Now, or at the end of the hour of the last one; all that return in an hour have the same.
    fn next_short(&mut self, now: Instant) -> Instant {
        let next = match self.short {
            Some(to_come) if to_come >= now => to_come,
            Some(last) => now.max(last + SHORT_EVERY),
            None => now,
        };
        *self.short.insert(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_was_away_for_long_after_two_minutes_or_where_it_was_found_so() {
        let begun = Instant::now();
        let after = |seconds| begun + Duration::from_secs(seconds);
        let mut away = Away::default();
        let uid = IdentitySource::KubeSystemNamespace;
        assert_eq!(away.returns(begun, uid), None, "it was there");
        for (seconds, is_long) in [(119, false), (120, true), (0, false)] {
            away.is_away(begun);
            away.is_away(after(seconds));
            let returned = away.returns(after(seconds), uid);
            assert_eq!(returned, is_long.then(|| after(seconds)), "{seconds} s");
        }
        let mut found = Away::default();
        found.is_away(begun);
        assert_eq!(found.returns(begun, uid), Some(begun));
        assert_eq!(
            found.returns(after(500), uid),
            None,
            "it was there meanwhile"
        );
    }

    #[test]
    fn a_member_that_its_ca_vouches_for_may_be_another_one_however_soon_it_returns_which_counts_once_an_hour()
     {
        let (begun, ca) = (Instant::now(), IdentitySource::CertificateAuthority);
        let mut away = Away::default();
        assert_eq!(away.returns(begun, ca), None, "it was there");
        away.is_away(begun);
        assert_eq!(away.returns(begun, ca), Some(begun));
        assert_eq!(away.returns(begun, ca), None, "it was there meanwhile");
        let after = |minutes: u64| begun + Duration::from_secs(minutes * 60);
        for (minutes, counts) in [(20, 60), (59, 60), (60, 60), (61, 120), (300, 300)] {
            away.is_away(after(minutes));
            let returned = away.returns(after(minutes), ca);
            assert_eq!(returned, Some(after(counts)), "{minutes}");
        }
    }
}
