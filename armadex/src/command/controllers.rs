//! `armadex controllers`: the policy controllers.

use std::pin::pin;
use std::time::Duration;

use anyhow::Context as _;
use armadex_control_plane::{Claim, LeaseTerms};
use armadex_policy::{SecretNamespaces, Watches};
use clap::Args;
use kube::Client;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::admin::{self, AdminFlags, Checks};
use crate::continuity;
use crate::control_plane::ControlPlaneFlags;
use crate::credentials::{CredentialFlags, warn_of_everybodys};
use crate::expiry;
use crate::feature_gates::FeatureGateFlags;
use crate::leader::{self, LeaderFlags};
use crate::metrics::{Metrics, PolicyCounters};
use crate::process::Process;
use crate::service::Parts;
use crate::shutdown;

/// The Lease of the policy controllers of a control plane: policies are the same for all of its stores.
const LEASE: &str = "armadex-controllers";
/// What was begun is ended within this time, or broken off as by SIGKILL: the next look at the object begins anew.
const LETTING_GO: Duration = Duration::from_secs(8);

/// Run the policy controllers, which make PediaClusters from what the platform manages.
///
/// They follow ClusterImportPolicy and PediaClusterLifecycle objects and the objects that those name, for example Karmada's Clusters.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    #[command(flatten)]
    control_plane: ControlPlaneFlags,
    #[command(flatten)]
    leader: LeaderFlags,
    #[command(flatten)]
    credentials: CredentialFlags,
    #[command(flatten)]
    admin: AdminFlags,
    #[command(flatten)]
    gates: FeatureGateFlags,
}

/// Runs until a signal.
pub(crate) async fn run(flags: Flags) -> anyhow::Result<()> {
    let cancel = shutdown::on_signal()?;
    let connected = shutdown::unless_stopped(&cancel, flags.control_plane.client()).await?;
    let Some(client) = connected else {
        return Ok(());
    };
    let mut parts = Parts::new(cancel);
    let (mut checks, mut metrics) = (Checks::default(), Metrics::new());
    flags.gates.feature_gates.tell();
    let token = flags.control_plane.token_file().await?;
    expiry::start(&mut parts, token.clone());
    metrics.add_token(token);
    warn_of_everybodys(&flags.credentials.credential_namespaces);
    let controllers = Controllers::new(client.clone(), &flags.credentials);
    let lease = flags.leader.lease(LEASE);
    controllers.start(&mut parts, lease, &mut checks, &mut metrics);
    continuity::start(&mut parts, &client);
    admin::start(&mut parts, flags.admin, checks, metrics);
    parts.run().await
}

/// Adds both controllers.
pub(crate) fn start(process: &mut Process, leader: &LeaderFlags, credentials: &CredentialFlags) {
    let controllers = Controllers::new(process.client.clone(), credentials);
    let Process {
        parts,
        checks,
        metrics,
        ..
    } = process;
    controllers.start(parts, leader.lease(LEASE), checks, metrics);
}

/// What both controllers are given.
struct Controllers {
    client: Client,
    secrets: SecretNamespaces,
    counters: PolicyCounters,
}

impl Controllers {
    fn new(client: Client, credentials: &CredentialFlags) -> Self {
        Self {
            client,
            secrets: SecretNamespaces::new(&credentials.credential_namespaces),
            counters: PolicyCounters::default(),
        }
    }

    fn start(
        self,
        parts: &mut Parts,
        lease: Option<LeaseTerms>,
        checks: &mut Checks,
        metrics: &mut Metrics,
    ) {
        metrics.add_policies(self.counters.clone());
        if let Some(lease) = &lease {
            metrics.add_lease(lease);
            leader::add_check(checks, "controllers-lease", lease);
        }
        let cancel = parts.cancel();
        parts.start("policy controllers", async move {
            match lease {
                Some(lease) => self.take_turns(&lease, &cancel).await,
                None => self.work(cancel).await,
            }
        });
    }

    /// Works while this process has the Lease. What one turn knows is of no use to the next.
    async fn take_turns(
        &self,
        lease: &LeaseTerms,
        cancel: &CancellationToken,
    ) -> anyhow::Result<()> {
        let mut claim = Claim::new(self.client.clone(), lease);
        while let Some(held) = cancel.run_until_cancelled(claim.hold()).await {
            let turn = cancel.child_token();
            let mut working = pin!(self.work(turn.clone()));
            let ended = tokio::select! {
                ended = &mut working => ended,
                () = held.lost() => {
                    turn.cancel();
                    working.await
                }
            };
            held.release().await;
            ended?;
        }
        Ok(())
    }

