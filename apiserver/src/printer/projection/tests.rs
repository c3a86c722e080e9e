use super::*;
use serde_json::json;

fn find(
    reads: &[Read<'_>],
    other: OtherShape,
    object: &serde_json::Value,
) -> Result<Vec<String>, serde_json::Error> {
    let bytes = serde_json::to_vec(object).expect("JSON");
    let slots = Projection::of(reads.iter().copied(), other).find(&bytes)?;
    Ok(slots.iter().map(|slot| format!("{slot:?}")).collect())
}

#[test]
fn all_paths_are_found_in_one_walk() {
    let paths = ["a", "a.b", "c[*].d", "c[*].e", "f", "missing.x"].map(Path::of);
    let mut reads: Vec<Read<'_>> = paths.iter().map(Read::Value).collect();
    reads.extend([Read::Count(&paths[4]), Read::Value(&paths[1])]);
    let object = json!({
        "before": [{"a": 1}], "a": {"x": "\"}", "b": null},
        "c": [{"d": 1}, {"e": "two"}, {"d": 3, "e": [4]}], "f": {"g": 1, "h": 2},
    });
    assert_eq!(
        find(&reads, OtherShape::Fails, &object).expect("found"),
        [
            r#"Value("{\"b\":null,\"x\":\"\\\"}\"}")"#,
            r#"Value("null")"#,
            r#"Each([Some("1"), None, Some("3")])"#,
            r#"Each([None, Some("\"two\""), Some("[4]")])"#,
            r#"Value("{\"g\":1,\"h\":2}")"#,
            "Absent",
            "Count(2)",
            r#"Value("null")"#,
        ]
    );
}

#[test]
fn null_is_as_good_as_absent_on_the_way() {
    let paths = ["a.b", "c[*].d"].map(Path::of);
    let mut reads: Vec<Read<'_>> = paths.iter().map(Read::Value).collect();
    let empty = Path::of("e");
    reads.push(Read::Count(&empty));
    let object = json!({"a": null, "c": [null], "e": null});
    assert_eq!(
        find(&reads, OtherShape::Fails, &object).expect("found"),
        ["Absent", "Each([None])", "Absent"]
    );
}

#[test]
fn another_shape_fails_or_counts_as_absent() {
    let paths = ["a.b", "c[*].d"].map(Path::of);
    let reads: Vec<Read<'_>> = paths.iter().map(Read::Value).collect();
    for object in [
        json!({"a": 1}),
        json!({"a": [1]}),
        json!({"a": "x"}),
        json!({"a": true}),
        json!({"a": 1.5}),
        json!({"c": {"d": 1}}),
        json!({"c": [1]}),
        json!([]),
    ] {
        assert!(
            find(&reads, OtherShape::Fails, &object).is_err(),
            "{object}"
        );
        let found = find(&reads, OtherShape::IsAbsent, &object).expect("found");
        assert!(
            !found.iter().any(|slot| slot.starts_with("Value")),
            "{object}"
        );
    }
}

#[test]
fn what_is_no_json_is_not_printed() {
    let path = Path::of("a");
    let projection = Projection::of([Read::Value(&path)].into_iter(), OtherShape::IsAbsent);
    assert!(projection.find(b"{\"a\":").is_err());
    assert!(projection.find(b"{\"a\":\"\xff\"}").is_err());
}
