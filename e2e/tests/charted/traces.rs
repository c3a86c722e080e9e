//! All that a release may be made of, object by object: what is there before, and what is left afterwards.

use std::collections::BTreeSet;

use anyhow::Result;
use armadex_e2e::Kubectl;

/// Of kinds that helm, Armadex and controllers of Kubernetes make. Events are left out.
const KINDS: &str = "serviceaccounts,services,secrets,configmaps,persistentvolumeclaims,roles.rbac.authorization.k8s.io,rolebindings.rbac.authorization.k8s.io,\
clusterroles.rbac.authorization.k8s.io,clusterrolebindings.rbac.authorization.k8s.io,customresourcedefinitions,namespaces,deployments.apps,statefulsets.apps,\
controllerrevisions.apps,replicasets.apps,cronjobs.batch,jobs.batch,pods,networkpolicies.networking.k8s.io,poddisruptionbudgets.policy,horizontalpodautoscalers.autoscaling,\
apiservices.apiregistration.k8s.io,leases.coordination.k8s.io,endpointslices.discovery.k8s.io";

/// What a cluster has.
pub(crate) async fn everything(cluster: &Kubectl) -> Result<BTreeSet<String>> {
    let lines =
        "jsonpath={range .items[*]}{.kind} {.metadata.namespace}/{.metadata.name}{\"\\n\"}{end}";
    let list = ["get", KINDS, "--all-namespaces", "--output", lines];
    let listed = cluster.run(&list).await?;
    let mut all: BTreeSet<String> = listed.lines().map(without_chance).collect();
    // The namespaces of members are Karmada's, and these every namespace has.
    all.retain(|object| !object.contains("karmada-es-") && !object.ends_with("/kube-root-ca.crt"));
    Ok(all)
}

/// The Lease of a synchro is called after its store.
fn without_chance(object: &str) -> String {
    match object.split_once("/armadex-synchro-") {
        Some((place, _)) if place.starts_with("Lease ") => format!("{place}/armadex-synchro-STORE"),
        _ => object.to_owned(),
    }
}

/// What has come since then, in order.
pub(crate) fn come(before: &BTreeSet<String>, after: &BTreeSet<String>) -> Vec<String> {
    after.difference(before).cloned().collect()
}
