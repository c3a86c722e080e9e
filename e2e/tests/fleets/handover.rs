//! Clusters go from one synchro to another on a real control plane, whose optimistic locks decide who has which Lease: each time the last word is that of who
//! looks after them, and no member is asked for a list. Of two replicas the second has the cluster, by its name.
//!
//! One fleet serves the whole story, in the order in which it is told.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use armadex_e2e::account;
use armadex_e2e::armadex::{self, Armadex, Role};
use armadex_e2e::bodies;
use armadex_e2e::churn::Churn;
use armadex_e2e::equality::SEEDED_KINDS;
use armadex_e2e::progress::note;
use armadex_e2e::scenario::{
    SOON, TALKATIVE, join_seeded, on_board_apart, wait_for_condition, wait_until_absent,
    wait_until_equal, wait_until_watched,
};
use armadex_e2e::store::StoreKind;
use armadex_e2e::wire::Wire;
use armadex_e2e::{Harness, Options, deploy, wait_for, wait_until};
use serde_json::json;
use tokio_util::sync::CancellationToken;

const CLUSTER: &str = "pediacluster/member1";
/// It ends when it is told to: this is longer than all that happens meanwhile.
const CHURN: Churn = Churn {
    rate: 60,
    length: Duration::from_secs(600),
    seed: 1,
};
/// So many changes, two seconds of them, are enough to be sure that there always are some under way.
const CHANGES: f64 = 120.0;

#[tokio::test(flavor = "multi_thread")]
async fn clusters_go_from_one_synchro_to_another_without_a_list() -> Result<()> {
    the_story(StoreKind::of_environment()?).await
}

#[tokio::test(flavor = "multi_thread")]
async fn clusters_go_from_one_synchro_to_another_without_a_list_on_postgresql() -> Result<()> {
    the_story(StoreKind::Postgres).await
}

#[tokio::test(flavor = "multi_thread")]
async fn clusters_go_from_one_synchro_to_another_without_a_list_on_mariadb() -> Result<()> {
    the_story(StoreKind::Mariadb).await
}

async fn the_story(store: StoreKind) -> Result<()> {
    if !store.is_there()? {
        return Ok(());
    }
    let fleet = Harness::start(Options {
        members: 1,
        store: Some(store),
        ..Options::default()
    })
    .await?;
    let mut parts = on_board_apart(&fleet, &deploy::policy()?, &[TALKATIVE]).await?;
    join_seeded(&fleet, "member1").await?;

    of_two_policies_with_one_name_the_first_has_it(&fleet).await?;
    let one = &mut parts.synchro;
    let wire = Wire::to(port_of(&fleet)?).await?;
    let way = ("armadex-synchro-2", &*kubeconfig_by(&fleet, &wire)?);
    let mut two = Armadex::start_as(&fleet, Role::Synchro, way, &[TALKATIVE]).await?;
    one.end();
    goes_on(&fleet, &two, "after-an-end").await?;
    one.restart().await?;
    two.kill();
    goes_on(&fleet, one, "after-a-kill").await?;
    two.restart().await?;
    one.end();
    goes_on(&fleet, &two, "before-the-cut").await?;
    one.restart().await?;
    drop(wire);
    goes_on(&fleet, one, "after-the-cut").await?;
    it_has_let_go(&two, 0).await?;
    two.end();
    // Who stands still while it writes keeps the lock of a file, which no server would let it.
    if store != StoreKind::Sqlite {
        a_writer_that_was_paused_changes_nothing(&fleet, one, &mut two).await?;
    }
    two.stop()?;
    a_shard_is_handed_over(&fleet, one).await?;
    parts.stop()?;
    armadex::check_store(&fleet).await?;
    fleet.finish().await;
    Ok(())
}

/// Both want to make it at the same moment; neither has a PediaCluster made.
async fn of_two_policies_with_one_name_the_first_has_it(fleet: &Harness) -> Result<()> {
    let policy = |name: &str| {
        json!({
            "apiVersion": "policy.clusterpedia.io/v1alpha1",
            "kind": "ClusterImportPolicy",
            "metadata": {"name": name},
            "spec": {
                "source": {"group": "cluster.karmada.io", "resource": "clusters"},
                "nameTemplate": "wanted-by-two",
                "template": "spec: {}",
                "creationCondition": "false",
            },
        })
    };
    let host = fleet.kubectl("host");
    let both =
        json!({"apiVersion": "v1", "kind": "List", "items": [policy("left"), policy("right")]});
    host.apply(&both.to_string()).await?;
    let owner = owner_of(fleet, "wanted-by-two", &["left", "right"]).await?;
    let other = match owner.as_str() {
        "left" => "right",
        _ => "left",
    };
    let words = format!("is there already and is owned by ClusterImportPolicy {owner}");
    let path = "jsonpath={.status.conditions[*].message}";
    let said = ["get", "clusterimportpolicy", other, "--output", path];
    wait_until(&format!("{other} says whose it is"), SOON, || async {
        let said = host.run(&said).await?;
        ensure!(said.contains(&words), "{said}");
        Ok(true)
    })
    .await?;
    host.run(&["delete", "clusterimportpolicy", &owner]).await?;
    owner_of(fleet, "wanted-by-two", &[other]).await?;
    host.run(&["delete", "clusterimportpolicy", other]).await?;
    wait_until_absent(fleet, "pediaclusterlifecycle/wanted-by-two").await
}

