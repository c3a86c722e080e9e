//! Label and field selectors, names.

use std::collections::BTreeSet;

use armadex_model::label::{Operator, Requirement};
use armadex_model::query::{OrderBy, OrderField};
use armadex_model::{NameFilter, Query};

use super::fixture::{Fixture, ObjectBuilder, RULES, Writer, all_pods, live, object, resource};
use crate::{Change, Rules, StoreError};

/// Pods named after their labels, in two clusters.
async fn fleet(fixture: &Fixture) {
    for cluster in ["m1", "m2"] {
        let pods = fixture.pods_of(cluster).await;
        let objects = [
            object("a", "web-blue")
                .label("app", "web")
                .label("color", "blue"),
            object("a", "web-red")
                .label("app", "web")
                .label("color", "red"),
            object("a", "web").label("app", "web"),
            object("b", "db-blue")
                .label("app", "db")
                .label("color", "blue"),
            object("b", "none"),
            object("c", "empty").label("app", ""),
        ];
        fixture
            .put(
                &pods,
                objects.map(|object| object.field("status.phase", "Running")),
            )
            .await;
    }
}

fn labelled(labels: Vec<Requirement>) -> Query {
    Query {
        labels,
        ..all_pods()
    }
}

fn exists(key: &str, there: bool) -> Requirement {
    Requirement {
        key: key.into(),
        operator: if there {
            Operator::Exists
        } else {
            Operator::DoesNotExist
        },
    }
}

/// The rows of the first cluster, without its name; the second has the same.
async fn check(fixture: &Fixture, labels: Vec<Requirement>, expected: &[&str]) {
    let query = labelled(labels);
    let text = format!("{:?}", query.labels);
    for rows in [1, 2, 100] {
        let found = fixture.list(&query, rows).await;
        let (first, second) = found.split_at(found.len() / 2);
        let first: Vec<&str> = first
            .iter()
            .filter_map(|row| row.strip_prefix("m1/"))
            .collect();
        let second: Vec<&str> = second
            .iter()
            .filter_map(|row| row.strip_prefix("m2/"))
            .collect();
        assert_eq!(first, expected, "{text}");
        assert_eq!(second, expected, "{text}");
    }
    let count = fixture.count(&query).await;
    assert_eq!(count, 2 * expected.len() as u64, "{text}");
}

/// Equality, sets, existence, and all of them together.
pub async fn positive_requirements_combine(fixture: &Fixture) {
    fleet(fixture).await;
    let web = Requirement::is_in("app", ["web"]);
    let blue = Requirement::is_in("color", ["blue", "no-such"]);
    check(
        fixture,
        vec![web.clone()],
        &["a/web", "a/web-blue", "a/web-red"],
    )
    .await;
    check(fixture, vec![blue.clone()], &["a/web-blue", "b/db-blue"]).await;
    check(fixture, vec![web.clone(), blue.clone()], &["a/web-blue"]).await;
    check(
        fixture,
        vec![exists("color", true)],
        &["a/web-blue", "a/web-red", "b/db-blue"],
    )
    .await;
    check(fixture, vec![Requirement::is_in("app", [""])], &["c/empty"]).await;
    check(fixture, vec![Requirement::is_in("app", ["no-such"])], &[]).await;
    check(fixture, vec![Requirement::is_in::<String>("app", [])], &[]).await;
    let many = Requirement::is_in("app", ["web", "db", ""]);
    let all = ["a/web", "a/web-blue", "a/web-red", "b/db-blue", "c/empty"];
    check(fixture, vec![many], &all).await;
}

/// As Kubernetes has it.
pub async fn negative_requirements_admit_objects_without_the_key(fixture: &Fixture) {
    fleet(fixture).await;
    let not_web = Requirement::is_not_in("app", ["web"]);
    let not_blue = Requirement::is_not_in("color", ["blue"]);
    check(
        fixture,
        vec![not_web.clone()],
        &["b/db-blue", "b/none", "c/empty"],
    )
    .await;
    check(
        fixture,
        vec![not_web, not_blue.clone()],
        &["b/none", "c/empty"],
    )
    .await;
    check(
        fixture,
        vec![exists("app", true), not_blue],
        &["a/web", "a/web-red", "c/empty"],
    )
    .await;
    check(fixture, vec![exists("app", false)], &["b/none"]).await;
    check(
        fixture,
        vec![exists("app", false), exists("app", true)],
        &[],
    )
    .await;
}

