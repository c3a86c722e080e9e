//! Plans from YAML: a policy, source objects, lifecycles that are there, and what is to be done.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use armadex_crds::{ClusterImportPolicy, PediaClusterLifecycle};
use armadex_importpolicy::{
    Facts, Leaving, Looks, Plan, Problem, plan, validate, validate_namespaces,
};
use armadex_policy::{Found, Gvr, ObjectName, SecretNamespaces};
use kube::ResourceExt;
use serde_json::{Value, json};

const POLICY: &str = "
metadata: {name: karmada, uid: policy-1, generation: 3}
spec:
  source:
    group: cluster.karmada.io
    resource: clusters
    selectorTemplate: '{{ne source.spec.region \"moon\"}}'
  references:
  - key: secret
    group: ''
    resource: secrets
    namespaceTemplate: '{{source.spec.secretRef.namespace}}'
    nameTemplate: '{{source.spec.secretRef.name}}'
  nameTemplate: '{{required \"spec.id is empty\" source.spec.id}}'
  template: 'spec: {syncResources: []}'
  creationCondition: 'true'
";

fn policy(text: &str) -> ClusterImportPolicy {
    serde_saphyr::from_str(text).unwrap()
}

fn clusters(text: &str) -> Vec<Arc<Found>> {
    let objects: Vec<Value> = serde_saphyr::from_str(text).unwrap();
    let found = |spec: Value| {
        let name = spec["name"].as_str().unwrap().to_owned();
        Arc::new(Found {
            name: ObjectName {
                namespace: String::new(),
                name: name.clone(),
            },
            deleting: spec["deleting"] == true,
            object: json!({"metadata": {"name": name}, "spec": spec}).into(),
        })
    };
    objects.into_iter().map(found).collect()
}

/// Lifecycles as earlier plans made them, then changed by these YAML lines.
fn lifecycles(policy: &ClusterImportPolicy, text: &str) -> Vec<Arc<PediaClusterLifecycle>> {
    let changes: Vec<Value> = serde_saphyr::from_str(text).unwrap();
    let made = |change: Value| {
        let cluster = json!([{"name": change["source"], "id": change["name"]}]).to_string();
        let mut lifecycle = make(policy, &clusters(&cluster), &[]).create.remove(0);
        lifecycle.metadata.uid = Some(format!("uid-of-{}", lifecycle.name_any()));
        let mut value = serde_json::to_value(lifecycle).unwrap();
        if let Some(owner) = change.get("owner") {
            value["metadata"]["ownerReferences"] = owner.clone();
        }
        if change["deleting"] == true {
            value["metadata"]["deletionTimestamp"] = json!("2026-01-02T03:04:05Z");
        }
        if let Some(template) = change.get("template") {
            value["spec"]["template"] = template.clone();
        }
        Arc::new(serde_json::from_value(value).unwrap())
    };
    changes.into_iter().map(made).collect()
}

fn make(
    policy: &ClusterImportPolicy,
    objects: &[Arc<Found>],
    lifecycles: &[Arc<PediaClusterLifecycle>],
) -> Plan {
    make_with(policy, objects, lifecycles, &mut Looks::default())
}

fn make_with(
    policy: &ClusterImportPolicy,
    objects: &[Arc<Found>],
    lifecycles: &[Arc<PediaClusterLifecycle>],
    looks: &mut Looks,
) -> Plan {
    let facts = Facts {
        policy,
        compiled: &validate(&policy.spec).unwrap(),
        source: &Gvr {
            group: "cluster.karmada.io".into(),
            version: "v1alpha1".into(),
            resource: "clusters".into(),
        },
        versions: &["v1".to_owned()],
        objects,
        lifecycles,
        secrets: &SecretNamespaces::default(),
    };
    plan(&facts, looks)
}

/// The plan in lines: `+` made, `~` changed, `-` deleted, `!` a problem.
fn lines(plan: &Plan) -> Vec<String> {
    let made = plan
        .create
        .iter()
        .map(|made| format!("+{}", made.name_any()));
    let changed = plan
        .update
        .iter()
        .map(|changed| format!("~{} {}", changed.name_any(), changed.uid().unwrap()));
    let deleted = plan
        .delete
        .iter()
        .map(|Leaving { name, uid, .. }| format!("-{name} {uid}"));
    let problems = plan.problems.iter().map(
        |Problem {
             subject, message, ..
         }| format!("! {subject}: {message}"),
    );
    made.chain(changed).chain(deleted).chain(problems).collect()
}

#[track_caller]
fn check(objects: &str, present: &str, expected: &[&str]) {
    let policy = policy(POLICY);
    let plan = make(&policy, &clusters(objects), &lifecycles(&policy, present));
    assert_eq!(lines(&plan), expected);
}

