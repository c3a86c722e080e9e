//! What is printed for a member, by files.

use super::*;
use crate::command::rbac::tests::{objects, parsed};
use crate::command::rbac::{in_member, member_of};

const FILE: &str = "
apiVersion: cluster.clusterpedia.io/v1alpha2
kind: PediaCluster
metadata: {name: east}
spec:
  apiserver: https://east
  caData: YQ==
  syncResourcesRefName: usual
  syncResources: [{group: apps, resources: [deployments]}]
---
apiVersion: cluster.clusterpedia.io/v1alpha2
kind: PediaCluster
metadata: {name: west}
spec: {syncResources: []}
---
apiVersion: cluster.clusterpedia.io/v1alpha2
kind: ClusterSyncResources
metadata: {name: usual}
spec: {syncResources: [{group: '', resources: [pods]}]}
---
apiVersion: v1
kind: Secret
metadata: {name: a}
";

/// What is printed and told, or what is wrong.
async fn run(file: &str, words: &[&str]) -> Result<Printed, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("clusters.yaml");
    std::fs::write(&path, file).expect("written");
    let path = path.display().to_string();
    let flags = parsed(&[&["--filename", &path], words].concat())?;
    let printed = async {
        let name = member_of(&flags)?.context("no member")?;
        in_member(name, &flags).await
    };
    let printed = printed.await;
    printed.map_err(|error| format!("{error:#}").replace(&path, "FILE"))
}

#[tokio::test]
async fn the_role_of_a_member_is_what_its_pedia_cluster_asks_for() {
    let words = [
        "--for=pediacluster/east",
        "--subject=serviceaccount:armadex/synchro",
    ];
    let Printed { text, notes, .. } = run(FILE, &words).await.expect("a role");
    let objects = objects(&text);
    let [role, binding] = &objects[..] else {
        panic!("{text}")
    };
    let lists = |group: &str, resource: &str| json!({"apiGroups": [group], "resources": [resource], "verbs": ["list", "watch"]});
    let reads = |paths: &[&str]| json!({"nonResourceURLs": paths, "verbs": ["get"]});
    let expected = json!([
        lists("", "pods"),
        lists("apiextensions.k8s.io", "customresourcedefinitions"),
        lists("apiregistration.k8s.io", "apiservices"),
        lists("apps", "deployments"),
        reads(&["/healthz", "/readyz", "/version"]),
        reads(&["/api", "/api/*", "/apis", "/apis/*"]),
    ]);
    assert_eq!(role["rules"], expected);
    let name = "armadex:pediacluster:east";
    assert_eq!(role["metadata"]["name"], name);
    assert_eq!(binding["roleRef"]["name"], name);
    let account = json!([{"kind": "ServiceAccount", "namespace": "armadex", "name": "synchro"}]);
    assert_eq!(binding["subjects"], account);
    let ends = ["with one rule more", "and not for the control plane"];
    for (note, end) in notes.iter().zip(ends) {
        assert!(note.contains(end), "{note}");
    }
    let Printed { text, notes, .. } = run(FILE, &words[..1]).await.expect("a role");
    assert!(!text.contains("ClusterRoleBinding"));
    assert!(notes[1].starts_with("bind it in the member, "), "{notes:?}");
}

#[tokio::test]
async fn what_cannot_be_printed_is_said() {
    let secret = FILE.replace("caData: YQ==", "caData: a secret");
    let group = FILE.replace("group: apps", "group: '*'");
    let twice = format!("{FILE}---{FILE}");
    let east = "--for=pediacluster/east";
    for (file, words, expected) in [
        (
            FILE,
            &["--for=pediacluster/north"][..],
            "no PediaCluster north in these files",
        ),
        (
            &secret,
            &[east],
            "object 1 of FILE: an API server takes no such PediaCluster: spec.caData: not base64",
        ),
        (
            &group,
            &[east],
            "the PediaCluster east: syncResources: group \"*\" needs the feature gate AllowSyncAllResources",
        ),
        (&twice, &[east], "the PediaCluster east is given twice"),
        (
            FILE,
            &[east, "--for=pediacluster"],
            "the rights of one member are printed at a time, and without those for the control plane",
        ),
        (
            FILE,
            &["--for=pediacluster"],
            "--filename is for --for pediacluster/NAME",
        ),
    ] {
        let error = run(file, words).await.err().expect("an error");
        assert_eq!(error, expected);
    }
    for bad in [
        "--for=pediacluster/",
        "--for=pediacluster/A",
        "--for=cluster/a",
    ] {
        let error = run(FILE, &[bad]).await.err().expect("an error");
        assert!(
            error.contains("rights are printed for pediacluster, or for pediacluster/NAME"),
            "{error}"
        );
    }
    let all = [
        "--for=pediacluster/east",
        "--feature-gates=AllowSyncAllResources=true",
    ];
    assert!(run(&group, &all).await.is_ok());
}
