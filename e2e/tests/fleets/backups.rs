//! A control plane that is restored from a backup, and one that is made anew: its processes end with plain words, come back, and ask no member for a list.
//!
//! One fleet serves the whole story, in the order in which it is told.

use std::time::Duration;

use anyhow::{Result, ensure};
use armadex_e2e::account;
use armadex_e2e::armadex::{self, Armadex, Role};
use armadex_e2e::equality::{Kind, SEEDED_KINDS};
use armadex_e2e::etcd::Writer;
use armadex_e2e::restore::{self, Backup};
use armadex_e2e::scenario::{
    SOON, TALKATIVE, wait_for_rows_of, wait_until_absent, wait_until_equal, wait_until_synced,
    wait_until_watched,
};
use armadex_e2e::seed::{self, Plan};
use armadex_e2e::{Harness, Options, deploy, wait_until};
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::ListParams;

const BOTH: [&str; 2] = ["member1", "member2"];
/// More than is written while a control plane comes back: it would have come past where it was seen otherwise.
const WRITES: usize = 2_000;
/// The control plane is asked every twenty seconds, and what it is asked for may take ten.
const NOTICED: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn a_control_plane_that_is_restored_or_made_anew_costs_no_list() -> Result<()> {
    let fleet = Harness::start(Options {
        is_restored: true,
        members: 2,
        ..Options::default()
    })
    .await?;
    let mut armadex = on_board(&fleet).await?;
    for name in BOTH {
        join_with_objects(&fleet, name).await?;
    }
    are_synced(&fleet).await?;
    members_that_all_leave_come_back_without_a_list(&fleet, &armadex).await?;
    fleet.unjoin("member2").await?;
    let backup = restore::back_up(&fleet, fleet.host()).await?;
    fleet.join("member2").await?;
    are_synced(&fleet).await?;
    a_restored_control_plane_is_noticed(&fleet, &mut armadex, &backup).await?;
    a_control_plane_made_anew_is_noticed(&fleet, &mut armadex).await?;
    armadex.stop()?;
    fleet.finish().await;
    Ok(())
}

/// All that the members have is stored, and every kind of which they have nothing as well.
async fn are_synced(fleet: &Harness) -> Result<()> {
    wait_until_equal(fleet, &BOTH, &SEEDED_KINDS, SOON).await?;
    wait_until_synced(fleet, &BOTH, SOON).await
}

/// Armadex is its control plane's administrator by certificate: an account and its tokens are gone with what knew them.
async fn install(fleet: &Harness) -> Result<()> {
    armadex::install(fleet).await?;
    let own = fleet.folder().account_kubeconfig(account::ACCOUNT);
    std::fs::copy(fleet.host().kubeconfig(), own)?;
    Ok(())
}

async fn on_board(fleet: &Harness) -> Result<Armadex> {
    install(fleet).await?;
    let armadex = Armadex::start(fleet, Role::All, &[TALKATIVE]).await?;
    armadex.register(fleet).await?;
    fleet.kubectl("host").apply(&deploy::policy()?).await?;
    Ok(armadex)
}

async fn join_with_objects(fleet: &Harness, name: &str) -> Result<()> {
    fleet.join(name).await?;
    let plan = Plan {
        count: 200,
        seed: 1,
    };
    seed::put(&fleet.member(name)?, plan).await.map(drop)
}

/// The list of the policy's source is empty for a while.
async fn members_that_all_leave_come_back_without_a_list(
    fleet: &Harness,
    armadex: &Armadex,
) -> Result<()> {
    for name in BOTH {
        fleet.unjoin(name).await?;
    }
    for name in BOTH {
        // Its finalizer is taken away once its rows are hidden.
        wait_until_absent(fleet, &format!("pediacluster/{name}")).await?;
    }
    for name in BOTH {
        fleet.join(name).await?;
    }
    goes_on_without_a_list(fleet, armadex, "after-all-left").await
}

/// Of member2 the backup knows nothing: it is hidden until it joins again.
async fn a_restored_control_plane_is_noticed(
    fleet: &Harness,
    armadex: &mut Armadex,
    backup: &Backup,
) -> Result<()> {
    let writer = Writer::new(fleet.host().etcd().clone());
    for number in 0..WRITES {
        writer.put(&format!("since/{number}"), b"{}").await?;
    }
    has_seen_what_is_written(fleet, armadex).await?;
    restore::restore(fleet, fleet.host(), backup).await?;
    let words = "it was restored from a backup or has lost writes: it stood at version ";
    ends_with(armadex, &[words]).await?;
    armadex.restart().await?;
    wait_for_rows_of(fleet, Kind::PODS, &["member1"]).await?;
    fleet.join("member2").await?;
    goes_on_without_a_list(fleet, armadex, "after-the-restore").await
}

/// Where the control plane stands now, or further on, Armadex has been told.
async fn has_seen_what_is_written(fleet: &Harness, armadex: &Armadex) -> Result<()> {
    let namespaces: Api<Namespace> = Api::all(fleet.host().client().await?);
    let list = namespaces.list_metadata(&ListParams::default()).await?;
    let stands: u64 = list.metadata.resource_version.unwrap_or_default().parse()?;
    let seen = |line: &str| {
        line.split_once("the control plane goes on version=")?
            .1
            .parse()
            .ok()
    };
    wait_until("Armadex asks once more", NOTICED, || async {
        let seen: Option<u64> = armadex.log().lines().filter_map(seen).max();
        ensure!(
            seen >= Some(stands),
            "it stands at {stands}, and was seen at {seen:?}"
        );
        Ok(true)
    })
    .await
}

/// Both join under the uids of other PediaClusters. A control plane whose namespace kube-system is not made yet stands behind where it stood.
async fn a_control_plane_made_anew_is_noticed(
    fleet: &Harness,
    armadex: &mut Armadex,
) -> Result<()> {
    restore::empty(fleet, fleet.host()).await?;
    let words = [
        "it was restored from a backup or has lost writes: it stood at version ",
        "it is another one, or was made anew: the uid of its namespace kube-system was ",
    ];
    ends_with(armadex, &words).await?;
    let tools = fleet.tools();
    fleet.control_plane().install(&tools.kubectl).await?;
    install(fleet).await?;
    armadex.restart().await?;
    armadex.register(fleet).await?;
    fleet.kubectl("host").apply(&deploy::policy()?).await?;
    for name in BOTH {
        fleet.join(name).await?;
    }
    goes_on_without_a_list(fleet, armadex, "after-it-was-made-anew").await
}

/// The process has ended by itself, and said one of these words last.
async fn ends_with(armadex: &Armadex, words: &[&str]) -> Result<()> {
    wait_until("armadex ends", NOTICED, || async {
        Ok(!armadex.record().is_alive())
    })
    .await?;
    let log = armadex.log();
    let last: Vec<&str> = log.lines().rev().take(5).collect();
    let is_said = |words: &&str| last.iter().any(|line| line.contains(words));
    ensure!(words.iter().any(is_said), "it ended with {last:#?}");
    Ok(())
}

/// What changes from now on comes, too. The lists of a cluster are counted from when it has joined, and of the process.
async fn goes_on_without_a_list(fleet: &Harness, armadex: &Armadex, change: &str) -> Result<()> {
    for name in BOTH {
        let create = ["create", "configmap", change, "--namespace=default"];
        fleet.kubectl(name).run(&create).await?;
    }
    are_synced(fleet).await?;
    wait_until_watched(armadex, BOTH.len(), SOON).await?;
    let lists = armadex.counter(armadex::LISTS).await?;
    ensure!(lists == 0.0, "{change}: {lists} lists");
    Ok(())
}