/// Which of these policies has the lifecycle, once one has; it is the only one.
async fn owner_of(fleet: &Harness, lifecycle: &str, policies: &[&str]) -> Result<String> {
    let host = fleet.kubectl("host");
    let path = "jsonpath={.metadata.ownerReferences[*].name}";
    let get = ["get", "pediaclusterlifecycle", lifecycle, "--output", path];
    wait_for(&format!("{policies:?} has {lifecycle}"), SOON, || async {
        let owner = host.run(&get).await?;
        ensure!(policies.contains(&owner.as_str()), "it is of {owner:?}");
        Ok(Some(owner))
    })
    .await
}

/// The port of the control plane.
fn port_of(fleet: &Harness) -> Result<u16> {
    let url = fleet.host().url();
    let port = url.rsplit(':').next().context("a port")?;
    Ok(port.parse()?)
}

/// The synchro's kubeconfig, by that way.
fn kubeconfig_by(fleet: &Harness, wire: &Wire) -> Result<PathBuf> {
    let own = fleet.folder().account_kubeconfig(account::SYNCHRO.account);
    let text = std::fs::read_to_string(&own)?;
    let way = format!("https://127.0.0.1:{}", wire.port());
    let path = own.with_file_name("by-wire.kubeconfig");
    std::fs::write(&path, text.replace(&fleet.host().url(), &way))?;
    Ok(path)
}

/// What changes from now on is stored by this one, which has listed nothing since it was started, and its word stays.
async fn goes_on(fleet: &Harness, synchro: &Armadex, change: &str) -> Result<()> {
    let lists = format!("{}{{", armadex::LISTS);
    wait_until(&format!("{change}: another has it"), SOON, || async {
        Ok(synchro.metrics().await?.contains(&lists))
    })
    .await?;
    let create = ["create", "configmap", change, "--namespace=default"];
    fleet.kubectl("member1").run(&create).await?;
    wait_until_equal(fleet, &["member1"], &SEEDED_KINDS, SOON).await?;
    wait_until_watched(synchro, 1, SOON).await?;
    let lists = synchro.counter(armadex::LISTS).await?;
    ensure!(lists == 0.0, "{change}: {lists} lists");
    let running = wait_for_condition(fleet, CLUSTER, "SynchroRunning", "True");
    let (reason, message) = running.await?;
    ensure!(reason == "Running", "{change}: {reason}: {message}");
    wait_for_condition(fleet, CLUSTER, "Ready", "True")
        .await
        .map(drop)
}

/// It stands still while the member changes, and goes on with what it had in hand when another one has stored what came after. The control plane cannot tell it:
/// that is out of its reach by then.
async fn a_writer_that_was_paused_changes_nothing(
    fleet: &Harness,
    one: &mut Armadex,
    two: &mut Armadex,
) -> Result<()> {
    let wire = Wire::to(port_of(fleet)?).await?;
    kubeconfig_by(fleet, &wire)?;
    two.restart().await?;
    one.end();
    goes_on(fleet, two, "before-the-pause").await?;
    one.restart().await?;
    let (one, two) = (&*one, &*two);
    let member = fleet.member("member1")?.client().await?;
    let stop = CancellationToken::new();
    let paused = async {
        receives_changes(two).await?;
        two.record().freeze();
        let said = two.log().len();
        drop(wire);
        wait_until_watched(one, 1, SOON).await?;
        receives_changes(one).await?;
        two.record().thaw();
        it_has_let_go(two, said).await?;
        receives_changes(one).await?;
        stop.cancel();
        anyhow::Ok(())
    };
    let (done, ()) = tokio::try_join!(CHURN.run(&member, &stop), paused)?;
    note(format_args!("churn around a pause: {done:?}"));
    goes_on(fleet, one, "after-the-pause").await?;
    let host = fleet.host().client().await?;
    for kind in SEEDED_KINDS {
        bodies::compare(&host, &member, "member1", kind).await?;
    }
    Ok(())
}

/// It has a member that changes, and is about to store something.
async fn receives_changes(synchro: &Armadex) -> Result<()> {
    let received = || synchro.counter("armadex_member_received_objects_total");
    let before = received().await?;
    wait_until("it receives what changes", SOON, || async {
        Ok(received().await? > before + CHANGES)
    })
    .await
}

/// Nobody but the store could tell it, as it says after so many bytes of its log.
async fn it_has_let_go(synchro: &Armadex, said: usize) -> Result<()> {
    let words = "the cluster has left the store or was taken over";
    wait_until("it lets them go", SOON, || async {
        Ok(synchro
            .log()
            .get(said..)
            .is_some_and(|log| log.contains(words)))
    })
    .await
}

/// There and back again.
async fn a_shard_is_handed_over(fleet: &Harness, one: &Armadex) -> Result<()> {
    let own = fleet.folder().account_kubeconfig(account::SYNCHRO.account);
    let way = ("armadex-synchro-b", own.as_path());
    let arguments = [TALKATIVE, "--sharding-name=b"];
    let other = Armadex::start_as(fleet, Role::Synchro, way, &arguments).await?;
    for (name, synchro) in [("b", &other), ("", one)] {
        let patch = json!({"spec": {"shardingName": name}}).to_string();
        let host = fleet.kubectl("host");
        host.run(&["patch", CLUSTER, "--type=merge", "--patch", &patch])
            .await?;
        goes_on(fleet, synchro, &format!("in-shard-{name}x")).await?;
    }
    other.stop()
}
