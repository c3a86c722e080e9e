//! Kubeconfigs with everything inline: one cluster, one user, one context, all of the same name.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};

use crate::pki::{Pki, write_private};

/// A server on loopback answers in milliseconds; one that takes longer is as good as away.
const ANSWER: Duration = Duration::from_secs(3);

/// 5 s above the 60 s after which an aggregator gives up for whoever asks through it, so that its word on it is heard. Nothing is watched with
/// this client.
const ANSWER_IN_FULL: Duration = Duration::from_secs(65);

/// Writes the kubeconfig of an administrator of the apiserver at `url`.
pub fn write(path: &Path, name: &str, url: &str, pki: &Pki) -> Result<()> {
    write_for_user(path, name, url, pki, "admin")
}

/// Writes the kubeconfig of `user`, whose certificate was issued before.
pub fn write_for_user(path: &Path, name: &str, url: &str, pki: &Pki, user: &str) -> Result<()> {
    let certificate = STANDARD.encode(pki.read(&format!("{user}.crt"))?);
    let key = STANDARD.encode(pki.read(&format!("{user}.key"))?);
    let user = format!("client-certificate-data: {certificate}\n    client-key-data: {key}");
    write_private(path, &render(name, url, &pki.read("ca.crt")?, &user))
}

/// Writes to `path` what is at `from`, with the token in the file `token` beside it in the place of every user's credentials.
pub fn write_for_token(path: &Path, from: &Path, token: &str) -> Result<()> {
    let mut kubeconfig = read(from)?;
    for user in &mut kubeconfig.auth_infos {
        user.auth_info = Some(AuthInfo {
            token_file: Some(token.to_owned()),
            ..AuthInfo::default()
        });
    }
    write_private(path, &serde_json::to_string_pretty(&kubeconfig)?)
}

/// The server of the current context of the kubeconfig at `path`.
pub fn server(path: &Path) -> Result<String> {
    let kubeconfig = read(path)?;
    let context = kubeconfig.contexts.iter().find(|context| {
        let current = kubeconfig.current_context.as_ref();
        current == Some(&context.name)
    });
    let context = context.and_then(|named| named.context.as_ref());
    let cluster = context.and_then(|context| {
        let mut clusters = kubeconfig.clusters.iter();
        clusters.find(|cluster| cluster.name == context.cluster)
    });
    let server = cluster.and_then(|named| named.cluster.as_ref()?.server.clone());
    server.with_context(|| format!("{} has no server in its current context", path.display()))
}

fn read(path: &Path) -> Result<Kubeconfig> {
    Kubeconfig::read_from(path).with_context(|| format!("cannot read {}", path.display()))
}

fn render(name: &str, url: &str, authority: &str, user: &str) -> String {
    let authority = STANDARD.encode(authority);
    format!(
        "apiVersion: v1\n\
         kind: Config\n\
         current-context: {name}\n\
         clusters:\n\
         - name: {name}\n  cluster:\n    server: {url}\n    certificate-authority-data: {authority}\n\
         users:\n\
         - name: {name}\n  user:\n    {user}\n\
         contexts:\n\
         - name: {name}\n  context:\n    cluster: {name}\n    user: {name}\n"
    )
}

/// A client for the current context of the kubeconfig at `path`. It gives up a server that sends nothing of an answer for a minute.
pub async fn client(path: &Path) -> Result<kube::Client> {
    Ok(kube::Client::try_from(config(path).await?)?)
}

/// The same for whoever reads everything: on one machine it takes longer to pack answers than to send them, and longest to unpack them in a program that is built for
/// tests.
pub async fn client_without_compression(path: &Path) -> Result<kube::Client> {
    let mut config = config(path).await?;
    config.disable_compression = true;
    Ok(kube::Client::try_from(config)?)
}

async fn config(path: &Path) -> Result<kube::Config> {
    let mut config =
        kube::Config::from_custom_kubeconfig(read(path)?, &KubeConfigOptions::default()).await?;
    config.default_retry = false;
    config.read_timeout = Some(ANSWER_IN_FULL);
    // Else the time counts in which a connection waited for its next request.
    config.reset_reader_on_write = true;
    Ok(config)
}

/// A client that shows `token` to the apiserver at `url`, whose certificate is checked against `authority` (PEM).
pub fn client_with_token(url: &str, authority: &[u8], token: &str) -> Result<kube::Client> {
    let caller = AuthInfo {
        token: Some(token.to_owned().into()),
        ..AuthInfo::default()
    };
    client_of(url, authority, caller)
}

/// The same for whoever it is.
pub fn client_of(url: &str, authority: &[u8], caller: AuthInfo) -> Result<kube::Client> {
    let mut config = kube::Config::new(url.parse()?);
    config.root_cert = Some(certificates(authority)?);
    config.auth_info = caller;
    config.connect_timeout = Some(ANSWER);
    config.read_timeout = Some(ANSWER);
    config.default_retry = false;
    Ok(kube::Client::try_from(config)?)
}

fn certificates(pem: &[u8]) -> Result<Vec<Vec<u8>>> {
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject;
    let certificates = CertificateDer::pem_slice_iter(pem).map(|der| Ok(der?.to_vec()));
    certificates.collect()
}
