//! Kubeconfigs that Armadex issues itself: its Jobs may do in the cluster of the pods what that takes and no more, nothing that helm makes has to do with what is in them, and they
//! go with the release. Nothing here starts pods: this runs what they would. What helm does with its Jobs is told by the stories of `charted`.

use anyhow::{Context, Result, ensure};
use armadex_e2e::issued::Issued;
use armadex_e2e::{Harness, Kubectl, Options, chart};
use serde_json::Value;

use crate::helm::{self, Helm};
use crate::hooks::{job, of_event, run_pod};
use crate::release::account;

const NAME: &str = "armadex-index-control-plane";
const UNCHANGED: &str = "secret/armadex-index-control-plane unchanged in armadex-system\n";
const HOLDER: &str = "system:serviceaccount:clusterpedia-system:armadex";

/// One apiserver is both clusters.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_issued_is_good_as_long_as_the_release_is_there() -> Result<()> {
    let fleet = Harness::start(Options {
        members: 0,
        ..Options::default()
    })
    .await?;
    let (host, helm) = (fleet.kubectl("host"), Helm::ensure()?);
    let release = Release {
        fleet: &fleet,
        helm: &helm,
        values: helm::values_named("issued").display().to_string(),
    };
    host.run(&["create", "namespace", helm::NAMESPACE]).await?;
    release.run_job("pre-install").await?;
    let first = release.issued().await?;
    ensure!(first.holder(&fleet).await?.as_deref() == Some(HOLDER));
    release.helm("install", &[])?;
    release.run_job("post-install").await?;
    ensure!(release.renew().await? == UNCHANGED);
    release.run_job("pre-upgrade").await?;
    release.helm("upgrade", &["--set", "log.level=debug"])?;
    release.run_job("pre-rollback").await?;
    release.helm("rollback", &[])?;
    ensure!(release.issued().await?.token == first.token, "it is good");

    first.make_its_account_anew(&fleet).await?;
    ensure!(release.renew().await?.contains(" configured "));
    let second = release.issued().await?;
    ensure!(second.holder(&fleet).await?.as_deref() == Some(HOLDER));

    a_secret_that_is_gone_is_made_with_an_upgrade(&release, &host).await?;
    whoever_renews_may_do_nothing_else(&host).await?;
    what_is_issued_goes_in_whatever_mode_it_was(&release, &host).await?;
    fleet.finish().await;
    Ok(())
}

/// What others have made under such a name stays.
async fn what_is_issued_goes_in_whatever_mode_it_was(
    release: &Release<'_>,
    host: &Kubectl,
) -> Result<()> {
    let (ours, theirs) = (format!("{NAME}-synchro"), format!("{NAME}-apiserver"));
    for name in [&ours, &theirs] {
        let create = ["create", "secret", "generic", name];
        in_namespace(host, &create).await?;
    }
    let label = [
        "label",
        "secret",
        &ours,
        "app.kubernetes.io/managed-by=armadex",
    ];
    in_namespace(host, &label).await?;
    release.helm("uninstall", &[])?;
    release.run_job("post-delete").await?;
    let left = in_namespace(host, &["get", "secrets", "--output=name"]).await?;
    ensure!(left.trim() == format!("secret/{theirs}"), "{left}");
    Ok(())
}

/// A run of kubectl in the namespace of the release.
async fn in_namespace(host: &Kubectl, arguments: &[&str]) -> Result<String> {
    host.run(&[arguments, &["--namespace", helm::NAMESPACE]].concat())
        .await
}

struct Release<'a> {
    fleet: &'a Harness,
    helm: &'a Helm,
    values: String,
}

impl Release<'_> {
    fn made(&self) -> Result<Vec<Value>> {
        self.helm.render(self.values.as_ref(), &[])
    }

    fn helm(&self, verb: &str, more: &[&str]) -> Result<()> {
        let kubeconfig = self.fleet.folder().kubeconfig("host");
        let chart = chart::folder().to_str().context("a path")?.to_owned();
        let mut arguments = vec![verb, helm::RELEASE, "--no-hooks"];
        if ["install", "upgrade"].contains(&verb) {
            arguments.extend([&chart, "--values", &self.values]);
        }
        let arguments = [&arguments[..], more].concat();
        self.helm.release(&kubeconfig, &arguments).map(drop)
    }

    /// With the account that helm makes for it.
    async fn run_job(&self, event: &str) -> Result<()> {
        let (made, host) = (self.made()?, self.fleet.kubectl("host"));
        for object in of_event(&made, event).filter(|object| object["kind"] != "Job") {
            host.apply(&object.to_string()).await?;
        }
        let (name, pod) = job(&made, event)?;
        self.run(&pod).await.with_context(|| name).map(drop)
    }

    /// What the pod of the CronJob prints.
    async fn renew(&self) -> Result<String> {
        let made = self.made()?;
        let mut pods = helm::pods(&made).into_iter();
        let renewing = pods.find(|(name, _)| name.starts_with("CronJob "));
        self.run(&renewing.context("a CronJob")?.1).await
    }

    async fn run(&self, pod: &Value) -> Result<String> {
        let administrator = self.fleet.folder().kubeconfig("host").display().to_string();
        let account = account(self.fleet, pod).await?;
        let kubeconfigs = [
            "--kubeconfig",
            &administrator,
            "--secret-kubeconfig",
            &account,
        ];
        run_pod(pod, &kubeconfigs).await
    }

    async fn issued(&self) -> Result<Issued> {
        let secret = format!("{}/{NAME}", helm::NAMESPACE);
        Issued::of(&self.fleet.kubectl("host"), &secret).await
    }
}

/// Who renews could bring one back that has gone with the release.
async fn a_secret_that_is_gone_is_made_with_an_upgrade(
    release: &Release<'_>,
    host: &Kubectl,
) -> Result<()> {
    in_namespace(host, &["delete", "secret", NAME]).await?;
    let refused = release.renew().await.err().context("it was made")?;
    let refused = format!("{refused:#}");
    ensure!(refused.contains("cannot create resource"), "{refused}");
    release.run_job("pre-upgrade").await?;
    let holder = release.issued().await?.holder(release.fleet).await?;
    ensure!(holder.as_deref() == Some(HOLDER));
    Ok(())
}

async fn whoever_renews_may_do_nothing_else(host: &Kubectl) -> Result<()> {
    let account = format!(
        "system:serviceaccount:{}:armadex-index-renew",
        helm::NAMESPACE
    );
    for (question, answer) in [
        (&["get", "secrets/armadex-index-control-plane"][..], "yes"),
        (&["get", "secrets/karmada"], "no"),
        (&["patch", "secrets/karmada"], "no"),
        (&["list", "secrets"], "no"),
        (&["create", "secrets"], "no"),
        (&["get", "configmaps"], "no"),
    ] {
        let ask = [
            "auth",
            "can-i",
            "--as",
            &account,
            "--namespace",
            helm::NAMESPACE,
        ];
        let output = host.output(&[&ask[..], question].concat()).await?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        ensure!(said.trim() == answer, "{question:?}: {said}");
    }
    Ok(())
}
