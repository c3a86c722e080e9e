//! `armadex policy` by the real binary: what it prints and says, and how it ends.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const POLICY: &str = r#"apiVersion: policy.clusterpedia.io/v1alpha1
kind: ClusterImportPolicy
metadata:
  name: fleets
spec:
  source:
    group: example.com
    resource: members
    selectorTemplate: "{{ne source.spec.kind \"spare\"}}"
  references:
  - key: secret
    group: ""
    resource: secrets
    namespaceTemplate: karmada-cluster
    nameTemplate: "{{source.metadata.name}}"
  - key: region
    group: ""
    resource: configmaps
    namespaceTemplate: fleet
    nameTemplate: region
  nameTemplate: "fleet-{{source.metadata.name}}"
  creationCondition: "{{eq source.status.phase \"Ready\"}}"
  template: |
    metadata:
      annotations:
        region: {{toJson references.region.data.name}}
    spec:
      apiserver: {{toJson source.spec.endpoint}}
      tokenData: {{toJson references.secret.data.token}}
      syncResources:
      - group: ""
        resources: [pods]
"#;

const MEMBER: &str = "apiVersion: example.com/v1
kind: Member
metadata: {name: one, managedFields: [{manager: kubectl}]}
spec: {endpoint: 'https://one', kind: usual}
status: {phase: Ready}
";

const OTHERS: &str = "apiVersion: v1
kind: Secret
metadata: {namespace: karmada-cluster, name: one}
stringData: {token: hunter2}
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {namespace: fleet, name: region}
  data: {name: 'eu: \"central\"'}
";

const LIFECYCLE: &str = r#"---
apiVersion: policy.clusterpedia.io/v1alpha1
kind: PediaClusterLifecycle
metadata:
  name: fleet-one
spec:
  creationCondition: "{{eq source.status.phase \"Ready\"}}"
  references:
  - group: ""
    key: secret
    nameTemplate: "{{source.metadata.name}}"
    namespaceTemplate: karmada-cluster
    resource: secrets
    version: v1
  - group: ""
    key: region
    nameTemplate: region
    namespaceTemplate: fleet
    resource: configmaps
    version: v1
  source:
    group: example.com
    name: one
    resource: members
    version: v1
  template: |
    metadata:
      annotations:
        region: {{toJson references.region.data.name}}
    spec:
      apiserver: {{toJson source.spec.endpoint}}
      tokenData: {{toJson references.secret.data.token}}
      syncResources:
      - group: ""
        resources: [pods]
"#;

const CLUSTER: &str = r#"---
apiVersion: cluster.clusterpedia.io/v1alpha2
kind: PediaCluster
metadata:
  annotations:
    region: "eu: \"central\""
  name: fleet-one
spec:
  apiserver: https://one
  syncResources:
  - group: ""
    resources:
    - pods
  tokenData: aHVudGVyMg==
"#;

/// How a run ended.
struct Ran {
    code: Option<i32>,
    out: String,
    told: String,
}

/// A folder with a policy, a source object and what it refers to.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "policy.yaml", POLICY);
    write(folder.path(), "member.yaml", MEMBER);
    write(folder.path(), "others.yaml", OTHERS);
    folder
}

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    std::fs::write(path, text).expect("written");
}

fn run(folder: &Path, arguments: &str) -> Ran {
    fed(folder, arguments, "")
}

fn fed(folder: &Path, arguments: &str, input: &str) -> Ran {
    let mut process = Command::new(env!("CARGO_BIN_EXE_armadex"))
        .arg("policy")
        .args(arguments.split_whitespace())
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stdin = process.stdin.take().expect("piped");
    stdin.write_all(input.as_bytes()).expect("taken");
    drop(stdin);
    let run = process.wait_with_output().expect("it ends");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    Ran {
        code: run.status.code(),
        out: text(run.stdout),
        told: text(run.stderr),
    }
}

const RENDER: &str = "render -f policy.yaml --from member.yaml --from others.yaml";
const NOTHING_ELSE: &str = "armadex: what is told above does not come about\n";

