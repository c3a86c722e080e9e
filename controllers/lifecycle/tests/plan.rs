//! Plans from YAML: a lifecycle, its source, the Secret it refers to, the PediaCluster that is
//! there, and the step that is due.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use armadex_control_plane::Trouble;
use armadex_crds::{
    PediaCluster, PediaClusterLifecycle, PediaClusterSpec, RenderedConnection, ResolvedReference,
};
use armadex_lifecycle::{Facts, Lookup, Planned, Problem, Step, Stop, plan, validate};
use armadex_policy::{Found, ObjectName, Readiness, SecretNamespaces};
use serde_json::{Value, json};

const LIFECYCLE: &str = "
metadata:
  name: east
  uid: lifecycle-1
  ownerReferences: [{apiVersion: policy.clusterpedia.io/v1alpha1, kind: ClusterImportPolicy, name: p, uid: p1, controller: true}]
spec:
  source: {group: cluster.karmada.io, version: v1alpha1, resource: clusters, name: east}
  references:
  - key: secret
    group: ''
    version: v1
    resource: secrets
    namespaceTemplate: '{{source.spec.secretRef.namespace}}'
    nameTemplate: '{{source.spec.secretRef.name}}'
  template: |
    metadata: {labels: {region: {{toJson source.spec.region}}}}
    spec:
      apiserver: {{toJson source.spec.apiEndpoint}}
      tokenData: {{references.secret.data.token}}
      syncResources: []
  creationCondition: '{{ne source.spec.apiEndpoint \"\"}}'
";

const SOURCE: &str = "
spec: {apiEndpoint: 'https://east', region: eu, secretRef: {namespace: karmada-cluster, name: east}}
";

/// Everything a plan looks at, as values to be changed by a test.
struct World {
    lifecycle: Value,
    source: Lookup,
    secret: Lookup,
    cluster: Option<Value>,
}

fn found(name: &str, text: &str, deleting: bool) -> Lookup {
    let name = ObjectName {
        namespace: String::new(),
        name: name.into(),
    };
    Lookup::Found(Arc::new(Found {
        name,
        deleting,
        object: serde_saphyr::from_str::<Value>(text).unwrap().into(),
    }))
}

fn world() -> World {
    World {
        lifecycle: serde_saphyr::from_str(LIFECYCLE).unwrap(),
        source: found("east", SOURCE, false),
        secret: found("east", "data: {token: dG9rZW4=}", false),
        cluster: None,
    }
}

fn cluster(owner: &str) -> Value {
    json!({
        "metadata": {"name": "east", "uid": "cluster-1", "ownerReferences": [
            {"apiVersion": "policy.clusterpedia.io/v1alpha1", "kind": "PediaClusterLifecycle", "name": "east", "uid": owner},
        ]},
        "spec": {"syncResources": []},
    })
}

impl World {
    fn set(mut self, field: &str, value: Value) -> Self {
        *self.lifecycle.pointer_mut(field).unwrap() = value;
        self
    }

    fn plan(&self) -> Planned {
        let lifecycle: PediaClusterLifecycle =
            serde_json::from_value(self.lifecycle.clone()).unwrap();
        let cluster: Option<PediaCluster> = self
            .cluster
            .clone()
            .map(|cluster| serde_json::from_value(cluster).unwrap());
        let facts = Facts {
            lifecycle: &lifecycle,
            compiled: &validate(&lifecycle.spec).unwrap(),
            source: self.source.clone(),
            cluster: cluster.as_ref(),
            secrets: &SecretNamespaces::new(["karmada-cluster", "x"]),
        };
        plan(&facts, |_| self.secret.clone())
    }

    fn told(&self) -> String {
        match self.plan().step {
            Ok(Step::Create(_)) => "create".into(),
            Ok(Step::Update(cluster)) => format!("update {}", cluster.metadata.uid.unwrap()),
            Ok(Step::Delete(uid)) => format!("delete {uid}"),
            Err(Stop::Listing) => "listing".into(),
            Err(Stop::Because(Problem {
                reason, message, ..
            })) => format!("{reason}: {message}"),
        }
    }
}

