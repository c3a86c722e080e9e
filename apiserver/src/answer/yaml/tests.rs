use super::*;
use crate::answer::lines::STEP;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Rewrites parts that end after a comma or a bracket, in pieces of about a size.
fn yaml(json: &str, piece: usize) -> String {
    let mut yaml = Yaml::default();
    let mut written = Vec::new();
    for part in parts(json, piece) {
        let mut rest = part.as_bytes();
        while !rest.is_empty() {
            let mut out = Vec::with_capacity(STEP + piece);
            let taken = yaml.fill(rest, &mut out);
            assert!(taken + out.len() > 0);
            rest = &rest[taken..];
            written.extend(out);
        }
    }
    String::from_utf8(written).expect("text")
}

fn parts(json: &str, least: usize) -> Vec<&str> {
    let (mut parts, mut begin) = (Vec::new(), 0);
    let (mut in_text, mut escaped) = (false, false);
    for (at, byte) in json.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => in_text = !in_text,
            b',' | b'{' | b'[' | b'}' | b']' if !in_text && at >= begin + least => {
                parts.push(&json[begin..=at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&json[begin..]);
    parts
}

#[track_caller]
fn check(value: &Value, expected: &str) {
    let written = yaml(&value.to_string(), 1000);
    assert_eq!(written, expected);
    let read: Value = serde_saphyr::from_str(&written).expect("YAML");
    assert_eq!(read, *value);
}

#[test]
fn maps_and_lists_are_blocks() {
    check(
        &json!({"apiVersion": "v1", "items": [{"a": 1, "b": {}}, {"c": [[1, 2], [], [{"d": null}]]}], "z": {"x": [true]}}),
        "apiVersion: v1\nitems:\n- a: 1\n  b: {}\n- c:\n  - - 1\n    - 2\n  - []\n  - - d: null\nz:\n  x:\n  - true\n",
    );
    check(&json!({}), "{}\n");
    check(&json!([]), "[]\n");
    check(&json!([-1.5, "x"]), "- -1.5\n- x\n");
    check(&json!("a\nb"), "\"a\\nb\"\n");
}

#[test]
fn texts_are_quoted_where_they_could_be_taken_for_something_else() {
    for plain in [
        "web",
        "apps/v1",
        "a: b".trim_end_matches(": b"),
        "registry:5000/a@sha256:b",
        "/etc",
        "Hello, world".trim_end_matches(", world"),
        "on time",
    ] {
        check(&json!({"x": plain}), &format!("x: {plain}\n"));
    }
    for quoted in [
        "",
        "true",
        "No",
        "null",
        "~",
        "1",
        "1.5",
        "0x1f",
        "1e3",
        "12:30",
        "2026-03-01",
        "100m",
        "- a",
        "a: b",
        "a:",
        "a #b",
        " a",
        "a ",
        "*",
        "&a",
        "{a}",
        "[a]",
        "!a",
        "|",
        ">",
        "%",
        "@a",
        "`",
        "'",
        "=",
        "<<",
        ".5",
        "---",
    ] {
        check(&json!({"x": quoted}), &format!("x: \"{quoted}\"\n"));
    }
    check(
        &json!({"y": "\u{1}\u{85}\u{2028}\u{1f600}\"\\"}),
        "\"y\": \"\\U00000001\\U00000085\\U00002028\u{1f600}\\\"\\\\\"\n",
    );
}

#[test]
fn lines_are_blocks() {
    check(
        &json!({"data": {"a": "x: 1\n  y\n\nz\n", "b": "1\n2", "c": "1\n\n\n", "d": ["p\nq\n", 1]}}),
        "data:\n  a: |\n    x: 1\n      y\n\n    z\n  b: |-\n    1\n    2\n  c: |+\n    1\n\n\n  d:\n  - |\n    p\n    q\n  - 1\n",
    );
    for odd in [" a\nb", "\na", "a\r\nb", "a\n \nb", "a\n\t", "a\n\u{7}"] {
        let value = json!({"x": odd});
        let written = yaml(&value.to_string(), 1000);
        assert!(written.starts_with("x: \""), "{written}");
        assert_eq!(
            serde_saphyr::from_str::<Value>(&written).expect("YAML"),
            value
        );
    }
}

#[test]
fn long_keys_stand_alone() {
    let key = "k".repeat(3000);
    check(
        &json!({"a": {&key: {"b": 1}, "c": [2]}}),
        &format!("a:\n  c:\n  - 2\n  ? {key}\n  :\n    b: 1\n"),
    );
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        (-1.0e6..1.0e6_f64).prop_map(Into::into),
        "\\PC{0,8}".prop_map(Into::into),
        "[a-z #:\\-\n\t'\"|>?,\\[\\]{}&*!%@~\u{85}\u{2028}]{0,12}".prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 30, 5, |inner| {
        let key = prop_oneof!["[a-zA-Z./-]{1,6}", "[a-z #:\n\"'?-]{0,6}"];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
            proptest::collection::vec((key, inner), 0..5)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_reads_back_as_the_json(value in any_json(), pretty in any::<bool>(), piece in 1_usize..40) {
        let json = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
        // An answer ends with a line break, which ends a number that stands alone.
        let written = yaml(&(json.expect("JSON") + "\n"), piece);
        let read: Value = serde_saphyr::from_str(&written)
            .map_err(|error| TestCaseError::fail(format!("{error}\n{written}")))?;
        prop_assert_eq!(read, value, "{}", written);
    }
}
