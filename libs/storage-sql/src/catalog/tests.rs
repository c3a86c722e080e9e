//! From delta to delta: what is shared, what is forgotten, and that nothing else is left than a state made anew has.

mod random;

use super::delta::Delta;
use super::*;
use crate::sql::catalog::{ClusterRow, HealthRow, TypeRow};
use crate::sql::cluster_labels::LabelledRow;
use armadex_model::ClusterLabels;
use armadex_storage::{ClusterEntry, Health};

fn cluster(id: i64, name: &str, active: bool) -> LabelledRow {
    LabelledRow {
        cluster: ClusterRow {
            id,
            name: name.into(),
            incarnation: format!("incarnation-{id}"),
            active,
            has_left: false,
        },
        labels: ClusterLabels::default(),
    }
}

fn labelled(row: LabelledRow, labels: &str) -> LabelledRow {
    LabelledRow {
        labels: ClusterLabels::parse(labels),
        ..row
    }
}

fn kind(id: i32, plural: &str) -> TypeRow {
    TypeRow {
        id,
        resource: ResourceType {
            gvr: GroupVersionResource::new("", "v1", plural),
            kind: plural.into(),
            namespaced: true,
            singular: String::new(),
            short_names: vec![],
            categories: vec![],
        },
    }
}

fn name(name: &str) -> ClusterName {
    ClusterName::new(name).expect("a name")
}

fn fleet() -> Snapshot {
    let delta = Delta {
        version: 5,
        incarnation: String::new(),
        clusters: vec![cluster(1, "a", true), cluster(2, "b", true)],
        gone: vec![],
        types: vec![kind(1, "pods"), kind(2, "nodes"), kind(3, "secrets")],
        streams: vec![
            (1, 1, true),
            (1, 2, true),
            (2, 1, true),
            (2, 2, true),
            (2, 3, false),
        ],
        health: vec![],
        unposted: vec![],
    };
    Snapshot::default().apply(delta).expect("sound rows")
}

fn after(snapshot: &Snapshot, change: impl FnOnce(&mut Delta)) -> Snapshot {
    let mut delta = Delta {
        version: snapshot.version + 1,
        ..Delta::default()
    };
    change(&mut delta);
    snapshot.apply(delta).expect("sound rows")
}

#[test]
fn clusters_with_the_same_types_share_one_set() {
    let catalog = &fleet().catalog;
    let (a, b) = (&catalog.clusters[&name("a")], &catalog.clusters[&name("b")]);
    assert_eq!(a.resources.len(), 2);
    assert!(Arc::ptr_eq(&a.resources, &b.resources));
    assert_eq!(catalog.types.len(), 2);
}

#[test]
fn what_does_not_change_is_not_made_anew() {
    let before = large_fleet();
    let ill = after(&before, |delta| {
        delta.health = vec![HealthRow {
            cluster: 2,
            health: Health {
                healthy: false,
                reason: String::new(),
            },
            version: None,
        }];
    });
    let opened = after(&before, |delta| delta.streams = vec![(2, 3, true)]);
    for (what, now, own_members) in [("health", &ill, 0), ("a stream", &opened, NEAR)] {
        // What is shared has the same place.
        let entry = |name: &ClusterName| {
            let [now, before] = [now, &before].map(|state| state.catalog.clusters.get(name));
            !std::ptr::eq(now.expect("shown"), before.expect("shown"))
        };
        let entries = now
            .catalog
            .clusters
            .keys()
            .filter(|name| entry(name))
            .count();
        let member = |name: &ClusterName| {
            let [now, before] = [now, &before].map(|state| state.member(name));
            !std::ptr::eq(now.expect("shown"), before.expect("shown"))
        };
        let members = now.members.keys().filter(|name| member(name)).count();
        assert!(
            entries <= NEAR && members <= own_members,
            "{what}: {entries} entries, {members} members"
        );
    }
    let same = after(&opened, |delta| delta.streams = vec![(1, 3, true)]);
    let [one, two] = [1, 2].map(|id| &same.members[&same.names[&id]].types);
    assert!(Arc::ptr_eq(one, two));
    let closed = after(&same, |delta| delta.streams = vec![(2, 3, false)]);
    let [three, two] = [3, 2].map(|id| &closed.members[&closed.names[&id]].types);
    assert!(Arc::ptr_eq(three, two));
}

/// Of a state that follows another, so many entries may stand beside one that changed.
const NEAR: usize = 128;

