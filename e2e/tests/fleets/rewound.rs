//! A real member whose apiserver starts anew, whose history is compacted while nobody follows it, and whose etcd is put back to a backup, under churn: it is listed again where
//! it has to be, what is the same is not written, and in the end the store has what the member has.
//!
//! Without a watch cache an apiserver that starts anew knows what was before, and forgets what etcd has compacted. One fleet serves the whole story, in the order in which it is told.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use armadex_e2e::armadex::{self, Armadex};
use armadex_e2e::bodies;
use armadex_e2e::churn::Churn;
use armadex_e2e::cluster::Cluster;
use armadex_e2e::equality::SEEDED_KINDS;
use armadex_e2e::etcd;
use armadex_e2e::progress::note;
use armadex_e2e::restore;
use armadex_e2e::scenario::{
    SOON, join_seeded, on_board, wait_for_condition, wait_until_equal, wait_until_synced,
    wait_until_watched,
};
use armadex_e2e::{Harness, Options};
use kube::Client;
use tokio_util::sync::CancellationToken;

/// The one that has an etcd of its own.
const MEMBER: &str = "member2";
const CLUSTER: &str = "pediacluster/member2";
/// Long enough for more changes than the member's own controllers make while it starts.
const CHURN: Duration = Duration::from_secs(4);
/// Objects that a member whose apiserver starts anew makes by itself, or finds to be gone: Leases, events, what it has of its own address.
const OF_ITS_OWN: f64 = 30.0;

#[tokio::test(flavor = "multi_thread")]
async fn a_member_that_forgets_or_goes_back_is_followed_from_where_it_is() -> Result<()> {
    let fleet = Harness::start(Options {
        member_arguments: vec!["--watch-cache=false".to_owned()],
        ..Options::default()
    })
    .await?;
    let mut armadex = on_board(&fleet).await?;
    join_seeded(&fleet, MEMBER).await?;
    let member = fleet.member(MEMBER)?;
    one_that_remembers_is_not_listed_again(&fleet, &armadex, &member).await?;
    what_is_the_same_after_a_compaction_is_not_written(&fleet, &mut armadex, &member).await?;
    one_that_is_put_back_is_equal_again(&fleet, &member).await?;
    ensure!(armadex.record().is_alive(), "armadex ended");
    armadex.stop()?;
    armadex::check_store(&fleet).await?;
    fleet.finish().await;
    Ok(())
}

async fn one_that_remembers_is_not_listed_again(
    fleet: &Harness,
    armadex: &Armadex,
    member: &Cluster,
) -> Result<()> {
    let lists = armadex.counter(armadex::LISTS).await?;
    member.kill_apiserver();
    wait_for_condition(fleet, CLUSTER, "ClusterHealthy", "False").await?;
    member.start_apiserver(fleet.tools()).await?;
    wait_for_condition(fleet, CLUSTER, "Ready", "True").await?;
    churn(member, 1).await?;
    are_equal(fleet, member).await?;
    let after = armadex.counter(armadex::LISTS).await?;
    ensure!(lists == after, "{lists} lists before, {after} after");
    Ok(())
}

/// Armadex is away meanwhile, and so every position that it comes back with is gone.
async fn what_is_the_same_after_a_compaction_is_not_written(
    fleet: &Harness,
    armadex: &mut Armadex,
    member: &Cluster,
) -> Result<()> {
    armadex.kill();
    churn(member, 2).await?;
    etcd::compact(member.etcd()).await?;
    armadex.restart().await?;
    are_equal(fleet, member).await?;
    wait_until_watched(armadex, 1, SOON).await?;
    let lists = armadex.counter(armadex::LISTS).await?;
    ensure!(
        lists >= SEEDED_KINDS.len() as f64,
        "{lists} lists after a compaction"
    );
    armadex.kill();
    // Another version for each position to be before.
    fleet
        .kubectl(MEMBER)
        .run(&["create", "namespace", "after-the-compaction"])
        .await?;
    etcd::compact(member.etcd()).await?;
    armadex.restart().await?;
    wait_until_watched(armadex, 1, SOON).await?;
    are_equal(fleet, member).await?;
    let counted = counted(armadex).await?;
    note(format_args!("after a second compaction: {counted:?}"));
    let [added, changed, deleted, unchanged] = counted;
    ensure!(
        added + changed + deleted <= OF_ITS_OWN && unchanged > 200.0,
        "{counted:?}"
    );
    Ok(())
}

/// Added, changed, deleted, and found as they were.
async fn counted(armadex: &Armadex) -> Result<[f64; 4]> {
    let mut counted = [0.0; 4];
    let names = ["added", "changed", "deleted", "unchanged"];
    for (count, name) in counted.iter_mut().zip(names) {
        *count = armadex
            .counter(&format!("armadex_sync_{name}_total"))
            .await?;
    }
    Ok(counted)
}

/// What came since is gone, what went is back, and what is made from then on may have versions that were others' before.
async fn one_that_is_put_back_is_equal_again(fleet: &Harness, member: &Cluster) -> Result<()> {
    let backup = restore::back_up(fleet, member).await?;
    churn(member, 3).await?;
    are_equal(fleet, member).await?;
    restore::restore(fleet, member, &backup).await?;
    churn(member, 4).await?;
    are_equal(fleet, member).await?;
    wait_for_condition(fleet, CLUSTER, "Ready", "True").await?;
    // Rows of before it was put back would be served by names that it does not have.
    churn(member, 5).await?;
    are_equal(fleet, member).await
}

async fn churn(member: &Cluster, seed: u64) -> Result<()> {
    let churn = Churn {
        rate: 60,
        length: CHURN,
        seed,
    };
    let client: Client = member.client().await?;
    let done = churn.run(&client, &CancellationToken::new()).await?;
    note(format_args!("churn: {done:?}"));
    Ok(())
}

/// By uid and version, and then by their bodies.
async fn are_equal(fleet: &Harness, member: &Cluster) -> Result<()> {
    wait_until_equal(fleet, &[MEMBER], &SEEDED_KINDS, SOON).await?;
    wait_until_synced(fleet, &[MEMBER], SOON).await?;
    let host = fleet.host().client().await?;
    let client = member.client().await?;
    for kind in SEEDED_KINDS {
        let compared = bodies::compare(&host, &client, MEMBER, kind).await;
        compared.with_context(|| format!("{kind:?}"))?;
    }
    Ok(())
}
