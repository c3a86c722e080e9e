//! Columns as a CustomResourceDefinition declares them, and their cells.

use super::super::cells::Cells;
use super::super::row::{Condition, Row};
use super::*;
use serde_json::{Value, json};

fn declared(columns: Value) -> Vec<CustomResourceColumnDefinition> {
    serde_json::from_value(columns).expect("columns")
}

fn cells(printer: &Printer, object: &Value) -> Value {
    let bytes = serde_json::to_vec(object).expect("JSON");
    let row = Row {
        name: "web",
        created: "2026-03-01T10:59:00Z".parse().ok(),
        object: &bytes,
        now: "2026-03-01T12:00:00Z".parse().expect("a time"),
    };
    let mut out = b"[null".to_vec();
    let condition = printer.print(&row, &mut Cells::after(&mut out));
    assert_eq!(condition.expect("printed"), Condition::None);
    out.push(b']');
    let mut cells: Vec<Value> = serde_json::from_slice(&out).expect("cells are JSON");
    cells.drain(..2);
    cells.into()
}

/// What a column of this type shows for `.spec.x`.
#[track_caller]
fn check(kind: &str, cases: &[(Value, Value)]) {
    let columns = json!([{"name": "X", "type": kind, "jsonPath": ".spec.x"}]);
    let (printer, invalid) = Printer::custom(&declared(columns));
    assert_eq!(invalid, None);
    for (value, expected) in cases {
        let shown = cells(&printer, &json!({"spec": {"x": value}}));
        assert_eq!(shown, json!([expected]), "{value} as {kind}");
    }
    for object in [
        json!({}),
        json!({"spec": 7}),
        json!({"spec": ["x"]}),
        json!({"spec": null}),
    ] {
        assert_eq!(
            cells(&printer, &object),
            json!([null]),
            "{object} as {kind}"
        );
    }
}

