//! The endpoint of a member and the authority of its certificate, rotated as whoever runs it does: no kind is listed anew for it.

use anyhow::{Result, ensure};
use armadex_e2e::armadex::{self, Armadex};
use armadex_e2e::equality::SEEDED_KINDS;
use armadex_e2e::pki::Pki;
use armadex_e2e::scenario::{SOON, wait_for_condition, wait_until_equal};
use armadex_e2e::wire::Wire;
use armadex_e2e::{Harness, Kubectl, wait_until};
use serde_json::json;
use tempfile::TempDir;

use super::KARMADA;

/// What members show to who asks for them as `localhost`, of an authority that nobody trusts yet.
pub(super) struct Next(TempDir);

impl Next {
    pub(super) fn made() -> Result<Self> {
        let made = Self(tempfile::tempdir()?);
        made.pki().create()?;
        Ok(made)
    }

    fn pki(&self) -> Pki {
        Pki::at(self.0.path())
    }

    pub(super) fn argument(&self) -> String {
        let [certificate, key] = ["server.crt", "server.key"].map(|name| self.pki().file(name));
        let (certificate, key) = (certificate.display(), key.display());
        format!("--tls-sni-cert-key={certificate},{key}:localhost")
    }

    fn authority(&self) -> Result<String> {
        self.pki().read("ca.crt")
    }
}

/// First both are trusted, then the endpoint is another one, behind which is what the next authority signed, and then that alone is trusted, by a third endpoint: a connection to
/// that was made by what was said last.
pub(super) async fn another_endpoint_and_another_authority_are_followed(
    fleet: &Harness,
    armadex: &Armadex,
    next: &Next,
) -> Result<()> {
    let lists = armadex.counter(armadex::LISTS).await?;
    let (host, member) = (fleet.kubectl("host"), fleet.member("member2")?);
    let (present, next) = (member.pki().read("ca.crt")?, next.authority()?);
    let both = format!("{present}{next}");
    let wire = Wire::to(member.port()).await?;
    trust(&host, &both).await?;
    lead(&host, &format!("https://localhost:{}", wire.port())).await?;
    comes_through(fleet, "after-another-endpoint").await?;
    trust(&host, &next).await?;
    lead(&host, &format!("https://localhost:{}", member.port())).await?;
    comes_through(fleet, "after-another-authority").await?;
    trust(&host, &both).await?;
    lead(&host, &member.url()).await?;
    comes_through(fleet, "after-the-way-back").await?;
    let after = armadex.counter(armadex::LISTS).await?;
    ensure!(lists == after, "{lists} lists before, {after} after");
    Ok(())
}

/// As whoever rotates it says it to Karmada.
async fn trust(host: &Kubectl, authorities: &str) -> Result<()> {
    let patch = json!({"stringData": {"caBundle": authorities}}).to_string();
    let how = ["--type=merge", "--patch", &patch, "--namespace", KARMADA];
    host.run(&[&["patch", "secret", "member2"], &how[..]].concat())
        .await
        .map(drop)
}

/// Waits until it has reached the PediaCluster.
async fn lead(host: &Kubectl, endpoint: &str) -> Result<()> {
    let patch = json!({"spec": {"apiEndpoint": endpoint}}).to_string();
    let cluster = "clusters.cluster.karmada.io/member2";
    host.run(&["patch", cluster, "--type=merge", "--patch", &patch])
        .await?;
    let path = "--output=jsonpath={.spec.apiserver}";
    wait_until("the PediaCluster leads there", SOON, || async {
        Ok(host.run(&["get", "pediacluster", "member2", path]).await? == endpoint)
    })
    .await
}

/// What is made in the member now.
async fn comes_through(fleet: &Harness, name: &str) -> Result<()> {
    let create = ["create", "configmap", name, "--namespace=default"];
    fleet.kubectl("member2").run(&create).await?;
    let all = ["member1", "member2", "member3"];
    wait_until_equal(fleet, &all, &SEEDED_KINDS, SOON).await?;
    wait_for_condition(fleet, "pediacluster/member2", "Ready", "True")
        .await
        .map(drop)
}
