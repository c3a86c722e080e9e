//! Somebody who may search the pods of a fleet, and do nothing else.

use anyhow::{Result, ensure};
use armadex_e2e::scenario::SOON;
use armadex_e2e::{Harness, Kubectl, wait_until};

use crate::searcher::{FLEET, is_of};

/// As helm's notes have it.
pub(crate) async fn let_bob_search(host: &Kubectl) -> Result<()> {
    let paths = "--resource=fleets.clusterpedia.io/proxy,clusters.clusterpedia.io/proxy";
    for grant in [
        &["clusterrole", "searcher", "--verb=get,create", paths][..],
        &[
            "clusterrolebinding",
            "searcher-bob",
            "--clusterrole=searcher",
            "--user=bob",
        ],
        &["clusterrole", "pods", "--verb=get,list", "--resource=pods"],
        &[
            "clusterrolebinding",
            "pods-bob",
            "--clusterrole=pods",
            "--user=bob",
        ],
    ] {
        host.run(&[&["create"], grant].concat()).await?;
    }
    Ok(())
}

/// By kubectl: those of all these clusters, and no nodes.
pub(crate) async fn bob_finds_pods(fleet: &Harness, clusters: &[&str]) -> Result<()> {
    let bob = fleet.host().kubeconfig_for("bob", None)?;
    let host = Kubectl::new(&fleet.tools().kubectl, &bob, "host");
    wait_until("bob finds pods", SOON, || async {
        let path = format!("{FLEET}/api/v1/pods");
        let found = host.run(&["get", "--raw", &path]).await?;
        Ok(clusters.iter().all(|cluster| is_of(&found, cluster)))
    })
    .await?;
    let path = format!("{FLEET}/api/v1/nodes");
    let nodes = host.output(&["get", "--raw", &path]).await?;
    let complaint = String::from_utf8_lossy(&nodes.stderr).into_owned();
    ensure!(
        complaint.contains("forbidden"),
        "bob is not refused: {complaint}"
    );
    Ok(())
}
