//! Objects of every kind and their cells, as a kube-apiserver 1.36 prints them.

use super::super::cells::Cells;
use super::super::row::Row;
use super::*;
use serde_json::{Value, json};

fn cells(printer: &Printer, object: &Value) -> Vec<Value> {
    let bytes = serde_json::to_vec(object).expect("JSON");
    let row = Row {
        name: "web",
        created: "2026-03-01T10:59:00Z".parse().ok(),
        object: &bytes,
        now: "2026-03-01T12:00:00Z".parse().expect("a time"),
    };
    let mut out = b"[null".to_vec();
    let printed = printer.print(&row, &mut Cells::after(&mut out));
    printed.unwrap_or_else(|error| panic!("{error}: {object}"));
    out.push(b']');
    let mut cells: Vec<Value> = serde_json::from_slice(&out).expect("cells are JSON");
    cells.remove(0);
    cells
}

#[test]
fn every_kind_prints_what_a_kube_apiserver_prints() {
    let cases: Vec<(String, String, Value, Vec<Value>)> =
        serde_json::from_str(include_str!("tests/kinds.json")).expect("cases");
    for (group, resource, object, expected) in &cases {
        let printer = printer(group, resource).expect(resource);
        assert_eq!(cells(&printer, object), *expected, "{resource}: {object}");
    }
    for (group, resource, _) in ENTRIES {
        let is_it =
            |case: &(String, String, Value, Vec<Value>)| case.0 == *group && case.1 == *resource;
        assert!(cases.iter().any(is_it), "{resource} is not among the cases");
    }
}

/// Its list is of what a kube-apiserver 1.36 serves, not of what is here: a kind that is missing is found, and one that has a printer upstream that
/// its API does not use.
#[test]
fn every_kind_of_a_kube_apiserver_has_its_columns() {
    type Told = (String, String, String, i32);
    let kinds: Vec<(String, String, Vec<Told>)> =
        serde_json::from_str(include_str!("tests/columns.json")).expect("columns");
    for (group, resource, expected) in &kinds {
        let Some(printer) = printer(group, resource) else {
            panic!("{resource} of the group {group:?} has no columns of its own");
        };
        let column = |column: &Column| -> Told {
            let text = |text: &std::borrow::Cow<'static, str>| text.clone().into_owned();
            let (name, kind) = (text(&column.name), text(&column.kind));
            (name, kind, text(&column.format), column.priority)
        };
        let columns = printer.columns.iter().map(column);
        assert_eq!(columns.collect::<Vec<_>>(), *expected, "{resource}");
    }
    assert_eq!(kinds.len(), ENTRIES.len(), "a kind that is not upstream's");
}

#[test]
fn every_kind_prints_an_object_of_which_nothing_is_known() {
    for (group, resource, _) in ENTRIES {
        let printer = printer(group, resource).expect(resource);
        for object in [
            json!({}),
            json!({"metadata": null, "spec": null, "status": null}),
        ] {
            assert_eq!(
                cells(&printer, &object).len(),
                printer.columns.len(),
                "{resource}"
            );
        }
    }
}

/// Each of its addresses has each of its ports: 25 million texts, of which three are shown.
#[test]
fn an_object_with_many_ports_for_many_addresses_is_only_counted() {
    let addresses = Vec::from_iter((0..5000).map(|_| json!({"ip": "10.0.0.1"})));
    let ports = Vec::from_iter((0..5000).map(|port| json!({"port": port})));
    let object = json!({"subsets": [{"addresses": addresses, "ports": ports}]});
    let printer = printer("", "endpoints").expect("endpoints");
    assert_eq!(
        cells(&printer, &object)[1],
        "10.0.0.1:0,10.0.0.1:0,10.0.0.1:0 + 24999997 more..."
    );
}

/// What the printer makes of an object; `None` if that is too much for it.
fn cells_unless_too_much(printer: &Printer, object: &Value) -> Option<Vec<Value>> {
    let bytes = serde_json::to_vec(object).expect("JSON");
    let row = Row {
        name: "web",
        created: None,
        object: &bytes,
        now: "2026-03-01T12:00:00Z".parse().expect("a time"),
    };
    let mut out = b"[null".to_vec();
    if let Err(error) = printer.print(&row, &mut Cells::after(&mut out)) {
        assert!(error.to_string().contains("too much"), "{error}");
        return None;
    }
    out.push(b']');
    Some(serde_json::from_slice(&out).expect("cells are JSON"))
}

/// Where an object has lists.
fn lists(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Array(elements) => {
            found.push(at.to_owned());
            for (index, element) in elements.iter().enumerate() {
                lists(element, &format!("{at}/{index}"), found);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                lists(field, &format!("{at}/{name}"), found);
            }
        }
        _ => {}
    }
}

/// No kube-apiserver stores it, but a member need not be one. A list that is only counted may be of any length.
#[test]
fn no_cell_is_made_of_a_hundred_thousand_empty_values() {
    const MANY: usize = 100_000;
    let cases: Vec<(String, String, Value, Value)> =
        serde_json::from_str(include_str!("tests/kinds.json")).expect("cases");
    let mut refused = std::collections::BTreeSet::new();
    for (group, resource, object, _) in &cases {
        let printer = printer(group, resource).expect(resource);
        let mut places = Vec::new();
        lists(object, "", &mut places);
        for (place, empty) in places.iter().zip([json!({}), json!([])].iter().cycle()) {
            let with = |list: Vec<Value>| {
                let mut object = object.clone();
                *object.pointer_mut(place).expect("a list") = Value::Array(list);
                cells_unless_too_much(&printer, &object)
            };
            let Some(many) = with(vec![empty.clone(); MANY]) else {
                refused.insert(resource.as_str());
                continue;
            };
            let is_counted = many.iter().any(|cell| cell.to_string().contains("100000"));
            let is_unread = many == with(Vec::new()).expect("not too much");
            assert!(is_counted || is_unread, "{resource}{place}: {many:?}");
        }
    }
    for read_whole in ["pods", "jobs", "nodes", "services"] {
        assert!(refused.contains(read_whole), "{read_whole}");
    }
    assert!(
        refused.contains("horizontalpodautoscalers") && refused.len() > 12,
        "{refused:?}"
    );
}

/// Each was once looked for among all the others: for a pod of 2 MiB that took 13 s.
#[test]
fn a_pod_may_have_thousands_of_sidecars_and_gates() {
    let each = |make: fn(usize) -> Value| Vec::from_iter((0..4000).map(make));
    let object = json!({
        "spec": {
            "initContainers": each(|number| json!({"name": number.to_string(), "restartPolicy": "Always"})),
            "readinessGates": each(|number| json!({"conditionType": number.to_string()})),
        },
        "status": {
            "initContainerStatuses": each(|number| json!({"name": number.to_string(), "started": true, "ready": number > 0})),
            "conditions": each(|number| json!({"type": number.to_string(), "status": "True"})),
        },
    });
    let cells = cells(&printer("", "pods").expect("pods"), &object);
    assert_eq!(
        (&cells[1], &cells[8]),
        (&json!("3999/4000"), &json!("4000/4000"))
    );
}
