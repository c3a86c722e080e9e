//! What the demo and the tests do with a fleet: put Armadex behind its control plane, and wait for what should follow.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use http::Request;
use kube::Client;
use serde_json::Value;

use crate::armadex::{self, Armadex, Role};
use crate::deploy;
use crate::equality::{
    COLLECTED_KINDS, Difference, Kind, Objects, SEEDED_KINDS, list_fleet, list_member,
};
use crate::harness::Harness;
use crate::seed::{self, Plan};
use crate::wait::{wait_for, wait_until};

/// On-boarding and off-boarding follow within seconds; the limit is for a busy machine of two cores.
pub const SOON: Duration = Duration::from_secs(90);

/// All that Armadex can say: tests read whether it says what it must not.
pub const TALKATIVE: &str = "--log-level=info,armadex=debug";

/// Installs the CRDs and the account of Armadex, starts `armadex all` as that, registers its API and applies the shipped policy. It says in its
/// log whatever it can.
pub async fn on_board(fleet: &Harness) -> Result<Armadex> {
    on_board_by(fleet, &deploy::policy()?, &[TALKATIVE]).await
}

/// The same with a policy and arguments of one's own.
pub async fn on_board_by(fleet: &Harness, policy: &str, arguments: &[&str]) -> Result<Armadex> {
    armadex::install(fleet).await?;
    let armadex = Armadex::start(fleet, Role::All, arguments).await?;
    armadex.register(fleet).await?;
    fleet.kubectl("host").apply(policy).await?;
    Ok(armadex)
}

/// Armadex in three processes.
#[derive(Debug)]
pub struct Apart {
    /// The policies.
    pub controllers: Armadex,
    /// The members' data.
    pub synchro: Armadex,
    /// The API.
    pub apiserver: Armadex,
}

impl Apart {
    /// Ends them as [`Armadex::stop`] does.
    pub fn stop(&self) -> Result<()> {
        let Self {
            controllers,
            synchro,
            apiserver,
        } = self;
        for part in [apiserver, synchro, controllers] {
            part.stop()?;
        }
        Ok(())
    }
}

/// What [`on_board_by`] does, with a process for each part that has an account of its own.
pub async fn on_board_apart(fleet: &Harness, policy: &str, arguments: &[&str]) -> Result<Apart> {
    armadex::install_apart(fleet).await?;
    let apart = Apart {
        controllers: Armadex::start(fleet, Role::Controllers, arguments).await?,
        synchro: Armadex::start(fleet, Role::Synchro, arguments).await?,
        apiserver: Armadex::start_registered(fleet, Role::Apiserver, arguments).await?,
    };
    fleet.kubectl("host").apply(policy).await?;
    Ok(apart)
}

/// Joins a member, puts a few hundred objects into it, and waits until all of them are stored and every kind is watched.
pub async fn join_seeded(fleet: &Harness, member: &str) -> Result<()> {
    let plan = Plan {
        count: 200,
        seed: 1,
    };
    fleet.join(member).await?;
    seed::put(&fleet.member(member)?, plan).await?;
    let objects = wait_until_equal(fleet, &[member], &SEEDED_KINDS, SOON).await?;
    ensure!(objects > plan.count, "{objects} objects");
    wait_until_synced(fleet, &[member], SOON).await
}

/// All objects of `kinds` in `members`, asked directly.
pub async fn list_members(fleet: &Harness, members: &[&str], kinds: &[Kind]) -> Result<Objects> {
    let mut objects = Objects::new();
    for &name in members {
        let client = fleet.member(name)?.client().await?;
        objects.extend(list_member(&client, name, kinds).await?);
    }
    Ok(objects)
}

/// Waits until Armadex has what `members` have and nothing else; gives how many objects that is.
pub async fn wait_until_equal(
    fleet: &Harness,
    members: &[&str],
    kinds: &[Kind],
    limit: Duration,
) -> Result<usize> {
    let host = fleet.host().client().await?;
    wait_for("Armadex has what the members have", limit, || async {
        let theirs = list_members(fleet, members, kinds).await?;
        let ours = list_fleet(&host, kinds).await?;
        let difference = Difference::between(&theirs, &ours);
        ensure!(difference.is_empty(), "{difference}");
        Ok(Some(theirs.len()))
    })
    .await
}

/// Waits until every kind of `members` is stored and watched. Of those of which a member has no objects nothing else tells that: a process that ends before
/// leaves them to the next one to list.
pub async fn wait_until_synced(fleet: &Harness, members: &[&str], limit: Duration) -> Result<()> {
    let host = fleet.host().client().await?;
    wait_until("every kind is stored and watched", limit, || async {
        for member in members {
            let object = pedia_cluster(&host, member).await?;
            let left = not_synced(&object["status"]);
            ensure!(left.is_empty(), "{member}: {}", left.join(", "));
        }
        Ok(true)
    })
    .await
}

/// The PediaCluster of this name on the host, asked as a program does: kubectl takes more of a machine than all that is waited for.
pub async fn pedia_cluster(host: &Client, name: &str) -> Result<Value> {
    let path = format!("/apis/cluster.clusterpedia.io/v1alpha2/pediaclusters/{name}");
    let object = host.request(Request::get(&path).body(Vec::new())?).await;
    object.with_context(|| format!("cannot get PediaCluster {name}"))
}

