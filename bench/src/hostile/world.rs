//! The demo's fleet with rows enough to search, one large object in each member, and users with the same rights: the ordinary one and each
//! attacker.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use armadex_e2e::armadex::Armadex;
use armadex_e2e::equality::SEEDED_KINDS;
use armadex_e2e::etcd::Writer;
use armadex_e2e::seed::{self, Plan};
use armadex_e2e::{Cluster, Harness, Options, deploy, kubeconfig, scenario, wait_for};
use clap::ValueEnum as _;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Api;
use kube::api::PostParams;
use serde::Deserialize;
use serde_json::json;

use super::attack::Attack;
use super::ordinary::{Callers, PAGE};
use super::requests::{LARGE, MEMBERS, ORDINARY, PODS};
use super::target::Target;
use super::usage::Holdings;
use crate::readers::{self, READERS};

/// Far above what any machine needs; a run that does not get there is an error, not a result.
const LIMIT: Duration = Duration::from_secs(900);
/// All that a ConfigMap may hold, but for its key.
const LARGE_BYTES: usize = (1 << 20) - 64;
/// Objects of one name in each member, in as many namespaces: together more than a page reads of one value (`ties`), and with the names that are looked for in
/// each, far more than a sorted search may look for.
const TIES: usize = 6_000;
/// Their name, which no other comes before: the first page by name begins with them.
const TIE: &str = "a-tie";
/// When they were made.
const MADE: &str = "2024-01-01T00:00:00Z";
/// Of these under way at once.
const AT_ONCE: usize = 16;
/// Lists at once before the first round, so that the connections to the database which one user may take are open.
const WARM: usize = 16;

/// A fleet whose Armadex has everything.
pub(super) struct World {
    fleet: Harness,
    pub(super) armadex: Armadex,
    /// Of both members.
    pods: usize,
}

impl World {
    /// Starts a fleet and waits until `count` objects of each member are there.
    pub(super) async fn start(count: usize) -> Result<Self> {
        let fleet = Harness::start(Options {
            members: MEMBERS.len(),
            ..Options::default()
        })
        .await?;
        let mut pods = 0;
        for name in MEMBERS {
            let member = fleet.member(name)?;
            pods += seed::put(&member, Plan { count, seed: 1 }).await?.pods;
            put_large(&member).await?;
            put_ties(&member).await?;
        }
        let armadex = scenario::on_board_by(&fleet, &deploy::policy()?, &[]).await?;
        for name in MEMBERS {
            fleet.join(name).await?;
        }
        grant(fleet.host()).await?;
        scenario::wait_until_equal(&fleet, &MEMBERS, &SEEDED_KINDS, LIMIT).await?;
        Ok(Self {
            fleet,
            armadex,
            pods,
        })
    }

    /// What Armadex holds when it has nothing to do, all connections to its database open.
    pub(super) async fn settle(&self) -> Result<Holdings> {
        let client = self.fleet.host().client().await?;
        let lists = (0..WARM).map(|_| {
            let page = http::Request::get(format!("{PODS}?limit=500"));
            async { anyhow::Ok(client.request_text(page.body(Vec::new())?).await?) }
        });
        futures::future::try_join_all(lists).await?;
        wait_for("Armadex is idle", LIMIT, || async {
            let holdings = Holdings::of(&self.armadex).await?;
            Ok((holdings.in_flight == 0).then_some(holdings))
        })
        .await
    }

    /// The ordinary client, and Armadex's own port.
    pub(super) async fn callers(&self) -> Result<Callers> {
        let host = self.fleet.host();
        let config = host.kubeconfig_for(ORDINARY, Some(READERS))?;
        let client = kubeconfig::client(&config).await?;
        let pod = first_pod(&host.client().await?).await?;
        Ok(Callers {
            client,
            target: Arc::new(Target::new(self.armadex.listen, host.pki())?),
            pod,
            rows: self.pods.min(PAGE),
        })
    }

    /// Stops everything.
    pub(super) async fn finish(self) {
        self.armadex.end();
        self.fleet.finish().await;
    }
}

#[derive(Deserialize)]
struct Pods {
    items: Vec<Pod>,
}

#[derive(Deserialize)]
struct Pod {
    metadata: PodMetadata,
}

#[derive(Deserialize)]
struct PodMetadata {
    namespace: String,
    name: String,
}

/// The path of a pod of the first member.
async fn first_pod(host: &kube::Client) -> Result<String> {
    let member = format!(
        "/apis/clusterpedia.io/v1beta1/resources/clusters/{}/api/v1",
        MEMBERS[0]
    );
    let request = http::Request::get(format!("{member}/pods?limit=1")).body(Vec::new())?;
    let pods: Pods = host.request(request).await?;
    let PodMetadata { namespace, name } = &pods.items.first().context("no pod")?.metadata;
    Ok(format!("{member}/namespaces/{namespace}/pods/{name}"))
}

/// Every attacker that takes a user is one who may read.
async fn grant(host: &Cluster) -> Result<()> {
    for attack in Attack::value_variants() {
        host.pki().issue_for_user(&attack.name(), Some(READERS))?;
    }
    readers::allow(host).await
}

async fn put_large(member: &Cluster) -> Result<()> {
    let maps: Api<ConfigMap> = Api::namespaced(member.client().await?, "default");
    let map = ConfigMap {
        metadata: ObjectMeta {
            name: Some(LARGE.to_owned()),
            ..ObjectMeta::default()
        },
        data: Some([("text".to_owned(), noise(LARGE_BYTES))].into()),
        ..ConfigMap::default()
    };
    maps.create(&PostParams::default(), &map).await?;
    Ok(())
}

/// Objects of one name and one time, each in a namespace of its own. They are put where the member keeps them: a namespace for each would take minutes.
async fn put_ties(member: &Cluster) -> Result<()> {
    let writer = Writer::new(member.etcd().clone());
    let name = &member.name;
    let puts = (0..TIES).map(|number| {
        let (namespace, uid) = (format!("tied-{number:04}"), format!("{name}-{number:04}"));
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": TIE, "namespace": namespace, "uid": uid, "creationTimestamp": MADE},
        });
        (format!("configmaps/{namespace}/{TIE}"), map.to_string())
    });
    let puts = stream::iter(puts).map(Ok);
    let writer = &writer;
    puts.try_for_each_concurrent(AT_ONCE, |(key, map)| async move {
        writer.put(&key, map.as_bytes()).await
    })
    .await
}

/// Letters that do not compress well, so that the object is large in the database too; the same ones each time.
fn noise(length: usize) -> String {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut letter = || {
        // xorshift64, whose upper bits are even enough for text.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b'a' + (state >> 59) as u8 % 26)
    };
    (0..length).map(|_| letter()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_as_long_as_asked_and_uses_all_letters() {
        let text = noise(5_000);
        assert_eq!(text.len(), 5_000);
        assert!(('a'..='z').all(|letter| text.contains(letter)));
    }
}
