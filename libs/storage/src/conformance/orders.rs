//! Sort orders and the positions they give.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use armadex_model::label::Requirement;
use armadex_model::query::{NamespaceScope, OrderBy, OrderField, Scope, Start};
use armadex_model::{NameFilter, Query};

use super::fixture::{Fixture, all_pods, object, path, resource, through_a_token};
use crate::{Found, PageBudget, StoreError};

const FIELDS: [OrderField; 6] = [
    OrderField::Cluster,
    OrderField::Namespace,
    OrderField::Name,
    OrderField::CreatedAt,
    OrderField::ResourceVersion,
    OrderField::Uid,
];

/// Values that disagree with each other's order, and some that are equal.
async fn fleet(fixture: &Fixture) {
    for (number, cluster) in ["m2", "m1", "m3"].into_iter().enumerate() {
        let pods = fixture.pods_of(cluster).await;
        for (index, namespace) in ["b", "c", "a"].into_iter().enumerate() {
            let objects = (0..6).map(|n| {
                let seed = (n * 7 + index * 3 + number) % 11;
                let uid = format!("{seed:x}-{cluster}-{namespace}-{n}");
                object(namespace, &format!("pod-{}", (n * 5) % 6))
                    .uid(&uid)
                    .body(uid)
                    .version(&format!("{}", 90 + seed * 3))
                    .created(1_000 + (seed as i64 % 4))
                    .label("parity", if n % 2 == 0 { "even" } else { "odd" })
            });
            fixture.put(&pods, objects).await;
        }
    }
}

fn by(keys: &[(OrderField, bool)]) -> Query {
    let order = keys
        .iter()
        .map(|&(field, descending)| OrderBy { field, descending });
    Query {
        order: order.collect(),
        ..all_pods()
    }
}

/// A row's value, in a form that compares as the field does.
fn value(row: &Found, field: OrderField) -> (i64, String) {
    match field {
        OrderField::Cluster => (0, row.cluster.to_string()),
        OrderField::Namespace => (0, row.key.namespace.clone()),
        OrderField::Name => (0, row.key.name.clone()),
        OrderField::CreatedAt => (row.created, String::new()),
        OrderField::ResourceVersion => (
            row.resource_version.parse().expect("a number"),
            String::new(),
        ),
        // Only in the fixture is a body nothing but the uid.
        OrderField::Uid => (0, String::from_utf8_lossy(&row.body).into_owned()),
    }
}

fn is_sorted(rows: &[Found], query: &Query) -> bool {
    rows.windows(2).all(|pair| {
        let orderings = query.order.iter().map(|key| {
            let ordering = value(&pair[0], key.field).cmp(&value(&pair[1], key.field));
            if key.descending {
                ordering.reverse()
            } else {
                ordering
            }
        });
        orderings
            .into_iter()
            .find(|ordering| ordering.is_ne())
            .is_none_or(Ordering::is_lt)
    })
}

/// Each field, and each pair of fields, in all directions and page sizes.
pub async fn orders_sort_by_each_field_both_ways(fixture: &Fixture) {
    fleet(fixture).await;
    for first in FIELDS {
        for second in FIELDS {
            for (down, down_too) in [(false, false), (true, false), (false, true)] {
                let query = by(&[(first, down), (second, down_too)]);
                let rows = fixture.rows(&query, 100).await;
                assert_eq!(rows.len(), 54, "{:?}", query.order);
                assert!(is_sorted(&rows, &query), "{:?}", query.order);
                assert_eq!(
                    fixture.list(&query, 7).await,
                    fixture.list(&query, 100).await
                );
            }
        }
    }
}

/// The order is total, so that no page repeats or skips a row.
pub async fn rows_of_equal_value_come_in_page_order(fixture: &Fixture) {
    fleet(fixture).await;
    let query = by(&[(OrderField::CreatedAt, true)]);
    let rows = fixture.rows(&query, 5).await;
    let keys: Vec<_> = rows
        .iter()
        .map(|row| (-row.created, row.cluster.clone(), row.key.clone()))
        .collect();
    assert!(keys.is_sorted());
    assert_eq!(keys.len(), 54);
}