    /// Runs both until cancelled; they share their watches on other people's types.
    async fn work(&self, cancel: CancellationToken) -> anyhow::Result<()> {
        let (client, secrets) = (&self.client, &self.secrets);
        let PolicyCounters {
            policies,
            lifecycles,
        } = self.counters.clone();
        let watches = Watches::new(client.clone());
        let policies = armadex_importpolicy::run(
            client.clone(),
            watches.clone(),
            secrets.clone(),
            policies,
            cancel.clone(),
        );
        let lifecycles = armadex_lifecycle::run(
            client.clone(),
            watches.clone(),
            secrets.clone(),
            lifecycles,
            cancel.clone(),
        );
        let policies = async {
            let ended = policies.await;
            ended.context("the import policy controller failed")
        };
        let lifecycles = async { lifecycles.await.context("the lifecycle controller failed") };
        let ended = tokio::select! {
            ended = async { tokio::try_join!(policies, lifecycles) } => ended.map(drop),
            () = let_go(&cancel) => Ok(()),
        };
        watches.shutdown().await;
        ended
    }
}

/// Until what was begun has had its time after the end was told.
async fn let_go(cancel: &CancellationToken) {
    cancel.cancelled().await;
    sleep(LETTING_GO).await;
    warn!(
        "the policy controllers broke off what they had begun, after {} s",
        LETTING_GO.as_secs()
    );
}

#[cfg(test)]
mod tests {
    use armadex_control_plane::testing::{Host, ServedType};
    use serde_json::{Value, json};
    use tokio::task::JoinHandle;
    use tokio::time::timeout;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(600);
    const CLUSTERS: &str = "/apis/cluster.karmada.io/v1alpha1/clusters";
    const POLICY: &str = "/apis/policy.clusterpedia.io/v1alpha1/clusterimportpolicies/karmada";
    const PEDIA_CLUSTERS: &str = "/apis/cluster.clusterpedia.io/v1alpha2/pediaclusters";

    fn host() -> Host {
        let served = ServedType::new;
        let (policy, cluster) = ("policy.clusterpedia.io", "cluster.clusterpedia.io");
        let host = Host::new(&[
            served("", "v1", "namespaces", "Namespace"),
            served("coordination.k8s.io", "v1", "leases", "Lease").namespaced(),
            served("cluster.karmada.io", "v1alpha1", "clusters", "Cluster"),
            served(
                policy,
                "v1alpha1",
                "clusterimportpolicies",
                "ClusterImportPolicy",
            ),
            served(
                policy,
                "v1alpha1",
                "pediaclusterlifecycles",
                "PediaClusterLifecycle",
            ),
            served(cluster, "v1alpha2", "pediaclusters", "PediaCluster"),
        ]);
        host.put("/api/v1/namespaces/kube-system", json!({}));
        host.put(POLICY, policy_of_all());
        host
    }

    fn policy_of_all() -> Value {
        json!({"spec": {
            "source": {"group": "cluster.karmada.io", "resource": "clusters"},
            "references": [],
            "nameTemplate": "{{source.metadata.name}}",
            "template": "spec: {apiserver: 'https://{{source.metadata.name}}', syncResources: []}",
            "creationCondition": "true",
        }})
    }

    /// The controllers as a process has them, which goes by this name.
    fn run_as(
        holder: &str,
        host: &Host,
        cancel: CancellationToken,
    ) -> JoinHandle<anyhow::Result<()>> {
        let mut parts = Parts::new(cancel);
        let credentials = CredentialFlags {
            credential_namespaces: Vec::new(),
        };
        let controllers = Controllers::new(host.client(), &credentials);
        let lease = LeaseTerms {
            holder: holder.to_owned(),
            ..LeaseTerms::of_this_process("own", LEASE)
        };
        let (mut checks, mut metrics) = (Checks::default(), Metrics::new());
        controllers.start(&mut parts, Some(lease), &mut checks, &mut metrics);
        continuity::start(&mut parts, &host.client());
        tokio::spawn(parts.run())
    }

