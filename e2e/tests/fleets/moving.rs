//! What docs/migrate-from-clusterpedia.md says, done word for word: beside, back, beside again, over, and back.

mod clusterpedia;

use anyhow::{Context, Result, ensure};
use armadex_e2e::process::last_words;
use armadex_e2e::scenario::{SOON, wait_until_absent};
use armadex_e2e::seed::{self, Plan};
use armadex_e2e::{Harness, Options, Record, deploy, document, log, requests, wait_until};

use crate::desk::Desk;
use clusterpedia::{CLUSTERS, Clusterpedia};

const MEMBERS: [&str; 2] = ["member1", "member2"];
/// The kinds that the page compares.
const COMPARED: [&str; 2] = ["pods", "deployments"];
/// The PediaCluster in which somebody changed what its policy made.
const EDITED: &str = CLUSTERS[0];
/// The one that leaves and comes back.
const LEAVES: &str = CLUSTERS[1];
/// All that Clusterpedia has on a control plane.
const THEIRS: &str = "crd,apiservices,pediaclusters,pediaclusterlifecycles,clusterimportpolicies,deployments,services";

/// The blocks of the page, in its order.
struct Page {
    keep: String,
    find: String,
    would_change: String,
    without_owner: String,
    give_an_owner: String,
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
    give_back: String,
}

