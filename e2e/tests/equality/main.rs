//! Armadex has what the members have: after the first sync, and after it was killed in the middle of churn.
//!
//! `$ARMADEX_E2E_OBJECTS` is the number of objects in each of two members (20,000; 5,000 where the store is a server).

mod outages;

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use armadex_databases::tell_at_the_end;
use armadex_e2e::armadex::{self, Armadex};
use armadex_e2e::bodies;
use armadex_e2e::churn::{Churn, Done};
use armadex_e2e::equality::{COLLECTED_KINDS, Difference, list_fleet, list_member};
use armadex_e2e::kubeconfig::client_without_compression;
use armadex_e2e::progress::note;
use armadex_e2e::scenario::{SOON, on_board, wait_until_synced, wait_until_watched};
use armadex_e2e::seed::{self, Plan};
use armadex_e2e::store::StoreKind;
use armadex_e2e::{Harness, Options, wait_for, wait_until};
use futures::future::try_join_all;
use kube::Client;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

const MEMBERS: [&str; 2] = ["member1", "member2"];
/// A first sync of both members; the aim is a tenth of it.
const FIRST_SYNC: Duration = Duration::from_secs(180);
/// What is promised after churn stops.
const AFTER_CHURN: Duration = Duration::from_secs(30);
/// Each phase of churn: before, between and after the kills.
const PHASE: Duration = Duration::from_secs(5);
/// It ends when it is told to: this is longer than all that happens meanwhile.
const CHURN: Churn = Churn {
    rate: 60,
    length: Duration::from_secs(1_800),
    seed: 1,
};

/// The large fleet takes all cores. Two on servers are together what they are apart: small, and half of the time nothing happens but an outage.
static ROOM: Semaphore = Semaphore::const_new(2);

