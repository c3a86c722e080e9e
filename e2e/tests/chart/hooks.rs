//! What the Jobs of helm run, run with the account that each has: nothing here starts pods, so helm leaves its hooks out, and this does what they would.

use anyhow::{Context, Result, ensure};
use armadex_e2e::{Harness, Options, armadex, chart};
use serde_json::Value;

use crate::helm::{self, Helm};
use crate::parts::arguments;
use crate::release::account;

const POLICY: &str = "clusterimportpolicy/karmada";
const APART: [&str; 2] = [
    "--set",
    "policies.karmada.enabled=true,install.removePolicies=true",
];

#[tokio::test(flavor = "multi_thread")]
async fn each_job_does_with_its_own_account_what_it_is_for() -> Result<()> {
    let fleet = Harness::start(Options {
        members: 0,
        ..Options::default()
    })
    .await?;
    let helm = Helm::ensure()?;
    on_a_control_plane_elsewhere(&fleet, &helm).await?;
    on_this_cluster(&fleet, &helm).await?;
    fleet.finish().await;
    Ok(())
}

/// By an administrator's kubeconfig, which is that of the host here.
async fn on_a_control_plane_elsewhere(fleet: &Harness, helm: &Helm) -> Result<()> {
    let host = fleet.kubectl("host");
    let made = helm.render(&helm::values_named("karmada"), &[])?;
    let kubeconfig = fleet.folder().kubeconfig("host").display().to_string();
    let run = async |event: &str| run(&made, event, &kubeconfig).await;
    let subject = "jsonpath={.subjects[0].name}";
    let binding = ["get", "clusterrolebinding", "armadex-synchro", "--output"];
    let subjects = async || host.run(&[&binding[..], &[subject]].concat()).await;
    run_as_before(&made, "pre-install", &kubeconfig).await?;
    a_second_release_changes_nothing(fleet, helm, &kubeconfig, "it says no release").await?;
    run("pre-upgrade").await?;
    for (before, after) in [
        ("pre-install", "post-install"),
        ("pre-upgrade", "post-upgrade"),
        ("pre-rollback", "post-rollback"),
    ] {
        run(before).await?;
        ensure!(subjects().await? == "armadex", "{before}");
        host.run(&["get", "clusterrolebinding", "armadex-karmada"])
            .await?;
        let applied = host.output(&["get", POLICY]).await?.status.success();
        ensure!(
            applied == (before == "pre-install"),
            "policies come after controllers of before, and at once where there are none: {before}"
        );
        run(after).await?;
        ensure!(subjects().await? == "armadex", "{after}");
        host.run(&["delete", POLICY]).await?;
    }
    run("post-install").await?;
    let first = format!("of the release {}/{}", helm::NAMESPACE, helm::RELEASE);
    a_second_release_changes_nothing(fleet, helm, &kubeconfig, &first).await?;
    run("post-delete").await?;
    let left = host
        .output(&["get", "clusterrole", "armadex-synchro"])
        .await?;
    ensure!(!left.status.success(), "the rights are there");
    host.run(&["get", POLICY]).await?;
    host.run(&["delete", POLICY]).await?;
    Ok(())
}

/// For the control plane it would be the same Armadex: it has the same namespace. It is told so in these words.
async fn a_second_release_changes_nothing(
    fleet: &Harness,
    helm: &Helm,
    kubeconfig: &str,
    words: &str,
) -> Result<()> {
    let values = helm::values_named("karmada").display().to_string();
    let next = ["--values", &values, "--set", "install.removePolicies=true"];
    let next = helm::objects(&helm.text("next", &next)?)?;
    let said = run(&next, "pre-install", kubeconfig).await;
    let said = format!("{:#}", said.err().context("it was installed")?);
    ensure!(
        said.contains(words) && said.contains("install.takeOver"),
        "{said}"
    );
    for event in ["pre-delete", "post-delete"] {
        run(&next, event, kubeconfig).await?;
    }
    let host = fleet.kubectl("host");
    for there in [
        "clusterrole/armadex-synchro",
        "clusterrolebinding/armadex-registration",
        POLICY,
    ] {
        host.run(&["get", there]).await?;
    }
    Ok(())
}

