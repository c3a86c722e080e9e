//! A path on the left; on the right the first value that it leads to in the object below.

use super::*;
use serde_json::{Value, json};

fn object() -> Value {
    json!({
        "metadata": {"labels": {"app.kubernetes.io/name": "web", "plain": "x"}, "generation": 7},
        "spec": {"replicas": 3, "ratio": 1.5, "on": true, "nothing": null, "ports": [
            {"name": "http", "port": 80}, {"name": "metrics", "port": 9090}, {"port": 70}]},
        "status": {"conditions": [
            {"type": "Synced", "status": "False"},
            {"type": "Ready", "status": "True", "reason": "It's (done)"}]},
    })
}

fn first(path: &str) -> Value {
    let path = JsonPath::parse(path).expect(path);
    path.first(&object())
        .map_or_else(|| json!("(nowhere)"), std::borrow::Cow::into_owned)
}

#[track_caller]
fn check(cases: &[(&str, Value)]) {
    for (path, expected) in cases {
        assert_eq!(first(path), *expected, "{path}");
    }
}

#[test]
fn fields_lead_inwards() {
    check(&[
        (".spec.replicas", json!(3)),
        ("$.spec.replicas", json!(3)),
        ("spec", json!("(nowhere)")),
        (".spec.nothing", json!(null)),
        (".spec.nothing.more", json!("(nowhere)")),
        (".spec.replicas.more", json!("(nowhere)")),
        (".missing.field", json!("(nowhere)")),
        (r".metadata.labels.app\.kubernetes\.io/name", json!("web")),
        (
            r".metadata.labels['app\.kubernetes\.io/name']",
            json!("web"),
        ),
        (".metadata.labels['plain']", json!("x")),
        (".metadata['labels.plain']", json!("x")),
        (".metadata.labels.*", json!("web")),
        (".spec.ports.port", json!("(nowhere)")),
    ]);
}

#[test]
fn brackets_choose_elements() {
    check(&[
        (".spec.ports[0].port", json!(80)),
        (".spec.ports[-1].port", json!(70)),
        (".spec.ports[-2].port", json!(9090)),
        (".spec.ports[].port", json!(80)),
        (".spec.ports[1:].port", json!(9090)),
        (".spec.ports[:1].port", json!(80)),
        (".spec.ports[1::2].port", json!(9090)),
        (".spec.ports[*].name", json!("http")),
        (".spec.ports[1,0].port", json!(9090)),
        (".spec['replicas','ratio']", json!(3)),
        (".spec.ports[2].name", json!("(nowhere)")),
        (".spec.ports[3].port", json!("(nowhere)")),
        (".spec.ports[-4].port", json!("(nowhere)")),
        (".spec.ports[1:1].port", json!("(nowhere)")),
        (".spec.ports[2:1].port", json!("(nowhere)")),
        (".spec.ports[0:1:-1].port", json!("(nowhere)")),
        (".spec.replicas[0]", json!("(nowhere)")),
        (".spec.nothing[0]", json!("(nowhere)")),
    ]);
}

#[test]
fn filters_compare_elements() {
    check(&[
        (
            r#".status.conditions[?(@.type=="Ready")].status"#,
            json!("True"),
        ),
        (
            ".status.conditions[?(@.type=='Ready')].status",
            json!("True"),
        ),
        (
            r#".status.conditions[?(@.type == "Ready")].status"#,
            json!("True"),
        ),
        (
            ".status.conditions[?(@.type!='Ready')].status",
            json!("False"),
        ),
        (".status.conditions[?(@.reason)].type", json!("Ready")),
        (
            r#".status.conditions[?(@.reason=="It's (done)")].type"#,
            json!("Ready"),
        ),
        (
            r".status.conditions[?(@.reason=='It\'s (done)')].type",
            json!("Ready"),
        ),
        (
            ".status.conditions[?(@.type=='None')].status",
            json!("(nowhere)"),
        ),
        (
            ".status.conditions[?(@.type==Ready)].status",
            json!("(nowhere)"),
        ),
        (
            ".status.conditions[?(@.type==1)].status",
            json!("(nowhere)"),
        ),
        (
            ".status.conditions[?(@.type==='R')].status",
            json!("(nowhere)"),
        ),
        (".spec.ports[?(@.port>80)].name", json!("metrics")),
        (".spec.ports[?(@.port>=80)].name", json!("http")),
        (".spec.ports[?(@.port<=70)].port", json!(70)),
        (".spec.ports[?(@.port<1)].port", json!("(nowhere)")),
        (".spec.ports[?(@.port<1.5)].port", json!("(nowhere)")),
        (".spec[?(@.port)]", json!("(nowhere)")),
    ]);
}

#[test]
fn descents_look_everywhere() {
    check(&[
        ("..port", json!(80)),
        (".spec..name", json!("http")),
        ("..type", json!("Synced")),
        ("..nowhere", json!("(nowhere)")),
    ]);
}

#[test]
fn what_is_no_path_is_refused() {
    for (path, expected) in [
        ("{.spec}", "'{' is not expected there"),
        (".spec}", "'}' is not expected there"),
        (".a,.b", "',' is not expected there"),
        (".a[", "it ends in the middle of an index"),
        (".a[x]", "[x] is no index"),
        (".a[1:2:3:4]", "[1:2:3:4] is no index"),
        (".a[?(@.b]", "it ends in the middle of a filter"),
        (".a[?(@.b=='x)]", "it ends in the middle of a filter"),
        (".a[?(@.b==1.2.3)]", "1.2.3 is no number"),
        (".a[?(@.b=='\\q')]", "'\\q' is no quoted text"),
        ("....a", "two recursive descents follow each other"),
    ] {
        let error = JsonPath::parse(path).expect_err(path);
        assert_eq!(error.to_string(), expected, "{path}");
    }
    let long = format!(".{}", "a".repeat(MAX_BYTES));
    assert_eq!(JsonPath::parse(&long), Err(InvalidPath::TooLong));
}

#[test]
fn a_multiplying_descent_is_bounded() {
    let mut value = json!(1);
    for _ in 0..60 {
        value = json!({"a": value, "b": [1, 2]});
    }
    let path = JsonPath::parse("..a..a..a..a..a..a").expect("a path");
    assert_eq!(path.first(&value), None);
}

#[test]
fn leading_fields_can_be_taken_off() {
    let mut path = JsonPath::parse(".status.conditions[0].type").expect("a path");
    assert_eq!(path.take_fields(), ["status", "conditions"]);
    assert_eq!(path, JsonPath::parse("[0].type").expect("a path"));
    let mut path = JsonPath::parse(".spec").expect("a path");
    assert_eq!(path.take_fields(), ["spec"]);
    assert!(path.is_empty());
}
