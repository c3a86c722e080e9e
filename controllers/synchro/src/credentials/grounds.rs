//! What becomes of a session when its connection can no longer be made of the PediaCluster, and when that is told. Pure.

use std::time::Duration;

use armadex_crds::ConnectionFingerprint;
use armadex_member::{ConfigError, Ground, Policy};

/// A policy's controller writes the lifecycle and then, a request later, the PediaCluster, and each is told by a watch of its own: for
/// this long one may be ahead of the other. Some requests of a control plane that is busy; long before anybody looks.
pub(crate) const SETTLING: Duration = Duration::from_secs(5);

/// What is to be done about a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stance {
    /// The session ends: what its connection was made on does not hold any more.
    pub(crate) ends: bool,
    /// The condition says so.
    pub(crate) told: bool,
    /// Time alone may change this answer.
    pub(crate) waits: bool,
}

/// `running`: on what grounds the session runs, if one does. `settled`: [`SETTLING`] has passed since the first refusal.
pub(crate) fn stance(
    running: Option<&Ground>,
    refusal: &ConfigError,
    policy: &Policy,
    settled: bool,
) -> Stance {
    let lapsed = match running {
        Some(Ground::Policy(rendered)) => !is_of(policy, rendered),
        // Whether its Secrets still say so is not known without a spec that names them.
        Some(Ground::Secrets) => true,
        Some(Ground::Own) | None => false,
    };
    let passes_by_itself = match running {
        Some(Ground::Policy(_)) => true,
        Some(Ground::Secrets) => false,
        Some(Ground::Own) | None => *policy != Policy::Absent,
    };
    let due = settled || !passes_by_itself;
    let is_bad = !matches!(
        refusal,
        ConfigError::Unbound { .. }
            | ConfigError::Unrendered { .. }
            | ConfigError::Replaced { .. }
            | ConfigError::Unlisted { .. }
    );
    let (ends, told) = (lapsed && due, is_bad || due);
    Stance {
        ends,
        told,
        waits: !due && (lapsed || !told),
    }
}

fn is_of(policy: &Policy, found: &ConnectionFingerprint) -> bool {
    matches!(policy, Policy::Rendered(rendered) if rendered.covers(found))
}

#[cfg(test)]
mod tests {
    use armadex_crds::RenderedConnection;

    use super::*;

    fn unbound() -> ConfigError {
        ConfigError::Unbound {
            secret: "ns/name".into(),
            endpoint: "https://east".into(),
            why: "no".into(),
        }
    }

    fn replaced() -> ConfigError {
        ConfigError::Replaced {
            endpoint: "https://evil".into(),
            rendered: "https://east".into(),
        }
    }

    fn invalid() -> ConfigError {
        ConfigError::Invalid {
            field: "spec.apiserver".into(),
            problem: "is not a URL".into(),
        }
    }

    fn unlisted() -> ConfigError {
        ConfigError::Unlisted { why: String::new() }
    }

    fn rendered(digest: &str) -> Policy {
        Policy::Rendered(RenderedConnection {
            digest: digest.into(),
            ..RenderedConnection::default()
        })
    }

    /// The policy renders this now, and could not change the PediaCluster yet.
    fn rendered_after(digest: &str, before: &str) -> Policy {
        Policy::Rendered(RenderedConnection {
            digest: digest.into(),
            before: before.into(),
            ..RenderedConnection::default()
        })
    }

    /// One character for each: `e`nds, `t`old, `w`aits.
    fn said(
        running: Option<&Ground>,
        refusal: &ConfigError,
        policy: &Policy,
        settled: bool,
    ) -> String {
        let Stance { ends, told, waits } = stance(running, refusal, policy, settled);
        let words = [(ends, 'e'), (told, 't'), (waits, 'w')];
        words
            .iter()
            .filter(|(holds, _)| *holds)
            .map(|(_, word)| word)
            .collect()
    }

    #[test]
    fn a_session_ends_with_what_it_was_made_on() {
        let made = Ground::Policy(ConnectionFingerprint {
            digest: "a".into(),
            control_plane_proxy: None,
        });
        let (own, secrets) = (Ground::Own, Ground::Secrets);
        let not_listed = Policy::Unlisted(String::new());
        let table = [
            // A PediaCluster by hand is told at once, one that a policy may be about to make is not.
            (None, unbound(), Policy::Absent, "t", "t"),
            (None, replaced(), rendered("b"), "w", "t"),
            (None, unbound(), Policy::Silent, "w", "t"),
            (None, unlisted(), not_listed.clone(), "w", "t"),
            (None, invalid(), rendered("b"), "t", "t"),
            // Somebody edits what a policy rendered: the connection that it rendered goes on.
            (Some(&made), replaced(), rendered("a"), "w", "t"),
            (Some(&made), invalid(), rendered("a"), "t", "t"),
            // The policy changes, or is gone.
            (Some(&made), replaced(), rendered("b"), "w", "et"),
            // It changes, and the PediaCluster can't be changed yet.
            (Some(&made), replaced(), rendered_after("b", "a"), "w", "t"),
            (Some(&made), replaced(), rendered_after("c", "b"), "w", "et"),
            (Some(&made), unbound(), Policy::Absent, "w", "et"),
            (Some(&made), invalid(), rendered("b"), "tw", "et"),
            // A grant is withdrawn, or its Secret is gone.
            (Some(&secrets), unbound(), Policy::Absent, "et", "et"),
            (Some(&secrets), replaced(), rendered("b"), "et", "et"),
            (Some(&secrets), invalid(), Policy::Absent, "et", "et"),
            (Some(&secrets), unlisted(), not_listed, "et", "et"),
            // What runs on its writer's own credentials goes on as it was.
            (Some(&own), unbound(), Policy::Absent, "t", "t"),
            (Some(&own), replaced(), rendered("b"), "w", "t"),
            (Some(&own), invalid(), Policy::Absent, "t", "t"),
        ];
        for (running, refusal, policy, at_first, settled) in table {
            let found = [false, true].map(|settled| said(running, &refusal, &policy, settled));
            assert_eq!(
                found,
                [at_first, settled],
                "{running:?} {refusal:?} {policy:?}"
            );
        }
    }

    #[test]
    fn a_session_ends_whose_way_by_the_control_plane_is_not_rendered_any_more() {
        let by_control_plane = ConnectionFingerprint {
            digest: "a".into(),
            control_plane_proxy: Some(Box::default()),
        };
        let made = Ground::Policy(by_control_plane.clone());
        let still = Policy::Rendered(RenderedConnection {
            digest: "a".into(),
            ..RenderedConnection::default().beside(Some(by_control_plane))
        });
        let found =
            [rendered("a"), still].map(|policy| said(Some(&made), &replaced(), &policy, true));
        assert_eq!(found, ["et", "t"]);
    }
}