#[test]
fn texts_show_anything() {
    check(
        "string",
        &[
            (json!("a \"b\" <c>"), json!("a \"b\" <c>")),
            (json!(42), json!("42")),
            (json!(1.5), json!("1.5")),
            (json!(1_234_567.5), json!("1.2345675e+06")),
            (json!(0.000_01), json!("1e-05")),
            (json!(true), json!("true")),
            (json!(null), json!("<no value>")),
            (json!(["a", "<b>"]), json!(r#"["a","\u003cb\u003e"]"#)),
            (json!({"b": 1, "a": [2]}), json!(r#"{"a":[2],"b":1}"#)),
        ],
    );
}

#[test]
fn other_types_show_values_of_their_type_only() {
    let (text, yes) = (json!("foo"), json!(true));
    check(
        "integer",
        &[
            (json!(42), json!(42)),
            (json!(-3.9), json!(-3)),
            (yes.clone(), json!(null)),
            (text.clone(), json!(null)),
            (json!([1]), json!(null)),
            (json!(null), json!(null)),
        ],
    );
    check(
        "number",
        &[
            (json!(42), json!(42)),
            (json!(3.25), json!(3.25)),
            (yes.clone(), json!(null)),
            (text.clone(), json!(null)),
        ],
    );
    check(
        "boolean",
        &[
            (yes.clone(), yes),
            (json!(1), json!(null)),
            (text.clone(), json!(null)),
        ],
    );
    check("unknown", &[(text, json!(null))]);
}

#[test]
fn dates_show_the_time_since() {
    check(
        "date",
        &[
            (json!("2026-02-28T23:30:00Z"), json!("12h")),
            (json!("2026-03-01T12:00:00+01:00"), json!("60m")),
            (json!("2026-03-02T00:30:00Z"), json!("<invalid>")),
            (json!("yesterday"), json!("<invalid>")),
            (json!(""), json!("<unknown>")),
            (json!(42), json!(null)),
        ],
    );
}

#[test]
fn a_column_shows_the_first_of_many_values() {
    let columns = json!([
        {"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"},
        {"name": "Reason", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].reason"},
        {"name": "Hosts", "type": "string", "jsonPath": ".spec.servers[*].hosts"},
        {"name": "Host", "type": "string", "jsonPath": ".spec.servers[1].hosts[1]"},
        {"name": "Port", "type": "integer", "jsonPath": ".spec.servers[9].port"},
        {"name": "Kind", "type": "string", "jsonPath": ".kind"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]);
    let (printer, invalid) = Printer::custom(&declared(columns));
    assert_eq!(invalid, None);
    let object = json!({
        "kind": "Gateway",
        "spec": {"servers": [{"hosts": ["foo"]}, {"hosts": ["bar", "baz"]}]},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    });
    let expected = json!(["True", null, "[\"foo\"]", "baz", null, "Gateway", "61m"]);
    assert_eq!(cells(&printer, &object), expected);
}

#[test]
fn a_column_says_what_its_definition_says() {
    let columns = json!([
        {"name": "Size", "type": "integer", "format": "int32", "description": "How large.", "priority": 1, "jsonPath": ".spec.size"},
        {"name": "Zone", "type": "string", "jsonPath": ".spec.zone"},
    ]);
    let (printer, _) = Printer::custom(&declared(columns));
    let told: Vec<_> = printer
        .columns
        .iter()
        .map(|one| {
            (
                &*one.name,
                &*one.kind,
                &*one.format,
                &*one.description,
                one.priority,
            )
        })
        .collect();
    assert_eq!(
        told[1..],
        [
            ("Size", "integer", "int32", "How large.", 1),
            ("Zone", "string", "", "The field .spec.zone.", 0),
        ]
    );
    assert_eq!((told[0].0, told[0].2), ("Name", "name"));
}

#[test]
fn a_type_without_columns_shows_name_and_age() {
    let (printer, invalid) = Printer::custom(&[]);
    assert_eq!(invalid, None);
    let names: Vec<&str> = printer.columns.iter().map(|one| &*one.name).collect();
    assert_eq!(names, ["Name", "Age"]);
    assert_eq!(printer.columns[1].kind, "date");
    assert_eq!(cells(&printer, &json!({})), json!(["61m"]));
}

#[test]
fn columns_end_before_the_first_that_cannot_be_read() {
    let columns = json!([
        {"name": "A", "type": "string", "jsonPath": ".a"},
        {"name": "B", "type": "string", "jsonPath": ".b["},
        {"name": "C", "type": "string", "jsonPath": ".c"},
    ]);
    let (printer, invalid) = Printer::custom(&declared(columns));
    assert_eq!(printer.columns.len(), 2);
    assert_eq!(
        invalid.expect("an error").to_string(),
        "the path .b[ of column B cannot be read: it ends in the middle of an index"
    );
}

/// The cells of an object with this text, in as many columns as there may be, and how long they are together.
fn repeated(text: &str) -> (Vec<Value>, usize, usize) {
    let columns = (0..MAX_COLUMNS).map(|number| match number % 3 {
        0 => json!({"name": "A", "type": "string", "jsonPath": ".spec.text"}),
        1 => json!({"name": "B", "type": "string", "jsonPath": ".spec"}),
        _ => json!({"name": "C", "type": "integer", "jsonPath": ".spec.size"}),
    });
    let (printer, invalid) = Printer::custom(&declared(columns.collect()));
    assert_eq!(invalid, None);
    let object = json!({"spec": {"size": 7, "text": text}});
    let shown = cells(&printer, &object);
    let lengths = shown.as_array().expect("cells").iter();
    let length = lengths.map(|cell| cell.to_string().len()).sum();
    let Value::Array(shown) = shown else {
        panic!("{shown}")
    };
    (shown, length, object.to_string().len())
}

#[test]
fn a_long_text_that_many_columns_show_is_cut_where_the_row_outgrows_its_object() {
    for text in ["x".repeat(100_000), "é<\n\"".repeat(20_000)] {
        let (shown, length, object) = repeated(&text);
        assert!(length <= object + 6000, "{length} of {object}");
        assert_eq!(shown[0], text);
        assert!(shown[1].as_str().is_some_and(|text| text.ends_with('…')));
        assert_eq!((&shown[2], &shown[3]), (&json!(7), &json!("…")));
        assert_eq!(shown.len(), MAX_COLUMNS);
    }
    let (shown, ..) = repeated("short");
    assert_eq!(
        shown[60..63],
        [
            json!("short"),
            json!(r#"{"size":7,"text":"short"}"#),
            json!(7)
        ]
    );
}

#[test]
fn no_more_columns_are_shown_than_a_row_has_room_for() {
    let column = |number| json!({"name": format!("C{number}"), "type": "string", "jsonPath": ".x"});
    let (printer, invalid) = Printer::custom(&declared((0..1000).map(column).collect()));
    assert_eq!(printer.columns.len(), MAX_COLUMNS + 1);
    let invalid = invalid.expect("an error").to_string();
    assert_eq!(invalid, "column C64 is one too many: 64 are shown");
}