#[test]
fn a_new_cluster_gets_a_lifecycle_with_everything_it_needs() {
    let policy = policy(POLICY);
    let plan = make(&policy, &clusters("[{name: east, id: e1}]"), &[]);
    assert_eq!(plan.wanted, 1);
    assert_eq!(
        serde_json::to_value(&plan.create).unwrap(),
        json!([{
            "apiVersion": "policy.clusterpedia.io/v1alpha1",
            "kind": "PediaClusterLifecycle",
            "metadata": {"name": "e1", "ownerReferences": [{
                "apiVersion": "policy.clusterpedia.io/v1alpha1", "kind": "ClusterImportPolicy",
                "name": "karmada", "uid": "policy-1", "controller": true,
            }]},
            "spec": {
                "source": {"group": "cluster.karmada.io", "version": "v1alpha1",
                           "resource": "clusters", "name": "east"},
                "references": [{
                    "key": "secret", "group": "", "version": "v1", "resource": "secrets",
                    "namespaceTemplate": "{{source.spec.secretRef.namespace}}",
                    "nameTemplate": "{{source.spec.secretRef.name}}",
                }],
                "template": "spec: {syncResources: []}",
                "creationCondition": "true",
            },
        }])
    );
}

#[test]
fn what_is_as_it_should_be_is_left_alone() {
    check("[{name: east, id: e1}]", "[{name: e1, source: east}]", &[]);
}

#[test]
fn a_policy_edit_reaches_lifecycles() {
    check(
        "[{name: east, id: e1}]",
        "[{name: e1, source: east, template: old}]",
        &["~e1 uid-of-e1"],
    );
}

#[test]
fn clusters_that_go_or_are_being_deleted_or_stop_matching_take_their_lifecycles_along() {
    let present = "[{name: e1, source: east}, {name: w1, source: west}, {name: s1, source: south}]";
    check(
        "[]",
        present,
        &["-e1 uid-of-e1", "-w1 uid-of-w1", "-s1 uid-of-s1"],
    );
    check(
        "[{name: east, id: e1, deleting: true}, {name: south, id: s1, region: moon}, {name: west, id: w1}]",
        present,
        &["-e1 uid-of-e1", "-s1 uid-of-s1"],
    );
}

#[test]
fn of_each_lifecycle_that_goes_it_is_said_what_has_become_of_its_source() {
    let policy = policy(POLICY);
    let present = "[{name: e1, source: east}, {name: n1, source: north}, {name: s1, source: south}, {name: w1, source: west}]";
    let mut present = lifecycles(&policy, present);
    present.extend(lifecycles(&policy, "[{name: b1, source: bee}]"));
    let of_another_kind = Arc::make_mut(&mut present[4]);
    of_another_kind.spec.source.resource = "bundles".into();
    let objects = "[{name: east, id: e1, deleting: true}, {name: south, id: s1, region: moon}, {name: west, id: w2}]";
    let plan = make(&policy, &clusters(objects), &present);
    let why = |leaving: &Leaving| format!("{}: {}", leaving.name, leaving.why);
    assert_eq!(
        Vec::from_iter(plan.delete.iter().map(why)),
        [
            "e1: east of the clusters is being deleted",
            "n1: there is no north among the clusters any more",
            "s1: source.selectorTemplate does not choose south of the clusters any more",
            "w1: nameTemplate makes w2 of west of the clusters now",
            "b1: the policy is not about bundles any more, as bee is",
        ]
    );
}

#[test]
fn a_template_error_deletes_nothing_and_stops_nobody_else() {
    check(
        "[{name: east}, {name: west, id: w1}]",
        "[{name: e1, source: east}]",
        &[
            "+w1",
            "! east: nameTemplate: line 1, column 1: required: spec.id is empty",
        ],
    );
}

#[test]
fn a_name_that_can_not_name_an_object_is_a_problem() {
    check(
        "[{name: east, id: 'E 1'}]",
        "[{name: e1, source: east}]",
        &["! east: nameTemplate: \"E 1\" can't name an object"],
    );
}

#[test]
fn what_is_as_it_was_is_not_rendered_again() {
    let policy = policy(POLICY);
    let mut looks = Looks::default();
    let mut objects = clusters("[{name: east, id: e1}, {name: west, id: w1}, {name: bad}]");
    let mut rendered_by = |objects: &[Arc<Found>]| {
        let before = looks.rendered();
        let plan = make_with(&policy, objects, &[], &mut looks);
        (looks.rendered() - before, lines(&plan))
    };
    let bad = "! bad: nameTemplate: line 1, column 1: required: spec.id is empty";
    assert_eq!(
        rendered_by(&objects),
        (3, vec!["+e1".into(), "+w1".into(), bad.into()])
    );
    assert_eq!(
        rendered_by(&objects),
        (0, vec!["+e1".into(), "+w1".into(), bad.into()])
    );
    objects[1] = clusters("[{name: west, id: w2}]").remove(0);
    assert_eq!(
        rendered_by(&objects),
        (1, vec!["+e1".into(), "+w2".into(), bad.into()])
    );
    let east = objects.remove(0);
    assert_eq!(rendered_by(&objects), (0, vec!["+w2".into(), bad.into()]));
    // What went and comes back is looked at anew.
    objects.push(east);
    assert_eq!(rendered_by(&objects).0, 1);
}

