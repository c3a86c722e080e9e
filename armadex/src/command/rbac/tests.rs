//! Each test says the words of a command line and looks at what is printed and told.

use std::fmt::Write as _;

use clap::{Command, FromArgMatches as _};
use serde_json::{Value, json};

use super::*;
use crate::command::install::rights_of_shipped;

mod drawn;

const GO_POLICY: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/go_policies/members/go.yaml"
);

pub(super) fn parsed(words: &[&str]) -> Result<Flags, String> {
    let words = std::iter::once(&"rbac").chain(words);
    let command = Flags::augment_args(Command::new("rbac"));
    let matches = command.try_get_matches_from(words);
    let flags = matches.and_then(|matches| Flags::from_arg_matches(&matches));
    flags.map_err(|error| error.to_string())
}

/// What is printed, and what is told but for who has the rights.
fn run(words: &[&str]) -> (String, Vec<String>) {
    let printed = printed(&parsed(words).expect("flags")).expect("rights");
    assert_eq!(printed.refused, [""; 0]);
    let mut notes = printed.notes;
    notes.retain(|note| !note.starts_with("what is printed is granted to "));
    (printed.text, notes)
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

pub(super) fn objects(text: &str) -> Vec<Value> {
    let objects: Result<Vec<Value>, _> = armadex_crds::read_yaml_documents(text);
    let mut objects = objects.expect("YAML");
    objects.retain(|object| !object.is_null());
    objects
}

fn shipped(policy: &str) -> String {
    let root = env!("CARGO_MANIFEST_DIR");
    format!("{root}/../deploy/policies/{policy}.yaml")
}

/// Where each binding grants what to whom, whatever it is called.
fn granted(objects: &[Value]) -> Vec<String> {
    let roles = |binding: &Value| {
        let mut roles = objects.iter().filter(|object| {
            let of_role = [&object["kind"], &object["metadata"]["name"]];
            of_role == [&binding["roleRef"]["kind"], &binding["roleRef"]["name"]]
                && object["metadata"]["namespace"] == binding["metadata"]["namespace"]
        });
        roles.next().expect("its role")["rules"].clone()
    };
    let bindings = objects
        .iter()
        .filter(|object| object["roleRef"].is_object());
    let told = bindings.map(|binding| {
        let place = &binding["metadata"]["namespace"];
        json!([place, roles(binding), binding["subjects"]]).to_string()
    });
    let mut told: Vec<String> = told.collect();
    told.sort();
    told
}

fn namespaces(objects: &[Value]) -> BTreeSet<String> {
    let all = objects.iter();
    let named = all.filter_map(|object| object.pointer("/metadata/namespace")?.as_str());
    named.map(str::to_owned).collect()
}

/// Kind, namespace and name.
fn addresses(objects: &[Value]) -> Vec<String> {
    let told = objects.iter().map(|object| {
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or("-");
        let words = [&object["kind"], &object["metadata"]["name"]];
        let [kind, name] = words.map(|word| word.as_str().unwrap_or_default());
        format!("{namespace} {kind} {name}")
    });
    told.collect()
}

fn shipped_policies() -> Vec<String> {
    let policies = crate::command::install::policy_names();
    let names = clap::builder::TypedValueParser::possible_values(&policies).expect("names");
    let names: Vec<String> = names.map(|name| name.get_name().to_owned()).collect();
    assert_eq!(names.len(), 7);
    names
}

/// Two ways to the same rights: what is written by hand and shipped, and what is told of a policy. What they are called has nothing in common.
#[test]
fn what_is_printed_for_a_shipped_policy_is_what_is_installed_with_it() {
    for name in shipped_policies() {
        let further = [&[][..], &["team-a"]];
        // Of namespaces but its own KubeVela's reads source objects alone, for which no more is printed.
        let further = further
            .into_iter()
            .take(if name == "kubevela" { 1 } else { 2 });
        for further in further {
            let file = shipped(&name);
            let mut words = vec!["--for-policy", &file, "--namespace", "fleet", "--apart"];
            let holders = parsed(&words).expect("flags").holders.holders();
            let fixed = namespaces(&rights_of_shipped(&name, "fleet", &[], &holders));
            if !further.is_empty() {
                let fixed = fixed.iter().map(String::as_str);
                words.push("--credential-namespaces");
                let all: Vec<&str> = fixed.chain(further.iter().copied()).collect();
                words.push(all.join(",").leak());
            }
            let (text, notes) = run(&words);
            let printed = objects(&text);
            let is_used = |further: &&&str| namespaces(&printed).contains(**further);
            let further: Vec<String> = further
                .iter()
                .filter(is_used)
                .map(|it| (*it).to_owned())
                .collect();
            let installed = rights_of_shipped(&name, "fleet", &further, &holders);
            assert_eq!(
                granted(&printed),
                granted(&installed),
                "{name}, {further:?}: {notes:#?}"
            );
            let names = |objects: &[Value], sign: char| {
                let names = objects
                    .iter()
                    .map(|object| object["metadata"]["name"].to_string());
                names.filter(|name| name.contains(sign)).count()
            };
            assert_eq!(names(&printed, ':'), printed.len());
            assert_eq!(names(&installed, ':'), 0);
        }
    }
}

/// Who asks Karmada's proxy is asked as with the groups it has, which may do nothing themselves.
#[test]
fn the_way_by_the_control_plane_is_printed_to_whoever_asks_for_it_as_its_manifest_has_it() {
    let file = shipped("karmada");
    let told = |words: &[&str]| {
        let printed = printed(&parsed(&[&["--for-policy", &file], words].concat()).expect("flags"));
        let printed = printed.expect("rights");
        (granted(&objects(&printed.text)), printed.notes)
    };
    let (mut without, _) = told(&[]);
    let root = env!("CARGO_MANIFEST_DIR");
    let manifest = std::fs::read_to_string(format!("{root}/../deploy/rbac/karmada-proxy.yaml"));
    without.extend(granted(&objects(&manifest.expect("a manifest"))));
    without.sort();
    let (with, notes) = told(&["--control-plane-proxy"]);
    assert_eq!(with, without);
    assert!(
        !notes.iter().any(|note| note.contains("system:")),
        "{notes:?}"
    );

    let subject = ["--control-plane-proxy", "--subject", "user:a"];
    let (with, notes) = told(&subject);
    assert!(
        !with.concat().contains("system:serviceaccounts"),
        "{with:?}"
    );
    let words = "Karmada asks members as the groups of user:a too, which are not known here";
    assert!(
        notes.iter().any(|note| note.starts_with(words)),
        "{notes:?}"
    );
}

/// Else whoever breaks into the synchro had all kubelets.
#[test]
fn a_way_by_the_control_plane_that_is_never_made_is_granted_nothing() {
    let template = "spec: {} # as Karmada's has it, without controlPlaneProxy:";
    let mut nodes = spec(&json!([]), template);
    nodes["source"] = json!({"group": "", "resource": "nodes", "versions": ["v1"]});
    let printed = of_policies(&[("nodes", nodes)], &["--control-plane-proxy"]);
    assert_eq!(printed.refused, [""; 0]);
    assert!(!printed.text.contains("proxy"), "{}", printed.text);
    let words = "policy/nodes: its template names controlPlaneProxy, which is never made of a source without a group: nothing is granted for that";
    assert!(
        printed.notes.iter().any(|note| note == words),
        "{:?}",
        printed.notes
    );
}

#[test]
fn a_policy_of_ones_own_is_granted_what_its_text_says() {
    let (text, notes) = run(&[
        "--for-policy",
        GO_POLICY,
        "--credential-namespaces",
        "team-a",
    ]);
    assert_eq!(notes, [""; 0]);
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
  name: armadex:clusterpedia-system:policy:members
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
    assert_eq!(
        addresses(&objects(&text)),
        [
            "- ClusterRole armadex:clusterpedia-system:policy:members",
            "- ClusterRoleBinding armadex:clusterpedia-system:policy:members",
            "team-a Role armadex:clusterpedia-system:policy:members",
            "team-a RoleBinding armadex:clusterpedia-system:policy:members",
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
            "policy/karmada: Secrets of karmada-cluster are named, and --credential-namespaces does not name it: no right is granted for that",
            "policy/karmada: members may be asked by clusters/proxy of the control plane (controlPlaneProxy), and no right is printed for that: it is with \
             --control-plane-proxy; read what that opens in docs/permissions.md, \"By the control plane\"",
            "nothing is granted in team-a, which --credential-namespaces names: no Secret is read there for any of this",
        ]
    );
}

/// `kubectl apply` puts the subjects of one binding into the place of another's of the same name, and `kubectl delete` takes it away for all.
#[test]
fn rights_for_others_have_other_names() {
    let mut seen = BTreeSet::new();
    for words in [
        &[][..],
        &["--apart"],
        &["--namespace", "fleet"],
        &["--subject", "user:a"],
        &["--subject", "user:b"],
        &["--namespace", "fleet", "--subject", "user:b"],
    ] {
        let words = [&["--for-policy", GO_POLICY, "--for=pediacluster"], words].concat();
        let (text, _) = run(&words);
        let told = addresses(&objects(&text));
        assert_eq!(told.len(), 4, "{words:?}: {told:#?}");
        for address in told {
            assert!(seen.insert(address.clone()), "{words:?}: {address}");
        }
    }
}

#[test]
fn who_has_the_rights_is_told() {
    let note = |words: &[&str]| {
        let printed = of_policies(&[("mine", spec(&json!([]), "spec: {}"))], words);
        let [note] = &printed.notes[..] else {
            panic!("{:#?}", printed.notes);
        };
        note.clone()
    };
    for (words, holders) in [
        (&[][..], "serviceaccount:clusterpedia-system/armadex:"),
        (
            &["--apart"],
            "serviceaccount:clusterpedia-system/armadex-controllers:",
        ),
        (&["--subject", "user:a"], "user:a:"),
    ] {
        let expected = format!("what is printed is granted to {holders} if Armadex runs as");
        let note = note(words);
        assert!(note.starts_with(&expected), "{note}");
    }
    let words = ["--for=pediacluster", "--apart"];
    let printed = printed(&parsed(&words).expect("flags")).expect("rights");
    assert!(
        printed.notes[0].contains("/armadex-controllers, serviceaccount:"),
        "{:?}",
        printed.notes
    );
}

#[test]
fn secrets_that_are_source_objects_alone_are_listed_and_watched_by_the_controllers() {
    let mut spec = spec(&json!([]), "spec: {}");
    spec["source"] = json!({"group": "", "resource": "secrets"});
    let words = ["--apart", "--credential-namespaces=team-a"];
    let printed = of_policies(&[("mine", spec)], &words);
    let rules = json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["list", "watch"]}]);
    let account = json!({"kind": "ServiceAccount", "name": "armadex-controllers", "namespace": "clusterpedia-system"});
    let expected = json!(["team-a", rules, [account]]).to_string();
    assert_eq!(granted(&objects(&printed.text)), [expected]);
}