#[test]
fn a_ready_source_becomes_a_pediacluster() {
    let planned = world().plan();
    let Ok(Step::Create(cluster)) = planned.step else {
        panic!("{:?}", planned.step)
    };
    assert_eq!(
        serde_json::to_value(cluster).unwrap(),
        json!({
            "apiVersion": "cluster.clusterpedia.io/v1alpha2",
            "kind": "PediaCluster",
            "metadata": {"name": "east", "labels": {"region": "eu"}, "ownerReferences": [{
                "apiVersion": "policy.clusterpedia.io/v1alpha1", "kind": "PediaClusterLifecycle",
                "name": "east", "uid": "lifecycle-1",
            }]},
            "spec": {"apiserver": "https://east", "tokenData": "dG9rZW4=", "syncResources": []},
        })
    );
    assert_eq!(
        planned.references,
        [ResolvedReference {
            version: "v1".into(),
            resource: "secrets".into(),
            namespace: "karmada-cluster".into(),
            name: "east".into(),
            ..Default::default()
        }]
    );
}

#[test]
fn an_own_pediacluster_is_kept_as_the_template_says() {
    let mut world = world();
    world.cluster = Some(cluster("lifecycle-1"));
    assert_eq!(world.told(), "update cluster-1");
    // The condition is for creation: a cluster that becomes unready stays.
    let world = world.set("/spec/creationCondition", json!("false"));
    assert_eq!(world.told(), "update cluster-1");
}

#[test]
fn a_pediacluster_of_somebody_else_is_left_alone() {
    let told = |owner: &str| {
        format!(
            "PediaClusterNotOwned: PediaCluster east is there already and is owned by {owner}, \
             not by this lifecycle; it is left as it is"
        )
    };
    let mut world = world();
    world.cluster = Some(cluster("another-lifecycle"));
    assert_eq!(world.told(), told("PediaClusterLifecycle east"));
    world.cluster = Some(json!({"metadata": {"name": "east", "uid": "by-hand"}}));
    assert_eq!(world.told(), told("nobody"));
    world.source = found("east", SOURCE, true);
    assert_eq!(world.told(), told("nobody"));
}

#[test]
fn a_pediacluster_of_somebody_else_that_leads_elsewhere_is_said_not_to_be_synced() {
    let told = |rendered: &str| {
        let rendered: PediaClusterSpec =
            serde_json::from_value(json!({"apiserver": rendered, "syncResources": []})).unwrap();
        let mut world = world();
        world.lifecycle["status"] = json!({"connection": RenderedConnection::of(&rendered)});
        world.cluster = Some(json!({"metadata": {"name": "east", "uid": "by-hand"},
            "spec": {"apiserver": "https://theirs", "syncResources": []}}));
        world.told()
    };
    let left = "PediaClusterNotOwned: PediaCluster east is there already and is owned by nobody, \
                not by this lifecycle; it is left as it is";
    assert_eq!(told("https://theirs"), left);
    assert_eq!(
        told("https://east"),
        format!(
            "{left}, and is not synced from where it says, because this lifecycle rendered another connection under the \
             name: delete the PediaCluster to have the policy's, or this lifecycle to have it synced as it is"
        )
    );
}

#[test]
fn a_source_that_goes_takes_its_own_cluster_along_at_once() {
    let mut world = world();
    world.source = found("east", SOURCE, true);
    assert_eq!(
        world.told(),
        "SourceResourceDeleting: clusters.cluster.karmada.io east is being deleted"
    );
    world.cluster = Some(cluster("lifecycle-1"));
    assert_eq!(world.told(), "delete cluster-1");
}