/// What is told if this of a file is changed to that.
#[track_caller]
fn told(name: &str, (this, that): (&str, &str)) -> Ran {
    let folder = folder();
    let text = std::fs::read_to_string(folder.path().join(name)).expect("readable");
    assert!(text.contains(this), "{this}");
    write(folder.path(), name, &text.replace(this, that));
    let ran = run(folder.path(), RENDER);
    assert_eq!(ran.code, Some(1), "{}", ran.told);
    assert!(!ran.told.contains("hunter2") && !ran.told.contains("aHVudGVyMg"));
    ran
}

#[test]
fn what_a_policy_would_make_is_printed() {
    let folder = folder();
    let ran = run(folder.path(), RENDER);
    assert_eq!((ran.code, &*ran.told), (Some(0), ""));
    assert_eq!(ran.out, format!("{LIFECYCLE}{CLUSTER}"));

    let json = run(folder.path(), &format!("{RENDER} -o json"));
    let list: serde_json::Value = serde_json::from_str(&json.out).expect("JSON");
    assert_eq!(
        (&list["kind"], &list["apiVersion"]),
        (&"List".into(), &"v1".into())
    );
    let read = serde_saphyr::from_multiple::<serde_json::Value>(&ran.out).expect("YAML");
    assert_eq!(list["items"], serde_json::Value::Array(read));

    let all = [POLICY, "---\n", MEMBER, "---\n", OTHERS].concat();
    let from_input = fed(folder.path(), "render -f -", &all);
    assert_eq!((from_input.code, from_input.out), (Some(0), ran.out));
}

#[test]
fn objects_come_in_the_order_of_their_names_whatever_the_order_of_the_files() {
    let folder = folder();
    let two = |text: &str| text.replace("name: one", "name: two");
    let (members, others) = (
        format!("{}---\n{MEMBER}", two(MEMBER)),
        format!(
            "{OTHERS}---\n{}",
            two(&OTHERS.replace("fleet, name: region", "fleet, name: x"))
        ),
    );
    write(folder.path(), "member.yaml", &members);
    write(folder.path(), "others.yaml", &others);
    let ran = run(folder.path(), RENDER);
    assert_eq!((ran.code, &*ran.told), (Some(0), ""));
    let swapped = run(
        folder.path(),
        "render -f policy.yaml --from others.yaml --from member.yaml",
    );
    assert_eq!(swapped.out, ran.out);
    assert!(
        ran.out.starts_with(&format!("{LIFECYCLE}{CLUSTER}")),
        "{}",
        ran.out
    );
}

#[test]
fn a_template_error_is_shown_where_it_stands() {
    let ran = told(
        "policy.yaml",
        ("references.region.data", "references.regoin.data"),
    );
    let shown = "\
fleets: Validated=False, InvalaidPolicy: template: line 3, column 13: no reference has the key regoin
  --> policy.yaml:26:17
   |
26 |         region: {{toJson references.regoin.data.name}}
   |                 ^
";
    assert_eq!(ran.told, format!("{shown}{NOTHING_ELSE}"));
    assert_eq!(ran.out, "");
}

#[test]
fn the_readme_of_the_policies_shows_an_error_as_it_is_told() {
    let read = |name: &str| std::fs::read_to_string(policies().join(name)).expect("readable");
    let readme = read("README.md");
    let shown = readme.split("```text\n").nth(1).expect("an example");
    let shown = shown.split("```").next().expect("its end");
    let folder = folder();
    let broken = read("karmada.yaml").replace("toJson source.spec.apiE", "toJsn source.spec.apiE");
    write(folder.path(), "policy.yaml", &broken);
    assert_eq!(run(folder.path(), RENDER).told, shown);
}

/// Holds what is told of a change to these words, after the subject. A lifecycle comes about where the condition is one of a lifecycle, and a PediaCluster
/// never.
#[track_caller]
fn check(name: &str, change: (&str, &str), expected: &str) {
    let ran = told(name, change);
    assert_eq!(ran.told, format!("fleets: {expected}\n{NOTHING_ELSE}"));
    let lifecycle = ran.out.contains("name: fleet-one");
    assert_eq!(lifecycle, expected.contains("Created=False"), "{}", ran.out);
    assert!(!ran.out.contains("kind: PediaCluster\n"), "{}", ran.out);
}

