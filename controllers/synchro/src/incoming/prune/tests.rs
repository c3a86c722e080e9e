//! Pruning text must give what the same edit of decoded values gives, for whatever a member may send.

mod numbers;

use armadex_model::Term;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

fn rules(resource: &str) -> Rules {
    let resource = GroupVersionResource::new("", "v1", resource);
    Rules::new(&ClusterName::new("member1").unwrap(), &resource, 1 << 20)
}

/// The stored form as an object again, with its version.
fn served(object: &Object) -> Value {
    let head = br#"{"metadata":{"resourceVersion":"v","#;
    let text = [&head[..], &object.body].concat();
    serde_json::from_slice(&text).unwrap_or_else(|error| {
        panic!("{error}: {}", String::from_utf8_lossy(&text));
    })
}

/// The same edit, done on values.
fn edited(mut object: Value, secret: bool) -> Value {
    let map = object.as_object_mut().unwrap();
    map.remove("apiVersion");
    map.remove("kind");
    let metadata = map["metadata"].as_object_mut().unwrap();
    metadata.remove("managedFields");
    metadata.insert("resourceVersion".into(), json!("v"));
    let mut annotations = match metadata.remove("annotations") {
        Some(Value::Object(map)) => map,
        _ => Map::new(),
    };
    annotations.remove(LAST_APPLIED);
    let plain = |name: &String| PLAIN_ANNOTATIONS.contains(&name.as_str());
    for (_, value) in annotations
        .iter_mut()
        .filter(|(name, _)| secret && !plain(name))
    {
        *value = json!("");
    }
    annotations.insert(CLUSTER_ANNOTATION.into(), json!("member1"));
    metadata.insert("annotations".into(), annotations.into());
    for name in SECRET_MEMBERS.iter().filter(|_| secret) {
        if let Some(data) = map.get_mut(*name) {
            let keys = data.as_object().into_iter().flat_map(Map::keys);
            *data = keys.map(|key| (key.clone(), json!(""))).collect();
        }
    }
    object
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any_text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(any_text(), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Texts with quotes, backslashes, braces, controls and characters beyond ASCII; some are names that pruning looks for.
fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z\"\\\\{}\\[\\]:,\n\t\u{0}äß😀 ]{0,8}",
        prop::sample::select(vec![
            "metadata",
            "annotations",
            "managedFields",
            "resourceVersion",
            "kind",
            "data",
            LAST_APPLIED,
            CLUSTER_ANNOTATION,
        ])
        .prop_map(str::to_owned),
    ]
}

fn any_annotations() -> impl Strategy<Value = Option<Value>> {
    let map = prop::collection::btree_map(any_text(), any_text(), 0..5);
    prop_oneof![
        Just(None),
        Just(Some(Value::Null)),
        map.prop_map(|map| Some(json!(map))),
    ]
}

prop_compose! {
    fn any_object()(
        extra in prop::collection::btree_map(any_text(), any_value(), 0..5),
        unknown in prop::collection::btree_map(any_text(), any_value(), 0..4),
        name in "[a-z\"\\\\{}\\[\\]:,äß😀 ]{1,8}",
        labels in prop::option::of(prop::collection::btree_map(any_text(), any_text(), 0..3)),
        annotations in any_annotations(),
        data in prop::option::of(any_value()),
        managed in prop::option::of(any_value()),
    ) -> Value {
        let mut metadata: Map<String, Value> = unknown.into_iter().collect();
        metadata.insert("name".into(), json!(name));
        metadata.insert("labels".into(), json!(labels));
        metadata.insert("resourceVersion".into(), json!("42"));
        metadata.remove("annotations");
        metadata.extend(annotations.map(|value| ("annotations".into(), value)));
        metadata.extend(managed.map(|value| ("managedFields".into(), value)));
        let mut object: Map<String, Value> = extra.into_iter().collect();
        object.insert("metadata".into(), metadata.into());
        object.remove("data");
        object.extend(data.map(|value| ("data".into(), value)));
        object.into()
    }
}

/// Writes every character of every text as an escape, so that names are not found by comparing bytes.
fn escaped(value: &Value) -> String {
    let text = |text: &str| {
        let units: String = text
            .encode_utf16()
            .map(|unit| format!("\\u{unit:04x}"))
            .collect();
        format!("\"{units}\"")
    };
    match value {
        Value::String(string) => text(string),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(escaped).collect();
            format!("[ {} ]", items.join(" ,\n"))
        }
        Value::Object(map) => {
            let members: Vec<_> = map
                .iter()
                .map(|(name, value)| format!("{} :\t{}", text(name), escaped(value)))
                .collect();
            format!("{{ {} }}", members.join(" , "))
        }
        other => other.to_string(),
    }
}

proptest! {
    #[test]
    fn pruning_text_equals_editing_values(object in any_object(), secret: bool, escape: bool) {
        let json = if escape { escaped(&object) } else { object.to_string() };
        let resource = if secret { "secrets" } else { "configmaps" };
        let pruned = prune(json.as_bytes(), &rules(resource)).unwrap();
        prop_assert_eq!(&pruned.key.name, object["metadata"]["name"].as_str().unwrap());
        prop_assert_eq!(&pruned.resource_version, "42");
        prop_assert_eq!(served(&pruned), edited(object, secret));
    }

    #[test]
    fn whatever_comes_is_pruned_or_skipped(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = prune(&bytes, &rules("pods"));
        let _ = salvage(&bytes);
    }
}

