//! The harness itself, on real control planes and without Armadex: what the other tests stand on.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Result, ensure};
use armadex_e2e::equality::{Kind, SEEDED_KINDS, list_member};
use armadex_e2e::kubeconfig;
use armadex_e2e::seed::{self, Plan};
use armadex_e2e::{Harness, Options, Record, wait_until};
use serde_json::json;

const LIMIT: Duration = Duration::from_secs(60);
/// What a Cluster says of a member that does not answer.
const AWAY: &str = "ClusterNotReachable cluster.karmada.io/not-ready";

#[tokio::test(flavor = "multi_thread")]
async fn members_join_are_seeded_rotated_and_leave_and_nothing_is_left_running() -> Result<()> {
    let fleet = Harness::start(Options {
        members: 2,
        ..Options::default()
    })
    .await?;
    fleet.join("member1").await?;
    fleet.join("member3").await?;
    for name in ["member1", "member3"] {
        becomes_ready(&fleet, name).await?;
    }
    a_cluster_says_what_karmada_takes(&fleet).await?;
    seeded_objects_are_served(&fleet).await?;
    resource_versions_of_members_are_unrelated(&fleet).await?;
    a_rotated_token_replaces_the_old_one(&fleet).await?;
    a_member_that_leaves_can_join_again(&fleet).await?;
    a_member_that_is_away_is_tainted_until_it_is_back(&fleet).await?;
    a_member_that_is_away_can_leave(&fleet).await?;
    let processes = Record::all(&fleet.folder().run());
    ensure!(processes.len() > 8, "{processes:?}");
    fleet.finish().await;
    let own = std::process::id().to_string();
    let left: Vec<_> = processes
        .iter()
        .filter(|record| record.pid.to_string() != own && record.is_alive())
        .collect();
    ensure!(left.is_empty(), "still running: {left:?}");
    Ok(())
}

async fn becomes_ready(fleet: &Harness, name: &str) -> Result<()> {
    let condition = "jsonpath={.status.conditions[?(@.type==\"Ready\")].status}";
    let kubectl = fleet.kubectl("host");
    wait_until(&format!("{name} is ready"), LIMIT, || async {
        Ok(kubectl
            .run(&[
                "get",
                "clusters.cluster.karmada.io",
                name,
                "--output",
                condition,
            ])
            .await?
            == "True")
    })
    .await
}

/// A policy is tried here with what can be said, and with nothing else.
async fn a_cluster_says_what_karmada_takes(fleet: &Harness) -> Result<()> {
    let kubectl = fleet.kubectl("host");
    for (spec, is_taken) in [
        (
            json!({"region": "eu-1", "provider": "Example_Cloud.EU"}),
            true,
        ),
        (json!({"zones": ["a", "b"]}), true),
        (json!({"proxyURL": "socks5://proxy.example:1080"}), true),
        (
            json!({"taints": [{"key": "a", "effect": "NoExecute"}]}),
            true,
        ),
        (json!({"region": "Frankfurt am Main"}), false),
        (json!({"provider": "a/b"}), false),
        (json!({"zone": "a b"}), false),
        (json!({"zones": ["???"]}), false),
        (json!({"zone": "a", "zones": ["b"]}), false),
        (
            json!({"apiEndpoint": "https://user:password@member.example"}),
            false,
        ),
        (json!({"apiEndpoint": "https://member.example/?a=b"}), false),
        (json!({"apiEndpoint": "member:6443"}), false),
        (json!({"proxyURL": "socks4://proxy.example:1080"}), false),
        (json!({"secretRef": {"namespace": "", "name": ""}}), false),
        (json!({"syncMode": "Both"}), false),
        (
            json!({"taints": [{"key": "a", "effect": "PreferNoSchedule"}]}),
            false,
        ),
    ] {
        let patch = json!({ "spec": spec }).to_string();
        let cluster = "clusters.cluster.karmada.io/member1";
        let how = ["--type=merge", "--dry-run=server", "--patch", &patch];
        let patch = [&["patch", cluster], &how[..]].concat();
        let output = kubectl.output(&patch).await?;
        let said = String::from_utf8_lossy(&output.stderr);
        let is_refused = said.contains("\"member1\" is invalid");
        ensure!(
            output.status.success() == is_taken && is_refused != is_taken,
            "{spec}: {said}"
        );
    }
    Ok(())
}

