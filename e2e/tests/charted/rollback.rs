//! A rollback to a release whose program the store does not serve any more: helm is told so before it touches anything, and is brought back from it.
//!
//! The store, a MariaDB that has to prove who it is and whose tables only a Job changes, is made to say that it serves later programs alone, as the migration of a later release does.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use armadex_e2e::store::StoreKind;
use armadex_e2e::{Harness, Kubectl, Options, kubelet};

use crate::desk::{Desk, IMAGE, NAMESPACE, RELEASE, chart_folder, logs_of, wait_until_found};
use crate::store::Store;
use crate::traces::{come, everything};

/// What is left of a rollback that was refused: what says why, and helm's own note.
const LEFT: [&str; 2] = [
    "Job armadex-system/armadex-rollback",
    "Secret armadex-system/sh.helm.release.v1.armadex.v3",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_rollback_to_a_program_that_the_store_serves_no_more_touches_nothing() -> Result<()> {
    if !kubelet::is_possible().await? {
        return Ok(());
    }
    let fleet = Harness::start(Options {
        members: 0,
        store: Some(StoreKind::Sqlite),
        runs_pods: true,
        ..Options::default()
    })
    .await?;
    let Some(store) = Store::that_proves_itself(&fleet)? else {
        return Ok(());
    };
    let desk = Desk::within(&fleet, &[], &[store.port]).await?;
    upgraded(&desk, &store).await?;
    let migrated = logs_of(&fleet, "armadex-migrate-")?;
    ensure!(
        migrated.len() == 2,
        "by each that is installed: {migrated:?}"
    );

    let before = there(&desk.kubectl).await?;
    let as_wanted = wanted(&desk.kubectl).await?;
    store.order(
        "UPDATE head SET serves = 99; INSERT INTO migration (version, name) VALUES (99, 'later')",
    )?;
    let (has_gone_well, printed) = desk.helm_says(&["rollback", RELEASE, "--wait"]).await?;
    ensure!(!has_gone_well, "{printed}");
    says_why(&fleet)?;
    let now = there(&desk.kubectl).await?;
    assert_eq!(come(&before, &now), LEFT);
    assert_eq!(come(&now, &before), [""; 0], "was there before");
    assert_eq!(wanted(&desk.kubectl).await?, as_wanted);

    // As the README has it. Here it is the same program, which the store has to serve again for that.
    store.order("UPDATE head SET serves = 1; DELETE FROM migration WHERE version = 99")?;
    desk.helm(&["rollback", RELEASE, "2", "--wait"]).await?;
    assert_eq!(wanted(&desk.kubectl).await?, as_wanted);
    desk.helm(&["rollback", RELEASE, "1", "--wait"]).await?;
    ensure!(wanted(&desk.kubectl).await? != as_wanted, "it is another");
    wait_until_found(&desk.kubectl).await?;
    drop(desk);
    fleet.finish().await;
    Ok(())
}

/// In the logs of the Job's pods. helm prints them where a kubelet gives them out, which the one here does not.
fn says_why(fleet: &Harness) -> Result<()> {
    let said = logs_of(fleet, "armadex-rollback-")?;
    ensure!(said.len() == 2, "{said:?}");
    let why = ["know version 99 of it", "use a newer binary"];
    let says_why = |said: &String| why.iter().all(|words| said.contains(words));
    ensure!(said.iter().all(says_why), "{said:?}");
    Ok(())
}

/// A release that could be rolled back.
async fn upgraded(desk: &Desk, store: &Store) -> Result<()> {
    let kubectl = &desk.kubectl;
    kubectl.run(&["create", "namespace", NAMESPACE]).await?;
    store.give_secrets(kubectl).await?;
    let chart = chart_folder()?;
    let values = format!("image.repository={IMAGE},{}", store.values());
    desk.helm(&["install", RELEASE, &chart, "--wait", "--set", &values])
        .await?;
    let debug = ["--set", "log.level=debug"];
    let upgrade = ["upgrade", RELEASE, &chart, "--reuse-values", "--wait"];
    desk.helm(&[&upgrade[..], &debug].concat()).await?;
    wait_until_found(kubectl).await
}

/// All but pods, which come and go with what is wanted.
async fn there(kubectl: &Kubectl) -> Result<BTreeSet<String>> {
    let mut all = everything(kubectl).await?;
    all.retain(|object| !object.starts_with("Pod "));
    Ok(all)
}

/// How often somebody has wanted something else of what a release has, and what of the pods.
async fn wanted(kubectl: &Kubectl) -> Result<String> {
    let said = "jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.generation} {.spec.template.spec.containers[0].args}{\"\\n\"}{end}";
    let get = [
        "get",
        "deployments.apps",
        "--namespace",
        NAMESPACE,
        "--output",
        said,
    ];
    kubectl.run(&get).await
}