/// Two thousand clusters, all alike, of three types.
fn large_fleet() -> Snapshot {
    let ids = 1..=2000;
    after(&Snapshot::default(), |delta| {
        delta.clusters = ids
            .clone()
            .map(|id| cluster(id, &format!("c{id:04}"), true))
            .collect();
        delta.types = vec![kind(1, "pods"), kind(2, "nodes"), kind(3, "secrets")];
        delta.streams = ids.flat_map(|id| [(id, 1, true), (id, 2, true)]).collect();
    })
}

/// The clusters of a type that a page asked for are known until that type has others.
#[test]
fn what_is_known_of_a_types_clusters_outlives_changes_of_other_types() {
    let before = large_fleet();
    let [pods, nodes] = [1, 2].map(|id| before.chosen_holders(id, &[]));
    let now = after(&before, |delta| {
        delta.streams = vec![(2, 3, true), (5, 2, false)];
    });
    assert!(Arc::ptr_eq(&pods, &now.chosen_holders(1, &[])));
    assert_eq!(
        (
            nodes.len(),
            now.chosen_holders(2, &[]).len(),
            now.chosen_holders(3, &[]).len()
        ),
        (2000, 1999, 1)
    );
    let left = after(&now, |delta| {
        delta.clusters = vec![cluster(2, "c0002", false)];
    });
    assert_eq!(
        [1, 2, 3].map(|id| left.chosen_holders(id, &[]).len()),
        [1999, 1998, 0]
    );
    let joined = after(&left, |delta| {
        delta.clusters = vec![cluster(9000, "c0002", true)];
        delta.streams = vec![(9000, 1, true)];
    });
    assert_eq!(joined.chosen_holders(1, &[]).at(9000), Some(1));
}

/// Clusters that differ by a type share the names of all.
#[test]
fn sets_share_the_names_of_types() {
    let fleet = after(&fleet(), |delta| delta.streams = vec![(1, 3, true)]);
    let resources = |at| &fleet.catalog.clusters[&name(at)].resources;
    for one in resources("b").iter() {
        let other = resources("a").get(one).expect("it has more");
        assert!(Arc::ptr_eq(one, other), "{one}");
    }
}

#[test]
fn health_changes_nothing_but_the_cluster_it_is_of() {
    let before = fleet();
    let health = Health {
        healthy: false,
        reason: "refused".into(),
    };
    let row = HealthRow {
        cluster: 2,
        health: health.clone(),
        version: Some("v1.36.0".into()),
    };
    let now = after(&before, |delta| delta.health.push(row));
    assert!(Arc::ptr_eq(&now.catalog.types, &before.catalog.types));
    let of = |snapshot: &Snapshot, cluster| Arc::clone(&snapshot.catalog.clusters[&name(cluster)]);
    assert!(Arc::ptr_eq(&of(&now, "a"), &of(&before, "a")));
    assert_eq!(of(&now, "b").health, Some(health));
}

#[test]
fn clusters_of_the_same_labels_share_them_and_nothing_else_is_made_anew() {
    let before = fleet();
    let of = |snapshot: &Snapshot, cluster| Arc::clone(&snapshot.catalog.clusters[&name(cluster)]);
    let place = |entry: &ClusterEntry| entry.labels.as_str().as_ptr();
    let one = after(&before, |delta| {
        delta.clusters = vec![labelled(cluster(1, "a", true), "env=prod")];
    });
    assert!(Arc::ptr_eq(&of(&one, "b"), &of(&before, "b")));
    assert!(Arc::ptr_eq(&one.catalog.types, &before.catalog.types));
    let both = after(&one, |delta| {
        delta.clusters = vec![labelled(cluster(2, "b", true), "env=prod")];
    });
    assert_eq!(place(&of(&both, "a")), place(&of(&both, "b")));
    assert_eq!(both.label_sets.len(), 1);
    let none = after(&both, |delta| {
        delta.clusters = vec![cluster(1, "a", true), cluster(2, "b", false)];
    });
    assert_eq!(
        (none.label_sets.len(), of(&none, "a").labels.as_str()),
        (0, "")
    );
}

#[test]
fn a_cluster_that_joins_again_has_nothing_of_its_former_life() {
    let now = after(&fleet(), |delta| {
        delta.clusters = vec![cluster(1, "a", false), cluster(7, "a", true)];
        delta.streams = vec![(1, 1, true), (7, 3, true)];
    });
    assert!(!now.names.contains_key(&1));
    let member = now.member(&name("a")).expect("joined");
    assert_eq!((member.id, member.types()), (7, &[3][..]));
    assert_eq!(now.catalog.types.len(), 3);
}