async fn on_this_cluster(fleet: &Harness, helm: &Helm) -> Result<()> {
    let (host, folder) = (fleet.kubectl("host"), chart::folder());
    let kubeconfig = fleet.folder().kubeconfig("host");
    let chart = folder.to_str().context("a path")?;
    let install = [
        "install",
        helm::RELEASE,
        chart,
        "--create-namespace",
        "--no-hooks",
        "--take-ownership",
    ];
    let force = match helm.applies()? {
        true => &["--force-conflicts"][..],
        false => &[],
    };
    helm.release(&kubeconfig, &[&install[..], force, &APART].concat())?;
    let made = helm.render(&helm::values_named("default"), &APART)?;
    for event in [
        "post-install",
        "post-upgrade",
        "post-rollback",
        "pre-delete",
    ] {
        for object in of_event(&made, event).filter(|object| object["kind"] != "Job") {
            host.apply(&object.to_string()).await?;
        }
        let (_, pod) = helm::pods(&of_event(&made, event).cloned().collect::<Vec<_>>())
            .into_iter()
            .next()
            .context("a Job")?;
        run(&made, event, &account(fleet, &pod).await?).await?;
        let is_there = host.output(&["get", POLICY]).await?.status.success();
        ensure!(
            is_there == (event != "pre-delete"),
            "after {event}: {is_there}"
        );
    }
    Ok(())
}

pub(crate) fn of_event<'a>(made: &'a [Value], event: &'a str) -> impl Iterator<Item = &'a Value> {
    made.iter().filter(move |object| {
        let events = object["metadata"]["annotations"]["helm.sh/hook"].as_str();
        events.is_some_and(|events| events.split(',').any(|one| one == event))
    })
}

/// The command of the Job of an event, by this kubeconfig.
async fn run(made: &[Value], event: &str, kubeconfig: &str) -> Result<()> {
    let (name, pod) = job(made, event)?;
    let done = run_pod(&pod, &["--kubeconfig", kubeconfig]).await;
    done.with_context(|| format!("{name} at {event}")).map(drop)
}

/// The same as charts had it that did not say which release it is.
async fn run_as_before(made: &[Value], event: &str, kubeconfig: &str) -> Result<()> {
    let (_, mut pod) = job(made, event)?;
    let args = pod.pointer_mut("/spec/containers/0/args");
    let args = args.and_then(Value::as_array_mut).context("arguments")?;
    args.retain(|flag| {
        let flag = flag.as_str().unwrap_or_default();
        !flag.starts_with("--release=") && flag != "--noted"
    });
    run_pod(&pod, &["--kubeconfig", kubeconfig]).await.map(drop)
}

/// The only Job of an event that asks the control plane, and its pod.
pub(crate) fn job(made: &[Value], event: &str) -> Result<(String, Value)> {
    let jobs: Vec<Value> = of_event(made, event).cloned().collect();
    let asks_the_store = |name: &str| name.contains("-rollback ");
    let jobs = helm::pods(&jobs).into_iter();
    let mut jobs = jobs.filter(|(name, _)| !asks_the_store(name));
    let job = jobs.next().with_context(|| format!("no Job of {event}"))?;
    ensure!(jobs.next().is_none(), "several Jobs of {event}");
    Ok(job)
}

/// What a pod would run, with this in the place of its kubeconfig, and what it prints.
pub(crate) async fn run_pod(pod: &Value, kubeconfigs: &[&str]) -> Result<String> {
    let told = arguments(pod).into_iter();
    let told: Vec<&str> = told
        .filter(|flag| !flag.starts_with("--kubeconfig="))
        .chain(kubeconfigs.iter().copied())
        .collect();
    armadex::run(&told).await
}
