//! Plans of queries over a small catalogue, as they print themselves.

use armadex_model::label::{Operator, Requirement};
use armadex_model::query::{NamespaceScope, OrderField, Scope};
use armadex_model::{GroupVersionResource, ResourceType};

use super::*;
use crate::sql::catalog::{ClusterRow, TypeRow};
use crate::sql::stream::StreamRow;

const PODS: i32 = 1;

fn cluster(id: i64, name: &str, slot: i64, active: bool) -> ClusterRow {
    ClusterRow {
        id,
        name: name.into(),
        incarnation: "uid".into(),
        active,
        slot,
        in_order: true,
        healthy: None,
        reason: String::new(),
        version: None,
    }
}

/// a, b, c in slots 1, 2, 3; `left` has left and waits for its purge in slot 4; d in slot 5 has no pods.
fn snapshot(closed: &[i64], with_left: bool) -> Snapshot {
    let mut clusters = vec![
        cluster(10, "a", 1, true),
        cluster(20, "b", 2, true),
        cluster(30, "c", 3, true),
        cluster(50, "d", 5, true),
    ];
    if with_left {
        clusters.push(cluster(40, "left", 4, false));
    }
    let pods = ResourceType {
        gvr: GroupVersionResource::new("", "v1", "pods"),
        kind: "Pod".into(),
        namespaced: true,
        singular: String::new(),
        short_names: vec![],
        categories: vec![],
    };
    let with_pods = clusters.iter().filter(|row| row.name != "d");
    let streams: Vec<StreamRow> = with_pods
        .map(|row| StreamRow {
            cluster: row.id,
            resource: PODS,
            is_open: row.active && !closed.contains(&row.id),
            epoch: 1,
            position: None,
        })
        .collect();
    let types = [TypeRow {
        id: PODS,
        resource: pods,
    }];
    Snapshot::new(1, &clusters, &types, &streams).expect("sound rows")
}

fn named(query: &Query, snapshot: &Snapshot) -> Vec<NamespaceRow> {
    let mut rows = Vec::new();
    for name in named_namespaces(query, PODS, snapshot) {
        for (cluster, slot) in [(10, 1), (20, 2), (30, 3)] {
            let id = (slot << 37) + i64::from(name.as_bytes()[0]);
            rows.push(NamespaceRow {
                id,
                cluster,
                namespace: name.clone(),
            });
        }
    }
    rows
}

fn explain(query: &Query, snapshot: &Snapshot) -> String {
    let hasher = TermHasher::new([7; 16]);
    match plan(query, PODS, snapshot, &hasher, &named(query, snapshot)) {
        Ok(plan) => plan.to_string(),
        Err(err) => err.to_string(),
    }
}

fn pods() -> Query {
    Query::all(GroupVersionResource::new("", "v1", "pods"))
}

fn by(field: OrderField, descending: bool) -> OrderBy {
    OrderBy { field, descending }
}