#[test]
fn a_cluster_that_joins_while_one_of_its_name_is_there_takes_its_place() {
    let now = after(&fleet(), |delta| {
        delta.clusters = vec![cluster(7, "a", true)];
        delta.streams = vec![(7, 3, true)];
    });
    assert!(!now.names.contains_key(&1));
    assert_eq!([1, 2, 3].map(|id| now.holders[&id]), [1, 1, 1]);
    assert_eq!(now.sets.len(), 2);
}

/// A store has no two of a name that are there; what is damaged is to look alike for all who read it.
#[test]
fn of_two_clusters_of_a_name_the_later_one_is_shown_in_whatever_order_they_are_read() {
    let both = [cluster(7, "a", true), cluster(8, "a", true)];
    for clusters in [both.clone().to_vec(), both.into_iter().rev().collect()] {
        let now = after(&fleet(), |delta| delta.clusters = clusters);
        assert_eq!(now.member(&name("a")).expect("joined").id, 8);
        assert_eq!(now.names.len(), 2);
    }
}

#[test]
fn a_type_is_shown_as_long_as_one_cluster_has_it() {
    let closed = |clusters: &[i64]| {
        after(&fleet(), |delta| {
            delta.streams = clusters.iter().map(|&id| (id, 1, false)).collect();
        })
    };
    assert_eq!(closed(&[1]).catalog.types.len(), 2);
    let none = closed(&[1, 2]);
    assert_eq!(none.catalog.types.len(), 1);
    assert_eq!(none.holders(1).count(), 0);
}

/// What was hidden and purged before anybody asked is read from what is remembered of it; a type that was opened again meanwhile stays.
#[test]
fn what_was_purged_unseen_is_taken_away() {
    let now = after(&fleet(), |delta| {
        delta.gone = vec![(1, 0), (1, 1), (2, 1), (2, 2), (9, 1), (9, 0)];
        delta.streams = vec![(2, 2, true)];
    });
    assert!(now.member(&name("a")).is_none());
    let member = now.member(&name("b")).expect("still there");
    assert_eq!(member.types(), &[2][..]);
    assert_eq!(now.catalog.types.len(), 1);
}

#[test]
fn a_cluster_of_known_types_leaves_what_is_known_of_types_as_it_is() {
    let before = fleet();
    let now = after(&before, |delta| {
        delta.clusters = vec![cluster(9, "c", true)];
        delta.streams = vec![(9, 1, true), (9, 2, true)];
        delta.types = vec![kind(1, "pods")];
    });
    assert!(Arc::ptr_eq(&now.catalog.types, &before.catalog.types));
    let entry = |name_: &str| Arc::clone(&now.catalog.clusters[&name(name_)].resources);
    assert!(Arc::ptr_eq(&entry("c"), &entry("a")));
    let described = after(&now, |delta| {
        let mut pods = kind(1, "pods");
        pods.resource.short_names = vec!["po".into()];
        delta.types = vec![pods];
    });
    assert!(!Arc::ptr_eq(&now.catalog.types, &described.catalog.types));
}

#[test]
fn sets_of_types_that_no_cluster_has_any_more_are_forgotten() {
    let mut now = fleet();
    for id in [1, 2] {
        now = after(&now, |delta| delta.streams = vec![(1, id, false)]);
    }
    for id in [1, 2] {
        now = after(&now, |delta| delta.streams = vec![(1, id, true)]);
    }
    assert_eq!(now.sets.len(), 1);
}

#[test]
fn a_type_that_none_has_any_more_is_forgotten() {
    let before = after(&fleet(), |delta| {
        delta.streams = vec![(1, 1, false), (2, 1, false)];
    });
    let pods = GroupVersionResource::new("", "v1", "pods");
    assert_eq!(before.type_id(&pods), Some(1));
    let gone = after(&before, |delta| delta.gone = vec![(0, 1)]);
    assert_eq!((gone.type_id(&pods), gone.resource(1)), (None, None));
    assert!(gone.resource(2).is_some());
    // It was made anew before anybody looked.
    let anew = after(&before, |delta| {
        delta.gone = vec![(0, 1)];
        delta.types = vec![kind(7, "pods")];
    });
    assert_eq!(anew.type_id(&pods), Some(7));
}

#[test]
fn a_type_that_goes_together_with_its_last_stream_leaves_nothing() {
    let now = after(&fleet(), |delta| {
        delta.gone = vec![(0, 1), (0, 2), (1, 1), (2, 1), (1, 2), (2, 2)];
    });
    assert!(now.holders.is_empty(), "{:?}", now.holders);
    assert!(now.catalog.types.is_empty());
}
