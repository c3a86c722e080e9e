//! The shipped policy for Karmada, over Cluster objects as Karmada writes them.

#![allow(clippy::unwrap_used)]

use std::{fs, path::Path, sync::Arc};

use armadex_crds::{
    ClusterImportPolicy, LifecycleReference, LifecycleSource, PediaClusterLifecycle,
    PediaClusterLifecycleSpec,
};
use armadex_lifecycle::{Facts, Lookup, Step, Stop, plan, validate};
use armadex_policy::{Found, SecretNamespaces};
use serde_json::{Value, json};

const SECRET: &str = "data: {token: ZXlK, caBundle: LS0t}";
const NO_CA: &str = "data: {token: ZXlK}";

const CLUSTER: &str = "
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {name: member1}
spec:
  syncMode: Push
  apiEndpoint: https://10.0.0.7:6443
  secretRef: {namespace: karmada-cluster, name: member1}
  impersonatorSecretRef: {namespace: karmada-cluster, name: member1-impersonator}
status:
  conditions: [{type: Ready, status: 'True', reason: ClusterReady, message: fine}]
";

/// The spec of the PediaCluster, or the reason why there is none.
fn rendered(cluster: &str, secret: &str) -> Result<Value, String> {
    planned(cluster, secret).map_err(|(reason, _)| reason)
}

/// The same, with the words.
fn planned(cluster: &str, secret: &str) -> Result<Value, (String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/policies/karmada.yaml");
    let policy: ClusterImportPolicy =
        serde_saphyr::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let references = policy
        .spec
        .references
        .into_iter()
        .map(|reference| LifecycleReference {
            key: reference.key,
            group: reference.group,
            version: "v1".into(),
            resource: reference.resource,
            namespace_template: reference.namespace_template.into(),
            name_template: reference.name_template.into(),
        });
    let spec = PediaClusterLifecycleSpec {
        source: LifecycleSource {
            group: policy.spec.source.group,
            version: "v1alpha1".into(),
            resource: policy.spec.source.resource,
            name: "member1".into(),
            ..Default::default()
        },
        references: references.collect(),
        template: policy.spec.template.into(),
        creation_condition: policy.spec.creation_condition.into(),
        template_engine: policy.spec.template_engine,
    };
    let mut lifecycle = PediaClusterLifecycle::new("member1", spec);
    lifecycle.metadata = serde_json::from_value(json!({"name": "member1", "uid": "l", "ownerReferences": [
        {"apiVersion": "policy.clusterpedia.io/v1alpha1", "kind": "ClusterImportPolicy", "name": "karmada", "uid": "p", "controller": true}
    ]}))
    .unwrap();
    let found = |text: &str| {
        let object = serde_saphyr::from_str::<Value>(text).unwrap().into();
        Lookup::Found(Arc::new(Found {
            name: Default::default(),
            deleting: false,
            object,
        }))
    };
    let facts = Facts {
        lifecycle: &lifecycle,
        compiled: &validate(&lifecycle.spec).unwrap(),
        source: found(cluster),
        cluster: None,
        secrets: &SecretNamespaces::new(["karmada-cluster"]),
    };
    match plan(&facts, |_| found(secret)).step {
        Ok(Step::Create(cluster)) => Ok(serde_json::to_value(cluster.spec).unwrap()),
        Err(Stop::Because(problem)) => Err((problem.reason.to_string(), problem.message)),
        other => panic!("{other:?}"),
    }
}

/// The way by the control plane, and nothing else.
fn proxied() -> Value {
    json!({"controlPlaneProxy": {"group": "cluster.karmada.io", "version": "v1alpha1", "resource": "clusters", "name": "member1"}})
}

