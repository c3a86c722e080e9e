//! Plans as they print themselves.

use std::collections::{BTreeMap, BTreeSet};

use armadex_model::label::{self, Operator, Requirement};
use armadex_model::{ClusterLabels, GroupVersionResource};

use armadex_storage::Health;

use super::*;
use crate::catalog::delta::Delta;
use crate::sql::catalog::{ClusterRow, HealthRow, TypeRow};
use crate::sql::cluster_labels::LabelledRow;

fn gvr(plural: &str) -> GroupVersionResource {
    GroupVersionResource::new("", "v1", plural)
}

fn fleet() -> Snapshot {
    let cluster = |(id, name, labels): (i64, &str, &str)| LabelledRow {
        cluster: ClusterRow {
            id,
            name: name.into(),
            incarnation: String::new(),
            active: true,
            has_left: false,
        },
        labels: ClusterLabels::parse(labels),
    };
    let kind = |(id, plural): (i32, &str)| TypeRow {
        id,
        resource: ResourceType {
            gvr: gvr(plural),
            kind: plural.into(),
            namespaced: plural != "nodes",
            singular: String::new(),
            short_names: vec![],
            categories: vec![],
        },
    };
    let delta = Delta {
        version: 1,
        incarnation: String::new(),
        clusters: [(7, "a", "env=prod"), (3, "b", "env=test"), (5, "c", "")]
            .map(cluster)
            .to_vec(),
        gone: vec![],
        types: [(1, "pods"), (2, "nodes"), (3, "events")]
            .map(kind)
            .to_vec(),
        streams: vec![
            (7, 1, true),
            (3, 1, true),
            (5, 1, true),
            (7, 2, true),
            (3, 2, true),
            (7, 3, true),
        ],
        health: vec![],
        unposted: vec![],
    };
    Snapshot::default().apply(delta).expect("sound rows")
}

