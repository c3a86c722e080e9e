//! What docs/migrate-from-clusterpedia.md says, done word for word: beside, back, beside again, over, and back.

mod clusterpedia;

use anyhow::{Context, Result, ensure};
use armadex_e2e::process::last_words;
use armadex_e2e::scenario::{SOON, wait_until_absent};
use armadex_e2e::seed::{self, Plan};
use armadex_e2e::{Harness, Options, Record, deploy, log, requests, wait_until};

use crate::desk::{self, Desk};
use clusterpedia::{CLUSTERS, Clusterpedia};

const MEMBERS: [&str; 2] = ["member1", "member2"];
/// All that Clusterpedia has on a control plane.
const THEIRS: &str = "crd,apiservices,pediaclusters,pediaclusterlifecycles,clusterimportpolicies,deployments,services";

/// The blocks of the page, in its order.
struct Page {
    keep: String,
    find: String,
    install: String,
    try_it: String,
    reach: String,
    compare: String,
    end_theirs: String,
    upgrade: String,
    start: String,
    switch: String,
    undo_the_trial: String,
    go_back: String,
}

impl Page {
    fn read() -> Result<Self> {
        let path = deploy::folder().join("../docs/migrate-from-clusterpedia.md");
        let blocks = desk::blocks(&std::fs::read_to_string(path)?)?;
        let blocks: Result<[String; 12], _> = blocks.try_into();
        let blocks =
            blocks.map_err(|blocks| anyhow::anyhow!("it has other blocks: {blocks:#?}"))?;
        let [
            keep,
            find,
            install,
            try_it,
            reach,
            compare,
            end_theirs,
            upgrade,
            start,
            switch,
            undo_the_trial,
            go_back,
        ] = blocks;
        Ok(Self {
            keep,
            find,
            install,
            try_it,
            reach,
            compare,
            end_theirs,
            upgrade,
            start,
            switch,
            undo_the_trial,
            go_back,
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_about_moving_can_be_followed_there_and_back() -> Result<()> {
    let fleet = Harness::start(Options {
        members: 2,
        writes_requests_down: true,
        ..Options::default()
    })
    .await?;
    for member in MEMBERS {
        let plan = Plan {
            count: 100,
            seed: 1,
        };
        seed::put(&fleet.member(member)?, plan).await?;
    }
    fleet.join(MEMBERS[0]).await?;
    let (desk, page) = (Desk::prepare(&fleet)?, Page::read()?);
    let mut clusterpedia = Clusterpedia::set_up(&fleet, &desk.folder).await?;
    desk.run(&page.keep)?;
    what_is_to_be_settled_is_found(&fleet, &desk, &page).await?;
    let before = theirs(&fleet).await?;
    let trial = is_tried(&fleet, &desk, &page, "armadex-trial").await?;
    ensure!(
        theirs(&fleet).await? == before,
        "the trial touched what is Clusterpedia's"
    );
    end(&fleet, &trial)?;
    desk.run(&page.undo_the_trial)?;
    nothing_of_ours_is_left(&fleet).await?;
    let trial = is_tried(&fleet, &desk, &page, "armadex-trial-again").await?;
    ensure!(
        theirs(&fleet).await? == before,
        "the trial touched what is Clusterpedia's"
    );
    nothing_was_written(&fleet)?;
    desk.run(&page.end_theirs)?;
    end(&fleet, &trial)?;
    desk.run(&page.upgrade)?;
    let armadex = desk.start(&fleet, "armadex-for-good", &page.start)?;
    desk.run(&page.switch)
        .with_context(|| last_words(fleet.folder(), &armadex.name))?;
    clusterpedia.stop();
    everything_is_ours(&fleet, &desk).await?;
    end(&fleet, &armadex)?;
    clusterpedia.start_again(&fleet).await?;
    desk.run(&page.go_back)?;
    is_searched_with_the_old_kubeconfig(&fleet, &desk).await?;
    nothing_of_ours_is_left(&fleet).await?;
    clusterpedia.stop();
    fleet.finish().await;
    Ok(())
}

fn end(fleet: &Harness, armadex: &Record) -> Result<()> {
    armadex.stop(SOON);
    log::check(fleet.folder(), &armadex.name)
}

/// Each object with the version that any change gives it.
async fn theirs(fleet: &Harness) -> Result<String> {
    let columns =
        "--output=custom-columns=KIND:.kind,NAME:.metadata.name,VERSION:.metadata.resourceVersion";
    let get = ["get", THEIRS, "--namespace", deploy::NAMESPACE, columns];
    let rows = fleet.kubectl("host").run(&get).await?;
    let is_theirs = |row: &&str| {
        row.contains("clusterpedia")
            || row.starts_with("ClusterImportPolicy")
            || CLUSTERS.iter().any(|name| row.contains(name))
    };
    let is_ours = |row: &&str| row.contains("trial.") || row.contains("armadex");
    let rows = rows.lines().filter(is_theirs).filter(|row| !is_ours(row));
    let rows: Vec<&str> = rows.collect();
    ensure!(rows.len() >= 15, "{rows:#?}");
    Ok(rows.join("\n"))
}

/// One without a CA is named, and no other.
async fn what_is_to_be_settled_is_found(fleet: &Harness, desk: &Desk, page: &Page) -> Result<()> {
    let host = fleet.kubectl("host");
    let found = desk.run(&page.find)?;
    ensure!(found.trim().is_empty(), "{found}");
    let bare = "{apiVersion: cluster.clusterpedia.io/v1alpha2, kind: PediaCluster, metadata: {name: bare}, spec: {apiserver: 'https://10.0.0.1', syncResources: []}}";
    host.apply(bare).await?;
    let found = desk.run(&page.find)?;
    ensure!(found.trim() == "bare: no caData", "{found}");
    host.run(&["delete", "pediacluster", "bare"]).await?;
    Ok(())
}

/// Until both show the same.
async fn is_tried(fleet: &Harness, desk: &Desk, page: &Page, name: &str) -> Result<Record> {
    desk.run(&page.install)?;
    let trial = desk.start(fleet, name, &page.try_it)?;
    desk.run(&page.reach)
        .with_context(|| last_words(fleet.folder(), name))?;
    wait_until("both show the same", SOON, || async {
        let told = desk.run(&page.compare)?;
        for cluster in CLUSTERS {
            let line = told
                .lines()
                .find(|line| line.starts_with(&format!("{cluster}: ")));
            let rows = line.and_then(|line| line.split(' ').nth(1)?.parse::<usize>().ok());
            ensure!(rows.is_some_and(|rows| rows > 5), "{told}");
        }
        Ok(true)
    })
    .await
    .with_context(|| last_words(fleet.folder(), name))?;
    Ok(trial)
}

fn nothing_was_written(fleet: &Harness) -> Result<()> {
    let mut asked = requests::read(fleet.folder())?;
    ensure!(
        asked.iter().any(|asked| asked.resource == "pediaclusters"),
        "nothing was asked"
    );
    asked.retain(|asked| {
        let reads = ["get", "list", "watch"].contains(&asked.verb.as_str());
        let is_theirs = asked.group.ends_with("clusterpedia.io") || asked.group == "events.k8s.io";
        is_theirs && !reads
    });
    ensure!(asked.is_empty(), "{asked:#?}");
    Ok(())
}

/// Statuses, finalizers, policies, and what people search.
async fn everything_is_ours(fleet: &Harness, desk: &Desk) -> Result<()> {
    let host = fleet.kubectl("host");
    for name in CLUSTERS {
        let get = [
            "get",
            "pediacluster",
            name,
            "--show-managed-fields",
            "--output=jsonpath={.metadata.managedFields[?(@.subresource=='status')].manager}",
        ];
        wait_until("Armadex has the status", SOON, || async {
            let managers = host.run(&get).await?;
            ensure!(managers.contains("armadex-synchro"), "{name}: {managers}");
            Ok(true)
        })
        .await?;
    }
    wait_until("the policy goes on", SOON, || async {
        let get = [
            "get",
            "pediaclusterlifecycle",
            CLUSTERS[0],
            "--output=jsonpath={.status.connection.digest}{.status.conditions[*].reason}",
        ];
        let said = host.run(&get).await?;
        ensure!(said.contains("PediaCluster") && said.len() > 40, "{said}");
        Ok(true)
    })
    .await?;
    is_searched_with_the_old_kubeconfig(fleet, desk).await?;
    // What was made by hand goes by hand, and the finalizer that was there with it.
    host.run(&["delete", "pediacluster", CLUSTERS[1], "--timeout=60s"])
        .await?;
    fleet.unjoin(MEMBERS[0]).await?;
    wait_until_absent(fleet, &format!("pediacluster/{}", CLUSTERS[0])).await?;
    fleet.join(MEMBERS[0]).await?;
    let made = [
        "wait",
        "--for=condition=Ready",
        "--timeout=90s",
        "pediacluster",
        CLUSTERS[0],
    ];
    wait_until("the policy brings it in again", SOON, || async {
        host.run(&made).await.map(|_| true)
    })
    .await
}

async fn is_searched_with_the_old_kubeconfig(fleet: &Harness, desk: &Desk) -> Result<()> {
    let pods = ["get", "pods", "--all-namespaces", "--no-headers"];
    let theirs = fleet.kubectl(MEMBERS[0]).run(&pods).await?.lines().count();
    let get = format!(
        "kubectl --kubeconfig clusterpedia.kubeconfig --cluster {} get pods -A --no-headers",
        CLUSTERS[0]
    );
    wait_until("people see what they saw", SOON, || async {
        let rows = desk.run(&get)?.lines().count();
        ensure!(rows == theirs, "{rows} rows instead of {theirs}");
        Ok(true)
    })
    .await
}

async fn nothing_of_ours_is_left(fleet: &Harness) -> Result<()> {
    let kinds =
        "clusterroles,clusterrolebindings,roles,rolebindings,serviceaccounts,services,apiservices";
    let get = ["get", kinds, "--all-namespaces", "--output=name"];
    let left = fleet.kubectl("host").run(&get).await?;
    let left: Vec<&str> = left
        .lines()
        .filter(|name| name.contains("armadex") || name.contains("trial"))
        .collect();
    ensure!(left.is_empty(), "{left:#?}");
    Ok(())
}