    fn run(host: &Host, cancel: CancellationToken) -> JoinHandle<anyhow::Result<()>> {
        run_as("only", host, cancel)
    }

    fn holder(host: &Host) -> String {
        let lease =
            host.get("/apis/coordination.k8s.io/v1/namespaces/own/leases/armadex-controllers");
        lease.map_or_else(String::new, |lease| {
            let holder = &lease["spec"]["holderIdentity"];
            holder.as_str().unwrap_or_default().to_owned()
        })
    }

    /// A member that joins, and is on-boarded.
    async fn joins(host: &Host, name: &str) {
        host.put(&format!("{CLUSTERS}/{name}"), json!({}));
        let made = format!("{PEDIA_CLUSTERS}/{name}");
        let is_made = host.until(|host| host.get(&made).is_some());
        if timeout(LIMIT, is_made).await.is_err() {
            panic!("{name} is not on-boarded: {:#?}", host.get(POLICY));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn below_a_restored_control_plane_a_process_ends_and_the_next_follows_what_is_there() {
        let host = host();
        let first = run(&host, CancellationToken::new());
        joins(&host, "one").await;
        let backup = host.back_up();
        joins(&host, "two").await;
        // So long that the process has seen where the control plane stands.
        tokio::time::sleep(Duration::from_secs(60)).await;
        host.restore(backup);
        let ended = timeout(LIMIT, first).await.expect("it ends");
        let error = ended.expect("no panic").expect_err("with an error");
        assert!(
            format!("{error:#}").contains("restored from a backup"),
            "{error:#}"
        );
        assert_eq!(host.get(&format!("{PEDIA_CLUSTERS}/two")), None);
        let cancel = CancellationToken::new();
        let second = run(&host, cancel.clone());
        joins(&host, "three").await;
        cancel.cancel();
        let ended = timeout(LIMIT, second).await.expect("it ends");
        ended.expect("no panic").expect("as it was told to");
    }

    #[tokio::test(start_paused = true)]
    async fn of_two_processes_one_works_and_the_other_takes_over_at_once() {
        let host = host();
        let ends = CancellationToken::new();
        let first = run_as("first", &host, ends.clone());
        joins(&host, "one").await;
        let last = CancellationToken::new();
        let second = run_as("second", &host, last.clone());
        let lists = || host.asked("list", "clusterimportpolicies");
        let listed = lists();
        tokio::time::sleep(Duration::from_secs(60)).await;
        joins(&host, "two").await;
        assert_eq!(holder(&host), "first");
        assert_eq!(lists(), listed, "who waits asks for nothing but the Lease");
        ends.cancel();
        let ended = timeout(LIMIT, first).await.expect("it ends");
        ended.expect("no panic").expect("as it was told to");
        let released = tokio::time::Instant::now();
        joins(&host, "three").await;
        assert_eq!(holder(&host), "second");
        assert!(
            released.elapsed() < Duration::from_secs(10),
            "it was given back"
        );
        last.cancel();
        let ended = timeout(LIMIT, second).await.expect("it ends");
        ended.expect("no panic").expect("as it was told to");
        assert_eq!(holder(&host), "");
    }

    #[tokio::test(start_paused = true)]
    async fn who_finds_that_another_has_the_lease_works_no_more_until_it_is_free() {
        let host = host();
        let cancel = CancellationToken::new();
        let running = run_as("first", &host, cancel.clone());
        joins(&host, "one").await;
        let path = "/apis/coordination.k8s.io/v1/namespaces/own/leases/armadex-controllers";
        let mut lease = host.get(path).expect("a Lease");
        lease["spec"]["holderIdentity"] = json!("another");
        host.put(path, lease);
        // So long that the next renewal finds it, and shorter than it takes to run out.
        tokio::time::sleep(Duration::from_secs(10)).await;
        host.put(&format!("{CLUSTERS}/two"), json!({}));
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert_eq!(holder(&host), "another");
        assert_eq!(host.get(&format!("{PEDIA_CLUSTERS}/two")), None);
        joins(&host, "three").await;
        assert_eq!(holder(&host), "first", "it had run out");
        assert!(host.get(&format!("{PEDIA_CLUSTERS}/two")).is_some());
        cancel.cancel();
        let ended = timeout(LIMIT, running).await.expect("it ends");
        ended.expect("no panic").expect("as it was told to");
    }
}