impl Page {
    fn read() -> Result<Self> {
        let path = deploy::folder().join("../docs/migrate-from-clusterpedia.md");
        let blocks = document::blocks(&std::fs::read_to_string(path)?)?;
        let blocks: Result<[String; 16], _> = blocks.try_into();
        let blocks =
            blocks.map_err(|blocks| anyhow::anyhow!("it has other blocks: {blocks:#?}"))?;
        let [
            keep,
            find,
            would_change,
            without_owner,
            give_an_owner,
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
            give_back,
        ] = blocks;
        Ok(Self {
            keep,
            find,
            would_change,
            without_owner,
            give_an_owner,
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
            give_back,
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
        fleet.join(member).await?;
    }
    let (desk, page) = (Desk::prepare(&fleet)?, Page::read()?);
    let mut clusterpedia = Clusterpedia::set_up(&fleet, &desk.folder).await?;
    edit_by_hand(&fleet).await?;
    desk.run(&page.keep)?;
    what_is_to_be_settled_is_found(&fleet, &desk, &page).await?;
    what_would_change_is_shown(&desk, &page)?;
    one_without_an_owner_is_given_it(&fleet, &desk, &page).await?;
    let before = theirs(&fleet).await?;
    let trial = is_tried(&fleet, &desk, &page, "armadex-trial").await?;
    what_is_not_the_same_is_told(&desk, &page)?;
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
    what_was_edited_is_given_back(&fleet, &desk, &page).await?;
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

/// A kind more in a PediaCluster that a policy made, which Clusterpedia leaves there.
async fn edit_by_hand(fleet: &Harness) -> Result<()> {
    let add = r#"[{"op": "add", "path": "/spec/syncResources/0/resources/-", "value": "events"}]"#;
    let patch = [
        "patch",
        "pediacluster",
        EDITED,
        "--type=json",
        "--patch",
        add,
    ];
    fleet.kubectl("host").run(&patch).await.map(drop)
}

/// The kinds of the core group that the one with the edit has.
async fn kinds_of_the_edited(fleet: &Harness) -> Result<String> {
    let get = [
        "get",
        "pediacluster",
        EDITED,
        "--output=jsonpath={.spec.syncResources[0].resources[*]}",
    ];
    fleet.kubectl("host").run(&get).await
}

fn what_would_change_is_shown(desk: &Desk, page: &Page) -> Result<()> {
    let shown = desk.output(&page.would_change)?;
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    let changed = |line: &&str| line.starts_with("-  ") || line.starts_with("+  ");
    let changed = text.lines().filter(changed);
    let changed: Vec<&str> = changed
        .filter(|line| !line.contains("generation:"))
        .collect();
    let said = String::from_utf8_lossy(&shown.stderr);
    ensure!(changed == ["-    - events"], "{text}{said}");
    ensure!(text.contains(EDITED), "{text}{said}");
    ensure!(!shown.status.success(), "{text}{said}");
    Ok(())
}

/// It is found where it was there before its policy, and is as before with what the page says.
async fn one_without_an_owner_is_given_it(fleet: &Harness, desk: &Desk, page: &Page) -> Result<()> {
    ensure!(desk.run(&page.without_owner)?.is_empty(), "all have owners");
    let patch = r#"{"metadata": {"ownerReferences": null}}"#;
    let patch = [
        "patch",
        "pediacluster",
        LEAVES,
        "--type=merge",
        "--patch",
        patch,
    ];
    fleet.kubectl("host").run(&patch).await?;
    let found = desk.run(&page.without_owner)?;
    ensure!(found.trim() == LEAVES, "{found}");
    desk.run(&page.give_an_owner.replace("NAME", LEAVES))?;
    ensure!(desk.run(&page.without_owner)?.is_empty(), "all have owners");
    Ok(())
}

/// Rows that differ are told, and so is that nothing could be compared.
fn what_is_not_the_same_is_told(desk: &Desk, page: &Page) -> Result<()> {
    let trial = desk.folder.join("trial.kubeconfig");
    let text = std::fs::read_to_string(&trial)?;
    let [one, _, another] = CLUSTERS.map(|name| format!("/clusters/{name}/"));
    let elsewhere = text.replace(&one, &another);
    ensure!(elsewhere != text, "{one} is not in {text}");
    for (kubeconfig, told) in [(elsewhere, &CLUSTERS[..1]), (String::new(), &CLUSTERS[..])] {
        std::fs::write(&trial, kubeconfig)?;
        let compared = String::from_utf8(desk.output(&page.compare)?.stdout)?;
        for name in CLUSTERS {
            for kind in COMPARED {
                let verdict = if told.contains(&name) {
                    format!("{name}: {kind}, NOT THE SAME")
                } else {
                    format!(" {kind}, the same")
                };
                let mut lines = compared.lines().filter(|line| line.starts_with(name));
                ensure!(lines.any(|line| line.ends_with(&verdict)), "{compared}");
            }
        }
    }
    std::fs::write(&trial, text)?;
    Ok(())
}

/// To the one that is the same as before the switch, and not to the one that was made anew.
async fn what_was_edited_is_given_back(fleet: &Harness, desk: &Desk, page: &Page) -> Result<()> {
    let given = desk.output(&page.give_back)?;
    let said = String::from_utf8_lossy(&given.stderr).into_owned();
    ensure!(said.contains(LEAVES) && !said.contains(EDITED), "{said}");
    let kinds = kinds_of_the_edited(fleet).await?;
    ensure!(kinds.ends_with(" events"), "{kinds}");
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
            for kind in COMPARED {
                let rows = told.lines().find_map(|line| {
                    let rest = line.strip_prefix(cluster)?.strip_prefix(": ")?;
                    let rows = rest.strip_suffix(&format!(" {kind}, the same"))?;
                    rows.parse::<usize>().ok()
                });
                ensure!(rows.is_some_and(|rows| rows > 5), "{told}");
            }
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
    let kinds = kinds_of_the_edited(fleet).await?;
    ensure!(!kinds.contains("events"), "{kinds}");
    is_searched_with_the_old_kubeconfig(fleet, desk).await?;
    // What was made by hand goes by hand, and the finalizer that was there with it.
    host.run(&["delete", "pediacluster", CLUSTERS[2], "--timeout=60s"])
        .await?;
    fleet.unjoin(MEMBERS[1]).await?;
    wait_until_absent(fleet, &format!("pediacluster/{LEAVES}")).await?;
    fleet.join(MEMBERS[1]).await?;
    let made = [
        "wait",
        "--for=condition=Ready",
        "--timeout=90s",
        "pediacluster",
        LEAVES,
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