#[test]
fn a_policy_that_is_not_valid_is_told_in_the_words_of_its_condition() {
    let check = |change, expected| check("policy.yaml", change, expected);
    check(
        (
            "{{source.metadata.name}}\"\n  - key",
            "{{.source.metadata.name}}\"\n  - key",
        ),
        "Validated=False, FailedParseLifecycleName: nameTemplate: line 1, column 9: source is no function that Go templates have: write \
         .source\n  --> policy.yaml:21:26\n   |\n21 |   nameTemplate: \"fleet-{{source.metadata.name}}\"\n   \
         |                          ^",
    );
    check(
        ("nameTemplate: \"fleet", "nameTemplat: \"fleet"),
        "an API server takes no such policy: spec.nameTemplat: unknown field, spec.nameTemplate: required",
    );
    check(
        ("resource: members", "resource: clusters"),
        "Validated=False, FailedNegotiateSourceResource: the control plane does not serve clusters.example.com: give a source object \
         with --from; configmaps, secrets, members.example.com are there",
    );
    check(
        (
            "resource: members\n",
            "resource: members\n    versions: [v2]\n",
        ),
        "Validated=False, FailedNegotiateSourceResource: the control plane serves members.example.com as v1, and the policy allows v2",
    );
    check(
        ("resource: secrets", "resource: secret"),
        "Validated=False, FailedNegotiateReferenceResource: the control plane does not serve secret: give it with --from, or its \
         CustomResourceDefinition; configmaps, secrets, members.example.com are there",
    );
    check(
        (
            "group: example.com\n    resource: members",
            "group: \"\"\n    resource: pods",
        ),
        "no pods is there: give a source object with --from; configmaps, secrets, members.example.com are there",
    );
    check(
        ("    namespaceTemplate: fleet\n", ""),
        "Validated=False, InvalaidPolicy: references[region]: configmaps lie in namespaces: namespaceTemplate is missing",
    );
}

#[test]
fn a_source_object_of_which_nothing_comes_is_told_in_the_words_of_the_controllers() {
    let one = |words: &str| format!("members.example.com one: {words}");
    check(
        "policy.yaml",
        ("fleet-{{", "{{toJson "),
        &one(
            "Reconciling=False, FailedReconcile: nameTemplate: \"\\\"one\\\"\" can't name an object",
        ),
    );
    check(
        "member.yaml",
        (
            "name: one",
            "name: one, deletionTimestamp: '2026-01-02T03:04:05Z'",
        ),
        &one("it is being deleted"),
    );
    check(
        "member.yaml",
        ("Ready", "New"),
        &one("Created=False, WaitCreationCondition: creationCondition does not say true"),
    );
}

#[test]
fn a_reference_that_is_missing_is_told_with_the_way_out() {
    let created = |words: &str| format!("members.example.com one: Created=False, {words}");
    let secret = "secrets karmada-cluster/one does not exist: give it with --from";
    let region = "configmaps fleet/region does not exist: give it with --from";
    let missing = |words: &str| created(&format!("ReferenceResourceNotFound: references{words}"));
    let others = |change, expected: String| check("others.yaml", change, &expected);
    others(
        ("name: region", "name: other"),
        missing(&format!("[region]: {region}")),
    );
    others(
        ("namespace: fleet", "namespace: elsewhere"),
        missing(&format!(
            "[region]: {region}; there is elsewhere/region there"
        )),
    );
    others(
        ("namespace: karmada-cluster, ", ""),
        missing(&format!(
            "[secret]: {secret}; one has no metadata.namespace there"
        )),
    );
    check(
        "policy.yaml",
        ("resource: configmaps", "resource: pods"),
        &missing(
            "[region]: pods fleet/region does not exist: give it with --from; configmaps, secrets, members.example.com are there",
        ),
    );
    check(
        "policy.yaml",
        ("karmada-cluster", "kube-system"),
        &created(
            "FailedReferenceResourceParse: references[secret]: Secrets of the namespace kube-system may not be read for a policy: \
             --credential-namespaces allows clusterpedia-system, karmada-cluster",
        ),
    );
}

#[test]
fn a_name_belongs_to_the_policy_that_comes_first() {
    let folder = folder();
    let other = POLICY.replace("name: fleets", "name: other");
    write(
        folder.path(),
        "policy.yaml",
        &format!("{POLICY}---\n{other}"),
    );
    let ran = run(folder.path(), RENDER);
    assert_eq!(ran.out, format!("{LIFECYCLE}{CLUSTER}"));
    let taken = "other: members.example.com one: Reconciling=False, FailedReconcile: PediaClusterLifecycle fleet-one is there already and is owned by \
                 ClusterImportPolicy fleets\n";
    assert_eq!(
        (ran.code, ran.told),
        (Some(1), format!("{taken}{NOTHING_ELSE}"))
    );
}