const IN_CERT_MANAGER: &str =
    "spec: {authenticationFrom: {token: {name: a, key: b, namespace: cert-manager}}}";

#[test]
fn no_text_widens_what_was_said_of_namespaces() {
    let reference = json!([{"key": "k", "group": "", "resource": "secrets", "namespaceTemplate": "cert-manager", "nameTemplate": "a"}]);
    for spec in [
        spec(&json!([]), IN_CERT_MANAGER),
        spec(&reference, "spec: {}"),
    ] {
        let in_namespaces = |words: &[&str]| {
            let printed = of_policies(&[("mine", spec.clone())], words);
            (namespaces(&objects(&printed.text)), printed.notes)
        };
        let none = BTreeSet::new();
        let cert_manager = BTreeSet::from(["cert-manager".to_owned()]);
        let (granted, notes) = in_namespaces(&[]);
        assert_eq!(granted, cert_manager);
        let told = "policy/mine: Secrets of cert-manager may be read by what is printed";
        assert!(notes[0].starts_with(told), "{notes:?}");
        let (granted, notes) = in_namespaces(&["--credential-namespaces=team-a"]);
        assert_eq!(granted, none);
        let told = "policy/mine: Secrets of cert-manager are named, and --credential-namespaces does not name it";
        assert!(notes[0].starts_with(told), "{notes:?}");
        assert!(
            notes[1].starts_with("nothing is granted in team-a"),
            "{notes:?}"
        );
        let (granted, notes) = in_namespaces(&["--credential-namespaces=team-a,cert-manager"]);
        assert_eq!(granted, cert_manager);
        assert!(
            notes[0].starts_with("nothing is granted in team-a"),
            "{notes:?}"
        );
        let (granted, notes) = in_namespaces(&["--namespace=cert-manager"]);
        assert_eq!(granted, none);
        assert!(notes[0].contains("`armadex install` grants"), "{notes:?}");
        let asked_for = [
            "--namespace=cert-manager",
            "--credential-namespaces=cert-manager",
        ];
        assert_eq!(in_namespaces(&asked_for).0, cert_manager);
    }
    let (text, notes) = run(&[
        "--for-policy",
        &shipped("rancher"),
        "--credential-namespaces=team-a",
    ]);
    assert_eq!(namespaces(&objects(&text)), BTreeSet::new());
    assert!(notes[0].contains("fleet-default"), "{notes:?}");
}

