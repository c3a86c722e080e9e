//! What is stored is compared with the members: nothing is wrong after a sync and while the members change, and what somebody breaks in the
//! store is found and put right.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use armadex_e2e::armadex::{self, Armadex};
use armadex_e2e::churn::Churn;
use armadex_e2e::equality::{SEEDED_KINDS, list_member};
use armadex_e2e::progress::note;
use armadex_e2e::scenario::{SOON, on_board, wait_until_equal};
use armadex_e2e::seed::{self, Plan};
use armadex_e2e::store::StoreKind;
use armadex_e2e::{Harness, Options};
use armadex_model::{GroupVersionResource, ResourceType};
use armadex_storage::{Batch, Change, ClusterId, Object, Rules, Sink, StoredVersion};
use armadex_storage_sql::{Options as StoreOptions, SqlStore};
use tokio_util::sync::CancellationToken;

const MEMBER: &str = "member1";
/// Bytes that an audit takes for each object: metadata takes some 1,700, whole objects take more than twice as many, and what is less can't be all of it.
const LEAST: f64 = 500.0;
const MOST: f64 = 2_200.0;
const CHURN: Churn = Churn {
    rate: 60,
    length: Duration::from_secs(60),
    seed: 1,
};

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_in_the_store_is_found_and_mended_and_nothing_else_is() -> Result<()> {
    let fleet = Harness::start(Options {
        members: 1,
        // What differs is written into it by this test.
        store: Some(StoreKind::Sqlite),
        ..Options::default()
    })
    .await?;
    let plan = Plan {
        count: 2000,
        seed: 1,
    };
    seed::put(&fleet.member(MEMBER)?, plan).await?;
    each_object_has_a_version_of_its_own(&fleet).await?;
    let mut armadex = on_board(&fleet).await?;
    fleet.join(MEMBER).await?;
    wait_until_equal(&fleet, &[MEMBER], &SEEDED_KINDS, SOON).await?;
    let_the_auditor_ask(&fleet).await?;
    nothing_is_wrong(&fleet, "at rest").await?;
    what_it_costs(&armadex).await?;
    while_it_changes(&fleet).await?;
    wait_until_equal(&fleet, &[MEMBER], &SEEDED_KINDS, SOON).await?;
    what_is_broken_is_mended(&fleet, &mut armadex).await?;
    armadex.stop()?;
    fleet.finish().await;
    Ok(())
}

/// As in a member whose objects come through its API server: a watch that begins at the version of one has seen all of it, or nothing.
async fn each_object_has_a_version_of_its_own(fleet: &Harness) -> Result<()> {
    let member = fleet.member(MEMBER)?.client().await?;
    let objects = list_member(&member, MEMBER, &SEEDED_KINDS).await?;
    let versions = objects.values().map(|state| &state.resource_version);
    let versions: BTreeSet<&String> = versions.collect();
    let (objects, versions) = (objects.len(), versions.len());
    ensure!(
        versions == objects,
        "{objects} objects have {versions} versions"
    );
    Ok(())
}

/// As docs/audit.md says.
async fn let_the_auditor_ask(fleet: &Harness) -> Result<()> {
    let (host, role) = (fleet.kubectl("host"), "--clusterrole=auditor");
    let (verbs, user) = ("--verb=get,patch,list,watch", "--user=auditor");
    let resource = "--resource=pediaclusters.cluster.clusterpedia.io";
    for grant in [
        ["clusterrole", "auditor", verbs, resource],
        ["clusterrolebinding", "auditor", role, user],
    ] {
        host.run(&[&["create"][..], &grant].concat()).await?;
    }
    Ok(())
}

async fn audit(fleet: &Harness) -> Result<String> {
    let host = fleet.host().kubeconfig_for("auditor", None)?;
    let host = host.display().to_string();
    let said = armadex::run(&["audit", MEMBER, "--kubeconfig", &host]).await?;
    note(format_args!("{}", said.trim()));
    Ok(said)
}