#[test]
fn a_foreign_owner_is_a_problem_and_is_not_overwritten() {
    check(
        "[{name: east, id: e1}, {name: west, id: w1}]",
        "[{name: e1, source: east, owner: [{kind: Deployment, name: x, uid: u, apiVersion: apps/v1, controller: true}]},
          {name: w1, source: west, owner: []},
          {name: other, source: other, owner: []}]",
        &[
            "! east: PediaClusterLifecycle e1 is there already and is owned by Deployment x",
            "! west: PediaClusterLifecycle w1 is there already and is owned by nobody",
        ],
    );
}

#[test]
fn a_name_that_two_clusters_render_stays_with_the_one_that_has_it() {
    let both = "[{name: east, id: same}, {name: west, id: same}]";
    check(
        both,
        "[]",
        &["+same", "! west: its name is the one of east too"],
    );
    check(
        both,
        "[{name: same, source: west}]",
        &["! east: its name is the one of west too"],
    );
}

#[test]
fn a_name_stays_with_a_cluster_that_can_not_be_rendered_any_more() {
    check(
        "[{name: east}, {name: west, id: e1}]",
        "[{name: e1, source: east}]",
        &[
            "! east: nameTemplate: line 1, column 1: required: spec.id is empty",
            "! west: its name is the one of east too",
        ],
    );
}

#[test]
fn a_cluster_that_joins_again_waits_for_its_old_lifecycle_to_go() {
    check(
        "[{name: east, id: e1}]",
        "[{name: e1, source: east, deleting: true}]",
        &["! east: an earlier PediaClusterLifecycle e1 is still being deleted"],
    );
}

#[test]
fn a_renamed_cluster_moves() {
    check(
        "[{name: east, id: e2}]",
        "[{name: e1, source: east}]",
        &["+e2", "-e1 uid-of-e1"],
    );
}

#[test]
fn invalid_policies_are_told_by_field_and_reason() {
    let table = [
        (
            "/spec/nameTemplate",
            "{{name}}",
            "FailedParseLifecycleName nameTemplate: line 1, column 1: name is unknown: a path begins with source or references",
        ),
        (
            "/spec/nameTemplate",
            "{{references.secret}}",
            "FailedParseLifecycleName nameTemplate: line 1, column 1: references can't be used here: only source is known",
        ),
        (
            "/spec/source/selectorTemplate",
            "{{frob source.a}}",
            "FailedParseSourceSelector source.selectorTemplate: line 1, column 1: frob is no function that templates have",
        ),
        (
            "/spec/template",
            "{{references.secrets}}",
            "InvalaidPolicy template: line 1, column 1: no reference has the key secrets",
        ),
        (
            "/spec/creationCondition",
            "{{#if source}}",
            "InvalaidPolicy creationCondition: line 1",
        ),
        (
            "/spec/references/0/nameTemplate",
            "{{references.secret}}",
            "InvalaidPolicy references[secret].nameTemplate: line 1, column 1: no reference has the key secret",
        ),
        (
            "/spec/template",
            "x: {{ .source.metadata.name }}",
            "FailedParseLifecycleName nameTemplate: line 1, column 3: required is no function that Go templates have",
        ),
        (
            "/spec/creationCondition",
            "{{ if .source.a }}true{{ end }}",
            "FailedParseLifecycleName nameTemplate: line 1, column 3: required is no function that Go templates have",
        ),
    ];
    for (field, text, expected) in table {
        let mut value: Value = serde_saphyr::from_str(POLICY).unwrap();
        *value.pointer_mut(field).unwrap() = json!(text);
        let policy: ClusterImportPolicy = serde_json::from_value(value).unwrap();
        let invalid = validate(&policy.spec).unwrap_err();
        let told = format!("{} {}", invalid.reason, invalid.message);
        assert!(told.starts_with(expected), "{told}\n{expected}");
    }
}