#[test]
fn no_right_is_granted_where_others_have_secrets_or_where_nobody_has() {
    for (place, words) in [
        ("kube-system", "others use it too"),
        ("armadex-serving", "the serving certificate of Armadex"),
        ("a.b", "there is no such namespace"),
    ] {
        let template = IN_CERT_MANAGER.replace("cert-manager", place);
        let printed = of_policies(&[("mine", spec(&json!([]), &template))], &[]);
        assert_eq!(namespaces(&objects(&printed.text)), BTreeSet::new());
        assert!(printed.notes[0].contains(words), "{:?}", printed.notes);
    }
}

#[test]
fn a_pedia_cluster_by_hand_takes_its_credentials_from_where_they_may_lie() {
    for (words, places) in [
        (&["--for=pediacluster"][..], &["clusterpedia-system"][..]),
        (
            &[
                "--for=pediacluster",
                "--credential-namespaces=team-a,team-b",
            ],
            &["team-a", "team-b"],
        ),
    ] {
        let (text, notes) = run(words);
        assert_eq!(notes, [""; 0]);
        let roles = objects(&text)
            .into_iter()
            .filter(|object| object["kind"] == "Role");
        let roles: Vec<Value> = roles.collect();
        let found: Vec<&Value> = roles
            .iter()
            .map(|role| &role["metadata"]["namespace"])
            .collect();
        assert_eq!(found, places);
        for role in &roles {
            let rules = json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list", "watch"]}]);
            assert_eq!(role["rules"], rules);
        }
    }
}