#[test]
fn a_plural_name_that_nobody_would_guess_is_that_of_the_definition() {
    let folder = folder();
    let definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: fleetfolk.example.com}\n\
                      spec: {group: example.com, scope: Cluster, names: {kind: Member, plural: fleetfolk}}\n";
    write(folder.path(), "crd.yaml", definition);
    write(
        folder.path(),
        "policy.yaml",
        &POLICY.replace("resource: members", "resource: fleetfolk"),
    );
    let ran = run(folder.path(), &format!("{RENDER} --from crd.yaml"));
    assert_eq!((ran.code, &*ran.told), (Some(0), ""));
    assert!(ran.out.contains("resource: fleetfolk\n"), "{}", ran.out);
}

#[test]
fn of_a_kind_without_objects_the_definition_says_version_and_scope() {
    let folder = folder();
    let definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: regions.example.com}\n\
                      spec: {group: example.com, scope: Namespaced, names: {kind: Region, plural: regions}, \
                      versions: [{name: v1beta1, served: true}, {name: v2, served: true}, {name: v3, served: false}]}\n";
    write(folder.path(), "crd.yaml", definition);
    let policy = POLICY.replace(
        "group: \"\"\n    resource: configmaps",
        "group: example.com\n    resource: regions",
    );
    write(folder.path(), "policy.yaml", &policy);
    let ran = run(folder.path(), &format!("{RENDER} --from crd.yaml"));
    assert_eq!(ran.code, Some(1));
    let words = "references[region]: regions.example.com fleet/region does not exist: give it with --from\n";
    assert!(ran.told.contains(words), "{}", ran.told);
    assert!(
        ran.out.contains("resource: regions\n    version: v2\n"),
        "{}",
        ran.out
    );
    let policy = policy.replace("    namespaceTemplate: fleet\n", "");
    write(folder.path(), "policy.yaml", &policy);
    let ran = run(folder.path(), &format!("{RENDER} --from crd.yaml"));
    assert!(
        ran.told.contains("regions lie in namespaces"),
        "{}",
        ran.told
    );
}

#[test]
fn what_a_policy_leaves_out_is_told_and_is_no_failure() {
    let folder = folder();
    write(
        folder.path(),
        "member.yaml",
        &MEMBER.replace("usual", "spare"),
    );
    let ran = run(folder.path(), RENDER);
    let words = "fleets: members.example.com one: source.selectorTemplate does not say true\n";
    assert_eq!((ran.code, &*ran.told, &*ran.out), (Some(0), words, ""));
}

#[test]
fn a_field_without_a_value_is_none() {
    let folder = folder();
    let (before, after) = POLICY.split_once("  - key: secret\n").expect("references");
    let (_, after) = after.split_once("  nameTemplate: \"fleet").expect("a name");
    let policy = format!("{before}  # - key: secret\n  nameTemplate: \"fleet{after}");
    let lines = policy
        .lines()
        .filter(|line| !line.contains("{toJson references."));
    let lines: String = lines.map(|line| format!("{line}\n")).collect();
    write(folder.path(), "policy.yaml", &lines);
    let ran = run(folder.path(), RENDER);
    assert_eq!((ran.code, &*ran.told), (Some(0), ""));
}

/// Holds how a run ends that is given this too, and what its words begin with.
#[track_caller]
fn refused(folder: &Path, more: &str, code: i32, words: &str) {
    let ran = run(folder, &format!("{RENDER} {more}"));
    assert!(ran.told.starts_with(words), "{}", ran.told);
    assert_eq!((ran.code, &*ran.out), (Some(code), ""));
    assert!(!ran.told.contains("hunter2"), "{}", ran.told);
}

