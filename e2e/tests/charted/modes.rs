//! From a kubeconfig that somebody has made to those that Armadex issues, from one workload to parts apart, and back. helm makes its Jobs run and waits for the pods each time: these must not wait for what
//! comes after them.

use anyhow::{Result, ensure};
use armadex_e2e::issued::Issued;
use armadex_e2e::{Harness, Options, armadex, kubelet};

use crate::desk::{Desk, IMAGE, NAMESPACE, RELEASE, chart_folder, check_logs, wait_until_found};
use crate::life::{give_the_account, prepare};
use crate::store::{self, Store};

/// What all Secrets begin with that Armadex issues kubeconfigs into.
const SECRET: &str = "armadex-index-control-plane";
const ISSUED: &str = "controlPlane.kubeconfig.secretName=";

#[tokio::test(flavor = "multi_thread")]
async fn helm_waits_for_pods_whose_kubeconfigs_come_from_elsewhere_than_before() -> Result<()> {
    if !kubelet::is_possible().await? || !store::kind()?.is_there()? {
        return Ok(());
    }
    let fleet = Harness::start(Options {
        members: 0,
        store: Some(store::kind()?),
        finds_services: true,
        ..Options::default()
    })
    .await?;
    let store = Store::of(&fleet)?;
    let desk = Desk::beside(&fleet, &[], &[store.port]).await?;
    prepare(&fleet, &desk, &store).await?;
    by_hand(&fleet, &desk, &store).await?;
    let modes = Modes {
        fleet: &fleet,
        desk: &desk,
    };
    modes.upgrade(&format!("mode=parts,{ISSUED}")).await?;
    modes
        .are_of(&["apiserver", "synchro", "controllers"])
        .await?;
    modes.upgrade("mode=all").await?;
    modes.are_of(&["all"]).await?;
    modes.rollback("2").await?;
    modes
        .are_of(&["apiserver", "synchro", "controllers"])
        .await?;
    // As the README has it: the account comes first, and a token of it.
    let administrator = fleet.host().kubeconfig().display().to_string();
    let release = format!("--release={NAMESPACE}/{RELEASE}");
    let install = ["install", &release, "--only=rights", "--keep-holders"];
    armadex::run(&[&install[..], &["--kubeconfig", &administrator]].concat()).await?;
    in_namespace(&desk, &["delete", "secret", "armadex-kubeconfig"]).await?;
    give_the_account(&fleet, &desk).await?;
    modes.rollback("1").await?;
    modes.upgrade(ISSUED).await?;
    modes.are_of(&["all"]).await?;

    let uninstall = ["uninstall", RELEASE, "--wait", "--cascade", "foreground"];
    desk.helm(&uninstall).await?;
    let left = in_namespace(&desk, &["get", "secrets", "--output=name"]).await?;
    ensure!(!left.contains(SECRET), "{left}");
    check_logs(&fleet)?;
    drop(desk);
    fleet.finish().await;
    Ok(())
}

async fn in_namespace(desk: &Desk, arguments: &[&str]) -> Result<String> {
    let all = [arguments, &["--namespace", NAMESPACE]].concat();
    desk.kubectl.run(&all).await
}

/// The pods wait for the kubeconfig, so helm does not wait for them.
async fn by_hand(fleet: &Harness, desk: &Desk, store: &Store) -> Result<()> {
    let values = format!(
        "nameOverride=index,image.repository={IMAGE},policies.karmada.enabled=true,{},\
         install.kubeconfig.secretName=karmada,controlPlane.kubeconfig.secretName=armadex-kubeconfig",
        store.values()
    );
    let chart = chart_folder()?;
    desk.helm(&["install", RELEASE, &chart, "--set", &values])
        .await?;
    give_the_account(fleet, desk).await?;
    let ready = ["wait", "--for=condition=Available", "--timeout=90s"];
    in_namespace(desk, &[&ready[..], &["deployment", "--all"]].concat()).await?;
    wait_until_found(&fleet.kubectl("host")).await
}

struct Modes<'a> {
    fleet: &'a Harness,
    desk: &'a Desk,
}

impl Modes<'_> {
    async fn upgrade(&self, values: &str) -> Result<()> {
        let chart = chart_folder()?;
        let upgrade = ["upgrade", RELEASE, &chart, "--reset-then-reuse-values"];
        self.is_done(&[&upgrade[..], &["--set", values]].concat())
            .await
    }

    async fn rollback(&self, revision: &str) -> Result<()> {
        self.is_done(&["rollback", RELEASE, revision]).await
    }

    async fn is_done(&self, helm: &[&str]) -> Result<()> {
        let waiting = ["--wait", "--timeout", "3m"];
        self.desk.helm(&[helm, &waiting].concat()).await?;
        wait_until_found(&self.fleet.kubectl("host")).await
    }

    /// The kubeconfigs of these parts are good.
    async fn are_of(&self, parts: &[&str]) -> Result<()> {
        for part in parts {
            let end = match *part {
                "all" => String::new(),
                part => format!("-{part}"),
            };
            let secret = format!("{NAMESPACE}/{SECRET}{end}");
            let issued = Issued::of(&self.desk.kubectl, &secret).await?;
            let holder = issued.holder(self.fleet).await?;
            let account = format!("system:serviceaccount:clusterpedia-system:armadex{end}");
            ensure!(holder == Some(account), "{part}: {holder:?}");
        }
        Ok(())
    }
}