async fn nothing_is_wrong(fleet: &Harness, when: &str) -> Result<()> {
    let said = audit(fleet).await?;
    let nothing = "0 differed, 0 mended, 0 resources not proved";
    ensure!(said.trim().ends_with(nothing), "{when}: {said}");
    Ok(())
}

async fn what_it_costs(armadex: &Armadex) -> Result<()> {
    let bytes = armadex
        .counter("armadex_audit_received_bytes_total")
        .await?;
    let objects = armadex.counter("armadex_audit_objects_total").await?;
    let each = bytes / objects;
    note(format_args!("{bytes} bytes for {objects} objects"));
    ensure!(objects > 0.0, "nothing was listed");
    ensure!(
        (LEAST..MOST).contains(&each),
        "{each:.0} bytes for each object"
    );
    Ok(())
}

async fn while_it_changes(fleet: &Harness) -> Result<()> {
    let (stop, client) = (
        CancellationToken::new(),
        fleet.member(MEMBER)?.client().await?,
    );
    let audits = async {
        for _ in 0..3 {
            nothing_is_wrong(fleet, "while it changes").await?;
        }
        stop.cancel();
        anyhow::Ok(())
    };
    tokio::try_join!(CHURN.run(&client, &stop), audits).map(drop)
}

/// A pod that the store has lost, one in an old version, and one that never was.
async fn what_is_broken_is_mended(fleet: &Harness, armadex: &mut Armadex) -> Result<()> {
    armadex.stop()?;
    break_three_pods(fleet).await?;
    armadex.restart().await?;
    let said = audit(fleet).await?;
    ensure!(said.contains("pods: 3 differed: "), "{said}");
    let mended = "3 differed, 3 mended, 0 resources not proved";
    ensure!(said.trim().ends_with(mended), "{said}");
    wait_until_equal(fleet, &[MEMBER], &SEEDED_KINDS, SOON).await?;
    let events = ["get", "events", "--output", "jsonpath={.items[*].reason}"];
    let events = fleet.kubectl("host").run(&events).await?;
    ensure!(events.contains("AuditFoundDifferences"), "{events}");
    nothing_is_wrong(fleet, "afterwards").await
}

async fn break_three_pods(fleet: &Harness) -> Result<()> {
    let store = SqlStore::sqlite(&fleet.folder().store(), &StoreOptions::default()).await?;
    let clusters = Sink::clusters(&store).await?;
    let joined = clusters.first().context("the store has no cluster")?;
    let cluster = store
        .join(&joined.name, &joined.incarnation, &joined.owner)
        .await?;
    let (stream, mut pods) = pods(&store, cluster, &joined.owner).await?;
    let (lost, old) = (pods.remove(0), pods.remove(0));
    let put = |row: StoredVersion| {
        Change::Put(Object {
            key: row.key,
            uid: row.uid,
            resource_version: "1".into(),
            created: 0,
            terms: Vec::new(),
            body: "\"name\":\"broken\"}}".into(),
        })
    };
    let mut ghost = old.clone();
    ghost.key.name += "-ghost";
    let batch = Batch {
        changes: vec![Change::Delete(lost.key), put(old), put(ghost)],
        ..stream
    };
    store.write(batch).await?;
    store.shutdown().await;
    Ok(())
}

/// An empty batch of the stream of pods, and two of them.
async fn pods(
    store: &SqlStore,
    cluster: ClusterId,
    owner: &str,
) -> Result<(Batch, Vec<StoredVersion>)> {
    let pods = GroupVersionResource::new("", "v1", "pods");
    let states = store.streams(cluster).await?;
    let state = states.iter().find(|state| state.resource.gvr == pods);
    let resource: &ResourceType = &state.context("pods are not synced")?.resource;
    let rules = Rules::of_all(armadex_synchro::rules_version(&pods));
    let stream = store.open(cluster, owner, resource, rules).await?;
    let rows = store.versions(cluster, stream.resource, None, 2).await?;
    let batch = Batch {
        cluster,
        resource: stream.resource,
        epoch: stream.epoch,
        whole: true,
        rules,
        changes: Vec::new(),
        position: None,
    };
    Ok((batch, rows))
}
