use std::collections::BTreeSet;
use std::fmt::Write as _;

use clap::{Command, FromArgMatches as _};
use serde_json::{Value, json};

use super::*;
use crate::command::install::rights_of_shipped;

const GO_POLICY: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/go_policies/members/go.yaml"
);

fn parsed(words: &[&str]) -> Result<Flags, String> {
    let words = std::iter::once(&"rbac").chain(words);
    let command = Flags::augment_args(Command::new("rbac"));
    let matches = command.try_get_matches_from(words);
    let flags = matches.and_then(|matches| Flags::from_arg_matches(&matches));
    flags.map_err(|error| error.to_string())
}

/// What is printed, and what is told.
fn run(words: &[&str]) -> (String, Vec<String>) {
    let printed = printed(&parsed(words).expect("flags")).expect("rights");
    assert_eq!(printed.refused, [""; 0]);
    (printed.text, printed.notes)
}

/// What is printed and told of these policies, each with a name and a spec.
fn of_policies(policies: &[(&str, Value)], words: &[&str]) -> Printed {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("policies.yaml");
    let mut text = String::new();
    for (name, spec) in policies {
        let policy = json!({"apiVersion": "policy.clusterpedia.io/v1alpha1", "kind": "ClusterImportPolicy",
            "metadata": {"name": name}, "spec": spec});
        writeln!(text, "---\n{policy}").expect("text");
    }
    std::fs::write(&file, text).expect("written");
    let file = file.display().to_string();
    let words = [&["--for-policy", &file], words].concat();
    printed(&parsed(&words).expect("flags")).expect("rights")
}

/// A policy with a source of its own kind.
fn spec(references: &Value, template: &str) -> Value {
    json!({"source": {"group": "fleet.example.com", "resource": "members"}, "references": references,
        "nameTemplate": "{{source.metadata.name}}", "template": template, "creationCondition": "true"})
}

fn objects(text: &str) -> Vec<Value> {
    let objects: Result<Vec<Value>, _> = armadex_crds::read_yaml_documents(text);
    let mut objects = objects.expect("YAML");
    objects.retain(|object| !object.is_null());
    objects
}

fn shipped(policy: &str) -> String {
    let root = env!("CARGO_MANIFEST_DIR");
    format!("{root}/../deploy/policies/{policy}.yaml")
}

/// Kind, namespace and name, what it grants, to whom.
fn core(mut object: Value) -> Value {
    let metadata = &mut object["metadata"];
    for field in ["labels", "annotations"] {
        let fields = metadata[field].as_object_mut().expect("fields");
        fields.retain(|name, _| ["armadex.dev/home", "armadex.dev/parts"].contains(&name.as_str()));
    }
    if object["metadata"]["annotations"] == json!({}) {
        let metadata = object["metadata"].as_object_mut().expect("fields");
        metadata.remove("annotations");
    }
    object
}

/// Two ways to the same rights: what is written by hand and shipped, and what is told of a policy.
#[test]
fn what_is_printed_for_a_shipped_policy_is_what_is_installed_with_it() {
    let policies = crate::command::install::policy_names();
    let names = clap::builder::TypedValueParser::possible_values(&policies).expect("names");
    let names: Vec<String> = names.map(|name| name.get_name().to_owned()).collect();
    assert_eq!(names.len(), 7);
    for name in names {
        for further in [&[][..], &["team-a"]] {
            let file = shipped(&name);
            let mut words = vec!["--for-policy", &file, "--namespace", "fleet", "--apart"];
            for namespace in further {
                words.extend(["--credential-namespaces", namespace]);
            }
            let (text, notes) = run(&words);
            let mut printed: Vec<String> = objects(&text)
                .into_iter()
                .map(|it| core(it).to_string())
                .collect();
            let names_none = !notes
                .iter()
                .any(|note| note.starts_with("nothing is granted in"));
            let further = further.iter().filter(|_| names_none);
            let further: Vec<String> = further.map(|name| (*name).to_owned()).collect();
            let flags = parsed(&words).expect("flags");
            let installed = rights_of_shipped(&name, "fleet", &further, &flags.holders.holders());
            let mut installed: Vec<String> = installed.iter().map(ToString::to_string).collect();
            printed.sort();
            installed.sort();
            assert_eq!(printed, installed, "{name}, {further:?}: {notes:#?}");
        }
    }
}

#[test]
fn a_policy_of_ones_own_is_granted_what_its_text_says() {
    let (text, notes) = run(&[
        "--for-policy",
        GO_POLICY,
        "--credential-namespaces",
        "team-a",
    ]);
    assert_eq!(notes, Vec::<String>::new());
    let expected = "---
# policy/members: the source objects
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  annotations:
    armadex.dev/granted-for: policy/members
  labels:
    app.kubernetes.io/managed-by: armadex
    app.kubernetes.io/name: armadex
    armadex.dev/home: clusterpedia-system
  name: armadex-members
rules:
- apiGroups:
  - fleet.example.com
  resources:
  - members
  verbs:
  - list
  - watch
---
";
    assert!(text.starts_with(expected), "{text}");
    let told: Vec<String> = objects(&text)
        .iter()
        .map(|object| {
            let namespace = object["metadata"]["namespace"].as_str().unwrap_or("-");
            let words = [&object["kind"], &object["metadata"]["name"]];
            let [kind, name] = words.map(|word| word.as_str().unwrap_or_default());
            format!("{namespace} {kind} {name}")
        })
        .collect();
    assert_eq!(
        told,
        [
            "- ClusterRole armadex-members",
            "- ClusterRoleBinding armadex-members",
            "team-a Role armadex-credentials",
            "team-a RoleBinding armadex-credentials",
        ]
    );
    let binding = &objects(&text)[3];
    assert_eq!(
        binding["subjects"],
        json!([{"kind": "ServiceAccount", "name": "armadex", "namespace": "clusterpedia-system"}])
    );
}