const POD: &str = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-1","namespace":"shop","uid":"u-1",
 "resourceVersion":"77","creationTimestamp":"2024-05-01T10:00:00Z","labels":{"app":"web"},
 "annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}"},"managedFields":[{"manager":"x"}],
 "ownerReferences":[{"uid":"no"},{"uid":"rs-1","controller":true}]},
 "spec":{"nodeName":"n1","hostNetwork":true},"status":{"phase":"Running"}}"#;

#[test]
fn a_pod_is_stored_with_what_is_indexed_of_it() {
    let pod = prune(POD.as_bytes(), &rules("pods")).unwrap();
    assert_eq!(pod.key, ObjectKey::new("shop", "web-1"));
    assert_eq!((pod.uid.as_str(), pod.created), ("u-1", 1_714_557_600));
    let field = |path: &'static str, value: &str| Term::Field {
        path,
        value: value.into(),
    };
    assert_eq!(
        pod.terms,
        [
            Term::LabelKey { key: "app".into() },
            Term::Label {
                key: "app".into(),
                value: "web".into()
            },
            field("spec.nodeName", "n1"),
            field("spec.restartPolicy", ""),
            field("spec.schedulerName", ""),
            field("spec.serviceAccountName", ""),
            field("spec.hostNetwork", "true"),
            field("status.phase", "Running"),
            field("status.podIP", ""),
            field("status.nominatedNodeName", ""),
            Term::Owner { uid: "rs-1".into() },
        ]
    );
    let metadata = armadex_model::body::metadata_part(&pod.body).unwrap();
    assert!(
        metadata.ends_with(br#""annotations":{"shadow.clusterpedia.io/cluster-name":"member1"}}"#)
    );
}

