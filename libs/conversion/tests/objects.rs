//! Each conversion gives what Kubernetes' own gives of the same object: see `objects/README.md`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use armadex_conversion::{Conversion, KINDS, VERSION, all, of};
use serde_json::{Map, Value};

#[test]
fn objects_become_what_kubernetes_makes_of_them() {
    for (name, example) in examples() {
        let conversion = conversion_of(&example.served);
        let converted = converted(conversion, &example.served);
        assert_eq!(converted, without_nulls(example.stored), "{name}");
    }
}

#[test]
fn each_conversion_has_an_object_that_shows_it() {
    let shown = examples().into_iter().map(|(_, example)| {
        let conversion = conversion_of(&example.served);
        format!("{:?} {}", conversion.served(), conversion.kind().resource)
    });
    let shown: BTreeSet<_> = shown.collect();
    let all =
        all().map(|conversion| format!("{:?} {}", conversion.served(), conversion.kind().resource));
    assert_eq!(shown, all.collect());
}

/// Rows that were made by other conversions have to be made anew.
#[test]
fn what_becomes_of_objects_has_a_number() {
    let mut texts: Vec<_> = examples()
        .into_iter()
        .map(|(_, example)| {
            conversion_of(&example.served).convert(example.served.to_string().as_bytes())
        })
        .map(|converted| String::from_utf8(converted.unwrap()).unwrap())
        .collect();
    texts.sort();
    let now = fnv(&texts.concat());
    assert_eq!(
        VERSION, now,
        "other things become of an object than before: set VERSION to {now:#018x}"
    );
}