#[test]
fn what_no_text_tells_is_told_and_not_guessed() {
    let (text, notes) = run(&["--for-policy", GO_POLICY]);
    assert_eq!(objects(&text).len(), 2);
    let [note] = &notes[..] else {
        panic!("{notes:#?}");
    };
    assert!(
        note.starts_with("policy/members: references[login] are Secrets"),
        "{note}"
    );
    assert!(note.contains("--credential-namespaces"), "{note}");
    let (_, notes) = run(&[
        "--for-policy",
        &shipped("karmada"),
        "--credential-namespaces",
        "team-a",
    ]);
    assert_eq!(
        notes,
        [
            "nothing is granted in team-a, which --credential-namespaces names: no Secret is read there for any of this"
        ]
    );
}

/// A name of its own would be taken from Armadex otherwise.
#[test]
fn no_policy_takes_a_role_of_armadex_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("policy.yaml");
    let text = std::fs::read_to_string(GO_POLICY).expect("the policy");
    let text = text.replace("\n  name: members\n", "\n  name: controllers\n");
    let fixed = text.replace("{{ .source.spec.login.namespace }}", "kube-system");
    std::fs::write(&file, fixed).expect("written");
    let (text, notes) = run(&["--for-policy", &file.display().to_string()]);
    let names: Vec<String> = objects(&text)
        .iter()
        .map(|object| object["metadata"]["name"].to_string())
        .collect();
    assert_eq!(names, ["\"armadex-policy-controllers\""; 2]);
    assert!(
        notes[0].contains("Secrets of kube-system are named, and others use it too"),
        "{notes:?}"
    );
}

#[test]
fn a_pedia_cluster_by_hand_takes_its_credentials_from_where_they_may_lie() {
    let (text, notes) = run(&[
        "--for=pediacluster",
        "--credential-namespaces=team-a,team-b",
    ]);
    assert_eq!(notes, Vec::<String>::new());
    let roles = objects(&text)
        .into_iter()
        .filter(|object| object["kind"] == "Role");
    let roles: Vec<Value> = roles.collect();
    let places: Vec<&Value> = roles
        .iter()
        .map(|role| &role["metadata"]["namespace"])
        .collect();
    assert_eq!(places, ["clusterpedia-system", "team-a", "team-b"]);
    for role in &roles {
        let rules = json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list", "watch"]}]);
        assert_eq!(role["rules"], rules);
    }
}

/// As one of many on a control plane.
#[test]
fn a_policy_that_is_not_followed_is_told_and_the_others_have_their_rights() {
    let kind = |resource: &str| json!([{"key": "k", "group": "", "resource": resource, "namespaceTemplate": "{{source.a}}", "nameTemplate": "a"}]);
    let bad = |name: &'static str, references: &Value| (name, spec(references, "spec: {}"));
    let mut broken = spec(&json!([]), "spec: {}");
    broken["source"]["selectorTemplate"] = json!("{{nope}");
    let printed = of_policies(
        &[
            ("broken", broken),
            bad("everything", &kind("*")),
            bad("exec", &kind("pods/exec")),
            bad("good", &json!([])),
        ],
        &[],
    );
    let purposes: BTreeSet<String> = objects(&printed.text)
        .iter()
        .map(|object| object["metadata"]["name"].to_string())
        .collect();
    let good = "\"armadex-good\"".to_owned();
    assert_eq!(purposes, BTreeSet::from([good]));
    let no_name = "not a name of lower case letters, digits, dashes and dots";
    let expected = [
        "broken: Validated=False, FailedParseSourceSelector: source.selectorTemplate: ".to_owned(),
        format!(
            "everything: an API server takes no such policy: spec.references.0.resource: {no_name}"
        ),
        format!("exec: an API server takes no such policy: spec.references.0.resource: {no_name}"),
    ];
    assert_eq!(
        printed.refused.len(),
        expected.len(),
        "{:#?}",
        printed.refused
    );
    for (refused, expected) in printed.refused.iter().zip(expected) {
        assert!(refused.starts_with(&expected), "{refused}");
    }
}

#[test]
fn what_is_no_policy_is_refused_by_its_place() {
    let refused = |words: &[&str]| {
        let flags = parsed(words)?;
        let refused = printed(&flags).err().expect("it is refused");
        Ok::<_, String>(format!("{refused:#}"))
    };
    assert!(
        refused(&[])
            .expect_err("nothing is asked")
            .contains("--for-policy")
    );
    let missing = refused(&["--for-policy", "/nowhere.yaml"]).expect("flags");
    assert!(missing.contains("/nowhere.yaml"), "{missing}");
    let folder = tempfile::tempdir().expect("a folder");
    for (text, words) in [
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
            "no ClusterImportPolicy in ",
        ),
        ("a: [\n", "is not YAML"),
        ("just words\n", "has no apiVersion"),
    ] {
        let file = folder.path().join("file.yaml");
        std::fs::write(&file, text).expect("written");
        let file = file.display().to_string();
        let refused = refused(&["--for-policy", &file]).expect("flags");
        assert!(refused.contains(words), "{text}: {refused}");
    }
}