fn names(list: &[&str]) -> std::collections::BTreeSet<String> {
    list.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn ranges_of_clusters_merge_where_nothing_is_hidden_between() {
    let one = |name: &str| Query {
        clusters: NameFilter::only(name),
        ..pods()
    };
    let without = |name: &str| Query {
        clusters: NameFilter::NotIn(names(&[name])),
        ..pods()
    };
    let plans = [
        explain(&pods(), &snapshot(&[], false)),
        explain(&pods(), &snapshot(&[], true)),
        explain(&pods(), &snapshot(&[20], false)),
        explain(&without("b"), &snapshot(&[], false)),
        explain(&without("d"), &snapshot(&[], false)),
        explain(&one("b"), &snapshot(&[], false)),
        explain(&one("d"), &snapshot(&[], false)),
        explain(&one("left"), &snapshot(&[], true)),
    ];
    insta::assert_snapshot!(plans.join("\n\n"));
}

#[test]
fn namespaces_become_ids() {
    let scope = Scope::Clusters(
        [
            ("a".to_owned(), NamespaceScope::All),
            ("c".to_owned(), NamespaceScope::Only(names(&["x", "y"]))),
        ]
        .into(),
    );
    let queries = [
        Query {
            namespaces: NameFilter::only("x"),
            ..pods()
        },
        Query {
            namespaces: NameFilter::NotIn(names(&["x"])),
            ..pods()
        },
        Query {
            scope: scope.clone(),
            ..pods()
        },
        Query {
            scope,
            namespaces: NameFilter::only("x"),
            ..pods()
        },
    ];
    let plans = queries.map(|query| explain(&query, &snapshot(&[], false)));
    insta::assert_snapshot!(plans.join("\n\n"));
}

#[test]
fn selectors_become_terms() {
    let exists = |operator| Requirement {
        key: "app".into(),
        operator,
    };
    let labels = vec![
        Requirement::is_in("app", ["web", "db"]),
        Requirement::is_not_in("tier", ["cache"]),
        exists(Operator::Exists),
        exists(Operator::DoesNotExist),
    ];
    let fields = vec![Requirement::is_in("status.phase", ["Failed"])];
    let queries = [
        Query {
            labels: labels.clone(),
            fields,
            ..pods()
        },
        Query {
            labels: labels[1..2].to_vec(),
            order: vec![by(OrderField::Uid, false)],
            ..pods()
        },
        Query {
            labels: vec![Requirement::is_in::<String>("app", [])],
            ..pods()
        },
        Query {
            names: NameFilter::only("web-1"),
            ..pods()
        },
        Query {
            labels: vec![exists(Operator::GreaterThan(3))],
            ..pods()
        },
        Query {
            fields: vec![Requirement::is_in("spec.cold", ["x"])],
            ..pods()
        },
    ];
    let plans = queries.map(|query| explain(&query, &snapshot(&[], false)));
    insta::assert_snapshot!(plans.join("\n\n"));
}

#[track_caller]
fn strategy_of(query: &Query, snapshot: &Snapshot, expected: Strategy) {
    let hasher = TermHasher::new([7; 16]);
    let plan = plan(query, PODS, snapshot, &hasher, &named(query, snapshot)).expect("a plan");
    assert_eq!(plan.strategy, expected, "{query:?}");
}

#[test]
fn an_order_that_the_pages_have_anyway_is_not_sorted() {
    use OrderField::{Cluster, CreatedAt, Name, Namespace};
    let ordered = |fields: &[OrderField]| Query {
        order: fields.iter().map(|&field| by(field, false)).collect(),
        ..pods()
    };
    let one = |query| Query {
        clusters: NameFilter::only("a"),
        ..query
    };
    let here = |query| Query {
        namespaces: NameFilter::only("x"),
        ..query
    };
    let all = snapshot(&[], false);
    strategy_of(&ordered(&[Cluster, Namespace, Name]), &all, Strategy::Walk);
    strategy_of(&ordered(&[Cluster]), &all, Strategy::Walk);
    strategy_of(&one(ordered(&[Namespace, Name])), &all, Strategy::Walk);
    strategy_of(&one(here(ordered(&[Name]))), &all, Strategy::Walk);
    strategy_of(&ordered(&[Namespace]), &all, Strategy::Sort(None));
    strategy_of(
        &ordered(&[Name]),
        &all,
        Strategy::Sort(Some(ObjIndex::Name)),
    );
    strategy_of(
        &ordered(&[CreatedAt, Name]),
        &all,
        Strategy::Sort(Some(ObjIndex::Created)),
    );
    let descending = Query {
        order: vec![by(Cluster, true)],
        ..pods()
    };
    strategy_of(&descending, &all, Strategy::Sort(None));
}

#[test]
fn clusters_whose_numbers_are_out_of_order_are_sorted() {
    let rows = [cluster(10, "b", 1, true), cluster(20, "a", 2, true)];
    let mut disordered = cluster(30, "c", 3, true);
    disordered.in_order = false;
    let types = [TypeRow {
        id: PODS,
        resource: ResourceType {
            gvr: pods().resource,
            kind: "Pod".into(),
            namespaced: true,
            singular: String::new(),
            short_names: vec![],
            categories: vec![],
        },
    }];
    let stream = |row: &ClusterRow| StreamRow {
        cluster: row.id,
        resource: PODS,
        is_open: true,
        epoch: 1,
        position: None,
    };
    let snapshot = |rows: &[ClusterRow]| {
        let streams: Vec<StreamRow> = rows.iter().map(stream).collect();
        Snapshot::new(1, rows, &types, &streams).expect("sound rows")
    };
    let query = Query {
        order: vec![by(OrderField::Cluster, false)],
        ..pods()
    };
    strategy_of(&query, &snapshot(&rows), Strategy::Sort(None));
    let query = Query {
        order: vec![by(OrderField::Namespace, false)],
        ..pods()
    };
    strategy_of(&query, &snapshot(&[disordered]), Strategy::Sort(None));
}
