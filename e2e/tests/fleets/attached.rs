//! Armadex over clusters that somebody else runs: those of `$ARMADEX_E2E_ATTACH`, as `e2e/kind/up.sh` makes them, else those of a fleet that
//! is started here and known by its kubeconfigs alone.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use armadex_e2e::equality::COLLECTED_KINDS;
use armadex_e2e::scenario::{SOON, on_board, wait_until_absent, wait_until_equal};
use armadex_e2e::seed::{self, Plan};
use armadex_e2e::{Harness, Options, armadex, bodies, wait_until};
use rustix::process::Signal;

use crate::demo::Demo;

#[tokio::test(flavor = "multi_thread")]
async fn clusters_that_run_already_are_attached_to_and_left_as_they_were() -> Result<()> {
    let place = tempfile::tempdir()?;
    let given = std::env::var_os("ARMADEX_E2E_ATTACH").map(PathBuf::from);
    let (others, clusters) = match given {
        Some(clusters) => (None, clusters),
        None => (
            Some(fleet_of_somebody(place.path()).await?),
            place.path().to_owned(),
        ),
    };
    is_shown(&clusters).await?;
    let fleet = Harness::start(Options {
        attach_to: Some(clusters),
        ..Options::default()
    })
    .await?;
    is_searched(&fleet).await?;
    fleet.finish().await;
    if let Some(others) = others {
        ensure!(others.host().is_running(), "the control plane was ended");
        others.finish().await;
    }
    Ok(())
}

/// A fleet, and in `place` what there is of one that is not ours. The address is one of an IP, as that of a container network.
async fn fleet_of_somebody(place: &Path) -> Result<Harness> {
    let fleet = Harness::start(Options {
        members: 2,
        ..Options::default()
    })
    .await?;
    let plan = Plan {
        count: 100,
        seed: 1,
    };
    for name in fleet.folder().members()? {
        seed::put(&fleet.member(&name)?, plan).await?;
        fleet.join(&name).await?;
        let kubeconfig = fleet.folder().kubeconfig(&name);
        std::fs::copy(kubeconfig, place.join(format!("{name}.kubeconfig")))?;
    }
    std::fs::copy(fleet.host().kubeconfig(), place.join("host.kubeconfig"))?;
    std::fs::write(place.join("address"), "127.0.0.1\n")?;
    Ok(fleet)
}

/// As people look at them, until Ctrl-C.
async fn is_shown(clusters: &Path) -> Result<()> {
    let place = tempfile::tempdir()?;
    let demo = Demo::attach(place.path(), clusters)?;
    let shown = demo.shows_rows().await;
    // It works on clusters of somebody, so it ends whatever it has shown.
    let stopped = demo.stop(Signal::INT).await;
    let said = shown?;
    stopped?;
    ensure!(said.contains(" rows of "), "{said}");
    Ok(())
}

async fn is_searched(fleet: &Harness) -> Result<()> {
    let members = fleet.folder().members()?;
    ensure!(!members.is_empty(), "no member has a kubeconfig");
    let names: Vec<&str> = members.iter().map(String::as_str).collect();
    let armadex = on_board(fleet).await?;
    wait_until_equal(fleet, &names, &COLLECTED_KINDS, SOON).await?;
    let host = fleet.host().client().await?;
    for &name in &names {
        let member = fleet.member(name)?.client().await?;
        for kind in COLLECTED_KINDS {
            // What runs goes on to change: the two are asked again.
            wait_until("the bodies are equal", SOON, || async {
                bodies::compare(&host, &member, name, kind)
                    .await
                    .map(|_| true)
            })
            .await?;
        }
    }
    armadex::write_kubeconfig(fleet).await?;
    for context in names.iter().copied().chain(["clusterpedia"]) {
        let pods = ["get", "namespaces", "--output=name"];
        let rows = fleet.fleet_kubectl(context).run(&pods).await?;
        ensure!(rows.contains("namespace/kube-system"), "{context}: {rows}");
    }
    leave(fleet, &armadex, &names).await
}

/// The policy goes with what it made, and the registration goes; the CRDs and the account stay.
async fn leave(fleet: &Harness, armadex: &armadex::Armadex, members: &[&str]) -> Result<()> {
    let delete = ["delete", "clusterimportpolicy", "karmada", "--wait=false"];
    fleet.kubectl("host").run(&delete).await?;
    wait_until_absent(fleet, "clusterimportpolicy/karmada").await?;
    for name in members {
        wait_until_absent(fleet, &format!("pediacluster/{name}")).await?;
    }
    armadex.unregister(fleet).await?;
    armadex.stop()?;
    Ok(())
}
