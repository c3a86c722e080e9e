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
        let names = printer
            .columns
            .iter()
            .filter(|column| column.format == "name");
        assert!(names.count() >= 1, "{resource} has no column that names it");
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

/// No kube-apiserver stores it, but a member need not be one.
#[test]
fn no_cell_is_made_of_a_hundred_thousand_empty_objects() {
    let metrics = Vec::from_iter((0..100_000).map(|_| json!({})));
    let object = json!({"spec": {"metrics": metrics}});
    let bytes = serde_json::to_vec(&object).expect("JSON");
    let row = Row {
        name: "web",
        created: None,
        object: &bytes,
        now: "2026-03-01T12:00:00Z".parse().expect("a time"),
    };
    let printer = printer("autoscaling", "horizontalpodautoscalers").expect("autoscalers");
    let printed = printer.print(&row, &mut Cells::after(&mut b"[null".to_vec()));
    assert!(printed.is_err_and(|error| error.to_string().contains("too much")));
}