#[test]
fn a_reference_into_a_namespace_must_say_which() {
    let mut spec = policy(POLICY).spec;
    assert_eq!(validate_namespaces(&spec, [true]), Ok(()));
    spec.references[0].namespace_template.clear();
    assert_eq!(validate_namespaces(&spec, [false]), Ok(()));
    let invalid = validate_namespaces(&spec, [true]).unwrap_err();
    assert_eq!(
        invalid.message,
        "references[secret]: secrets lie in namespaces: namespaceTemplate is missing"
    );
}

/// The selector reads its labels, and the policy something that is not kept of so large an object.
#[test]
fn an_object_that_is_too_large_is_a_problem_where_it_is_selected_and_keeps_what_it_has() {
    let mut policy = policy(POLICY);
    let present = lifecycles(&policy, "[{name: one, source: large}]");
    policy.spec.source.selector_template = "{{source.metadata.labels.on}}".into();
    policy.spec.name_template = "{{source.spec.id}}".into();
    let object = |labels: Value| {
        let name = "large".to_owned();
        let spec = json!({"id": "one", "blob": "x".repeat(300 << 10)});
        Arc::new(Found {
            object: json!({"metadata": {"name": name, "labels": labels}, "spec": spec}).into(),
            name: ObjectName {
                namespace: String::new(),
                name,
            },
            deleting: false,
        })
    };
    let selected = make(&policy, &[object(json!({"on": "true"}))], &present);
    assert_eq!(
        lines(&selected),
        [
            "! large: it has 300 KiB, and of an object of more than 256 its smallest fields alone are kept, which are not all that is read"
        ]
    );
    assert!(selected.delete.is_empty());
    let other = make(&policy, &[object(json!({"on": ""}))], &[]);
    assert_eq!(lines(&other), [""; 0]);
}

/// A policy that takes Secrets for clusters, and Secrets by their namespaces.
fn over_secrets() -> ClusterImportPolicy {
    let mut policy = policy(POLICY);
    policy.spec.source.selector_template.clear();
    policy.spec.name_template = "{{source.metadata.name}}".into();
    policy
}

fn secrets_of(namespaces: &[&str]) -> Vec<Arc<Found>> {
    let secret = |namespace: &&str| {
        let name = format!("of-{namespace}");
        Arc::new(Found {
            object: json!({"metadata": {"name": name}}).into(),
            name: ObjectName {
                namespace: (*namespace).into(),
                name,
            },
            deleting: false,
        })
    };
    namespaces.iter().map(secret).collect()
}

fn make_of_secrets(
    objects: &[Arc<Found>],
    lifecycles: &[Arc<PediaClusterLifecycle>],
    allowed: &[&str],
) -> Plan {
    let policy = over_secrets();
    let facts = Facts {
        policy: &policy,
        compiled: &validate(&policy.spec).unwrap(),
        source: &Gvr {
            group: String::new(),
            version: "v1".into(),
            resource: "secrets".into(),
        },
        versions: &["v1".to_owned()],
        objects,
        lifecycles,
        secrets: &SecretNamespaces::new(allowed.iter().copied()),
    };
    plan(&facts, &mut Looks::default())
}

#[test]
fn secrets_count_as_clusters_in_the_namespaces_that_the_administrator_allows() {
    let objects = secrets_of(&["kube-system", "members"]);
    let plan = make_of_secrets(&objects, &[], &["members"]);
    assert_eq!(lines(&plan), ["+of-members"]);
}

#[test]
fn a_namespace_that_is_not_allowed_any_more_off_boards_nobody_and_is_told_once() {
    let objects = secrets_of(&["team-a", "team-b", "team-c"]);
    let all = ["team-a", "team-b", "team-c"];
    let made = make_of_secrets(&objects, &[], &all).create;
    let made: Vec<_> = made.into_iter().map(Arc::new).collect();
    let others = secrets_of(&["kube-system", "team-a", "team-b", "team-c"]);
    let plan = make_of_secrets(&others, &made, &["team-c"]);
    assert_eq!(
        lines(&plan),
        [
            "! team-a/of-team-a and 1 more: Secrets of the namespace team-a may not be read for a \
            policy: --credential-namespaces allows team-c; what was made of them stays as it is"
        ]
    );
    assert_eq!(plan.wanted, 3);
    // What is not asked for can't be seen to be gone.
    let plan = make_of_secrets(&secrets_of(&["team-c"]), &made, &["team-c"]);
    assert_eq!((lines(&plan).len(), plan.wanted), (1, 3));
    let plan = make_of_secrets(&[], &made, &["team-c"]);
    assert_eq!(lines(&plan)[0], "-of-team-c ");
}

#[test]
fn the_shipped_policy_is_valid_and_keeps_the_name_of_the_member() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path.join("../../deploy/policies/karmada.yaml")).unwrap();
    let plan = make(&policy(&text), &clusters("[{name: member1}]"), &[]);
    assert_eq!(lines(&plan), ["+member1"]);
}