/// Selectors, clusters, names and an offset change which rows are sorted, not how.
pub async fn labels_and_orders_go_together(fixture: &Fixture) {
    fleet(fixture).await;
    let odd = vec![Requirement::is_in("parity", ["odd"])];
    let not_odd = vec![Requirement::is_not_in("parity", ["odd"])];
    for field in FIELDS {
        for labels in [&odd, &not_odd, &vec![]] {
            for clusters in [NameFilter::Any, NameFilter::only("m1")] {
                let query = Query {
                    labels: labels.clone(),
                    clusters,
                    ..by(&[(field, true)])
                };
                let rows = fixture.rows(&query, 4).await;
                assert!(is_sorted(&rows, &query), "{query:?}");
                let count = fixture.count(&query).await;
                assert_eq!(rows.len() as u64, count, "{query:?}");
                let page = fixture.rows_from(&query, &Start::Offset(2), 3).await;
                let Some(page) = page else { continue };
                let keys =
                    |rows: &[Found]| rows.iter().map(|row| row.key.clone()).collect::<Vec<_>>();
                assert_eq!(keys(&page), keys(&rows[2..5]), "{query:?}");
            }
        }
    }
}

/// A token that was altered, or belongs to another query.
pub async fn a_position_of_another_order_is_gone(fixture: &Fixture) {
    fleet(fixture).await;
    let budget = PageBudget {
        rows: 3,
        bytes: usize::MAX,
    };
    let by_name = by(&[(OrderField::Name, false)]);
    let page = fixture
        .search
        .page(&by_name, &Start::Beginning, budget)
        .await;
    let position = page.expect("page").next.expect("more rows");
    for query in [by(&[(OrderField::CreatedAt, false)]), all_pods()] {
        let start = Start::After(position.clone());
        let refused = fixture.search.page(&query, &start, budget).await;
        assert!(
            matches!(refused, Err(StoreError::Gone { .. })),
            "{refused:?}"
        );
    }
}

/// Rights may be narrowed and clusters may leave in mid-walk: what stays is there once, in order, whichever way the store goes from then on.
pub async fn what_goes_between_two_pages_takes_nothing_else_along(fixture: &Fixture) {
    fleet(fixture).await;
    let nodes = resource("", "nodes", "Node", false);
    for cluster in ["m1", "m2"] {
        let writer = fixture.writer(cluster, &nodes).await;
        let objects = (0..5).map(|n| object("", &format!("node-{n}")).created(2_000 + n / 3));
        fixture.put(&writer, objects).await;
    }
    let one_namespace = Query {
        namespaces: NameFilter::only("b"),
        ..all_pods()
    };
    for query in [all_pods(), one_namespace, Query::all(nodes.gvr.clone())] {
        for order in [
            &[(OrderField::Name, false)][..],
            &[(OrderField::Namespace, false), (OrderField::Name, true)],
            &[(OrderField::CreatedAt, true), (OrderField::Name, false)],
            &[(OrderField::Cluster, true), (OrderField::Name, false)],
        ] {
            let query = Query {
                order: by(order).order,
                ..query.clone()
            };
            narrowed_after_any_page(fixture, &query).await;
        }
    }
}

async fn narrowed_after_any_page(fixture: &Fixture, query: &Query) {
    let all = fixture.rows(query, 100).await;
    for stays in ["m1", "m2"] {
        let left = BTreeMap::from([(stays.to_owned(), NamespaceScope::All)]);
        let narrow = query.clone().scoped(&Scope::Clusters(left));
        let of_it = |rows: &[Found]| -> Vec<String> {
            let stay = rows.iter().filter(|row| row.cluster.as_str() == stays);
            stay.map(path).collect()
        };
        for pages in [1, 2, 3, 5, 8] {
            let (mut found, mut start) = (Vec::new(), Start::Beginning);
            for page in 0.. {
                let asked = if page < pages { query } else { &narrow };
                let budget = PageBudget {
                    rows: 2,
                    bytes: usize::MAX,
                };
                let page = fixture.search.page(asked, &start, budget).await;
                let page = page.expect("a page");
                found.extend(page.rows);
                match page.next {
                    Some(next) => start = Start::After(through_a_token(&next)),
                    None => break,
                }
            }
            assert_eq!(
                of_it(&found),
                of_it(&all),
                "{stays} alone after {pages} pages of {query:#?}"
            );
        }
    }
}