/// Equality and its negation on indexed fields.
pub async fn fields_select_as_labels_do(fixture: &Fixture) {
    fleet(fixture).await;
    let pods = fixture.pods_of("m1").await;
    let failed = object("a", "failed")
        .label("app", "web")
        .field("status.phase", "Failed");
    fixture.put(&pods, [failed]).await;
    let query = |fields, labels| Query {
        fields,
        labels,
        ..all_pods()
    };
    let phase = |phase: &str| Requirement::is_in("status.phase", [phase]);
    let web = || vec![Requirement::is_in("app", ["web"])];
    assert_eq!(
        fixture.list(&query(vec![phase("Failed")], vec![]), 5).await,
        ["m1/a/failed"]
    );
    assert_eq!(
        fixture
            .list(&query(vec![phase("Running")], web()), 5)
            .await
            .len(),
        6
    );
    let not_running = vec![Requirement::is_not_in("status.phase", ["Running"])];
    assert_eq!(
        fixture.list(&query(not_running, web()), 5).await,
        ["m1/a/failed"]
    );
}

const ABOUT: &str = "involvedObject.name";
const UID: &str = "involvedObject.uid";

/// An event by its number: three are of one pod, and one in three namespaces has a pod of this name.
fn event(number: usize) -> (ObjectBuilder, String) {
    let namespace = format!("ns-{}", number % 3);
    let uid = format!("uid-{}-{}", number % 3, number / 9);
    let about = format!("pod-{}", number / 9);
    let event = object(&namespace, &format!("event-{number:02}"));
    (event.field(ABOUT, &about).label("app", "web"), uid)
}

async fn put_events(fixture: &Fixture, events: &Writer, rules: Rules, objects: Vec<ObjectBuilder>) {
    let changes = objects
        .into_iter()
        .map(|object| Change::Put(object.build()));
    let mut batch = events.batch(changes, Some(live("7")));
    batch.rules = rules;
    fixture.sink.write(batch).await.expect("written");
}

/// Whatever is asked by a field that tells objects apart.
async fn check_own_fields(fixture: &Fixture) {
    let events = Query::all(resource("", "events", "Event", true).gvr);
    let uid = |values: &[&str]| Requirement::is_in(UID, values.iter().copied());
    let of = |fields: Vec<Requirement>| Query {
        fields,
        ..events.clone()
    };
    let one = ["m1/ns-1/event-10", "m1/ns-1/event-13", "m1/ns-1/event-16"];
    let about = |name: &str| Requirement::is_in(ABOUT, [name]);
    let named = Query {
        names: NameFilter::only("event-13"),
        ..of(vec![uid(&["uid-1-1"])])
    };
    let sorted = |field| Query {
        order: vec![OrderBy {
            field,
            descending: false,
        }],
        ..of(vec![uid(&["uid-1-1"])])
    };
    let cases = [
        (of(vec![uid(&["uid-1-1"])]), &one[..]),
        (of(vec![about("pod-1"), uid(&["uid-1-1"])]), &one),
        (of(vec![about("pod-2"), uid(&["uid-1-1"])]), &[]),
        (of(vec![uid(&["uid-1-1"]), uid(&["uid-0-0"])]), &[]),
        (of(vec![uid(&[])]), &[]),
        (named, &one[1..2]),
        (sorted(OrderField::Name), &one),
        (sorted(OrderField::Cluster), &one),
    ];
    for (query, expected) in cases {
        for rows in [1, 2, 100] {
            assert_eq!(fixture.list(&query, rows).await, expected, "{query:?}");
        }
        assert_eq!(fixture.count(&query).await, expected.len() as u64);
    }
    let not = Requirement::is_not_in(UID, ["uid-1-1", "uid-0-0"]);
    let web = Requirement::is_in("app", ["web"]);
    for labels in [vec![], vec![web]] {
        let others = Query {
            labels,
            ..of(vec![not.clone()])
        };
        assert_eq!(fixture.list(&others, 5).await.len(), 27 - 6);
        assert_eq!(fixture.count(&others).await, 27 - 6);
    }
}

