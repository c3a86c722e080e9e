//! A store that moves to another database with `armadex store copy`, on each kind in turn: the synchro goes on from the copy and asks no member for a list.

use anyhow::{Context as _, Result, ensure};
use armadex_e2e::armadex::{self, Armadex, Role};
use armadex_e2e::equality::SEEDED_KINDS;
use armadex_e2e::scenario::{
    SOON, TALKATIVE, join_seeded, on_board, wait_until_equal, wait_until_watched,
};
use armadex_e2e::store::StoreKind;
use armadex_e2e::{Harness, Options};
use serde_json::Value;

const MEMBER: &str = "member1";
/// The pods of the fleet, a few of them.
const PODS: &str = "/apis/clusterpedia.io/v1beta1/resources/api/v1/pods?limit=5";

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_moves_to_another_database_costs_no_list() -> Result<()> {
    let others = [StoreKind::Postgres, StoreKind::Mariadb];
    for kind in others {
        if !kind.is_there()? {
            return Ok(());
        }
    }
    let mut fleet = Harness::start(Options {
        members: 1,
        store: Some(StoreKind::Sqlite),
        ..Options::default()
    })
    .await?;
    let mut armadex = on_board(&fleet).await?;
    join_seeded(&fleet, MEMBER).await?;
    for (number, kind) in others.into_iter().enumerate() {
        let first = page(&fleet, PODS).await?;
        armadex.stop()?;
        // What a watch is told that goes on, and a list would find as well.
        change(&fleet, &format!("while-away-{number}")).await?;
        armadex::move_store(&mut fleet, kind).await?;
        armadex = Armadex::start(&fleet, Role::All, &[TALKATIVE]).await?;
        armadex.register(&fleet).await?;
        goes_on(&fleet, &first).await?;
        change(&fleet, &format!("since-{number}")).await?;
        wait_until_equal(&fleet, &[MEMBER], &SEEDED_KINDS, SOON).await?;
        wait_until_watched(&armadex, 1, SOON).await?;
        let lists = armadex.counter(armadex::LISTS).await?;
        ensure!(lists == 0.0, "{kind:?}: {lists} lists");
    }
    armadex.stop()?;
    fleet.finish().await;
    Ok(())
}

/// One ConfigMap more, and those of the namespace that were there before get a label.
async fn change(fleet: &Harness, name: &str) -> Result<()> {
    let member = fleet.kubectl(MEMBER);
    let namespace = "--namespace=default";
    member
        .run(&["create", "configmap", name, namespace])
        .await?;
    let label = ["label", "configmaps", "--all", namespace, "--overwrite"];
    let told = format!("told={name}");
    member.run(&[&label[..], &[&told]].concat()).await?;
    Ok(())
}

async fn page(fleet: &Harness, path: &str) -> Result<Value> {
    let get = ["get", "--raw", path];
    let page = fleet.kubectl("host").run(&get).await?;
    Ok(serde_json::from_str(&page)?)
}

/// Who has read a page of the former store reads the next one of the copy.
async fn goes_on(fleet: &Harness, first: &Value) -> Result<()> {
    let token = first["metadata"]["continue"].as_str().context("a token")?;
    let next = page(fleet, &format!("{PODS}&continue={token}")).await?;
    let (first, next) = (uids(first), uids(&next));
    ensure!(
        next.len() == 5 && next.iter().all(|uid| !first.contains(uid)),
        "{first:?} and then {next:?}"
    );
    Ok(())
}

fn uids(page: &Value) -> Vec<&str> {
    let items = page["items"].as_array().map_or(&[][..], Vec::as_slice);
    let uids = items.iter().map(|pod| pod["metadata"]["uid"].as_str());
    uids.flatten().collect()
}