/// The value of a field of an object, both as a kube-apiserver names and sends them.
#[track_caller]
fn check_field(group: &str, resource: &str, label: &str, members: &str, expected: &str) {
    let resource = GroupVersionResource::new(group, "v1", resource);
    let rules = Rules::new(&ClusterName::new("member1").unwrap(), &resource, 1 << 20);
    let json = format!(r#"{{"metadata":{{"name":"a"}}{members}}}"#);
    let object = prune(json.as_bytes(), &rules).unwrap();
    let found = object.terms.iter().find_map(|term| match term {
        Term::Field { path, value } | Term::OwnField { path, value } if *path == label => {
            Some(value.as_str())
        }
        _ => None,
    });
    assert_eq!(found, Some(expected), "{resource} {label} {members}");
}

#[test]
fn fields_are_read_as_a_kube_apiserver_reads_them() {
    let nodes = |spec, expected| check_field("", "nodes", "spec.unschedulable", spec, expected);
    nodes("", "false");
    nodes(r#","spec":null"#, "false");
    nodes(r#","spec":{"unschedulable":null}"#, "false");
    nodes(r#","spec":{"unschedulable":false}"#, "false");
    nodes(r#","spec":{"unschedulable":true}"#, "true");
    let jobs =
        |status, expected| check_field("batch", "jobs", "status.successful", status, expected);
    jobs("", "0");
    jobs(r#","status":{"succeeded":3}"#, "3");
    let events = |event, expected| check_field("", "events", "source", event, expected);
    events("", "");
    events(r#","source":{},"reportingComponent":"new""#, "new");
    events(
        r#","source":{"component":""},"reportingComponent":"new""#,
        "new",
    );
    events(
        r#","source":{"component":"old"},"reportingComponent":"new""#,
        "old",
    );
    let pods = |label, pod, expected| check_field("", "pods", label, pod, expected);
    pods("spec.hostNetwork", r#","spec":{"nodeName":"n"}"#, "false");
    pods(
        "status.podIP",
        r#","status":{"podIP":"fd00::1","podIPs":[{"ip":"fd00::1"}]}"#,
        "fd00::1",
    );
    pods(
        "spec.nodeName",
        r#","spec":{"nodeName":"n\u0031\"\\"}"#,
        r#"n1"\"#,
    );
    pods("spec.nodeName", r#","spec":{"nodeName":["n"]}"#, "");
}

#[test]
fn no_value_of_a_secret_is_stored() {
    let json = r#"{"metadata":{"name":"s","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"hunter2"}},
      "data":{"password":"hunter2","n":null},"stringData":{"a":"hunter2"},"type":"Opaque"}"#;
    let secret = prune(json.as_bytes(), &rules("secrets")).unwrap();
    let body = String::from_utf8(secret.body.to_vec()).unwrap();
    assert!(!body.contains("hunter2"), "{body}");
    assert!(body.contains(r#""data":{"password":"","n":""}"#), "{body}");
    let kept_by_others = r#"{"metadata":{"name":"s","annotations":{"objectset.rio.cattle.io/applied":"hunter2",
      "kapp.k14s.io/original":"{\"data\":\"hunter2\"}","banzaicloud.com/last-applied":["hunter2"],
      "kubernetes.io/service-account.name":"default","a\u0062":"hunter2"}},"data":{}}"#;
    let kept = prune(kept_by_others.as_bytes(), &rules("secrets")).unwrap();
    let annotations = json!({"objectset.rio.cattle.io/applied": "", "kapp.k14s.io/original": "",
        "banzaicloud.com/last-applied": "", "kubernetes.io/service-account.name": "default", "ab": "",
        CLUSTER_ANNOTATION: "member1"});
    assert_eq!(served(&kept)["metadata"]["annotations"], annotations);
    let broken = br#"{"metadata":{"name":"s"},"data":"hunter2"}"#;
    let broken = prune(broken, &rules("secrets")).unwrap();
    assert_eq!(served(&broken)["data"], json!({}));
}

#[test]
fn what_cannot_be_stored_is_named_without_its_content() {
    let long = format!(
        r#"{{"metadata":{{"name":"big"}},"x":"{}"}}"#,
        "y".repeat(1 << 20)
    );
    let labels: Vec<String> = (0..1025).map(|n| format!(r#""l{n}":"""#)).collect();
    let labelled = format!(
        r#"{{"metadata":{{"name":"a","labels":{{{}}}}}}}"#,
        labels.join(",")
    );
    let name = format!(r#"{{"metadata":{{"name":"{}"}}}}"#, "n".repeat(1025));
    let cases: [(&[u8], Option<&str>, &str); 13] = [
        (b"nope", None, "it is not a JSON object"),
        (b"[1]", None, "it is not a JSON object"),
        (b"{\"metadata\":", None, "it is not valid JSON"),
        (b"{}", None, "metadata is not a JSON object"),
        (b"{\"metadata\":{}}", None, "it has no name"),
        (
            b"{\"metadata\":{\"name\":7}}",
            None,
            "metadata.name is not a text",
        ),
        (b"\xff{}", None, "it is not UTF-8"),
        (
            b"{\"metadata\":{\"name\":\"a\",\"labels\":{\"x\":1}}}",
            Some("a"),
            "metadata.labels is not a map of texts",
        ),
        (long.as_bytes(), Some("big"), "above the limit"),
        (labelled.as_bytes(), Some("a"), "1025 labels, above"),
        (name.as_bytes(), None, "metadata.name has 1025 bytes, above"),
        (
            br#"{"metadata":{"name":"a","namespace":"n\u0001"}}"#,
            None,
            "metadata.namespace has a control character",
        ),
        (
            br#"{"metadata":{"name":"a","uid":"\udbff\udfff"}}"#,
            None,
            "metadata.uid has a control character",
        ),
    ];
    for (json, name, words) in cases {
        let skipped = prune(json, &rules("pods")).unwrap_err();
        assert_eq!(skipped.key.map(|key| key.name).as_deref(), name, "{words}");
        assert!(skipped.reason.contains(words), "{}", skipped.reason);
    }
}

/// What is kept of the metadata of an object with all that may be taken out, its rules' number beside it.
fn kept(resource: &str, unpruned: Unpruned) -> (Vec<String>, i64) {
    let rules = rules(resource).leaving(unpruned);
    let json = format!(
        r#"{{"metadata":{{"name":"o","namespace":"n","managedFields":[{{"manager":"m"}}],"annotations":{{"{LAST_APPLIED}":"secret"}}}}}}"#
    );
    let object = prune(json.as_bytes(), &rules).unwrap();
    let served = served(&object);
    let (metadata, annotations) = (&served["metadata"], &served["metadata"]["annotations"]);
    let found = [
        (metadata.get("managedFields"), "managedFields"),
        (annotations.get(LAST_APPLIED), "last applied"),
    ];
    let found = found.into_iter().filter(|(found, _)| found.is_some());
    let gvr = GroupVersionResource::new("", "v1", resource);
    let unpruned = Level::of(&gvr).leaves(unpruned);
    let number = unpruned.rules_version(rules_version(&gvr));
    (found.map(|(_, name)| name.to_owned()).collect(), number)
}

#[test]
fn what_may_be_taken_out_is_kept_where_that_is_wanted_and_never_of_secrets() {
    let mut numbers = std::collections::BTreeSet::new();
    for (managed_fields, last_applied) in
        [(false, false), (true, false), (false, true), (true, true)]
    {
        let unpruned = Unpruned {
            managed_fields,
            last_applied,
        };
        let (found, number) = kept("configmaps", unpruned);
        let is_kept = |name: &str| found.iter().any(|found| found == name);
        assert_eq!(is_kept("managedFields"), managed_fields);
        assert_eq!(is_kept("last applied"), last_applied);
        numbers.insert(number);
        assert_eq!(
            kept("secrets", unpruned),
            kept("secrets", Unpruned::default())
        );
        assert_eq!(kept("secrets", unpruned).0, Vec::<String>::new());
    }
    assert_eq!(numbers.len(), 4, "each makes rows anew");
}
