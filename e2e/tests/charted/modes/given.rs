//! A certificate that somebody else makes and renews, as cert-manager does.

use anyhow::{Result, ensure};
use armadex_e2e::pki::Pki;
use armadex_e2e::scenario::SOON;
use armadex_e2e::{Harness, wait_until};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::in_namespace;
use crate::desk::{Desk, logs_of};

/// What values say of it.
pub(super) const VALUES: &str =
    "certificates.mode=existingSecret,certificates.existingSecret=given-to-armadex";
const SECRET: &str = "given-to-armadex";
/// For which it has to be good, as helm's notes say.
const SERVICE: [&str; 2] = ["armadex-apiserver", "clusterpedia-system"];
/// That of what has several pods.
const PODS: usize = 2;

/// It, and the authority that it is of.
pub(super) struct Given(Pki);

impl Given {
    pub(super) fn made(fleet: &Harness) -> Result<Self> {
        let given = Self(Pki::at(fleet.folder().root().join("state/given")));
        given.0.create()?;
        given.renew()?;
        Ok(given)
    }

    /// Another one of the same authority.
    pub(super) fn renew(&self) -> Result<()> {
        let [service, namespace] = SERVICE;
        self.0.issue_for_service(service, namespace)
    }

    /// Into its Secret, be it there or not.
    pub(super) async fn put(&self, desk: &Desk) -> Result<()> {
        let [service, _] = SERVICE;
        let files = [
            ("tls.crt", format!("{service}.crt")),
            ("tls.key", format!("{service}.key")),
            ("ca.crt", "ca.crt".to_owned()),
        ];
        let files = files.map(|(key, file)| {
            let file = self.0.file(&file);
            format!("--from-file={key}={}", file.display())
        });
        let create = ["create", "secret", "generic", SECRET, "--dry-run=client"];
        let files = files.each_ref().map(String::as_str);
        let made = [&create[..], &["--output=json"], &files].concat();
        let secret = in_namespace(desk, &made).await?;
        desk.kubectl.apply(&secret).await
    }

    /// The control plane verifies by its authority.
    pub(super) async fn is_trusted(&self, fleet: &Harness) -> Result<()> {
        let bundle = "--output=jsonpath={.spec.caBundle}";
        let get = ["get", "apiservice", "v1beta1.clusterpedia.io", bundle];
        let bundle = STANDARD.decode(fleet.kubectl("host").run(&get).await?)?;
        let authority = self.0.read("ca.crt")?;
        ensure!(
            String::from_utf8(bundle)?.contains(&authority),
            "the authority of the given certificate is not trusted"
        );
        Ok(())
    }

    /// By each pod, as it comes to its volume.
    pub(super) async fn is_read_anew(&self, fleet: &Harness) -> Result<()> {
        let read = |said: &&String| said.contains("read the renewed serving certificate");
        wait_until("each pod reads the renewed certificate", SOON, || async {
            let said = logs_of(fleet, "armadex-index-")?;
            Ok(said.iter().filter(read).count() == PODS)
        })
        .await
    }
}