/// As one of many on a control plane.
#[test]
fn a_policy_that_is_not_followed_is_told_and_the_others_have_their_rights() {
    let kind = |resource: &str| json!([{"key": "k", "group": "", "resource": resource, "namespaceTemplate": "{{source.a}}", "nameTemplate": "a"}]);
    let bad = |name: &'static str, references: &Value| (name, spec(references, "spec: {}"));
    let mut broken = spec(&json!([]), "spec: {}");
    broken["source"]["selectorTemplate"] = json!("{{nope}");
    let unbound =
        json!([{"key": "k", "group": "", "resource": "secrets", "nameTemplate": "{{source.a}}"}]);
    let printed = of_policies(
        &[
            ("broken", broken),
            bad("everything", &kind("*")),
            bad("exec", &kind("pods/exec")),
            bad("nothing", &kind("")),
            bad("unbound", &unbound),
            bad("good", &json!([])),
        ],
        &[],
    );
    let purposes: BTreeSet<String> = objects(&printed.text)
        .iter()
        .map(|object| object["metadata"]["name"].to_string())
        .collect();
    let good = "\"armadex:clusterpedia-system:policy:good\"".to_owned();
    assert_eq!(purposes, BTreeSet::from([good]));
    let no_name = "not a name of lower case letters, digits, dashes and dots";
    let expected = [
        "broken: Validated=False, FailedParseSourceSelector: source.selectorTemplate: ".to_owned(),
        format!(
            "everything: an API server takes no such policy: spec.references.0.resource: {no_name}"
        ),
        format!("exec: an API server takes no such policy: spec.references.0.resource: {no_name}"),
        "nothing: references[k]: \"\" is not the name of a resource".to_owned(),
        "unbound: references[k]: secrets lie in namespaces: namespaceTemplate is missing"
            .to_owned(),
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