#[test]
fn what_is_wrong_with_a_file_is_told_by_its_name() {
    let folder = folder();
    let folder = folder.path();
    let older = MEMBER.replace("example.com/v1", "example.com/v1beta1");
    for (name, text) in [
        ("broken.yaml", "kind: Secret\nstringData: {token: hunter2\n"),
        (
            "nameless.yaml",
            "{apiVersion: v1, kind: Secret, metadata: {}}\n",
        ),
        ("kindless.yaml", "---\n{apiVersion: v1}\n"),
        ("older.yaml", &older.replace("one", "two")),
        ("empty/README.md", ""),
    ] {
        write(folder, name, text);
    }
    std::fs::create_dir(folder.join("linked")).expect("made");
    symlink("../others.yaml", folder.join("linked/a.yaml")).expect("a link");
    for (name, words) in [
        (
            "absent.yaml",
            "cannot read absent.yaml: No such file or directory (os error 2)\n",
        ),
        ("broken.yaml", "broken.yaml: is not YAML at line "),
        (
            "nameless.yaml",
            "object 1 of nameless.yaml: metadata.name is missing\n",
        ),
        ("kindless.yaml", "object 1 of kindless.yaml has no kind\n"),
        ("empty", "empty has no file in json, yaml, yml\n"),
        (
            "member.yaml",
            "object 1 of member.yaml: Member one is given twice\n",
        ),
        (
            "older.yaml",
            "object 1 of older.yaml: Member two is of the version v1beta1, and others of its kind are of v1: give all in one",
        ),
        ("/dev/zero", "/dev/zero is a device\n"),
        ("linked", "linked/a.yaml is a link: put the file there\n"),
    ] {
        refused(
            folder,
            &format!("--from {name}"),
            1,
            &format!("armadex: {words}"),
        );
    }
    let ran = run(folder, "render -f member.yaml");
    assert_eq!(ran.told, "armadex: no ClusterImportPolicy in member.yaml\n");
}

#[test]
fn an_object_that_no_api_server_would_have_stored_is_refused() {
    let folder = folder();
    let folder = folder.path();
    for (object, words) in [
        (
            "kind: Secret, metadata: {namespace: a, name: b}, data: {token: hunter2}",
            "Secret a/b: data.token is not base64",
        ),
        (
            "kind: Secret, metadata: {name: b}",
            "Secret b has no metadata.namespace, and karmada-cluster/one has one",
        ),
        (
            "kind: Node, metadata: {namespace: a, name: b}",
            "Node a/b has a metadata.namespace, and no other Node lies in one",
        ),
        (
            "kind: Node, metadata: {name: \"a\\e[2J\"}",
            "metadata.name \"a\\u{1b}[2J\" can't name an object",
        ),
    ] {
        write(
            folder,
            "other.yaml",
            &format!("{{apiVersion: v1, {object}}}"),
        );
        let words = format!("armadex: object 1 of other.yaml: {words}\n");
        refused(folder, "--from other.yaml", 1, &words);
    }
    let spaced = POLICY.replace("name: fleets", "name: a b");
    write(folder, "other.yaml", &spaced);
    let words =
        "armadex: object 1 of other.yaml: metadata.name \"a b\" can't name a ClusterImportPolicy\n";
    refused(folder, "-f other.yaml", 1, words);
}

#[test]
fn what_is_wrong_with_a_flag_is_told_by_its_name() {
    let folder = folder();
    let folder = folder.path();
    let twice = "armadex: the ClusterImportPolicy fleets is given twice\n";
    refused(folder, "-f policy.yaml", 1, twice);
    let input = "armadex: - stands for standard input, which can be read once: name it once\n";
    refused(folder, "-f - --from -", 1, input);
    let unknown =
        "error: unexpected argument '--form' found\n\n  tip: a similar argument exists: '--from'";
    refused(folder, "--form member.yaml", 2, unknown);
    let value =
        "error: invalid value 'xml' for '--output <OUTPUT>'\n  [possible values: yaml, json]";
    refused(folder, "-o xml", 2, value);
    let ran = run(folder, "render --from member.yaml");
    assert!(
        ran.code == Some(2) && ran.told.contains("--filename <FILE>"),
        "{}",
        ran.told
    );
}

/// A folder of cases, each with all that it needs but what is expected.
fn cases(names: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for name in names {
        write(folder.path(), &format!("cases/{name}/policy.yaml"), POLICY);
        write(
            folder.path(),
            &format!("cases/{name}/from/member.yaml"),
            MEMBER,
        );
        write(
            folder.path(),
            &format!("cases/{name}/from/others.yml"),
            OTHERS,
        );
    }
    folder
}

