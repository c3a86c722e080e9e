//! Replicas of the synchro that share clusters, of which one is killed, one stands still and goes on, and one is added, while the members change: each cluster is somebody's, no
//! member is asked for a list again, and in the end the store has what the members have.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Result, ensure};
use armadex_e2e::account;
use armadex_e2e::armadex::{self, Armadex, Role};
use armadex_e2e::bodies;
use armadex_e2e::churn::Churn;
use armadex_e2e::equality::SEEDED_KINDS;
use armadex_e2e::progress::note;
use armadex_e2e::scenario::{
    SOON, TALKATIVE, on_board_apart, wait_for_condition, wait_until_equal, wait_until_synced,
};
use armadex_e2e::seed::Plan;
use armadex_e2e::store::StoreKind;
use armadex_e2e::{Harness, Options, deploy, seed, wait_until};
use tokio_util::sync::CancellationToken;

/// By their names the one is the second replica's and the other the third's; of two replicas the second has both.
const MEMBERS: [&str; 2] = ["member2", "member1"];
/// It ends when it is told to: this is longer than all that happens meanwhile.
const CHURN: Churn = Churn {
    rate: 40,
    length: Duration::from_secs(600),
    seed: 1,
};

#[tokio::test(flavor = "multi_thread")]
async fn replicas_that_are_killed_stopped_and_added_share_the_clusters_without_a_list_on_postgresql()
-> Result<()> {
    replicas_share_the_clusters(StoreKind::Postgres).await
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_that_are_killed_stopped_and_added_share_the_clusters_without_a_list_on_mariadb()
-> Result<()> {
    replicas_share_the_clusters(StoreKind::Mariadb).await
}

async fn replicas_share_the_clusters(store: StoreKind) -> Result<()> {
    if !store.is_there()? {
        return Ok(());
    }
    let fleet = Harness::start(Options {
        members: 2,
        store: Some(store),
        ..Options::default()
    })
    .await?;
    let parts = on_board_apart(&fleet, &deploy::policy()?, &[TALKATIVE]).await?;
    for (number, member) in (1..).zip(MEMBERS) {
        fleet.join(member).await?;
        let plan = Plan {
            count: 200,
            seed: number,
        };
        seed::put(&fleet.member(member)?, plan).await?;
    }
    wait_until_equal(&fleet, &MEMBERS, &SEEDED_KINDS, SOON).await?;
    wait_until_synced(&fleet, &MEMBERS, SOON).await?;
    let clients = [
        fleet.member(MEMBERS[0])?.client().await?,
        fleet.member(MEMBERS[1])?.client().await?,
    ];
    let stop = CancellationToken::new();
    let shared = async {
        they_share(&fleet, &parts.synchro).await?;
        stop.cancel();
        anyhow::Ok(())
    };
    let (one, other, ()) = tokio::try_join!(
        CHURN.run(&clients[0], &stop),
        CHURN.run(&clients[1], &stop),
        shared
    )?;
    note(format_args!("churn: {one:?} and {other:?}"));
    wait_until_equal(&fleet, &MEMBERS, &SEEDED_KINDS, SOON).await?;
    let host = fleet.host().client().await?;
    for (member, client) in MEMBERS.iter().zip(&clients) {
        for kind in SEEDED_KINDS {
            bodies::compare(&host, client, member, kind).await?;
        }
        let cluster = format!("pediacluster/{member}");
        wait_for_condition(&fleet, &cluster, "SynchroRunning", "True").await?;
        wait_for_condition(&fleet, &cluster, "Ready", "True").await?;
    }
    parts.stop()?;
    armadex::check_store(&fleet).await?;
    fleet.finish().await;
    Ok(())
}

/// The first one has both when it begins.
async fn they_share(fleet: &Harness, zero: &Armadex) -> Result<()> {
    let [second, third] = MEMBERS;
    let one = replica(fleet, "armadex-synchro-1").await?;
    has(&one, &MEMBERS).await?;
    has(zero, &[]).await?;
    let two = replica(fleet, "armadex-synchro-2").await?;
    has(&two, &[third]).await?;
    has(&one, &[second]).await?;
    two.kill();
    has(&one, &MEMBERS).await?;
    one.record().freeze();
    has(zero, &MEMBERS).await?;
    one.record().thaw();
    has(&one, &MEMBERS).await?;
    has(zero, &[]).await?;
    let added = replica(fleet, "armadex-synchro-3").await?;
    has(&added, &[third]).await?;
    has(&one, &[second]).await?;
    one.stop()?;
    // Of the first and the third the third has the one, and the first the other.
    has(&added, &[third]).await?;
    has(zero, &[second]).await?;
    added.stop()?;
    has(zero, &MEMBERS).await
}

/// One more beside those that are there.
async fn replica(fleet: &Harness, name: &str) -> Result<Armadex> {
    let kubeconfig = fleet.folder().account_kubeconfig(account::SYNCHRO.account);
    let way = (name, kubeconfig.as_path());
    Armadex::start_as(fleet, Role::Synchro, way, &[TALKATIVE]).await
}

/// Waits until a replica has these clusters, follows what changes in each, and has listed nothing since it took them over.
async fn has(synchro: &Armadex, clusters: &[&str]) -> Result<()> {
    let expected: BTreeSet<String> = clusters.iter().map(ToString::to_string).collect();
    wait_until(&format!("a replica has {clusters:?}"), SOON, || async {
        let metrics = synchro.metrics().await?;
        let streams = of_clusters(&metrics, armadex::WATCHES);
        let found: BTreeSet<String> = streams.iter().map(|(name, _)| name.clone()).collect();
        ensure!(found == expected, "it has {found:?}");
        let written = of_clusters(&metrics, "armadex_sync_batches_total");
        let stores = |name: &String| written.iter().any(|(of, count)| of == name && *count > 0.0);
        ensure!(
            expected.iter().all(stores),
            "not all are stored: {written:?}"
        );
        Ok(true)
    })
    .await?;
    let lists = of_clusters(&synchro.metrics().await?, armadex::LISTS);
    let listed = lists.iter().any(|(_, count)| *count > 0.0);
    ensure!(!listed, "{lists:?}");
    Ok(())
}

/// What a metric says of each cluster.
fn of_clusters(metrics: &str, name: &str) -> Vec<(String, f64)> {
    let start = format!("{name}{{cluster=\"");
    let lines = metrics.lines().filter_map(|line| line.strip_prefix(&start));
    let parsed = lines.filter_map(|line| {
        let (cluster, behind) = line.split_once('"')?;
        let value = behind.rsplit_once(' ')?.1.parse().ok()?;
        Some((cluster.to_owned(), value))
    });
    parsed.collect()
}
