//! Plain lists: order, pages, clusters, namespaces, scope.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use armadex_model::label::Requirement;
use armadex_model::query::{NamespaceScope, OrderBy, OrderField, Scope, Searched, Start};
use armadex_model::{GroupVersionResource, NameFilter, ObjectKey, Query, ResourceType};

use super::fixture::{Fixture, all_pods, name, object, path, pods, resource, through_a_token};
use crate::{Page, PageBudget};

/// Three clusters with three namespaces of three pods each, stored in no particular order.
async fn fleet(fixture: &Fixture) -> Vec<String> {
    let mut all = Vec::new();
    for cluster in ["m2", "m3", "m1"] {
        let pods = fixture.pods_of(cluster).await;
        for namespace in ["b", "c", "a"] {
            for pod in ["y", "z", "x"] {
                fixture.put(&pods, [object(namespace, pod)]).await;
                all.push(format!("{cluster}/{namespace}/{pod}"));
            }
        }
    }
    all.sort();
    all
}

fn names(list: &[&str]) -> BTreeSet<String> {
    list.iter().map(|name| (*name).to_owned()).collect()
}

/// Whatever the order of writing, and for any page size.
pub async fn rows_come_by_cluster_namespace_and_name(fixture: &Fixture) {
    let all = fleet(fixture).await;
    for rows in [1, 2, 3, 5, 26, 27, 28, 500] {
        assert_eq!(
            fixture.list(&all_pods(), rows).await,
            all,
            "pages of {rows}"
        );
    }
    assert_eq!(fixture.count(&all_pods()).await, 27);
}

/// As bytes say it and no dictionary: capital letters come first, and signs where their numbers are. In each order, both ways and for any page size, and a page goes
/// on behind each of them.
pub async fn names_come_in_the_order_of_their_bytes(fixture: &Fixture) {
    const NAMES: [&str; 14] = [
        "a", "B", "a:b", "a-b", "a.b", "A", "ab", "a1", "a_b", "aB", "b", "Z", "z", "system:a",
    ];
    for cluster in ["m1", "m-1"] {
        let pods = fixture.pods_of(cluster).await;
        for namespace in ["a", "a-b", "B"] {
            fixture
                .put(&pods, NAMES.map(|name| object(namespace, name)))
                .await;
        }
    }
    let mut all = fixture.list(&all_pods(), 500).await;
    assert_eq!(all[..3], ["m-1/B/A", "m-1/B/B", "m-1/B/Z"]);
    let parts = |path: &String| Vec::from_iter(path.split('/').map(str::to_owned));
    assert!(all.is_sorted_by_key(parts), "{all:#?}");
    for rows in [1, 2, 5] {
        assert_eq!(
            fixture.list(&all_pods(), rows).await,
            all,
            "pages of {rows}"
        );
    }
    let name = |path: &String| parts(path).pop();
    for descending in [false, true] {
        all.sort_by_key(parts);
        all.sort_by(|one, other| match descending {
            false => name(one).cmp(&name(other)),
            true => name(other).cmp(&name(one)),
        });
        let field = OrderField::Name;
        let query = Query {
            order: vec![OrderBy { field, descending }],
            ..all_pods()
        };
        for rows in [1, 5, 500] {
            assert_eq!(fixture.list(&query, rows).await, all, "pages of {rows}");
        }
    }
}

/// The store looks one row further than it gives.
pub async fn a_last_full_page_is_followed_by_none(fixture: &Fixture) {
    fleet(fixture).await;
    let budget = PageBudget {
        rows: 27,
        bytes: usize::MAX,
    };
    let page = fixture
        .search
        .page(&all_pods(), &Start::Beginning, budget)
        .await
        .expect("page");
    if !fixture.tiny {
        assert_eq!((page.rows.len(), page.next), (27, None));
    }
}

/// One row always fits.
pub async fn a_page_is_bounded_by_bytes_but_never_empty_for_them(fixture: &Fixture) {
    let pods = fixture.pods_of("m1").await;
    let sizes = [10, 2000, 10, 10];
    let objects = sizes
        .iter()
        .enumerate()
        .map(|(n, &size)| object("ns", &format!("pod-{n}")).body(vec![b'a'; size]));
    fixture.put(&pods, objects).await;
    let budget = PageBudget {
        rows: 10,
        bytes: 1000,
    };
    let mut start = Start::Beginning;
    let mut pages = Vec::new();
    loop {
        let page = fixture
            .search
            .page(&all_pods(), &start, budget)
            .await
            .expect("page");
        pages.push(page.rows.len());
        match page.next {
            Some(position) => start = Start::After(position),
            None => break,
        }
    }
    pages.retain(|&rows| rows > 0);
    assert!(
        pages == [1, 1, 2] || fixture.tiny && pages.iter().sum::<usize>() == 4,
        "{pages:?}"
    );
}