/// The folder of the shipped policies.
fn policies() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/policies")
}

/// The shipped policies by name, each with its text.
fn shipped() -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(policies()).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let policies = paths.filter(|path| path.extension().is_some_and(|ending| ending == "yaml"));
    let read = |path: PathBuf| {
        let name = path.file_stem().and_then(|stem| stem.to_str());
        let text = std::fs::read_to_string(&path).expect("readable");
        (name.expect("a name").to_owned(), text)
    };
    policies.map(read).collect()
}

#[test]
fn every_shipped_policy_has_cases_and_makes_what_they_expect() {
    let shipped = shipped();
    assert!(shipped.len() > 1, "there are policies");
    for (name, text) in &shipped {
        // As its head has Armadex started, or with what goes without saying.
        let started = text.split("armadex all ").nth(1);
        let mut words = started.unwrap_or_default().split_whitespace();
        let flag = words.find(|word| *word == "--credential-namespaces");
        let flag = flag.and_then(|flag| Some(format!("{flag} {}", words.next()?)));
        let flag = flag.unwrap_or_default();
        let ran = run(
            &policies(),
            &format!("test tests/{name} -f {name}.yaml {flag}"),
        );
        assert_eq!((ran.code, &*ran.told), (Some(0), ""), "{name}: {}", ran.out);
        assert!(ran.out.lines().all(|line| line.ends_with(": ok")));
    }
    let folders = std::fs::read_dir(policies().join("tests")).expect("a folder");
    for folder in folders {
        let name = folder.expect("an entry").file_name();
        let name = name.to_string_lossy();
        assert!(shipped.contains_key(&*name), "no policy {name}");
    }
}

/// In a PediaCluster it could be read by whoever may read that, and would not be followed as it is rotated.
#[test]
fn no_shipped_policy_copies_a_credential() {
    for name in shipped().keys() {
        let cases = std::fs::read_dir(policies().join("tests").join(name)).expect("a folder");
        let mut made = 0;
        for case in cases {
            let path = case.expect("an entry").path().join("expected.yaml");
            let text = std::fs::read_to_string(&path).expect("readable");
            let objects = serde_saphyr::from_multiple::<serde_json::Value>(&text).expect("YAML");
            let clusters = objects.iter().filter(|it| it["kind"] == "PediaCluster");
            for spec in clusters.map(|cluster| cluster["spec"].as_object().expect("a map")) {
                let fields = [
                    "apiserver",
                    "authenticationFrom",
                    "connection",
                    "syncResources",
                ];
                let other = spec.keys().find(|field| !fields.contains(&field.as_str()));
                assert_eq!(other, None, "{}", path.display());
                let by_control_plane = spec
                    .get("connection")
                    .is_some_and(|way| way["controlPlaneProxy"].is_object());
                assert!(spec.contains_key("authenticationFrom") || by_control_plane);
                made += 1;
            }
        }
        assert!(made > 0, "{name} makes clusters of its cases");
    }
}

#[test]
fn a_shipped_policy_is_named_as_its_file_and_told_with_what_it_takes() {
    let readme = std::fs::read_to_string(policies().join("README.md")).expect("readable");
    for (name, text) in shipped() {
        assert!(text.contains(&format!("\n  name: {name}\n")), "{name}");
        assert!(
            readme.contains(&format!("[`{name}.yaml`]({name}.yaml)")),
            "{name}"
        );
        let manifests = text
            .split_whitespace()
            .filter_map(|word| word.strip_prefix("deploy/"));
        for manifest in manifests {
            let path = policies().join("..").join(manifest);
            assert!(path.is_file(), "{name}: no {manifest}");
        }
    }
}

