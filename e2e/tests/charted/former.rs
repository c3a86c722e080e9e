//! A release of before the newest schema of the store, upgraded by helm to this one and rolled back, while members change and somebody searches.
//!
//! That one, its chart included, is built from the history of the repository, which takes minutes: `make e2e-upgrade` does that and runs this.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use armadex_e2e::kubelet;
use armadex_e2e::progress::note;
use tokio::sync::watch;

use crate::desk::{Desk, FORMER, NAMESPACE, RELEASE, chart_folder, check_logs};
use crate::life::{
    found_by_bob, has_what_the_members_have, install, joined, prepare, while_searched,
};
use crate::lists::Lists;
use crate::members::MEMBERS;
use crate::store::{self, Store};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "by make e2e-upgrade"]
async fn a_release_of_the_former_schema_is_upgraded_and_rolled_back_while_somebody_searches()
-> Result<()> {
    if !kubelet::is_possible().await? || !store::kind()?.is_there()? {
        return Ok(());
    }
    let lists = Lists::new()?;
    let fleet = joined(&lists).await?;
    let store = Store::of(&fleet)?;
    let desk = Desk::beside(&fleet, &MEMBERS, &[store.port]).await?;
    prepare(&fleet, &desk, &store).await?;
    install(&fleet, &desk, &store, (&former_chart()?, "former")).await?;
    let listed = found_by_bob(&fleet, &lists).await?;

    let (_none, killed) = watch::channel(None);
    let searched = while_searched(&fleet, there_and_back(&desk), &killed).await?;
    has_what_the_members_have(&fleet).await?;
    lists.are_no_more_than(listed)?;
    searched.failed_by_kills_alone()?;
    check_logs(&fleet)?;
    drop(desk);
    fleet.finish().await;
    Ok(())
}

/// That of the sources that the program was built from, which lie beside it.
fn former_chart() -> Result<String> {
    let program = std::env::var_os(FORMER);
    let program = program.context("ARMADEX_FORMER_BIN names no program: `make e2e-upgrade`")?;
    let folder = Path::new(&program).parent();
    let chart = folder
        .context("no folder of a build")?
        .join("source/charts/armadex");
    Ok(chart.to_str().context("a path")?.to_owned())
}

async fn there_and_back(desk: &Desk) -> Result<()> {
    note("helm upgrade");
    let chart = chart_folder()?;
    let upgrade = [
        "upgrade",
        RELEASE,
        &chart,
        "--reset-then-reuse-values",
        "--wait",
        "--set",
        "image.tag=",
    ];
    desk.helm(&upgrade).await?;
    ensure!(!images(desk).await?.contains(":former"), "the former runs");
    note("helm rollback");
    desk.helm(&["rollback", RELEASE, "--wait"]).await?;
    let images = images(desk).await?;
    ensure!(
        images.split(' ').all(|image| image.ends_with(":former")),
        "{images}"
    );
    Ok(())
}

/// Those of the pods that are wanted.
async fn images(desk: &Desk) -> Result<String> {
    let get = [
        "get",
        "deployments",
        "--namespace",
        NAMESPACE,
        "--output=jsonpath={.items[*].spec.template.spec.containers[0].image}",
    ];
    desk.kubectl.run(&get).await
}