/// How much of the machine a fleet on such a store takes.
fn room_for(store: StoreKind) -> u32 {
    match store {
        StoreKind::Sqlite => 2,
        StoreKind::Postgres | StoreKind::Mariadb => 1,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_object_is_there_after_sync_and_after_sigkill_in_churn() -> Result<()> {
    every_object_is_there(StoreKind::of_environment()?).await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_object_is_there_on_a_postgresql_that_is_away_for_a_while() -> Result<()> {
    every_object_is_there(StoreKind::Postgres).await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_object_is_there_on_a_mariadb_that_is_away_for_a_while() -> Result<()> {
    every_object_is_there(StoreKind::Mariadb).await
}

async fn every_object_is_there(store: StoreKind) -> Result<()> {
    if !store.is_there()? {
        return Ok(());
    }
    let _room = ROOM.acquire_many(room_for(store)).await?;
    let fleet = Harness::start(Options {
        members: MEMBERS.len(),
        store: Some(store),
        ..Options::default()
    })
    .await?;
    if store != StoreKind::Sqlite && fleet.store().server().is_none() {
        no_outage_is_tried(store)?;
    }
    seed_all(&fleet, store).await?;
    let readers = Readers::of(&fleet).await?;
    let mut armadex = on_board(&fleet).await?;
    for name in MEMBERS {
        fleet.join(name).await?;
    }
    let objects = wait_until_equal(&readers, FIRST_SYNC).await?;
    note(format_args!(
        "{objects} objects are equal after the first sync"
    ));
    wait_until_synced(&fleet, &MEMBERS, SOON).await?;
    all_bodies_are_equal(&readers).await?;
    kubectl_walks_all_pages(&fleet).await?;
    let done = churn_with_kills(&fleet, &mut armadex).await?;
    note(format_args!("churn: {done:?}"));
    wait_until_equal(&readers, AFTER_CHURN).await?;
    all_bodies_are_equal(&readers).await?;
    wait_until_watched(&armadex, MEMBERS.len(), SOON).await?;
    let lists = armadex.counter(armadex::LISTS).await?;
    ensure!(lists == 0.0, "{lists} lists were begun after a restart");
    armadex.stop()?;
    armadex::check_store(&fleet).await?;
    fleet.finish().await;
    Ok(())
}

/// Others may use a server that the environment names.
fn no_outage_is_tried(store: StoreKind) -> Result<()> {
    let what =
        format!("an outage of the store ({store:?}): its server is one that the environment names");
    note(format_args!("  not run here: {what}"));
    tell_at_the_end(&what)
}

/// Who reads everything there is, on both sides.
struct Readers {
    host: Client,
    members: [(&'static str, Client); MEMBERS.len()],
}

impl Readers {
    async fn of(fleet: &Harness) -> Result<Self> {
        let folder = fleet.folder();
        let [first, second] = MEMBERS;
        let client = async |name| client_without_compression(&folder.kubeconfig(name)).await;
        Ok(Self {
            host: client("host").await?,
            members: [
                (first, client(first).await?),
                (second, client(second).await?),
            ],
        })
    }
}

/// Waits until Armadex has what both members have and nothing else; gives how many objects that is.
async fn wait_until_equal(Readers { host, members }: &Readers, limit: Duration) -> Result<usize> {
    let [first, second] = members;
    wait_for("Armadex has what the members have", limit, || async {
        let (mut theirs, more, ours) = tokio::try_join!(
            list_member(&first.1, first.0, &COLLECTED_KINDS),
            list_member(&second.1, second.0, &COLLECTED_KINDS),
            list_fleet(host, &COLLECTED_KINDS)
        )?;
        theirs.extend(more);
        let difference = Difference::between(&theirs, &ours);
        ensure!(difference.is_empty(), "{difference}");
        Ok(Some(theirs.len()))
    })
    .await
}

/// Of what came by lists, and later by watches, and by watches that went on after a kill.
async fn all_bodies_are_equal(Readers { host, members }: &Readers) -> Result<()> {
    let compared = members.iter().map(|(name, member)| async move {
        let mut objects = 0;
        for kind in COLLECTED_KINDS {
            objects += bodies::compare(host, member, name, kind).await?;
        }
        anyhow::Ok(objects)
    });
    let objects: usize = try_join_all(compared).await?.into_iter().sum();
    note(format_args!("the bodies of {objects} objects are equal"));
    Ok(())
}

async fn seed_all(fleet: &Harness, store: StoreKind) -> Result<()> {
    let usual = if store == StoreKind::Sqlite {
        20_000
    } else {
        5_000
    };
    let count = std::env::var("ARMADEX_E2E_OBJECTS").map_or(Ok(usual), |text| text.parse());
    let plan = Plan {
        count: count.context("ARMADEX_E2E_OBJECTS is no number")?,
        seed: 1,
    };
    let puts = MEMBERS.map(|name| async move {
        let outcome = seed::put(&fleet.member(name)?, plan).await?;
        note(format_args!(
            "{name}: {} objects in {:?}",
            outcome.objects, outcome.took
        ));
        anyhow::Ok(())
    });
    try_join_all(puts).await.map(drop)
}

async fn kubectl_walks_all_pages(fleet: &Harness) -> Result<()> {
    armadex::write_kubeconfig(fleet).await?;
    let pods = ["get", "pods", "--all-namespaces", "--no-headers"];
    let listed = fleet
        .fleet_kubectl("clusterpedia")
        .run(&pods)
        .await?
        .lines()
        .count();
    let mut there = 0;
    for name in MEMBERS {
        there += fleet.kubectl(name).run(&pods).await?.lines().count();
    }
    ensure!(listed == there, "kubectl printed {listed} pods of {there}");
    Ok(())
}

/// A process that waits for the Lease of the one before is ready, and has nothing to lose.
async fn is_at_work(armadex: &Armadex) -> Result<()> {
    let received = "armadex_member_received_objects_total";
    wait_until("the synchro receives objects", SOON, || async {
        Ok(armadex.counter(received).await? > 0.0)
    })
    .await
}

/// Kills Armadex twice while both members change, the second time soon after its start.
async fn churn_with_kills(fleet: &Harness, armadex: &mut Armadex) -> Result<Done> {
    let (stop, begun) = (CancellationToken::new(), Instant::now());
    let (first, second) = (
        fleet.member(MEMBERS[0])?.client().await?,
        fleet.member(MEMBERS[1])?.client().await?,
    );
    let kills = async {
        for _ in 0..2 {
            tokio::time::sleep(PHASE).await;
            is_at_work(armadex).await?;
            armadex.kill();
            tokio::time::sleep(PHASE).await;
            armadex.restart().await?;
        }
        tokio::time::sleep(PHASE).await;
        is_at_work(armadex).await?;
        if fleet.store().server().is_some() {
            outages::happen(fleet, armadex).await?;
            tokio::time::sleep(PHASE).await;
        }
        ensure!(
            begun.elapsed() < CHURN.length,
            "the members stopped to change by themselves"
        );
        stop.cancel();
        anyhow::Ok(())
    };
    let other = Churn { seed: 2, ..CHURN };
    let (done, more, ()) =
        tokio::try_join!(CHURN.run(&first, &stop), other.run(&second, &stop), kills)?;
    Ok(Done {
        created: done.created + more.created,
        updated: done.updated + more.updated,
        deleted: done.deleted + more.deleted,
    })
}
