//! The numbers of the rules are digests of what becomes of the objects below: who changes what is stored or indexed of an object changes a number, or a test fails.
//! A change that shows in none of them needs an object that it does show in.

use armadex_model::rules::digest;

use super::*;

/// Group, plural, object.
type Sample = (&'static str, &'static str, String);

fn samples() -> Vec<Sample> {
    let sample = |group, plural, json: &str| (group, plural, json.to_owned());
    vec![
        sample("", "pods", POD),
        // Escapes, nulls, scalars that are no texts, what others say of the cluster, what is said twice.
        sample(
            "",
            "pods",
            r#"{"kind":"Pod","metadata":{"name":"w\u0065b","namespace":"n","uid":"\u0075","resourceVersion":"8","generation":3,
 "creationTimestamp":"2024-05-01T10:00:00.5+02:00","labels":{"b\u0022":"\\","a":"","a":"1"},
 "annotations":{"shadow.clusterpedia.io/cluster-name":"other","k\u0065pt":"a\nb"},"ownerReferences":[{"uid":"o"}]},
 "spec":{"nodeName":"old","x":1.50,"nodeName":"n\u0031\"","restartPolicy":7,"schedulerName":["x"],"hostNetwork":null},"status":null}"#,
        ),
        sample(
            "",
            "nodes",
            r#"{"metadata":{"name":"bare","labels":null,"annotations":null,"ownerReferences":null}}"#,
        ),
        sample(
            "batch",
            "jobs",
            r#"{"metadata":{"name":"j","namespace":"n"},"status":{"succeeded":3}}"#,
        ),
        sample(
            "",
            "events",
            r#"{"metadata":{"name":"e","namespace":"n"},"involvedObject":{"uid":"u","kind":"Pod"},"source":{"component":""},
 "reportingComponent":"new"}"#,
        ),
        sample(
            "apps",
            "deployments",
            r#"{"apiVersion":"apps/v1","metadata":{"managedFields":[],"name":"d"},"spec":{"kind":"x","metadata":{}}}"#,
        ),
    ]
}

fn secrets() -> Vec<Sample> {
    let plain = PLAIN_ANNOTATIONS.map(|name| format!(r#""{name}":"kept","#));
    let secret = format!(
        r#"{{"apiVersion":"v1","kind":"Secret","metadata":{{"name":"s","namespace":"n","uid":"u","resourceVersion":"8",
 "annotations":{{{}"a":"b","\u0061b":["c"]}},"managedFields":[]}},"data":{{"k":"dg=="}},"stringData":null,"type":"Opaque","x":{{"y":"z"}}}}"#,
        plain.concat()
    );
    let broken = r#"{"metadata":{"name":"broken"},"data":"x","stringData":{"a":"b","c":"d"}}"#;
    vec![("", "secrets", secret), ("", "secrets", broken.to_owned())]
}

/// What becomes of them, in words.
fn stored(samples: Vec<Sample>) -> String {
    let one = |(group, plural, json): Sample| {
        let resource = GroupVersionResource::new(group, "v1", plural);
        let rules = Rules::new(&ClusterName::new("member1").unwrap(), &resource, 1 << 20);
        // Without `..`: whatever is stored more of an object counts as well.
        let Object {
            key,
            uid,
            resource_version,
            created,
            terms,
            body,
        } = prune(json.as_bytes(), &rules).unwrap();
        let (key, terms) = (key_in_words(&key), terms.iter().map(term_in_words));
        let (uid, version) = (quoted(&uid), quoted(&resource_version));
        let body = String::from_utf8(body.to_vec()).unwrap();
        format!(
            "{plural} {key} {uid} {version} {created}\n{body}\n{}",
            terms.collect::<String>()
        )
    };
    samples.into_iter().map(one).collect::<Vec<_>>().join("\n")
}

/// The words are these, whatever the types are called: who gives them another name, or another `Debug`, changes nothing that is stored.
fn key_in_words(key: &ObjectKey) -> String {
    let ObjectKey { namespace, name } = key;
    let (namespace, name) = (quoted(namespace), quoted(name));
    format!("ObjectKey {{ namespace: {namespace}, name: {name} }}")
}

fn term_in_words(term: &Term) -> String {
    let with_value = |what: &str, of: &str, which: &str, value: &str| {
        let (which, value) = (quoted(which), quoted(value));
        format!("{what} {{ {of}: {which}, value: {value} }}\n")
    };
    let alone = |what: &str, of: &str, which: &str| {
        let which = quoted(which);
        format!("{what} {{ {of}: {which} }}\n")
    };
    match term {
        Term::Label { key, value } => with_value("Label", "key", key, value),
        Term::LabelKey { key } => alone("LabelKey", "key", key),
        Term::Field { path, value } => with_value("Field", "path", path, value),
        Term::OwnField { path, value } => with_value("OwnField", "path", path, value),
        Term::Owner { uid } => alone("Owner", "uid", uid),
    }
}

/// As JSON has it.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[track_caller]
fn check(samples: Vec<Sample>, name: &str, number: u64) {
    let stored = stored(samples);
    let now = digest(&stored);
    // Before the words, which are accepted with one command: no command sets the number.
    assert_eq!(
        number, now,
        "other things are stored of an object than before: set {name} to {now:#018x}, and rows that exist are made anew\n{stored}"
    );
    insta::assert_snapshot!(name, stored);
}

#[test]
fn what_becomes_of_an_object_has_a_number() {
    check(samples(), "VERSION", VERSION);
}

#[test]
fn what_becomes_of_a_secret_has_a_number() {
    check(secrets(), "KEYS_VERSION", KEYS_VERSION);
}
