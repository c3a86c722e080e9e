//! Policies of the shapes that there are, drawn at random: none of them is granted the Secrets of all namespaces.

use proptest::prelude::*;

use super::*;

/// Of which all but the first are no names, or name something else than they seem to.
const GROUPS: [&str; 5] = ["", "fleet.example.com", "*", "Secrets", " "];
const RESOURCES: [&str; 9] = [
    "secrets",
    "members",
    "configmaps",
    "*",
    "Secrets",
    "secrets ",
    "secrets/status",
    "*/*",
    "",
];
const NAMES: [&str; 8] = [
    "",
    " \n",
    "team-a",
    "kube-system",
    "*",
    "{{source.metadata.namespace}}",
    "{{#if source.a}}team-a{{/if}}",
    "{{!-- none --}}",
];
const TEMPLATES: [&str; 4] = [
    "spec: {}",
    "spec: {authenticationFrom: {token: {namespace: team-b}}}",
    "spec:\n  authenticationFrom:\n    token:\n      namespace: {{toJson source.metadata.namespace}}",
    "metadata:\n  labels:\n    namespace: team-c\nspec: {authenticationFrom: {token: {namespace: \"*\"}}}",
];
const FLAGS: [&[&str]; 3] = [
    &[],
    &["--for=pediacluster", "--apart"],
    &["--credential-namespaces=team-a,clusterpedia-system"],
];

fn one_of<T: Copy + std::fmt::Debug + 'static>(all: &'static [T]) -> impl Strategy<Value = T> {
    prop::sample::select(all)
}

fn a_policy() -> impl Strategy<Value = Value> {
    // Mostly what is followed, or there would be few rights to look at.
    let kind = || {
        let other = (one_of(&GROUPS), one_of(&RESOURCES));
        prop_oneof![4 => Just(("", "secrets")), 2 => Just(("fleet.example.com", "members")), 1 => other]
    };
    let name = prop_oneof![3 => Just("{{source.metadata.name}}"), 1 => one_of(&NAMES)];
    let reference = (kind(), one_of(&NAMES), name).prop_map(
        |((group, resource), namespace, name)| {
            json!({"group": group, "resource": resource, "namespaceTemplate": namespace, "nameTemplate": name})
        },
    );
    let references = prop::collection::vec(reference, 0..3);
    (kind(), references, one_of(&TEMPLATES)).prop_map(
        |((group, resource), mut references, template)| {
            for (number, reference) in references.iter_mut().enumerate() {
                reference["key"] = json!(format!("k{number}"));
            }
            let mut spec = spec(&json!(references), template);
            spec["source"] = json!({"group": group, "resource": resource});
            spec
        },
    )
}

/// Whether a rule is about Secrets of the core group, be it among others.
fn covers_secrets(rule: &Value) -> bool {
    let has = |field: &str, words: &[&str]| {
        let all = rule[field].as_array().expect("a list").iter();
        all.filter_map(Value::as_str).any(|it| words.contains(&it))
    };
    has("apiGroups", &["", "*"]) && has("resources", &["secrets", "*", "*/*", "secrets/status"])
}

proptest! {
    #[test]
    fn no_cluster_role_covers_secrets(policies in prop::collection::vec(a_policy(), 1..4), flags in one_of(&FLAGS)) {
        let names = ["one", "two", "three"];
        let policies: Vec<(&str, Value)> = names.into_iter().zip(policies).collect();
        let printed = of_policies(&policies, flags);
        for object in objects(&printed.text) {
            let rules = object["rules"].as_array().into_iter().flatten();
            for rule in rules {
                let text = rule.to_string();
                prop_assert!(!text.contains('*') && !text.contains('/'), "{text}");
                prop_assert!(rule.get("resourceNames") != Some(&json!([""])), "{text}");
                let is_everywhere = object["kind"] == "ClusterRole";
                prop_assert!(!(is_everywhere && covers_secrets(rule)), "{object}");
            }
        }
    }
}