#[test]
fn a_case_differs_until_what_is_made_is_what_is_expected() {
    let folder = cases(&["one", "two"]);
    let run = |arguments: &str| run(folder.path(), arguments);
    let other = CLUSTER.replace("https://one", "https://two");
    write(
        folder.path(),
        "cases/one/expected.yaml",
        &format!("{LIFECYCLE}{other}"),
    );
    // Laid out otherwise, with words of whoever wrote it, and nobody's case beside it.
    let cluster = serde_saphyr::from_str::<serde_json::Value>(CLUSTER).expect("YAML");
    write(
        folder.path(),
        "cases/two/expected.yaml",
        &format!("# By hand.\n{LIFECYCLE}---\n{cluster}\n"),
    );
    write(folder.path(), "cases/.git/config", "");
    write(folder.path(), "cases/README.md", "");
    let differences = "\
one: differs
--- expected.yaml
+++ what is made
@@ -41,7 +41,7 @@
     region: \"eu: \\\"central\\\"\"
   name: fleet-one
 spec:
-  apiserver: https://two
+  apiserver: https://one
   syncResources:
   - group: \"\"
     resources:
two: ok
";
    let ran = run("test cases");
    assert_eq!(ran.out, differences);
    assert_eq!(
        (ran.code, &*ran.told),
        (Some(1), "armadex: 1 of 2 cases is not as expected\n")
    );
    let ran = run("test cases --update");
    assert_eq!((ran.code, &*ran.out), (Some(0), "one: updated\ntwo: ok\n"));
    let ran = run("test cases");
    assert_eq!(
        (ran.code, &*ran.out, &*ran.told),
        (Some(0), "one: ok\ntwo: ok\n", "")
    );
    let written = std::fs::read_to_string(folder.path().join("cases/one/expected.yaml"));
    assert_eq!(written.expect("readable"), format!("{LIFECYCLE}{CLUSTER}"));
}

#[test]
fn what_does_not_come_about_may_be_what_is_expected() {
    let folder = cases(&["spare"]);
    let run = |arguments: &str| run(folder.path(), arguments);
    let spare = MEMBER.replace("usual", "spare");
    write(folder.path(), "cases/spare/from/member.yaml", &spare);
    let expected =
        "# not made: fleets: members.example.com one: source.selectorTemplate does not say true\n";
    assert_eq!(run("test cases --update").out, "spare: updated\n");
    let path = folder.path().join("cases/spare/expected.yaml");
    assert_eq!(std::fs::read_to_string(&path).expect("readable"), expected);
    assert_eq!(run("test cases").out, "spare: ok\n");
    write(folder.path(), "cases/spare/expected.yaml", "# Nothing.\n");
    let ran = run("test cases");
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.out.ends_with(&format!("-# Nothing.\n+{expected}")),
        "{}",
        ran.out
    );
}

#[test]
fn a_case_that_can_not_be_tried_fails_and_keeps_no_other_from_being_tried() {
    let folder = cases(&["a", "b", "c", "d", "e"]);
    let cases = folder.path().join("cases");
    let run = |arguments: &str| run(folder.path(), arguments);
    std::fs::remove_file(cases.join("a/policy.yaml")).expect("removed");
    std::fs::remove_dir_all(cases.join("b/from")).expect("removed");
    write(&cases, "c/from/broken.yaml", "token: {hunter2\n");
    write(&cases, "e/expected.yaml", &format!("{LIFECYCLE}{CLUSTER}"));
    let ran = run("test cases");
    let (before, after) = ran
        .out
        .split_once("c: fails: cases/c/from/broken.yaml: is not YAML at line ")
        .expect(&ran.out);
    assert_eq!(
        before,
        "a: fails: no policy.yaml, and no --filename\nb: fails: no folder from\n"
    );
    let (_, after) = after.split_once('\n').expect("lines");
    assert_eq!(
        after,
        "d: fails: no expected.yaml: --update writes it\ne: ok\n"
    );
    assert_eq!(
        (ran.code, &*ran.told),
        (Some(1), "armadex: 4 of 5 cases are not as expected\n")
    );
    write(folder.path(), "policy.yaml", POLICY);
    let ran = run("test cases --filename policy.yaml --update");
    assert!(
        ran.out
            .starts_with("a: updated\nb: fails: no folder from\n"),
        "{}",
        ran.out
    );

    let ran = run("test cases/e/from");
    let words = "armadex: no cases in cases/e/from: each is a folder with policy.yaml, from and expected.yaml\n";
    assert_eq!((ran.code, &*ran.told), (Some(1), words));
    let words = "armadex: cases/e is itself a case: name the folder that it is in\n";
    assert_eq!(run("test cases/e").told, words);
    let words = "armadex: - stands for standard input, which can be read once, and each case reads the policy: name a file\n";
    assert_eq!(run("test cases -f -").told, words);
    let ran = run("test absent");
    assert_eq!(
        ran.told,
        "armadex: cannot read absent: No such file or directory (os error 2)\n"
    );
    let ran = run("test cases --updat");
    let words = "error: unexpected argument '--updat' found\n\n  tip: a similar argument exists: '--update'";
    assert!(
        ran.code == Some(2) && ran.told.starts_with(words),
        "{}",
        ran.told
    );
}