fn planned(query: &Query) -> Plan {
    plan(query, &fleet(), &TermHasher::new([7; 16])).expect("a plan")
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn pods() -> Query {
    Query::all(gvr("pods"))
}

fn by(keys: &[(OrderField, bool)]) -> Query {
    let order = keys
        .iter()
        .map(|&(field, descending)| OrderBy { field, descending });
    Query {
        order: order.collect(),
        ..pods()
    }
}

#[test]
fn a_plan_says_what_it_does() {
    let query = Query {
        namespaces: NameFilter::NotIn(names(&["kube-system"])),
        names: NameFilter::NotIn(names(&["x", "y"])),
        labels: vec![
            Requirement::is_in("app", ["web", "db"]),
            Requirement {
                key: "tier".into(),
                operator: Operator::DoesNotExist,
            },
        ],
        order: by(&[(OrderField::CreatedAt, true)]).order,
        ..pods()
    };
    insta::assert_snapshot!(planned(&query), @r"
    sort few objects, or walk the index of the order
      pods/v1 (type 1) in 3 clusters, without 1 namespaces
      without 2 names
      has 2 terms of app in (db,web)
      has not 1 terms of !tier
      by CreatedAt, descending
    ");
}

/// By the catalogue alone, in each way that clusters are found.
#[test]
fn clusters_that_do_not_have_the_labels_are_no_places() {
    let of = |selector: &str, clusters: NameFilter| {
        let cluster_labels = label::parse(selector).expect("a selector");
        let planned = planned(&Query {
            cluster_labels,
            clusters,
            ..pods()
        });
        let spaces = planned.types.iter().flat_map(|one| one.clusters.iter());
        spaces
            .map(|space| space.name.to_string())
            .collect::<String>()
    };
    let two = || NameFilter::In(names(&["b", "c", "nobody"]));
    for (selector, all, named, others) in [
        ("env=prod", "a", "", "a"),
        ("env", "ab", "b", "a"),
        ("env!=prod", "bc", "bc", ""),
        ("!env", "c", "c", ""),
        ("env,!env", "", "", ""),
    ] {
        let NameFilter::In(not) = two() else {
            unreachable!("names");
        };
        assert_eq!(of(selector, NameFilter::Any), all, "{selector}");
        assert_eq!(of(selector, two()), named, "{selector}");
        assert_eq!(of(selector, NameFilter::NotIn(not)), others, "{selector}");
    }
}

#[test]
fn requirements_on_clusters_count_among_all() {
    let refused = |cluster_labels: Vec<Requirement>| {
        let query = Query {
            labels: (0..60)
                .map(|number| Requirement::is_in(format!("l{number}"), ["a"]))
                .collect(),
            cluster_labels,
            ..pods()
        };
        let planned = plan(&query, &fleet(), &TermHasher::new([7; 16]));
        planned.err().map(|refused| refused.to_string())
    };
    let some = |count: usize| {
        let keys = (0..count).map(|number| format!("k{number}"));
        keys.map(|key| Requirement::is_in(key, ["a"])).collect()
    };
    assert_eq!(refused(some(4)), None);
    assert!(refused(some(5)).is_some_and(|words| words.contains("65 requirements")));
    let compared = label::parse("n>1").expect("a selector");
    assert!(refused(compared).is_some_and(|words| words.contains("n>1")));
}

/// As `kubectl describe` asks.
#[test]
fn what_no_index_leads_to_is_told_by_the_objects_that_the_rest_leads_to() {
    let field = |key: &str, value: &str| Requirement::is_in(key, [value]);
    let query = Query {
        fields: vec![
            field("involvedObject.uid", "u-1"),
            field("involvedObject.name", "web-1"),
            Requirement::is_not_in("involvedObject.resourceVersion", ["7"]),
        ],
        ..Query::all(gvr("events"))
    };
    let plan = planned(&query);
    assert!(plan.has_terms() && !plan.is_decided(&plan.types[0]));
    insta::assert_snapshot!(plan, @r"
    walk namespaces in page order
      events/v1 (type 3) in 1 clusters
      has 1 terms of involvedObject.name in (web-1)
      is told to have 1 terms of involvedObject.uid in (u-1)
      is told not to have 1 terms of involvedObject.resourceVersion notin (7)
    ");
}

#[test]
fn clusters_are_walked_by_name_whatever_their_numbers() {
    let plan = planned(&pods());
    let clusters: Vec<&str> = plan.types[0]
        .clusters
        .iter()
        .map(|space| space.name.as_str())
        .collect();
    assert_eq!(clusters, ["a", "b", "c"]);
}

#[test]
fn a_scope_leaves_out_what_it_does_not_name() {
    let scope = Scope::Clusters(BTreeMap::from([
        ("a".to_owned(), NamespaceScope::Only(names(&["x", "y"]))),
        ("b".to_owned(), NamespaceScope::Only(names(&[]))),
    ]));
    let plan = planned(&pods().scoped(&scope));
    let [only] = plan.types[0].clusters.iter().collect::<Vec<_>>()[..] else {
        panic!("one cluster: {plan}")
    };
    assert_eq!(*only.namespaces, NameFilter::In(names(&["x", "y"])));
}

#[test]
fn orders_that_a_walk_has_are_walked() {
    use OrderField::{Cluster, CreatedAt, Name, Namespace};
    let walk = |backwards| Strategy::Walk { backwards };
    let one_namespace = |query: Query| Query {
        namespaces: NameFilter::only("x"),
        ..query
    };
    let one_cluster = |query: Query| Query {
        clusters: NameFilter::only("b"),
        ..query
    };
    for (query, strategy) in [
        (pods(), walk(false)),
        (by(&[(Cluster, false)]), walk(false)),
        (by(&[(Cluster, true), (Namespace, false)]), walk(true)),
        (by(&[(Namespace, false)]), Strategy::Sort),
        (by(&[(Cluster, false), (Name, false)]), Strategy::Sort),
        (by(&[(Cluster, false), (Namespace, true)]), Strategy::Sort),
        (one_cluster(by(&[(Namespace, false)])), walk(false)),
        (
            one_namespace(by(&[(Cluster, true), (Name, false)])),
            walk(true),
        ),
        (
            one_namespace(one_cluster(by(&[(Name, false)]))),
            walk(false),
        ),
        (by(&[(CreatedAt, false)]), Strategy::Sort),
    ] {
        assert_eq!(planned(&query).strategy, strategy, "{query:?}");
    }
}

#[test]
fn equal_requirements_are_one_and_too_many_are_refused() {
    let label = |n: usize| Requirement::is_in(format!("key-{}", n % 70), ["x"]);
    let of = |labels: Vec<Requirement>| Query { labels, ..pods() };
    let twice = (0..128).map(|n| label(n % 64)).collect();
    assert_eq!(planned(&of(twice)).has.len(), 64);
    let refused = plan(
        &of((0..65).map(label).collect()),
        &fleet(),
        &TermHasher::new([7; 16]),
    );
    match refused {
        Err(StoreError::Unsupported { what }) => {
            assert!(what.contains("65 requirements"), "{what}");
        }
        other => panic!("expected a refusal, got {other:?}"),
    }
}

#[test]
fn a_query_that_admits_nothing_reads_nothing() {
    let no_name = Query {
        names: NameFilter::In(names(&[])),
        ..pods()
    };
    let no_value = Query {
        labels: vec![Requirement::is_in::<String>("app", [])],
        ..pods()
    };
    for query in [no_name, no_value, Query::all(gvr("unknown"))] {
        assert_eq!(planned(&query).strategy, Strategy::Nothing);
    }
}

/// A walk may end where the next cluster begins; among rows of one namespace that place has the namespace's value, or it would come before
/// rows that were found.
#[test]
fn the_beginning_of_a_cluster_has_the_value_of_a_key_that_does_not_vary() {
    use crate::read::places::Point;
    let query = Query {
        namespaces: NameFilter::only("x"),
        ..by(&[(OrderField::Namespace, false), (OrderField::Cluster, false)])
    };
    let beginning = Point {
        cluster: "b".into(),
        namespace: String::new(),
        name: String::new(),
    };
    let text = |text: &str| armadex_model::query::SortValue::Text(text.into());
    let rank = beginning.into_rank(0, &planned(&query));
    assert_eq!(rank.keys, [text("x"), text("b")]);
}

/// A page of a fleet costs what is on it: of its clusters nothing is copied.
#[test]
fn pages_of_a_fleet_share_what_is_known_of_its_clusters() {
    let snapshot = fleet();
    let of_namespace = Query {
        namespaces: NameFilter::only("shop"),
        ..pods()
    };
    let spaces = |query: &Query, snapshot: &Snapshot| {
        let plan = plan(query, snapshot, &TermHasher::new([7; 16])).expect("a plan");
        plan.types[0].clusters.clone()
    };
    let first = spaces(&pods(), &snapshot);
    assert_eq!(first.len(), 3);
    for query in [&pods(), &of_namespace] {
        assert!(spaces(query, &snapshot).shares_clusters_with(&first));
    }
    let labelled = |namespaces: NameFilter| Query {
        cluster_labels: label::parse("!env").expect("a selector"),
        namespaces,
        ..pods()
    };
    let chosen = spaces(&labelled(NameFilter::Any), &snapshot);
    let further = spaces(&labelled(NameFilter::only("shop")), &snapshot);
    assert!(further.shares_clusters_with(&chosen));
    let after = |delta: Delta| snapshot.apply(delta).expect("sound rows");
    // A cluster whose health changes is where it was.
    let health = HealthRow {
        cluster: 3,
        health: Health {
            healthy: false,
            reason: "NotReachable".into(),
        },
        version: None,
    };
    let flapped = after(Delta {
        version: 2,
        health: vec![health],
        ..Delta::default()
    });
    assert!(spaces(&pods(), &flapped).shares_clusters_with(&first));
    let fewer = after(Delta {
        version: 2,
        streams: vec![(3, 1, false)],
        ..Delta::default()
    });
    assert_eq!(spaces(&pods(), &fewer).len(), 2);
}
