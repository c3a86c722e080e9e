//! Who looks after a cluster, as the store remembers it: `<uid of the control plane's kube-system namespace>/<shardingName>`. Pure.
//!
//! A synchro sees every PediaCluster of its control plane, whichever shard it is of, so it can tell what has left of all of them. Of what another
//! control plane looks after it knows nothing. A control plane that was built anew is another one, though, and nobody speaks for the former:
//! what that had is let go by the synchro of the same `shardingName`, once neither anything of it has been written nor its synchro has said that it
//! lives for a while. So is what was stored before owners were.

use std::collections::HashMap;
use std::time::Duration;

use armadex_storage::Joined;

/// Ten times as long as the words of a synchro are apart: whoever stops one to repair something has half an hour.
pub(crate) const FORSAKEN: Duration = Duration::from_secs(1800);

/// Who looks after a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    control_plane: String,
    sharding_name: String,
}

impl Owner {
    /// The synchro of this `shardingName`, on the control plane of this uid.
    pub(crate) fn new(control_plane: &str, sharding_name: &str) -> Self {
        Self {
            control_plane: control_plane.to_owned(),
            sharding_name: sharding_name.to_owned(),
        }
    }

    /// As the store remembers it. A uid has no slash.
    pub(crate) fn text(&self) -> String {
        format!("{}/{}", self.control_plane, self.sharding_name)
    }

    /// Whether an owner is a synchro of the same control plane.
    pub(crate) fn is_neighbour(&self, owner: &str) -> bool {
        owner
            .split_once('/')
            .is_some_and(|(control_plane, _)| control_plane == self.control_plane)
    }

    /// Whether an owner may be one that this synchro took the place of.
    fn may_succeed(&self, owner: &str) -> bool {
        owner
            .split_once('/')
            .is_none_or(|(_, sharding_name)| sharding_name == self.sharding_name)
    }

    /// The clusters that this synchro has to let go if they are not on its control plane.
    pub(crate) fn responsible_for(&self, stored: Vec<Joined>) -> Vec<Joined> {
        let mut silent: HashMap<String, Duration> = HashMap::new();
        for cluster in &stored {
            let since = cluster.silent.unwrap_or(Duration::MAX);
            let silent = silent.entry(cluster.owner.clone()).or_insert(since);
            *silent = since.min(*silent);
        }
        let is_own = |cluster: &Joined| {
            let owner = &cluster.owner;
            self.is_neighbour(owner) || (self.may_succeed(owner) && silent[owner] >= FORSAKEN)
        };
        stored.into_iter().filter(is_own).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a synchro of shard `x` on the control plane `one` answers for a cluster of this owner, one of whose clusters was heard of so
    /// long ago.
    #[track_caller]
    fn check(owner: &str, silent: Option<u64>, expected: bool) {
        let silent = silent.map(Duration::from_secs);
        let cluster = |name: &str, silent| Joined {
            name: armadex_model::ClusterName::new(name).expect("a name"),
            incarnation: String::new(),
            owner: owner.to_owned(),
            silent,
        };
        let stored = vec![cluster("a", None), cluster("b", silent)];
        let own = Owner::new("one", "x").responsible_for(stored);
        let names: Vec<&str> = own.iter().map(|own| own.name.as_str()).collect();
        let expected: &[&str] = if expected { &["a", "b"] } else { &[] };
        assert_eq!(names, expected, "{owner}, silent for {silent:?}");
    }

    #[test]
    fn every_shard_of_the_control_plane_is_its_own() {
        check("one/x", Some(0), true);
        check("one/y", Some(0), true);
        check("one/", None, true);
    }

    #[test]
    fn another_control_plane_is_let_be_while_it_lives() {
        check("two/x", Some(1799), false);
        check("two/x", Some(1800), true);
        check("two/x", None, true);
        check("two/y", None, false);
        check("two/", None, false);
    }

    #[test]
    fn what_was_stored_before_owners_were_is_let_be_while_it_is_written_to() {
        check("", Some(10), false);
        check("", Some(1800), true);
        check("x", Some(1800), true);
        check("y", None, true);
    }
}
