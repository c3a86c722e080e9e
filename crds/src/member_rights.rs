//! The rights that a synchro takes in a member, as rules of a ClusterRole, and in words where one is missing. Pure.

use std::fmt::Write as _;

use k8s_openapi::api::rbac::v1::PolicyRule;

/// What is asked to find out what a member serves.
const DISCOVERY: [&str; 4] = ["/api", "/api/*", "/apis", "/apis/*"];
/// What is asked to find out whether it is well, and its version.
const HEALTH: [&str; 3] = ["/healthz", "/readyz", "/version"];
/// The kinds by which a member tells at once that it serves others.
const TELLING: [(&str, &str); 2] = [
    ("apiextensions.k8s.io", "customresourcedefinitions"),
    ("apiregistration.k8s.io", "apiservices"),
];

/// To keep a copy of resources of a group; `*`: of all that it has.
#[must_use]
pub fn of_resources(group: &str, resources: Vec<String>) -> PolicyRule {
    PolicyRule {
        api_groups: Some(vec![group.to_owned()]),
        resources: Some(resources),
        verbs: owned(&["list", "watch"]),
        ..PolicyRule::default()
    }
}

/// To be told of kinds that come and go.
#[must_use]
pub fn of_changes() -> Vec<PolicyRule> {
    let rule = |(group, resource): (&str, &str)| of_resources(group, owned(&[resource]));
    TELLING.map(rule).into()
}

/// To know what there is.
#[must_use]
pub fn of_discovery() -> PolicyRule {
    of_paths(&DISCOVERY)
}

/// To know whether it is well.
#[must_use]
pub fn of_health() -> PolicyRule {
    of_paths(&HEALTH)
}

/// To know who it is.
#[must_use]
pub fn of_identity() -> PolicyRule {
    of_one("namespaces", "kube-system", "get")
}

/// To go on knowing who it is, where it is known by the Service of its API server.
#[must_use]
pub fn of_service() -> PolicyRule {
    of_one("services", "kubernetes", "list")
}

fn of_one(resource: &str, name: &str, verb: &str) -> PolicyRule {
    PolicyRule {
        api_groups: Some(owned(&[""])),
        resources: Some(owned(&[resource])),
        resource_names: Some(owned(&[name])),
        verbs: owned(&[verb]),
        ..PolicyRule::default()
    }
}

fn of_paths(paths: &[&str]) -> PolicyRule {
    PolicyRule {
        non_resource_urls: Some(owned(paths)),
        verbs: owned(&["get"]),
        ..PolicyRule::default()
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// What helps an account of a member that lacks this right, to be said behind the words of who refused.
#[must_use]
pub fn advice(rule: &PolicyRule, pedia_cluster: &str) -> String {
    format!(
        "the account's ClusterRole lacks {}; `armadex rbac --for pediacluster/{pedia_cluster}` prints the whole of it",
        in_a_line(rule)
    )
}

/// A rule as one writes it into a role, in a line.
#[must_use]
pub fn in_a_line(rule: &PolicyRule) -> String {
    let PolicyRule {
        api_groups,
        non_resource_urls,
        resource_names,
        resources,
        verbs,
    } = rule;
    let fields = [
        ("apiGroups", api_groups.as_ref()),
        ("resources", resources.as_ref()),
        ("resourceNames", resource_names.as_ref()),
        ("nonResourceURLs", non_resource_urls.as_ref()),
        ("verbs", Some(verbs)),
    ];
    let mut line = String::new();
    for (name, words) in fields {
        if let Some(words) = words {
            let before = if line.is_empty() { "{" } else { ", " };
            write!(line, "{before}{name}: {words:?}").expect("writing to a String does not fail");
        }
    }
    line + "}"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_told_as_it_is_written() {
        let told = [
            of_resources("apps", owned(&["deployments"])),
            of_identity(),
            of_health(),
        ]
        .map(|rule| in_a_line(&rule));
        assert_eq!(
            told,
            [
                r#"{apiGroups: ["apps"], resources: ["deployments"], verbs: ["list", "watch"]}"#,
                r#"{apiGroups: [""], resources: ["namespaces"], resourceNames: ["kube-system"], verbs: ["get"]}"#,
                r#"{nonResourceURLs: ["/healthz", "/readyz", "/version"], verbs: ["get"]}"#,
            ]
        );
    }
}
