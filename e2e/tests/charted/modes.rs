//! From a kubeconfig that somebody has made to those that Armadex issues, from one workload to parts apart, and back. helm makes its Jobs run and waits for the pods each time: these must not wait for what
//! comes after them. In the end the certificate is no more Armadex's own, but one that somebody gives it, and gives it anew.

mod given;

use anyhow::{Result, ensure};
use armadex_e2e::issued::Issued;
use armadex_e2e::{Harness, Kubectl, Options, armadex, kubelet};
use serde_json::json;
use tokio::sync::watch;

use crate::bob::let_bob_search;
use crate::desk::{Desk, IMAGE, NAMESPACE, RELEASE, chart_folder, check_logs, wait_until_found};
use crate::life::{give_the_account, prepare};
use crate::searcher::searched_during;
use crate::store::{self, Store};

use given::Given;

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
    let_bob_search(&fleet.kubectl("host")).await?;
    let led = Led::elsewhere(&fleet).await?;
    modes.upgrade("mode=all").await?;
    modes.are_of(&["all"]).await?;
    led.is_back().await?;
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
    let (_none, killed) = watch::channel(None);
    let searched = searched_during(&fleet, &[], &killed, modes.certificate_is_given()).await?;
    searched.failed_by_kills_alone()?;

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
        "nameOverride=index,all.replicas=2,image.repository={IMAGE},policies.karmada.enabled=true,{},\
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

/// Where the control plane is led by what Armadex keeps there.
struct Led {
    host: Kubectl,
    to: String,
}

impl Led {
    const SERVICE: [&str; 4] = [
        "service",
        "armadex-apiserver",
        "--namespace",
        "clusterpedia-system",
    ];

    /// By somebody who does not know what both are for. Whoever starts next looks at once, and those that run once a minute.
    async fn elsewhere(fleet: &Harness) -> Result<Self> {
        let host = fleet.kubectl("host");
        let to = Self::name(&host).await?;
        let patch = json!({"spec": {"externalName": "nowhere.example"}}).to_string();
        let how = ["--type=merge", "--patch", &patch];
        host.run(&[&["patch"], &Self::SERVICE[..], &how].concat())
            .await?;
        host.run(&["delete", "apiservice", "v1beta1.clusterpedia.io"])
            .await?;
        Ok(Self { host, to })
    }

    async fn name(host: &Kubectl) -> Result<String> {
        let path = ["--output=jsonpath={.spec.externalName}"];
        host.run(&[&["get"], &Self::SERVICE[..], &path].concat())
            .await
    }

    async fn is_back(&self) -> Result<()> {
        let name = Self::name(&self.host).await?;
        ensure!(
            name == self.to,
            "it leads to {name}, and not to {}",
            self.to
        );
        Ok(())
    }
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

    /// Two pods take the places of two others.
    async fn certificate_is_given(&self) -> Result<()> {
        let given = Given::made(self.fleet)?;
        given.put(self.desk).await?;
        self.upgrade(&format!("{ISSUED},{}", given::VALUES)).await?;
        self.are_of(&["all"]).await?;
        given.is_trusted(self.fleet).await?;
        given.renew()?;
        given.put(self.desk).await?;
        given.is_read_anew(self.fleet).await
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