#[test]
fn an_earlier_cluster_of_the_name_must_be_gone_first() {
    let mut world = world();
    let mut earlier = cluster("lifecycle-0");
    earlier["metadata"]["deletionTimestamp"] = json!("2026-01-02T03:04:05Z");
    world.cluster = Some(earlier);
    assert_eq!(
        world.told(),
        "PediaClusterDeleting: an earlier PediaCluster east is still being deleted"
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn what_is_missing_or_unreadable_is_told_and_deletes_nothing() {
    let down = || {
        Lookup::NotListed(Readiness::Failing(Trouble::unavailable(
            "secrets is forbidden",
        )))
    };
    let listing = || Lookup::NotListed(Readiness::Listing);
    let table = [
        (
            Lookup::Missing,
            "SourceResourceNotFound: clusters.cluster.karmada.io east does not exist",
        ),
        (listing(), "listing"),
        (
            down(),
            "WaitDependentResourceSynced: clusters.cluster.karmada.io east can't be read: secrets is forbidden",
        ),
        (
            found("east", "spec: {secretRef: {name: x}}", false),
            "FailedReferenceResourceParse: references[secret].namespaceTemplate: renders to nothing",
        ),
        (
            found("east", "spec: {secretRef: {namespace: x}}", false),
            "FailedReferenceResourceParse: references[secret].nameTemplate: renders to nothing",
        ),
        (
            found(
                "east",
                "spec: {secretRef: {namespace: ../../x, name: x}}",
                false,
            ),
            "FailedReferenceResourceParse: references[secret].namespaceTemplate: renders to something that can't be a name",
        ),
        (
            found(
                "east",
                "spec: {secretRef: {namespace: x, name: 'x,y'}}",
                false,
            ),
            "FailedReferenceResourceParse: references[secret].nameTemplate: renders to something that can't be a name",
        ),
    ];
    for (source, expected) in table {
        for cluster in [None, Some(cluster("lifecycle-1"))] {
            let world = World {
                source: source.clone(),
                cluster,
                ..world()
            };
            assert_eq!(world.told(), expected);
        }
    }
    let table = [
        (
            Lookup::Missing,
            "ReferenceResourceNotFound: references[secret]: secrets karmada-cluster/east does not exist",
        ),
        (listing(), "listing"),
        (
            down(),
            "WaitDependentResourceSynced: secrets karmada-cluster/east can't be read: secrets is forbidden",
        ),
    ];
    for (secret, expected) in table {
        let world = World { secret, ..world() };
        assert_eq!(world.told(), expected);
        assert_eq!(world.plan().references.len(), 1);
    }
}

#[test]
fn an_object_that_is_too_large_is_told_if_something_is_read_that_is_not_kept_of_it() {
    let blob = "x".repeat(300 << 10);
    let mut world = world();
    world.source = found(
        "east",
        &format!("{SOURCE}\nstatus: {{blob: {blob}}}"),
        false,
    );
    assert_eq!(world.told(), "create", "nothing reads its status");
    world.secret = found(
        "east",
        &format!("data: {{token: dG9rZW4=, blob: {blob}}}"),
        false,
    );
    let told = world.told();
    assert!(
        told.starts_with("FailedReferenceResourceParse: references[secret]: secrets karmada-cluster/east: it has 300 KiB, and "),
        "{told}"
    );
    world.source = found(
        "east",
        &format!(
            "{}, blob: {blob}}}",
            &SOURCE.trim_end()[..SOURCE.trim_end().len() - 1]
        ),
        false,
    );
    let told = world.told();
    assert!(
        told.starts_with(
            "FailedReferenceResourceParse: clusters.cluster.karmada.io east: it has 300 KiB, and "
        ),
        "{told}"
    );
}

#[test]
fn secrets_of_namespaces_that_the_administrator_does_not_name_are_not_read() {
    let told = "FailedReferenceResourceParse: references[secret]: Secrets of the namespace \
                kube-system may not be read for a policy: --credential-namespaces allows \
                karmada-cluster, x";
    let elsewhere = "spec: {secretRef: {namespace: kube-system, name: east}}";
    let mut world = world();
    world.source = found("east", elsewhere, false);
    assert_eq!(world.told(), told);
    // Other kinds are bounded by what the controllers may read.
    let other = world.set("/spec/references/0/resource", json!("configmaps"));
    assert_eq!(other.told(), "create");
}

/// What of an object becomes a path leads to nothing but the kind that it names.
#[test]
fn a_kind_that_is_no_name_of_one_is_read_nowhere() {
    let told = "FailedReferenceResourceParse: ";
    for resource in ["namespaces/kube-system/secrets", "secrets?x=", "", ".."] {
        let source = json!({"group": "", "version": "v1", "resource": resource,
                            "namespace": "kube-system", "name": "east"});
        let found = world().set("/spec/source", source).told();
        let expected = format!("{told}source: {resource:?} is not the name of a resource");
        assert_eq!(found, expected);
        let found = world().set("/spec/references/0/resource", json!(resource));
        let expected =
            format!("{told}references[secret]: {resource:?} is not the name of a resource");
        assert_eq!(found.told(), expected);
    }
    let through_karmada = json!({"group": "cluster.karmada.io", "version": "v1alpha1",
        "resource": "clusters/member1/proxy/api/v1/secrets", "name": "east"});
    let found = world().set("/spec/source", through_karmada).told();
    assert!(found.ends_with("is not the name of a resource"), "{found}");
    let version = world().set("/spec/source/version", json!("v1/x")).told();
    assert!(
        version.ends_with("is not the name of a version"),
        "{version}"
    );
}

#[test]
fn a_secret_that_stands_for_a_cluster_lies_where_the_administrator_says() {
    let source = json!({"group": "", "version": "v1", "resource": "secrets",
                        "namespace": "kube-system", "name": "east"});
    let told = world().set("/spec/source", source).told();
    assert!(
        told.starts_with(
            "FailedReferenceResourceParse: source: Secrets of the namespace kube-system "
        ),
        "{told}"
    );
}

#[test]
fn creation_waits_for_its_condition() {
    let condition = "/spec/creationCondition";
    let waits = "WaitCreationCondition: creationCondition does not say true";
    for (text, expected) in [
        (" True\n", "create"),
        ("", waits),
        ("true true", waits),
        (
            "{{trim source}}",
            "FailedCreationCondition: creationCondition: line 1, column 1: trim: an argument is not text",
        ),
    ] {
        assert_eq!(
            world().set(condition, json!(text)).told(),
            expected,
            "{text:?}"
        );
    }
}

#[test]
fn what_all_templates_of_a_lifecycle_take_is_bounded_together() {
    let name = "east{{#each source.items}}{{#if this}}{{/if}}{{/each}}";
    let reference = |number: usize| {
        json!({"key": format!("k{number}"), "group": "", "version": "v1", "resource": "configmaps",
            "namespaceTemplate": "x", "nameTemplate": name})
    };
    let references: Vec<Value> = (0..64).map(reference).collect();
    let source = json!({"items": vec![1; 5_000]}).to_string();
    let world = World {
        source: found("east", &source, false),
        ..world()
            .set("/spec/references", references.into())
            .set("/spec/template", json!("spec: {syncResources: []}"))
    };
    let resolved = world.plan().references.len();
    assert!(
        (4..16).contains(&resolved),
        "{resolved} of 64: {}",
        world.told()
    );
    let told = world.told();
    assert!(
        told.ends_with(
            "the templates of one object take more than 400000 steps together, or their functions handle more than 67108864 bytes: \
             have fewer of them repeat things or handle large texts"
        ),
        "{told}"
    );
}

#[test]
fn a_template_that_does_not_render_to_a_pediacluster_is_told_by_path_and_never_by_value() {
    let aliases = vec!["*a"; 98].join(", ");
    let bomb = format!("spec: [&a {}, {aliases}]", "a".repeat(30 << 10));
    let table = [
        ("spec: [", "template: does not render to YAML at line"),
        (
            bomb.as_str(),
            "template: the result stands for more than 2 MiB or 50000 values",
        ),
        (
            "just {{b64dec references.secret.data.token}}",
            "template: does not render to a PediaCluster",
        ),
        ("kind: Pod", "template: kind: not PediaCluster"),
        (
            "metadata: {finalizers: [x]}",
            "template: metadata.finalizers: not for a template to say",
        ),
        ("status: {}", "template: status: not for a template to say"),
        (
            "metadata: {labels: {a: {{toJson source.spec}}}}\nspec: {syncResources: []}",
            "template: metadata: labels and annotations are text",
        ),
        ("metadata: {}", "template: spec: required"),
        (
            "spec: {tokenDta: {{references.secret.data.token}}, syncResources: []}",
            "template: spec.tokenDta: unknown field",
        ),
        (
            "spec: {tokenData: '{{b64dec references.secret.data.token}}', syncResources: []}",
            "template: spec.tokenData: not base64",
        ),
        (
            "spec: {syncResources: [{group: apps}]}",
            "template: spec.syncResources.0.resources: required",
        ),
        (
            "{{b64dec source.spec.apiEndpoint}}",
            "template: line 1, column 1: b64dec: the argument is not base64",
        ),
    ];
    for (text, expected) in table {
        let told = world().set("/spec/template", json!(text)).told();
        let expected = format!("FailedResolveAndDecodePediaCluster: {expected}");
        assert!(told.starts_with(&expected), "{told}\n{expected}");
        assert!(!told.contains("dG9r") && !told.contains("token "), "{told}");
    }
}

#[test]
fn nulls_count_as_absent() {
    let text =
        json!("spec: {apiserver: null, caData: {{toJson source.spec.nope}}, syncResources: []}");
    let Ok(Step::Create(cluster)) = world().set("/spec/template", text).plan().step else {
        panic!("no cluster");
    };
    assert_eq!(
        serde_json::to_value(cluster.spec).unwrap(),
        json!({"syncResources": []})
    );
}

/// As Go decodes it: a policy for Clusterpedia leaves the core group empty.
#[test]
fn a_null_is_the_empty_text_where_a_text_is_required() {
    let text = json!("spec: {syncResources: [{group: , resources: [pods]}]}");
    let Ok(Step::Create(cluster)) = world().set("/spec/template", text).plan().step else {
        panic!("no cluster");
    };
    assert_eq!(cluster.spec.sync_resources[0].group, "");
    let text = json!("spec: {syncResources: [{resources: [pods]}]}");
    let told = world().set("/spec/template", text).told();
    assert!(
        told.ends_with("template: spec.syncResources.0.group: required"),
        "{told}"
    );
}

/// As policies for Clusterpedia have them, a value between quotes that nothing looks at.
#[test]
fn a_value_of_the_source_brings_in_no_field_that_is_ours_alone() {
    let template = "
spec:
  apiserver: \"{{source.spec.apiEndpoint}}\"
  syncResources: []
";
    let evil = |field: &str| {
        let source = json!({"spec": {
            "apiEndpoint": format!("https://evil\"\n  {field} #"),
            "secretRef": {"namespace": "karmada-cluster", "name": "east"},
        }});
        let mut world = world().set("/spec/template", json!(template));
        world.source = found("east", &source.to_string(), false);
        world.told()
    };
    let fields = [
        (
            "connection",
            "connection: {insecureSkipTLSVerification: true}",
        ),
        (
            "authenticationFrom",
            "authenticationFrom: {token: {namespace: karmada-cluster, name: other, key: token}}",
        ),
        ("authorizationMode", "authorizationMode: outer-only"),
    ];
    for (name, field) in fields {
        let told = evil(field);
        let expected = format!(
            "FailedResolveAndDecodePediaCluster: template: spec.{name}: a value of the source"
        );
        assert!(told.starts_with(&expected), "{told}");
    }
    assert_eq!(evil("caData: YQ=="), "create");
}

#[test]
fn only_a_policy_may_control_a_lifecycle() {
    let owners = "/metadata/ownerReferences";
    let foreign = json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "x", "uid": "u", "controller": true}]);
    assert_eq!(
        world().set(owners, foreign).told(),
        "OrphanLifecycle: controlled by Deployment x of apps/v1, not by a ClusterImportPolicy of \
         policy.clusterpedia.io"
    );
    let made_up = json!([{"apiVersion": "nobody.example/v1", "kind": "ClusterImportPolicy",
                          "name": "p", "uid": "u", "controller": true}]);
    let told = world().set(owners, made_up).told();
    assert!(told.starts_with("OrphanLifecycle: "), "{told}");
    assert_eq!(
        world().set(owners, json!([])).told(),
        "OrphanLifecycle: not controlled by a ClusterImportPolicy"
    );
}

#[test]
fn one_go_template_makes_them_all_go_templates() {
    let lifecycle = world()
        .set(
            "/spec/template",
            json!("spec: {apiserver: '{{ .source.x }}'}"),
        )
        .lifecycle;
    let lifecycle: PediaClusterLifecycle = serde_json::from_value(lifecycle).unwrap();
    let problem = validate(&lifecycle.spec).unwrap_err();
    assert_eq!(problem.reason.as_str(), "FailedReferenceResourceParse");
    let expected = "source is no function that Go templates have: write .source";
    assert!(problem.message.ends_with(expected), "{}", problem.message);
}