/// Clusterpedia's integer `continue`.
pub async fn an_offset_skips_rows(fixture: &Fixture) {
    let all = fleet(fixture).await;
    for offset in [0, 1, 9, 26, 27, 1000] {
        let rows = fixture
            .rows_from(&all_pods(), &Start::Offset(offset), 4)
            .await;
        let Some(rows) = rows else { continue };
        let expected: Vec<String> = all.iter().skip(offset as usize).take(4).cloned().collect();
        let found: Vec<String> = rows.iter().map(path).collect();
        assert_eq!(found, expected, "offset {offset}");
    }
}

/// In, not in, and both at once.
pub async fn clusters_and_namespaces_restrict_a_list(fixture: &Fixture) {
    let all = fleet(fixture).await;
    let filters = [
        NameFilter::Any,
        NameFilter::In(names(&[])),
        NameFilter::only("m2"),
        NameFilter::only("b"),
        NameFilter::In(names(&["m1", "m3", "a", "c", "no-such"])),
        NameFilter::NotIn(names(&["m2", "b", "no-such"])),
        NameFilter::NotIn(names(&["m1", "m2", "m3", "a", "b", "c"])),
    ];
    for clusters in &filters {
        for namespaces in &filters {
            let query = Query {
                clusters: clusters.clone(),
                namespaces: namespaces.clone(),
                ..all_pods()
            };
            let admitted = |row: &&String| {
                let parts: Vec<&str> = row.split('/').collect();
                clusters.admits(parts[0]) && namespaces.admits(parts[1])
            };
            let expected: Vec<String> = all.iter().filter(admitted).cloned().collect();
            for rows in [1, 4, 100] {
                assert_eq!(
                    fixture.list(&query, rows).await,
                    expected,
                    "{clusters:?} {namespaces:?}"
                );
            }
            let count = fixture.count(&query).await;
            assert_eq!(count, expected.len() as u64, "{clusters:?} {namespaces:?}");
        }
    }
}

/// A page and the number of all rows are of one moment.
pub async fn a_page_comes_with_the_number_of_all_rows(fixture: &Fixture) {
    let all = fleet(fixture).await;
    let budget = PageBudget {
        rows: 3,
        bytes: usize::MAX,
    };
    let (query, start) = (all_pods(), Start::Beginning);
    let alone = fixture.search.page(&query, &start, budget).await;
    let counted = fixture.search.counted_page(&query, &start, budget).await;
    let (page, rows) = counted.expect("a page");
    let alone = alone.expect("a page");
    assert_eq!((&page.next, &page.head), (&alone.next, &alone.head));
    let paths = |page: &Page| Vec::from_iter(page.rows.iter().map(path));
    assert_eq!(paths(&page), paths(&alone));
    match rows {
        Some(rows) => assert_eq!(rows, all.len() as u64),
        None => assert!(fixture.tiny, "27 rows are counted every day"),
    }
}

/// What a caller may not see is not counted either.
pub async fn a_scope_hides_rows_from_lists_and_counts(fixture: &Fixture) {
    fleet(fixture).await;
    let scope = Scope::Clusters(BTreeMap::from([
        ("m1".to_owned(), NamespaceScope::All),
        (
            "m3".to_owned(),
            NamespaceScope::Only(names(&["b", "c", "no-such"])),
        ),
        ("no-such".to_owned(), NamespaceScope::All),
    ]));
    let all = all_pods().scoped(&scope);
    let without_c = Query {
        namespaces: NameFilter::NotIn(names(&["c"])),
        ..all.clone()
    };
    let nothing = all_pods().scoped(&Scope::Clusters(BTreeMap::new()));
    for (query, rows) in [(&all, 9 + 6), (&without_c, 6 + 3), (&nothing, 0)] {
        let found = fixture.list(query, 4).await;
        assert_eq!(found.len(), rows);
        assert!(
            found
                .iter()
                .all(|row| !row.starts_with("m2/") && !row.starts_with("m3/a/"))
        );
        assert_eq!(fixture.count(query).await, rows as u64);
    }
}

/// They are no error: whoever serves knows whether to say 404.
pub async fn unknown_types_and_clusters_have_no_rows(fixture: &Fixture) {
    fleet(fixture).await;
    let unknown = GroupVersionResource::new("x", "v1", "things");
    assert!(
        fixture
            .list(&Query::all(unknown.clone()), 10)
            .await
            .is_empty()
    );
    assert_eq!(fixture.count(&Query::all(unknown.clone())).await, 0);
    let key = ObjectKey::new("a", "x");
    let known = pods();
    for (cluster, gvr) in [("m1", &unknown), ("no-such", &known)] {
        let found = fixture
            .search
            .get(&name(cluster), gvr, &key)
            .await
            .expect("read");
        assert!(found.is_none());
    }
}

