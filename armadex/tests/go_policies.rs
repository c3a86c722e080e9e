//! Policies in the languages of Go and of Handlebars that say the same make the same. Each folder of `go_policies` has both, and objects
//! that they are about; the shapes are those that people have for Clusterpedia.

use std::{path::Path, process::Command};

use serde_json::Value;

#[test]
fn policies_of_both_languages_make_the_same() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/go_policies");
    let shapes = [
        ("checked-secrets", 1),
        ("kubeconfigs", 2),
        ("labelled-secrets", 1),
        ("members", 2),
    ];
    let there = std::fs::read_dir(&folder).expect("a folder").count();
    assert_eq!(there, shapes.len());
    for (shape, expected) in shapes {
        let go = clusters(&folder.join(shape), "go.yaml");
        assert_eq!(
            go,
            clusters(&folder.join(shape), "handlebars.yaml"),
            "{shape}"
        );
        assert_eq!(go.len(), expected, "{shape}: {go:?}");
    }
}

/// No sign of a URL, a token or a certificate is another one in the object.
#[test]
fn what_a_go_policy_renders_is_not_escaped() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/go_policies");
    let members = clusters(&folder.join("members"), "go.yaml");
    let spec = &members[0]["spec"];
    assert_eq!(
        (&spec["apiserver"], &spec["tokenData"], &spec["caData"]),
        (
            &"https://north.example.com:6443/a?x=1&y=2&z=<3>".into(),
            &"YSti+/LzPQ==".into(),
            &"LS0tLS1CRUdJTisr".into()
        )
    );
}

/// The PediaClusters that a policy makes of the objects beside it.
fn clusters(folder: &Path, policy: &str) -> Vec<Value> {
    let run = Command::new(env!("CARGO_BIN_EXE_armadex"))
        .args([
            "policy",
            "render",
            "-f",
            policy,
            "--from",
            "from.yaml",
            "-o",
            "json",
        ])
        .current_dir(folder)
        .output()
        .expect("it starts");
    let made: Value = serde_json::from_slice(&run.stdout).unwrap_or_else(|_| {
        panic!("{policy}: {}", String::from_utf8_lossy(&run.stderr));
    });
    let items = made["items"].as_array().expect("a list").iter();
    let clusters = items.filter(|item| item["kind"] == "PediaCluster");
    clusters.cloned().collect()
}