async fn seeded_objects_are_served(fleet: &Harness) -> Result<()> {
    let member = fleet.member("member2")?;
    let client = member.client().await?;
    let before = list_member(&client, "member2", &SEEDED_KINDS).await?.len();
    let outcome = seed::put(
        &member,
        Plan {
            count: 1_000,
            seed: 7,
        },
    )
    .await?;
    wait_until("the seeded objects are served", LIMIT, || async {
        let now = list_member(&client, "member2", &SEEDED_KINDS).await?.len();
        ensure!(now >= before + outcome.objects, "{now} after {before}");
        Ok(true)
    })
    .await?;
    let listed = list_member(&client, "member2", &SEEDED_KINDS).await?;
    let versions: BTreeSet<_> = listed
        .values()
        .map(|state| &state.resource_version)
        .collect();
    ensure!(
        versions.len() == listed.len(),
        "{} objects have {} versions",
        listed.len(),
        versions.len()
    );
    Ok(())
}

/// One etcd for all would hide every mistake that confuses two members' versions.
async fn resource_versions_of_members_are_unrelated(fleet: &Harness) -> Result<()> {
    let urls = [
        fleet.member("member1")?.etcd().url.clone(),
        fleet.member("member2")?.etcd().url.clone(),
    ];
    ensure!(urls[0] != urls[1], "member2 shares an etcd");
    let pods = list_member(
        &fleet.member("member1")?.client().await?,
        "member1",
        &[Kind::PODS],
    )
    .await?;
    ensure!(pods.is_empty(), "member1 has pods of member2");
    Ok(())
}

async fn a_rotated_token_replaces_the_old_one(fleet: &Harness) -> Result<()> {
    let before = token(fleet, "member1").await?;
    fleet.rotate("member1").await?;
    let after = token(fleet, "member1").await?;
    ensure!(
        opens(fleet, "member1", &after).await?,
        "the new token is refused"
    );
    wait_until("the old token is refused", LIMIT, || async {
        Ok(!opens(fleet, "member1", &before).await?)
    })
    .await
}

/// Whether a member takes `token`.
async fn opens(fleet: &Harness, name: &str, token: &str) -> Result<bool> {
    let member = fleet.member(name)?;
    let authority = member.pki().read("ca.crt")?;
    let client = kubeconfig::client_with_token(&member.url(), authority.as_bytes(), token)?;
    match client.list_core_api_versions().await {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.code == 401 => Ok(false),
        Err(error) => Err(error.into()),
    }
}

async fn token(fleet: &Harness, name: &str) -> Result<String> {
    let template = "go-template={{.data.token | base64decode}}";
    fleet
        .kubectl("host")
        .run(&[
            "get",
            "secret",
            name,
            "--namespace",
            "karmada-cluster",
            "--output",
            template,
        ])
        .await
}

async fn a_member_that_leaves_can_join_again(fleet: &Harness) -> Result<()> {
    fleet.unjoin("member3").await?;
    let clusters = fleet
        .kubectl("host")
        .run(&["get", "clusters.cluster.karmada.io", "--output", "name"])
        .await?;
    ensure!(!clusters.contains("member3"), "{clusters}");
    fleet.join("member3").await?;
    becomes_ready(fleet, "member3").await
}

async fn a_member_that_is_away_is_tainted_until_it_is_back(fleet: &Harness) -> Result<()> {
    let member = fleet.member("member3")?;
    member.kill_apiserver();
    comes_to_be(fleet, "member3", AWAY).await?;
    member.start_apiserver(fleet.tools()).await?;
    comes_to_be(fleet, "member3", "ClusterReady").await
}

/// Waits until this is the reason of its condition `Ready`, with the keys of its taints.
async fn comes_to_be(fleet: &Harness, name: &str, expected: &str) -> Result<()> {
    let fields = "jsonpath={.status.conditions[?(@.type==\"Ready\")].reason} {.spec.taints[*].key}";
    let get = [
        "get",
        "clusters.cluster.karmada.io",
        name,
        "--output",
        fields,
    ];
    let kubectl = fleet.kubectl("host");
    wait_until(expected, LIMIT, || async {
        let found = kubectl.run(&get).await?;
        ensure!(found.trim() == expected, "{found:?}");
        Ok(true)
    })
    .await
}

/// As soon as its Cluster says that it is away: before, Karmada cleans up in it until it answers.
async fn a_member_that_is_away_can_leave(fleet: &Harness) -> Result<()> {
    fleet.member("member3")?.kill_apiserver();
    comes_to_be(fleet, "member3", AWAY).await?;
    fleet.unjoin("member3").await?;
    let get = ["get", "clusters.cluster.karmada.io", "--output", "name"];
    let clusters = fleet.kubectl("host").run(&get).await?;
    ensure!(!clusters.contains("member3"), "{clusters}");
    Ok(())
}
