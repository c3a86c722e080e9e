//! Replicas of one shard that share its clusters: whoever comes, ends, dies or is cut off, each cluster is somebody's, and no member is asked for a list again.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use armadex_storage::conformance::fixture::all_pods;

use super::*;
use crate::fleet::shares;

/// Of three replicas each has one of these.
const CLUSTERS: [&str; 3] = ["m", "member1", "member3"];

/// A control plane, a store, and a member for each cluster.
struct Shard {
    stage: Stage,
    host: Host,
    members: Vec<ScriptedMember>,
    changes: usize,
}

/// A replica, and what ends it.
struct Replica {
    task: JoinHandle<()>,
    ends: CancellationToken,
    is_cut_off: Arc<AtomicBool>,
}

impl Shard {
    async fn begin() -> Self {
        let (stage, host) = (Stage::new().await, host());
        let mut members = vec![];
        for name in CLUSTERS {
            let member = ScriptedMember::start(&format!("uid-of-{name}"), &["a"]).await;
            let object = pedia_cluster(name, &format!("uid-{name}"), &member);
            let path = CLUSTER.replace("/m", &format!("/{name}"));
            host.put(&path, json!(object));
            members.push(member);
        }
        Self {
            stage,
            host,
            members,
            changes: 0,
        }
    }

    fn replica(&self, holder: &str) -> Replica {
        let is_cut_off = Arc::<AtomicBool>::default();
        let client = client_while(&self.host, &is_cut_off);
        let config = configured(Some(terms(holder, "1")));
        let (task, ends) = process_of(&self.stage, client, config);
        Replica {
            task,
            ends,
            is_cut_off,
        }
    }

    /// Waits until these replicas share the clusters and what changes in each member is stored.
    async fn is_shared_by<const N: usize>(&mut self, replicas: [u32; N]) {
        let weights = BTreeMap::from(replicas.map(|replica| (replica, 100)));
        let holder = |name| shares::holder_of(name, &weights).expect("a replica");
        let expected = CLUSTERS.map(|name| (name.to_owned(), holder(name)));
        in_time(&format!("{expected:?}"), || async {
            self.owners().await == expected
        })
        .await;
        self.changes += 1;
        let change = format!("change-{}", self.changes);
        in_time(&change, || async {
            // Only who watches a member by now is told of it.
            for (name, member) in CLUSTERS.iter().zip(&self.members) {
                if !self.has_stored(name, &change).await {
                    member.adds(&change);
                }
            }
            let stored = CLUSTERS.map(|name| self.has_stored(name, &change));
            let stored = futures::future::join_all(stored).await;
            stored.iter().all(|is_stored| *is_stored)
        })
        .await;
    }

    async fn has_stored(&self, cluster: &str, pod: &str) -> bool {
        let found = self.stage.store.list(&all_pods(), 100).await;
        found.contains(&format!("{cluster}/n/{pod}"))
    }

    /// The clusters, and the number of the replica that has each by what the store says.
    async fn owners(&self) -> Vec<(String, u32)> {
        let clusters = self.stage.store.sink.clusters().await.expect("clusters");
        let owners = clusters.iter().filter_map(|cluster| {
            let (_, number) = cluster.owner.rsplit_once('/')?;
            Some((cluster.name.to_string(), number.parse().ok()?))
        });
        let mut owners = Vec::from_iter(owners);
        owners.sort();
        owners
    }

    fn lists(&self) -> Vec<usize> {
        let lists = |member: &ScriptedMember| {
            let requests = member.requests().into_iter();
            requests.filter(|request| request == "list").count()
        };
        self.members.iter().map(lists).collect()
    }
}

impl Replica {
    async fn end(self) {
        self.ends.cancel();
        self.task.await.expect("no panic");
    }

    /// As by a kill: it says nothing to anybody.
    async fn dies(self) {
        self.task.abort();
        self.task.await.expect_err("it is no more");
    }
}

/// A client for which there is no control plane while that is so.
fn client_while(host: &Host, is_cut_off: &Arc<AtomicBool>) -> Client {
    let (client, is_cut_off) = (host.client(), Arc::clone(is_cut_off));
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let (client, is_cut_off) = (client.clone(), Arc::clone(&is_cut_off));
        async move {
            if is_cut_off.load(Ordering::Acquire) {
                return Err("no route to host".into());
            }
            client.send(request).await.map_err(tower::BoxError::from)
        }
    });
    Client::new(service, "default")
}

#[tokio::test]
async fn replicas_share_the_clusters_whoever_comes_ends_or_dies_and_nothing_is_listed_again() {
    let mut shard = Shard::begin().await;
    let zero = shard.replica("zero");
    shard.is_shared_by([0]).await;
    let one = shard.replica("one");
    shard.is_shared_by([0, 1]).await;
    let two = shard.replica("two");
    shard.is_shared_by([0, 1, 2]).await;
    one.dies().await;
    shard.is_shared_by([0, 2]).await;
    let one = shard.replica("another");
    shard.is_shared_by([0, 1, 2]).await;
    zero.end().await;
    shard.is_shared_by([1, 2]).await;
    assert_eq!(shard.lists(), [1, 1, 1]);
    for replica in [one, two] {
        replica.end().await;
    }
}

/// The last one that begins has all clusters, and the other one does not take them back at once, and says once why.
#[tokio::test]
async fn who_shares_and_who_does_not_take_the_clusters_from_each_other_no_more_than_each_half_minute()
 {
    let told = warnings();
    let mut shard = Shard::begin().await;
    let zero = shard.replica("zero");
    shard.is_shared_by([0]).await;
    let (alone, ends) = process_of(&shard.stage, shard.host.client(), configured(None));
    in_time("nobody shares them", || async {
        shard.owners().await.is_empty()
    })
    .await;
    // Until what changes is refused, nobody knows.
    let waits = |line: &String| line.contains("was not entered");
    in_time("a word", || async {
        shard.members.iter().for_each(|member| member.adds("b"));
        told.told().iter().any(waits)
    })
    .await;
    for name in CLUSTERS {
        in_time(name, || shard.has_stored(name, "b")).await;
    }
    // Two looks at who shares them are no reason.
    tokio::time::sleep(Duration::from_secs(8)).await;
    assert_eq!(shard.owners().await, []);
    let told = told.told();
    assert_eq!(
        told.len(),
        3,
        "of a stream, of a cluster, and why: {told:?}"
    );
    ends.cancel();
    alone.await.expect("no panic");
    zero.end().await;
}

/// It goes on until what it has is taken over, and has its share again when it is back.
#[tokio::test]
async fn who_is_cut_off_from_the_control_plane_loses_its_share_and_has_it_again() {
    let mut shard = Shard::begin().await;
    let [zero, one] = [shard.replica("zero"), shard.replica("one")];
    shard.is_shared_by([0, 1]).await;
    one.is_cut_off.store(true, Ordering::Release);
    shard.is_shared_by([0]).await;
    one.is_cut_off.store(false, Ordering::Release);
    shard.is_shared_by([0, 1]).await;
    assert_eq!(shard.lists(), [1, 1, 1]);
    for replica in [zero, one] {
        replica.end().await;
    }
}
