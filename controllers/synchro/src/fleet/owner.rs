//! Who looks after a cluster, as the store remembers it: `<uid of the control plane's kube-system namespace>/<shardingName>`, and `/<number>` where replicas
//! share the clusters. Pure.
//!
//! Each replica is an owner of its own, so that what one begins or lets go is no end of the others. Releases that know of no replicas take such an owner for another
//! shard of their control plane: they tell what has left of it, as of all shards, and succeed it on no control plane that was built anew. A `shardingName` that itself ends
//! with a slash and a number is taken for a replica where that does no harm: of a control plane that is silent.
//!
//! A synchro sees every PediaCluster of its control plane, whichever shard it is of, so it can tell what has left of all of them. Of what another
//! control plane looks after it knows nothing. A control plane that was built anew is another one, though, and nobody speaks for the former:
//! what that had is let go by the synchro of the same `shardingName`, once it has seen for a while that neither anything of it is written nor its
//! synchro says that it lives. So is what was stored before owners were.

use std::collections::HashMap;
use std::time::Duration;

use armadex_model::ClusterName;
use armadex_storage::{Heard, Joined};
use tokio::time::Instant;

/// Ten times as long as the words of a synchro are apart: whoever stops one to repair something has half an hour.
pub(crate) const FORSAKEN: Duration = Duration::from_secs(1800);

/// Who looks after a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    control_plane: String,
    sharding_name: String,
    /// `None`: one process alone has all clusters.
    replica: Option<u32>,
}

impl Owner {
    /// The synchro of this `shardingName`, on the control plane of this uid.
    pub(crate) fn new(control_plane: &str, sharding_name: &str) -> Self {
        Self {
            control_plane: control_plane.to_owned(),
            sharding_name: sharding_name.to_owned(),
            replica: None,
        }
    }

    /// The replica of this number.
    pub(crate) fn replica(self, number: u32) -> Self {
        Self {
            replica: Some(number),
            ..self
        }
    }

    /// As the store remembers it. A uid has no slash.
    pub(crate) fn text(&self) -> String {
        let shard = format!("{}/{}", self.control_plane, self.sharding_name);
        match self.replica {
            Some(number) => format!("{shard}/{number}"),
            None => shard,
        }
    }

    /// Whether an owner is a synchro of the same control plane.
    pub(crate) fn is_neighbour(&self, owner: &str) -> bool {
        owner
            .split_once('/')
            .is_some_and(|(control_plane, _)| control_plane == self.control_plane)
    }

    /// Whether an owner has all clusters of the same shard, while this one has a share of them, or the other way round: they see nothing of each other.
    pub(crate) fn is_apart_from(&self, owner: &str) -> bool {
        let own = self.text();
        match self.replica {
            None => owner != own && without_replica(owner) == own,
            Some(_) => owner == without_replica(&own),
        }
    }

    /// Whether an owner may be one that this synchro took the place of.
    fn may_succeed(&self, owner: &str) -> bool {
        owner.split_once('/').is_none_or(|(_, rest)| {
            rest == self.sharding_name || without_replica(rest) == self.sharding_name
        })
    }

    /// The clusters that this synchro has to let go if they are not on its control plane.
    pub(crate) fn responsible_for(
        &self,
        stored: Vec<Joined>,
        silences: &mut Silences,
        now: Instant,
    ) -> Vec<Joined> {
        silences.take_in(&stored, now);
        let is_own = |cluster: &Joined| {
            let owner = &cluster.owner;
            self.is_neighbour(owner)
                || (self.may_succeed(owner) && silences.is_forsaken(owner, now))
        };
        stored.into_iter().filter(is_own).collect()
    }
}

/// An owner, or what of it is behind the control plane, without the number of its replica.
fn without_replica(owner: &str) -> &str {
    let is_number = |text: &str| text.parse::<u32>().is_ok();
    match owner.rsplit_once('/') {
        Some((shard, number)) if is_number(number) => shard,
        _ => owner,
    }
}

/// Since when nothing has been heard of owners, by the clock of whoever looks. What the store says of the time before counts for nothing: if all were
/// stopped for an hour, nobody could be heard, and who comes back first would take the others for dead. A word of one replica is one of all: who is there takes over
/// what another one had.
#[derive(Debug, Default)]
pub(crate) struct Silences {
    /// By the owner without its replica.
    by_shard: HashMap<String, Silence>,
}

#[derive(Debug)]
struct Silence {
    since: Instant,
    /// What was heard last of each of its clusters.
    heard: HashMap<ClusterName, Heard>,
}

impl Silences {
    fn take_in(&mut self, stored: &[Joined], now: Instant) {
        let mut found: HashMap<&str, HashMap<ClusterName, Heard>> = HashMap::new();
        for cluster in stored {
            let of_shard = found.entry(without_replica(&cluster.owner)).or_default();
            of_shard.insert(cluster.name.clone(), cluster.heard);
        }
        let silences = found.into_iter().map(|(shard, heard)| {
            let known = self.by_shard.get(shard);
            let since = known.filter(|known| known.goes_on(&heard));
            let since = since.map_or(now, |known| known.since);
            (shard.to_owned(), Silence { since, heard })
        });
        self.by_shard = silences.collect();
    }

    fn is_forsaken(&self, owner: &str, now: Instant) -> bool {
        let silence = self.by_shard.get(without_replica(owner));
        silence.is_some_and(|silence| now.duration_since(silence.since) >= FORSAKEN)
    }
}