/// FNV-1a, 64 bits.
fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[test]
fn what_has_no_shape_of_its_version_is_refused_in_words_that_quote_nothing() {
    let check = |group, version, resource, json: &str, expected: &str| {
        let conversion = of(group, version, resource).unwrap();
        let error = conversion.convert(json.as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    check("batch", "v1beta1", "cronjobs", "[]", "it is no object");
    let unread = "it is no JSON that can be read";
    check("batch", "v1beta1", "cronjobs", "{", unread);
    // Deeper than any object of these kinds.
    let deep = format!(r#"{{"spec":{}"#, "[".repeat(1_000_000));
    check("batch", "v1beta1", "cronjobs", &deep, unread);
    let ingress = |spec: &str, expected: &str| {
        let json = format!(r#"{{"metadata":{{"name":"a"}},"spec":{spec}}}"#);
        check("extensions", "v1beta1", "ingresses", &json, expected);
    };
    ingress("7", "spec is no object");
    ingress(
        r#"{"backend":"secret"}"#,
        "spec.defaultBackend is no object",
    );
    ingress(
        r#"{"backend":{"serviceName":7}}"#,
        "spec.defaultBackend: serviceName is no text",
    );
    ingress(r#"{"rules":{}}"#, "spec.rules is no list");
    ingress(r#"{"rules":[7]}"#, "one of spec.rules is no object");
    ingress(
        r#"{"rules":[{"http":{"paths":[{"backend":{"servicePort":[]}}]}}]}"#,
        "spec.rules: http.paths: backend: servicePort is neither a number nor a text",
    );
    check(
        "extensions",
        "v1beta1",
        "deployments",
        r#"{"spec":{"rollbackTo":7}}"#,
        "spec.rollbackTo is no object",
    );
    check(
        "extensions",
        "v1beta1",
        "daemonsets",
        r#"{"spec":{"templateGeneration":"7"}}"#,
        "spec.templateGeneration is no number",
    );
    check(
        "policy",
        "v1beta1",
        "poddisruptionbudgets",
        r#"{"spec":{"selector":{"matchLabels":7}}}"#,
        "spec.selector.matchLabels is neither a list nor an object",
    );
    check(
        "autoscaling",
        "v1",
        "horizontalpodautoscalers",
        r#"{"metadata":{"annotations":{"autoscaling.alpha.kubernetes.io/metrics":7}}}"#,
        "an annotation is no text",
    );
}

/// Kubernetes drops them.
#[test]
fn annotations_that_cannot_be_read_stay() {
    let annotations = [
        ("metrics", "{"),
        ("current-metrics", "[7]"),
        ("conditions", "{}"),
        ("behavior", "[]"),
    ];
    let annotations = annotations.map(|(name, text)| {
        (
            format!("autoscaling.alpha.kubernetes.io/{name}"),
            Value::from(text),
        )
    });
    let annotations = Value::Object(annotations.into_iter().collect());
    let scaler = serde_json::json!({"metadata": {"annotations": annotations}, "spec": {"targetCPUUtilizationPercentage": 7}});
    let conversion = of("autoscaling", "v1", "horizontalpodautoscalers").unwrap();
    let converted = converted(conversion, &scaler);
    assert_eq!(converted["metadata"]["annotations"], annotations);
    assert_eq!(
        converted["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"],
        7
    );
}

/// Newer members may have fields that nobody knew when this was written, and users annotations.
#[test]
fn what_no_table_names_stays_where_it_is() {
    for (name, example) in examples() {
        let mut served = example.served;
        let mut stored = without_nulls(example.stored);
        for object in [&mut served, &mut stored] {
            object["unheard"] = "of".into();
            object["metadata"]["unheard"] = "of".into();
            object["spec"]["unheard"] = Value::Array(vec![1.into()]);
        }
        assert_eq!(converted(conversion_of(&served), &served), stored, "{name}");
    }
}

#[test]
fn of_an_object_whose_fields_move_the_others_stay() {
    let conversion = of("extensions", "v1beta1", "deployments").unwrap();
    let deployment = serde_json::json!({"spec": {"rollbackTo": {"revision": 4, "unheard": "of"}}});
    let converted = converted(conversion, &deployment);
    let annotation = &converted["metadata"]["annotations"]["deprecated.deployment.rollback.to"];
    assert_eq!(annotation, "4");
    assert_eq!(
        converted["spec"]["rollbackTo"],
        serde_json::json!({"unheard": "of"})
    );
}

/// Whoever wrote it, it is an object of that version to whoever reads it.
#[test]
fn a_converted_object_is_of_the_version_in_which_its_kind_is_stored() {
    for conversion in all() {
        let converted = conversion.convert(br#"{"metadata":{"name":"a"}}"#);
        let converted: Value = serde_json::from_slice(&converted.unwrap()).unwrap();
        let stored = conversion.stored();
        let api_version = format!("{}/{}", stored.group, stored.version);
        assert_eq!(converted["apiVersion"], api_version);
        assert_eq!(converted["kind"], conversion.kind().kind);
    }
}

struct Example {
    served: Value,
    stored: Value,
}

fn examples() -> Vec<(String, Example)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/objects");
    let files = fs::read_dir(folder)
        .expect("an example")
        .map(|file| file.expect("an example").path());
    let files = files.filter(|file| {
        file.extension()
            .is_some_and(|extension| extension == "json")
    });
    let read = |file: std::path::PathBuf| {
        let name = file
            .file_name()
            .expect("an example")
            .to_string_lossy()
            .into_owned();
        let mut example: Map<_, _> =
            serde_json::from_slice(&fs::read(&file).expect("an example")).expect("an example");
        let mut take = |member: &str| example.remove(member).expect("an example");
        let (served, stored) = (take("served"), take("stored"));
        (name, Example { served, stored })
    };
    let examples: Vec<_> = files.map(read).collect();
    assert!(!examples.is_empty());
    examples
}

fn conversion_of(served: &Value) -> Conversion {
    let api_version = served["apiVersion"].as_str().expect("an example");
    let (group, version) = api_version.split_once('/').expect("an example");
    let kind = KINDS.iter().find(|kind| kind.kind == served["kind"]);
    of(group, version, kind.expect("an example").resource).expect("an example")
}

fn converted(conversion: Conversion, served: &Value) -> Value {
    let converted = conversion
        .convert(served.to_string().as_bytes())
        .expect("an example");
    without_nulls(serde_json::from_slice(&converted).expect("an example"))
}

/// A member that is null says no more than one that is absent: Go writes some where there is no value.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let there = members.into_iter().filter(|(_, value)| !value.is_null());
            let members = there.map(|(name, value)| (name, without_nulls(value)));
            Value::Object(members.collect())
        }
        Value::Array(list) => list.into_iter().map(without_nulls).collect(),
        other => other,
    }
}
