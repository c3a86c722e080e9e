//! A kubeconfig that Armadex has issued, as it lies in a Secret: whom the control plane takes its holder for.

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::deploy;
use crate::harness::Harness;
use crate::kubectl::Kubectl;
use crate::pki::write_private;
use crate::scenario::SOON;
use crate::wait::wait_until;

/// One of them. Both its files are gone with it.
pub struct Issued {
    /// Its token.
    pub token: String,
    folder: tempfile::TempDir,
    context: String,
}

impl Issued {
    /// What is in a Secret of a cluster, in the form `NAMESPACE/NAME`.
    pub async fn of(cluster: &Kubectl, secret: &str) -> Result<Self> {
        let (namespace, name) = secret.split_once('/').context("a namespace")?;
        let get = [
            "get",
            "secret",
            name,
            "--namespace",
            namespace,
            "--output=json",
        ];
        let secret: Value = serde_json::from_str(&cluster.run(&get).await?)?;
        let folder = tempfile::tempdir()?;
        let key = |key: &str| -> Result<String> {
            let text = secret["data"][key].as_str();
            let bytes = STANDARD.decode(text.with_context(|| format!("{name} has no {key}"))?)?;
            Ok(String::from_utf8(bytes)?)
        };
        let (kubeconfig, token) = (key("kubeconfig")?, key("token")?);
        write_private(&folder.path().join("kubeconfig"), &kubeconfig)?;
        write_private(&folder.path().join("token"), &token)?;
        let kubeconfig: Value = serde_saphyr::from_str(&kubeconfig)?;
        let context = kubeconfig["current-context"].as_str();
        Ok(Self {
            token,
            context: context.context("no context")?.to_owned(),
            folder,
        })
    }

    /// How the control plane calls whoever has it; `None`: it knows nobody of it.
    pub async fn holder(&self, fleet: &Harness) -> Result<Option<String>> {
        let kubeconfig = self.folder.path().join("kubeconfig");
        let kubectl = Kubectl::new(&fleet.tools().kubectl, kubeconfig, &self.context);
        let whoami = [
            "auth",
            "whoami",
            "--output=jsonpath={.status.userInfo.username}",
        ];
        let output = kubectl.output(&whoami).await?;
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        match output.status.success() {
            true => Ok(Some(String::from_utf8(output.stdout)?)),
            false if complaint.contains("Unauthorized") => Ok(None),
            false => anyhow::bail!("kubectl auth whoami: {complaint}"),
        }
    }

    /// Makes the one account anew, as somebody may who has it broken into, and waits until this is nobody's.
    pub async fn make_its_account_anew(&self, fleet: &Harness) -> Result<()> {
        let host = fleet.kubectl("host");
        for verb in ["delete", "create"] {
            let account = [
                verb,
                "serviceaccount",
                "armadex",
                "--namespace",
                deploy::NAMESPACE,
            ];
            host.run(&account).await?;
        }
        self.until_it_is_nobodys(fleet).await
    }

    /// Waits until the control plane knows nobody of it: for some seconds it goes by what it has found out.
    pub async fn until_it_is_nobodys(&self, fleet: &Harness) -> Result<()> {
        wait_until("the token is nobody's", SOON, || async {
            Ok(self.holder(fleet).await?.is_none())
        })
        .await
    }
}