impl Silence {
    /// Whether none of these clusters has been heard of since. That others left is nobody's word.
    fn goes_on(&self, heard: &HashMap<ClusterName, Heard>) -> bool {
        heard
            .iter()
            .all(|(name, heard)| self.heard.get(name) == Some(heard))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cluster of this owner that was written and whose owner was heard at these times.
    fn joined(name: &str, owner: &str, (written, heard): (i64, i64)) -> Joined {
        Joined {
            name: ClusterName::new(name).expect("a name"),
            incarnation: String::new(),
            owner: owner.to_owned(),
            heard: Heard {
                written,
                owner: heard,
            },
        }
    }

    /// A synchro of shard `x` on the control plane `one`, and its clock.
    struct Synchro {
        silences: Silences,
        begun: Instant,
    }

    impl Synchro {
        fn begins() -> Self {
            Self {
                silences: Silences::default(),
                begun: Instant::now(),
            }
        }

        /// What it answers for when it looks after so many minutes.
        fn looks(&mut self, minutes: u64, stored: Vec<Joined>) -> Vec<String> {
            let now = self.begun + Duration::from_secs(60 * minutes);
            let owner = Owner::new("one", "x");
            let own = owner.responsible_for(stored, &mut self.silences, now);
            own.iter().map(|own| own.name.to_string()).collect()
        }
    }

    /// Whether it answers for a cluster of this owner at its first look and after half an hour of silence.
    #[track_caller]
    fn check(owner: &str, expected: [bool; 2]) {
        let mut synchro = Synchro::begins();
        let answers = [0, 29, 30].map(|minutes| {
            let own = synchro.looks(minutes, vec![joined("a", owner, (5, 7))]);
            own == ["a"]
        });
        let [first, last] = expected;
        assert_eq!(answers, [first, first, last], "{owner}");
    }

    #[test]
    fn every_shard_of_the_control_plane_is_its_own() {
        check("one/x", [true, true]);
        check("one/y", [true, true]);
        check("one/", [true, true]);
    }

    #[test]
    fn every_replica_of_the_control_plane_is_its_own() {
        check("one/x/0", [true, true]);
        check("one//2", [true, true]);
        let replica = Owner::new("one", "x").replica(2);
        assert_eq!(replica.text(), "one/x/2");
        assert!(replica.is_neighbour("one/x") && replica.is_neighbour("one/y/2"));
    }

    #[test]
    fn replicas_of_another_control_plane_are_let_be_until_all_were_silent() {
        check("two/x/0", [false, true]);
        check("two/y/0", [false, false]);
        check("two//0", [false, false]);
        check("two/x/y", [false, false]);
        let mut synchro = Synchro::begins();
        let of = |a, b| vec![joined("a", "two/x/0", a), joined("b", "two/x/1", b)];
        let nobody = Vec::<String>::new();
        assert_eq!(synchro.looks(0, of((9, 9), (9, 9))), nobody);
        assert_eq!(synchro.looks(29, of((9, 9), (9, 10))), nobody);
        assert_eq!(synchro.looks(58, of((9, 9), (9, 10))), nobody, "one lives");
        assert_eq!(synchro.looks(59, of((9, 9), (9, 10))), ["a", "b"]);
    }

    #[test]
    fn a_replica_and_who_has_all_clusters_of_its_shard_are_apart() {
        let alone = Owner::new("one", "x");
        let replica = alone.clone().replica(0);
        assert!(alone.is_apart_from("one/x/0") && replica.is_apart_from("one/x"));
        for other in ["one/x", "one/y/0", "two/x/0", "one/x/y", ""] {
            assert!(!alone.is_apart_from(other), "{other}");
        }
        for other in ["one/x/0", "one/x/1", "one/y", "two/x", ""] {
            assert!(!replica.is_apart_from(other), "{other}");
        }
    }

    /// What releases without replicas make of one: a process of theirs that shares the store answers for it as for another shard, and nobody else does.
    #[test]
    fn releases_without_replicas_take_one_for_another_shard_of_their_control_plane() {
        let replica = Owner::new("one", "x").replica(0).text();
        let (control_plane, sharding_name) = replica.split_once('/').expect("as they read it");
        assert_eq!((control_plane, sharding_name), ("one", "x/0"));
    }

    #[test]
    fn another_control_plane_is_let_be_until_it_was_silent_for_half_an_hour() {
        check("two/x", [false, true]);
        check("two/y", [false, false]);
        check("two/", [false, false]);
    }

    #[test]
    fn what_was_stored_before_owners_were_is_let_be_while_it_is_written_to() {
        check("", [false, true]);
        check("x", [false, true]);
        check("y", [false, true]);
    }

    #[test]
    fn whoever_is_heard_in_between_lives_whatever_clock_says_so() {
        let mut synchro = Synchro::begins();
        let of = |a, b| vec![joined("a", "two/x", a), joined("b", "two/x", b)];
        let nobody = Vec::<String>::new();
        assert_eq!(synchro.looks(0, of((9, 9), (9, 9))), nobody);
        assert_eq!(synchro.looks(29, of((9, 9), (10, 9))), nobody, "written");
        assert_eq!(synchro.looks(58, of((9, 8), (10, 8))), nobody, "heard");
        assert_eq!(synchro.looks(87, of((9, 8), (10, 8))), nobody);
        assert_eq!(synchro.looks(88, of((9, 8), (10, 8))), ["a", "b"]);
    }

    #[test]
    fn a_cluster_that_joins_is_a_word_of_its_owner_and_one_that_leaves_is_none() {
        let mut synchro = Synchro::begins();
        let [a, b] = ["a", "b"].map(|name| joined(name, "two/x", (5, 7)));
        let nobody = Vec::<String>::new();
        assert_eq!(synchro.looks(0, vec![a.clone()]), nobody);
        assert_eq!(synchro.looks(20, vec![a.clone(), b.clone()]), nobody);
        assert_eq!(synchro.looks(40, vec![b.clone()]), nobody);
        assert_eq!(synchro.looks(50, vec![b]), ["b"]);
    }
}
