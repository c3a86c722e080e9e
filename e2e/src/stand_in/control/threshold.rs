//! How long a member has to be well, or not, before `Ready` says so: one failed probe is no outage, and one that answers is no recovery.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::ResourceExt;

use super::super::cluster::{Cluster, ClusterStatus};

/// Karmada waits for 30 s both ways and looks every 10 s; here it is three rounds of a second as well.
const THRESHOLD: SignedDuration = SignedDuration::from_secs(3);

/// What was last seen of each Cluster that there is, by uid.
#[derive(Debug, Default)]
pub(super) struct Thresholds {
    seen: Mutex<HashMap<String, Seen>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    status: String,
    /// When that was seen first; never for what was seen when the member had just joined.
    since: Option<Timestamp>,
}

impl Thresholds {
    /// Forgets all but these.
    pub(super) fn retain(&self, clusters: &[Cluster]) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.retain(|uid, _| clusters.iter().any(|one| one.uid().as_ref() == Some(uid)));
    }

    /// The observed conditions, with `Ready` as it was until the other has lasted.
    pub(super) fn hold(
        &self,
        cluster: &Cluster,
        mut observed: Vec<Condition>,
        now: Timestamp,
    ) -> Vec<Condition> {
        let status = cluster.status.as_ref();
        let current = status.and_then(ClusterStatus::ready);
        let Some(new) = observed.iter_mut().find(|one| one.type_ == "Ready") else {
            return observed;
        };
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let uid = cluster.uid().unwrap_or_default();
        let since = see(&mut seen, uid, &new.status, now);
        if let (Some(current), Some(since)) = (current, since)
            && (current.status == "True") != (new.status == "True")
            && now.duration_since(since) < THRESHOLD
        {
            new.clone_from(current);
        }
        observed
    }
}

/// Since when that has been seen, unless it was so from the beginning.
fn see(
    seen: &mut HashMap<String, Seen>,
    uid: String,
    status: &str,
    now: Timestamp,
) -> Option<Timestamp> {
    let known = seen.entry(uid).or_insert_with(|| Seen {
        status: status.to_owned(),
        since: None,
    });
    if known.status != status {
        *known = Seen {
            status: status.to_owned(),
            since: Some(now),
        };
    }
    known.since
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::super::super::cluster::ClusterSpec;
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn condition(status: &str) -> Condition {
        Condition {
            last_transition_time: Time(at(0)),
            message: String::new(),
            observed_generation: None,
            reason: "Because".to_owned(),
            status: status.to_owned(),
            type_: "Ready".to_owned(),
        }
    }

    /// What `Ready` is after these observations, each with its second.
    fn after(observed: &[(i64, &str)]) -> Vec<String> {
        let (thresholds, mut cluster) = (
            Thresholds::default(),
            Cluster::new("a", ClusterSpec::default()),
        );
        cluster.metadata.uid = Some("1".to_owned());
        let ready = observed.iter().map(|&(second, status)| {
            let held = thresholds.hold(&cluster, vec![condition(status)], at(second));
            let said = held[0].status.clone();
            cluster.status = Some(ClusterStatus {
                conditions: held,
                ..ClusterStatus::default()
            });
            said
        });
        ready.collect()
    }

    #[test]
    fn what_is_seen_first_counts_at_once() {
        assert_eq!(after(&[(0, "True")]), ["True"]);
        assert_eq!(after(&[(0, "False")]), ["False"]);
    }

    #[test]
    fn a_change_counts_after_it_has_lasted() {
        let lasting = [
            (0, "True"),
            (1, "False"),
            (2, "False"),
            (4, "False"),
            (5, "True"),
            (8, "True"),
        ];
        assert_eq!(
            after(&lasting),
            ["True", "True", "True", "False", "False", "True"]
        );
    }

    #[test]
    fn what_comes_and_goes_counts_for_nothing() {
        let flapping = [
            (0, "True"),
            (1, "False"),
            (3, "True"),
            (4, "False"),
            (6, "False"),
        ];
        assert_eq!(after(&flapping), ["True"; 5]);
    }

    #[test]
    fn clusters_that_left_are_forgotten() {
        let thresholds = Thresholds::default();
        let cluster = Cluster::new("a", ClusterSpec::default());
        thresholds.hold(&cluster, vec![condition("True")], at(0));
        thresholds.retain(&[]);
        assert!(thresholds.seen.lock().unwrap().is_empty());
    }
}
