//! Whether a member was away for so long that it may be another one in all but its name when it returns. Pure: times are passed in.

use std::time::Duration;

use armadex_crds::IdentitySource;
use tokio::time::Instant;

/// Nobody puts a backup back in less, and a member that comes and goes is not audited each time.
const OUTAGE: Duration = Duration::from_secs(120);

/// Since when a member does not answer.
#[derive(Debug, Default)]
pub(super) enum Away {
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
        match self {
            Self::Unasked => *self = Self::Long,
            Self::Not => *self = Self::Since(now),
            Self::Since(_) | Self::Long => {}
        }
    }

    /// It answers. Whether it was away for so long that it may have been put back to a backup; or built anew, which one that is known by its CA does not tell.
    pub(super) fn returns(&mut self, now: Instant, known_by: IdentitySource) -> bool {
        let shortest = match known_by {
            IdentitySource::CertificateAuthority => Duration::ZERO,
            IdentitySource::KubeSystemNamespace | IdentitySource::KubernetesService => OUTAGE,
        };
        match std::mem::replace(self, Self::Not) {
            Self::Unasked | Self::Not => false,
            Self::Since(since) => now.duration_since(since) >= shortest,
            Self::Long => true,
        }
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
        assert!(!away.returns(begun, uid), "it was there");
        for (seconds, is_long) in [(119, false), (120, true), (0, false)] {
            away.is_away(begun);
            away.is_away(after(seconds));
            assert_eq!(away.returns(after(seconds), uid), is_long, "{seconds} s");
        }
        let mut found = Away::default();
        found.is_away(begun);
        assert!(found.returns(begun, uid));
        assert!(!found.returns(after(500), uid), "it was there meanwhile");
    }

    #[test]
    fn a_member_that_its_ca_vouches_for_may_be_another_one_however_soon_it_returns() {
        let (begun, ca) = (Instant::now(), IdentitySource::CertificateAuthority);
        let mut away = Away::default();
        assert!(!away.returns(begun, ca), "it was there");
        away.is_away(begun);
        assert!(away.returns(begun, ca));
        assert!(!away.returns(begun, ca), "it was there meanwhile");
    }
}