#[test]
fn a_push_cluster_is_reached_by_reference_to_its_secret() {
    let spec = rendered(CLUSTER, SECRET).unwrap();
    assert_eq!(spec["apiserver"], "https://10.0.0.7:6443");
    assert_eq!(
        spec["authenticationFrom"],
        json!({
            "token": {"namespace": "karmada-cluster", "name": "member1", "key": "token"},
            "ca": {"namespace": "karmada-cluster", "name": "member1", "key": "caBundle"},
        })
    );
    assert_eq!(spec["connection"], proxied());
    assert!(!spec.to_string().contains("ZXlK"));
    let count = |group: usize| {
        spec["syncResources"][group]["resources"]
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!((count(0), count(1), count(2)), (6, 4, 2));
}

#[test]
fn proxy_and_insecurity_are_carried_over_and_not_invented() {
    let with = |fields: &str| {
        let cluster = CLUSTER.replace("syncMode: Push", &format!("syncMode: Push\n  {fields}"));
        let cluster = cluster.replace("impersonatorSecretRef:", "other:");
        rendered(&cluster, NO_CA).unwrap()
    };
    let spec = with("insecureSkipTLSVerification: true");
    assert_eq!(
        spec["connection"],
        json!({"insecureSkipTLSVerification": true})
    );
    assert_eq!(spec["authenticationFrom"].get("ca"), None);
    let spec = with("proxyURL: 'http://proxy:3128'\n  proxyHeader: {X-A: 'b,c'}");
    assert_eq!(
        spec["connection"],
        json!({"proxyURL": "http://proxy:3128", "proxyHeader": {"X-A": "b,c"}})
    );
    let spec = with("proxyURL: ''\n  insecureSkipTLSVerification: false");
    assert_eq!(spec.get("connection"), None);
}

#[test]
fn text_of_a_cluster_can_not_add_fields() {
    let cluster = CLUSTER.replace(
        "https://10.0.0.7:6443",
        "\"x\\\"\\n  connection: {insecureSkipTLSVerification: true}\"",
    );
    let spec = rendered(&cluster, SECRET).unwrap();
    assert_eq!(
        spec["apiserver"],
        "x\"\n  connection: {insecureSkipTLSVerification: true}"
    );
    assert_eq!(spec["connection"], proxied());
}

#[test]
fn a_pull_cluster_without_credentials_is_asked_by_the_control_plane() {
    let cluster = CLUSTER.replace("  secretRef:", "  other:");
    let cluster = cluster.replace("syncMode: Push", "syncMode: Pull");
    let spec = rendered(&cluster, "data: {token: ZXlK}").unwrap();
    assert_eq!(spec.get("authenticationFrom"), None);
    assert_eq!(spec["connection"], proxied());
    assert!(!spec.to_string().contains("ZXlK"));
}

/// Karmada sends the token of whichever Secret a Cluster names to wherever that Cluster says, when somebody asks who may.
#[test]
fn karmada_is_asked_for_no_cluster_that_names_the_impersonator_of_another() {
    for impersonator in [
        "{namespace: karmada-cluster, name: member2-impersonator}",
        "{namespace: karmada-cluster, name: member1}",
        "{namespace: default, name: member1-impersonator}",
        "{}",
    ] {
        let own = "{namespace: karmada-cluster, name: member1-impersonator}";
        let cluster = CLUSTER.replace(own, impersonator);
        let spec = rendered(&cluster, SECRET).unwrap();
        assert_eq!(spec.get("connection"), None, "{impersonator}");
        let alone = cluster.replace("  secretRef:", "  other:");
        let refused = Err("FailedReferenceResourceParse".into());
        assert_eq!(rendered(&alone, SECRET), refused, "{impersonator}");
    }
}

#[test]
fn a_cluster_waits_until_it_is_ready_and_has_an_endpoint_and_a_secret() {
    let not_ready = CLUSTER.replace("'True'", "'False'");
    assert_eq!(
        rendered(&not_ready, SECRET),
        Err("WaitCreationCondition".into())
    );
    let new = CLUSTER.replace("conditions:", "ignored:");
    assert_eq!(rendered(&new, SECRET), Err("WaitCreationCondition".into()));
    let nowhere = CLUSTER.replace("https://10.0.0.7:6443", "''");
    assert_eq!(
        rendered(&nowhere, SECRET),
        Err("WaitCreationCondition".into())
    );
    let no_secret = CLUSTER.replace("  secretRef:", "  other:");
    let no_secret = no_secret.replace("impersonatorSecretRef:", "another:");
    assert_eq!(
        rendered(&no_secret, SECRET),
        Err("FailedReferenceResourceParse".into())
    );
}

/// An agent may make Clusters of any name, and write into them what it likes.
#[test]
fn a_cluster_is_sent_no_credentials_but_its_own() {
    let named = |name: &str| {
        CLUSTER.replace(
            "metadata: {name: member1}",
            &format!("metadata: {{name: {name}}}"),
        )
    };
    let own = "secretRef: {namespace: karmada-cluster, name: member1}";
    for cluster in [
        named("evil"),
        named("member1-impersonator").replace(
            own,
            "secretRef: {namespace: karmada-cluster, name: member1-impersonator}",
        ),
        CLUSTER.replace(own, "secretRef: {namespace: kube-system, name: member1}"),
        CLUSTER.replace(
            own,
            "secretRef: {namespace: karmada-cluster, name: member2}",
        ),
        CLUSTER.replace(own, "secretRef: {name: member1}"),
    ] {
        let (reason, words) = planned(&cluster, SECRET).unwrap_err();
        assert_eq!(reason, "FailedReferenceResourceParse");
        assert!(
            words.contains("the Secret of its own name in karmada-cluster"),
            "{words}"
        );
    }
}