/// Waits until a process that was started anew watches every collected kind of `members` members, so that whatever it lists is counted by then. The
/// status says what the one before it said, so the watches are counted.
pub async fn wait_until_watched(armadex: &Armadex, members: usize, limit: Duration) -> Result<()> {
    #[expect(clippy::cast_precision_loss, reason = "a few kinds of a few members")]
    let streams = (members * COLLECTED_KINDS.len()) as f64;
    wait_until("all is watched again", limit, || async {
        Ok(armadex.counter(armadex::WATCHES).await? >= streams)
    })
    .await
}

/// What the status of a PediaCluster does not say to be synced: of the kinds that the shipped policy collects, and of those that it speaks of itself.
fn not_synced(status: &Value) -> Vec<String> {
    let mut told: BTreeMap<String, bool> =
        COLLECTED_KINDS.map(|kind| (kind.resource(), false)).into();
    for group in status["syncResources"].as_array().into_iter().flatten() {
        let name = group["group"].as_str().unwrap_or_default();
        for resource in group["resources"].as_array().into_iter().flatten() {
            let resource_name = resource["name"].as_str().unwrap_or_default();
            let conditions = resource["syncConditions"].as_array();
            let synced = conditions.is_some_and(|all| {
                let is_synced = |condition: &Value| condition["status"] == "Syncing";
                !all.is_empty() && all.iter().all(is_synced)
            });
            told.insert(format!("{name}/{resource_name}"), synced);
        }
    }
    let left = told.into_iter().filter(|(_, synced)| !synced);
    left.map(|(resource, _)| resource).collect()
}

/// The members of which the fleet has pods.
pub async fn members_with_rows(fleet: &Harness, kind: Kind) -> Result<BTreeSet<String>> {
    let objects = list_fleet(&fleet.host().client().await?, &[kind]).await?;
    let clusters = objects
        .keys()
        .filter_map(|(_, place)| Some(place.split_once('/')?.0.to_owned()));
    Ok(clusters.collect())
}

/// Waits until the fleet has rows of exactly `members`.
pub async fn wait_for_rows_of(fleet: &Harness, kind: Kind, members: &[&str]) -> Result<()> {
    let wanted: BTreeSet<String> = members.iter().map(|&name| name.to_owned()).collect();
    wait_until(
        &format!("rows of {members:?} and of no other"),
        SOON,
        || async {
            let found = members_with_rows(fleet, kind).await?;
            ensure!(found == wanted, "there are rows of {found:?}");
            Ok(true)
        },
    )
    .await
}

/// Waits until the condition `kind` of an object of ours on the host is `status`, and gives its reason and message.
pub async fn wait_for_condition(
    fleet: &Harness,
    object: &str,
    kind: &str,
    status: &str,
) -> Result<(String, String)> {
    let fields = ["status", "reason", "message"]
        .map(|field| format!("{{.status.conditions[?(@.type==\"{kind}\")].{field}}}"));
    let path = format!("jsonpath={}", fields.join("{\"\\n\"}"));
    let kubectl = fleet.kubectl("host");
    wait_for(&format!("{object} has {kind}={status}"), SOON, || async {
        let told = kubectl.run(&["get", object, "--output", &path]).await?;
        let [found, reason, message] = told.splitn(3, '\n').collect::<Vec<_>>()[..] else {
            bail!("{told:?} are not three fields")
        };
        ensure!(found == status, "{kind} is {found:?}");
        Ok(Some((reason.to_owned(), message.to_owned())))
    })
    .await
    .with_context(|| format!("{object} on the control plane"))
}

/// Waits until the control plane has no object `object` any more.
pub async fn wait_until_absent(fleet: &Harness, object: &str) -> Result<()> {
    let kubectl = fleet.kubectl("host");
    wait_until(&format!("{object} is gone"), SOON, || async {
        Ok(kubectl
            .run(&["get", object, "--ignore-not-found", "--output", "name"])
            .await?
            .is_empty())
    })
    .await
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_status_does_not_tell_of_is_not_synced() {
        let resource = |name: &str, status: &str| json!({"name": name, "syncConditions": [{"status": status}]});
        let core = [
            "pods",
            "services",
            "configmaps",
            "secrets",
            "namespaces",
            "nodes",
        ];
        let core = core.map(|name| resource(name, "Syncing"));
        let apps =
            ["deployments", "replicasets", "daemonsets"].map(|name| resource(name, "Syncing"));
        let mut status = json!({"syncResources": [
            {"group": "", "resources": core},
            {"group": "apps", "resources": apps},
            {"group": "batch", "resources": [
                resource("jobs", "Pending"),
                {"name": "cronjobs", "syncConditions": []},
                resource("others", "Error"),
            ]},
        ]});
        let left = [
            "apps/statefulsets",
            "batch/cronjobs",
            "batch/jobs",
            "batch/others",
        ];
        assert_eq!(not_synced(&status), left);
        let batch = ["jobs", "cronjobs"].map(|name| resource(name, "Syncing"));
        status["syncResources"][2]["resources"] = json!(batch);
        assert_eq!(not_synced(&status), left[..1]);
        assert_eq!(not_synced(&Value::Null).len(), COLLECTED_KINDS.len());
    }
}