#[test]
fn a_case_with_a_link_in_it_fails_and_nothing_behind_the_link_is_shown_or_written() {
    let folder = cases(&["a", "b", "c", "d"]);
    write(folder.path(), "policy.yaml", POLICY);
    write(folder.path(), "mine/hosts", "hunter2: {}\n");
    let cases = folder.path().join("cases");
    let link = |to: &str, name: &str| symlink(to, cases.join(name)).expect("a link");
    link("../../mine/hosts", "a/expected.yaml");
    std::fs::remove_file(cases.join("b/policy.yaml")).expect("removed");
    link("nowhere", "b/policy.yaml");
    link("../../../mine/hosts", "c/from/mine.yaml");
    std::fs::rename(cases.join("d/from"), folder.path().join("from")).expect("renamed");
    link("../../from", "d/from");
    link("a", "e");
    link("nowhere", "f");
    link("../policy.yaml", "README.md");
    for arguments in [
        "test cases -f policy.yaml",
        "test cases -f policy.yaml --update",
    ] {
        let ran = run(folder.path(), arguments);
        assert_eq!(
            ran.out,
            "a: fails: cases/a/expected.yaml is a link: put the file there\n\
             b: fails: cases/b/policy.yaml is a link: put the file there\n\
             c: fails: cases/c/from/mine.yaml is a link: put the file there\n\
             d: fails: no folder from\n\
             e: fails: it is a link, and no folder\n\
             f: fails: it is a link, and no folder\n"
        );
    }
    let mine = std::fs::read_to_string(folder.path().join("mine/hosts"));
    assert_eq!(mine.expect("readable"), "hunter2: {}\n");
    assert!(!folder.path().join("cases/b/nowhere").exists());
}

#[test]
fn what_is_expected_and_can_not_be_read_is_told_by_its_place() {
    let folder = cases(&["one"]);
    write(
        folder.path(),
        "cases/one/expected.yaml",
        "root:x:0:\n- {hunter2\n",
    );
    let ran = run(folder.path(), "test cases");
    let words = "one: fails: expected.yaml: is not YAML at line ";
    assert!(
        ran.out.starts_with(words) && ran.out.lines().count() == 1,
        "{}",
        ran.out
    );
    assert!(!ran.out.contains("hunter2"), "{}", ran.out);
    assert_eq!(
        run(folder.path(), "test cases --update").out,
        "one: updated\n"
    );
    assert_eq!(run(folder.path(), "test cases").out, "one: ok\n");
    let files = std::fs::read_dir(folder.path().join("cases/one")).expect("a folder");
    assert_eq!(files.count(), 3, "nothing is left beside it");
}

#[test]
fn differences_move_no_cursor_and_turn_no_line() {
    let folder = cases(&["one"]);
    let expected = format!("# \u{202e}By hand.\n{LIFECYCLE}");
    write(folder.path(), "cases/one/expected.yaml", &expected);
    let ran = run(folder.path(), "test cases");
    assert_eq!(ran.code, Some(1));
    assert!(ran.out.contains("-# \\u{202e}By hand.\n"), "{}", ran.out);
}

#[test]
fn no_more_is_made_than_there_is_room_for() {
    let folder = folder();
    let long = format!("  template: |\n    # {}\n", "x".repeat(60_000));
    let policy = POLICY.replace("  template: |\n", &long);
    write(folder.path(), "policy.yaml", &policy);
    let members = (0..5_000).map(|number| MEMBER.replace("name: one", &format!("name: m{number}")));
    let members = members.collect::<Vec<_>>().join("---\n");
    write(folder.path(), "member.yaml", &members);
    let words =
        "armadex: what a run makes has 256 MiB at most: give fewer source objects at once\n";
    refused(folder.path(), "", 1, words);
}