/// Type by type as the query names them, in each by cluster, namespace and name; any other order mixes them.
pub async fn several_types_are_paged_as_one(fixture: &Fixture) {
    let mut paths = two_types_of_two_clusters(fixture).await;
    let both = Query {
        types: vec![everything(pods()), everything(configmaps().gvr)],
        ..all_pods()
    };
    paths.sort_by_key(in_order);
    let labelled = Query {
        labels: vec![Requirement::is_in("app", ["web"])],
        ..both.clone()
    };
    for rows in [1, 4, 100] {
        assert_eq!(kinds(fixture, &both, rows).await, paths, "pages of {rows}");
        assert_eq!(kinds(fixture, &labelled, rows).await, paths);
    }
    assert_eq!(fixture.count(&both).await, 12);
    for field in [
        OrderField::Name,
        OrderField::Uid,
        OrderField::Cluster,
        OrderField::CreatedAt,
    ] {
        let order = OrderBy {
            field,
            descending: true,
        };
        let ordered = Query {
            order: vec![order],
            ..both.clone()
        };
        paths.sort_by_key(|one| (Reverse(ordered_by(field, &one.1)), in_order(one)));
        for rows in [1, 5, 100] {
            let found = kinds(fixture, &ordered, rows).await;
            assert_eq!(found, paths, "{field:?}, {rows}");
        }
    }
}

fn configmaps() -> ResourceType {
    resource("", "configmaps", "ConfigMap", true)
}

fn everything(resource: GroupVersionResource) -> Searched {
    Searched {
        resource,
        scope: Scope::Everything,
    }
}

/// The kind and the path of each object that it puts.
async fn two_types_of_two_clusters(fixture: &Fixture) -> Vec<(String, String)> {
    let mut paths = Vec::new();
    for cluster in ["m2", "m1"] {
        for (kind, writer) in [
            ("Pod", fixture.pods_of(cluster).await),
            ("ConfigMap", fixture.writer(cluster, &configmaps()).await),
        ] {
            for (namespace, name) in [("b", "x"), ("a", "y"), ("a", "x")] {
                let object = object(namespace, name).label("app", "web");
                fixture.put(&writer, [object]).await;
                paths.push((kind.to_owned(), format!("{cluster}/{namespace}/{name}")));
            }
        }
    }
    paths
}

/// Pods come first, as the query names them.
fn in_order((kind, path): &(String, String)) -> (bool, String) {
    (kind != "Pod", path.clone())
}

/// The value of a field of the object with this path.
fn ordered_by(field: OrderField, path: &str) -> String {
    let parts: Vec<&str> = path.split('/').collect();
    match field {
        OrderField::Name => parts[2].to_owned(),
        OrderField::Uid => format!("uid-of-{}-{}", parts[1], parts[2]),
        OrderField::Cluster => parts[0].to_owned(),
        _ => String::new(),
    }
}

/// The kind and the path of each row, in pages of so many.
async fn kinds(fixture: &Fixture, query: &Query, rows: u32) -> Vec<(String, String)> {
    let rows = fixture.rows(query, rows).await;
    let kinds = rows
        .iter()
        .map(|row| (row.resource.kind.clone(), path(row)));
    kinds.collect()
}

/// What is there from the first page to the last comes once, whatever comes and goes between two pages.
pub async fn writes_between_pages_neither_double_nor_hide_what_stays(fixture: &Fixture) {
    let staying: Vec<String> = fleet(fixture).await;
    let orders = [vec![], vec![OrderField::Name], vec![OrderField::CreatedAt]];
    for (round, order) in orders.into_iter().enumerate() {
        let query = Query {
            order: order
                .into_iter()
                .map(|field| OrderBy {
                    field,
                    descending: false,
                })
                .collect(),
            ..all_pods()
        };
        let writers = [fixture.pods_of("m1").await, fixture.pods_of("m3").await];
        let budget = PageBudget {
            rows: 2,
            bytes: usize::MAX,
        };
        let mut seen: Vec<String> = Vec::new();
        let mut start = Start::Beginning;
        for step in 0_usize.. {
            let page = fixture
                .search
                .page(&query, &start, budget)
                .await
                .expect("page");
            seen.extend(page.rows.iter().map(path));
            let Some(next) = page.next else { break };
            start = Start::After(through_a_token(&next));
            let writer = &writers[step % 2];
            let namespace = ["0", "a", "bb", "z"][step % 4];
            let guest = format!("guest-{round}-{step}");
            fixture.put(writer, [object(namespace, &guest)]).await;
            fixture.delete(writer, namespace, &[&guest]).await;
            fixture.put(writer, [object(namespace, "zz")]).await;
            fixture
                .delete(writer, ["z", "0", "a", "bb"][step % 4], &["zz"])
                .await;
        }
        let mut stayed: Vec<String> = seen
            .iter()
            .filter(|row| staying.contains(row))
            .cloned()
            .collect();
        stayed.sort();
        assert_eq!(stayed, staying, "{query:?}");
        let mut distinct = seen.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), seen.len(), "{query:?}");
        for writer in &writers {
            for namespace in ["0", "a", "bb", "z"] {
                fixture.delete(writer, namespace, &["zz"]).await;
            }
        }
        fixture.purge(10).await;
    }
    fixture.assert_sound().await;
}