/// A release that no longer indexes a field finds what an earlier one has indexed by it, and leaves nothing of that behind.
pub async fn own_fields_select_whether_or_not_they_were_indexed_before(fixture: &Fixture) {
    let kind = resource("", "events", "Event", true);
    let events = fixture.writer("m1", &kind).await;
    let indexed = |number| {
        let (event, uid) = event(number);
        event.field(UID, &uid)
    };
    put_events(fixture, &events, RULES, (0..27).map(indexed).collect()).await;
    check_own_fields(fixture).await;
    let newer = Rules::of_all(RULES.form + 1);
    let opened = fixture.sink.open(events.cluster, "", &kind, newer).await;
    let stream = opened.expect("opened");
    let events = Writer { stream, ..events };
    let own = |number| {
        let (event, uid) = event(number);
        event.own_field(UID, &uid)
    };
    for numbers in [0..14, 14..27] {
        put_events(fixture, &events, newer, numbers.map(own).collect()).await;
        check_own_fields(fixture).await;
        fixture.assert_sound().await;
    }
    let names: Vec<String> = (0..9).map(|n| format!("event-{:02}", 3 * n)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    fixture.delete(&events, "ns-0", &names).await;
    let left = fixture.list(&Query::all(kind.gvr), 100).await;
    assert_eq!(left.len(), 18);
    fixture.assert_sound().await;
}

/// The index holds what the object has now.
pub async fn labels_follow_their_object(fixture: &Fixture) {
    let pods = fixture.pods_of("m1").await;
    let app = |value: &str| labelled(vec![Requirement::is_in("app", [value])]);
    fixture
        .put(
            &pods,
            [object("a", "x").label("app", "one").label("other", "1")],
        )
        .await;
    fixture
        .put(&pods, [object("a", "x").version("101").label("app", "two")])
        .await;
    assert!(fixture.list(&app("one"), 5).await.is_empty());
    assert_eq!(fixture.list(&app("two"), 5).await, ["m1/a/x"]);
    assert!(
        fixture
            .list(&labelled(vec![exists("other", true)]), 5)
            .await
            .is_empty()
    );
    fixture
        .put(
            &pods,
            [object("a", "x").uid("another").label("app", "three")],
        )
        .await;
    assert!(fixture.list(&app("two"), 5).await.is_empty());
    assert_eq!(fixture.list(&app("three"), 5).await, ["m1/a/x"]);
    fixture.delete(&pods, "a", &["x"]).await;
    assert!(fixture.list(&app("three"), 5).await.is_empty());
    fixture.assert_sound().await;
}

/// In and not in, with labels and without.
pub async fn names_restrict_a_list(fixture: &Fixture) {
    fleet(fixture).await;
    let names = |names: &[&str]| {
        names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<BTreeSet<_>>()
    };
    let two = names(&["web", "none", "no-such"]);
    let cases = [
        (NameFilter::In(two.clone()), vec![], vec!["a/web", "b/none"]),
        (
            NameFilter::NotIn(two),
            vec![],
            vec!["a/web-blue", "a/web-red", "b/db-blue", "c/empty"],
        ),
        (NameFilter::In(names(&[])), vec![], vec![]),
        (
            NameFilter::only("web"),
            vec![exists("app", true)],
            vec!["a/web"],
        ),
        (
            NameFilter::NotIn(names(&["web"])),
            vec![Requirement::is_in("app", ["web"])],
            vec!["a/web-blue", "a/web-red"],
        ),
    ];
    for (filter, labels, expected) in cases {
        let query = Query {
            names: filter,
            ..labelled(labels)
        };
        let expected: Vec<String> = ["m1", "m2"]
            .iter()
            .flat_map(|cluster| expected.iter().map(move |row| format!("{cluster}/{row}")))
            .collect();
        for rows in [1, 3, 100] {
            assert_eq!(fixture.list(&query, rows).await, expected, "{query:?}");
        }
        let count = fixture.count(&query).await;
        assert_eq!(count, expected.len() as u64, "{query:?}");
        let one = Query {
            namespaces: NameFilter::only("a"),
            clusters: NameFilter::only("m1"),
            ..query
        };
        let expected: Vec<String> = expected
            .into_iter()
            .filter(|row| row.starts_with("m1/a/"))
            .collect();
        assert_eq!(fixture.list(&one, 2).await, expected, "{one:?}");
    }
}

/// Never ignored in silence.
pub async fn what_is_not_served_is_named(fixture: &Fixture) {
    fleet(fixture).await;
    let greater = Requirement {
        key: "generation".into(),
        operator: Operator::GreaterThan(3),
    };
    let cold = Requirement::is_in("spec.cold", ["x"]);
    let queries = [
        (labelled(vec![greater]), "generation>3"),
        (
            Query {
                fields: vec![cold],
                ..all_pods()
            },
            "spec.cold",
        ),
    ];
    for (query, named) in queries {
        match fixture.search.count(&query).await {
            Err(StoreError::Unsupported { what }) => assert!(what.contains(named), "{what}"),
            other => panic!("expected an error that names {named}, got {other:?}"),
        }
    }
}

/// More hits than a store may want to sort at once.
pub async fn a_namespace_with_many_hits_is_paged(fixture: &Fixture) {
    let pods = fixture.pods_of("m1").await;
    let pod = |n: u32| {
        // Names and ids run against each other.
        let object = object("big", &format!("pod-{:05}", 99_999 - n)).label("app", "web");
        if n.is_multiple_of(50) {
            object.label("rare", "yes")
        } else {
            object
        }
    };
    fixture.put(&pods, (0..5000).map(pod)).await;
    fixture
        .put(
            &pods,
            (0..10).map(|n| object("small", &format!("s-{n}")).label("app", "web")),
        )
        .await;
    let web = || Requirement::is_in("app", ["web"]);
    let queries = [
        (vec![web()], 5010),
        (vec![web(), exists("rare", false)], 4910),
        (vec![web(), exists("rare", true)], 100),
        (vec![exists("rare", false)], 4910),
    ];
    for (labels, expected) in queries {
        let query = labelled(labels);
        let found = fixture.list(&query, 700).await;
        assert_eq!(found.len(), expected, "{query:?}");
        assert!(found.is_sorted(), "{query:?}");
        let count = fixture.count(&query).await;
        assert_eq!(count, expected as u64, "{query:?}");
    }
    fixture.assert_sound().await;
}

/// More names, namespaces, clusters and values than one statement takes.
pub async fn lists_of_names_longer_than_a_statement_are_read_to_the_end(fixture: &Fixture) {
    let pods = fixture.pods_of("member1").await;
    let spread = |n: usize| format!("n{:04}", n * 13);
    let objects = (0..150).map(|n| object(&spread(n), &spread(n)).label("app", &spread(n)));
    fixture.put(&pods, objects).await;
    let asked: BTreeSet<String> = (0..1300).map(|n| format!("n{n:04}")).collect();
    let expected = |found: &dyn Fn(&String) -> bool| -> Vec<String> {
        (0..150)
            .map(spread)
            .filter(found)
            .map(|name| format!("member1/{name}/{name}"))
            .collect()
    };
    let within = expected(&|name| asked.contains(name));
    let without = expected(&|name| !asked.contains(name));
    assert_eq!((within.len(), without.len()), (100, 50));
    let by_name = |filter: NameFilter| Query {
        names: filter,
        ..all_pods()
    };
    let by_namespace = |filter: NameFilter| Query {
        namespaces: filter,
        ..all_pods()
    };
    let by_label = |requirement: Requirement| Query {
        labels: vec![requirement],
        ..all_pods()
    };
    let positive = [
        by_name(NameFilter::In(asked.clone())),
        by_namespace(NameFilter::In(asked.clone())),
        by_label(Requirement::is_in("app", asked.clone())),
    ];
    let negative = [
        by_name(NameFilter::NotIn(asked.clone())),
        by_namespace(NameFilter::NotIn(asked.clone())),
        by_label(Requirement::is_not_in("app", asked.clone())),
    ];
    for (queries, expected) in [(positive, within), (negative, without)] {
        for query in queries {
            assert_eq!(fixture.list(&query, 100).await, expected, "{query:?}");
            assert_eq!(fixture.count(&query).await, expected.len() as u64);
        }
    }
}
