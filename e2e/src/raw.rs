//! HTTP/1.1 by hand: requests that no well-behaved client would send.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use kube::client::ConfigExt;
use kube::config::{KubeConfigOptions, Kubeconfig};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// A refusal comes at once; a server that says nothing for this long hangs.
const LIMIT: Duration = Duration::from_secs(30);

/// What a server said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status code.
    pub code: u16,
    /// Everything after the head.
    pub body: String,
}

/// Asks the server of the kubeconfig at `path` for `target` as its user, whatever the length of `target`.
///
/// `None` means that the server ended the connection without an answer.
pub async fn get(path: &Path, target: &str) -> Result<Option<Answer>> {
    let config = config(path).await?;
    let url = &config.cluster_url;
    let host = url.host().context("the kubeconfig's server has no host")?;
    let port = url
        .port_u16()
        .context("the kubeconfig's server has no port")?;
    ask(&config, (host, port), host, target).await
}

/// The same of another server, on `port` of this machine, whose certificate is for `name`: with the user and the authority of the
/// kubeconfig at `path`.
pub async fn get_from(path: &Path, port: u16, name: &str, target: &str) -> Result<Option<Answer>> {
    ask(&config(path).await?, ("127.0.0.1", port), name, target).await
}

async fn config(path: &Path) -> Result<kube::Config> {
    let kubeconfig = Kubeconfig::read_from(path)?;
    let options = KubeConfigOptions::default();
    Ok(kube::Config::from_custom_kubeconfig(kubeconfig, &options).await?)
}

async fn ask(
    config: &kube::Config,
    address: (&str, u16),
    name: &str,
    target: &str,
) -> Result<Option<Answer>> {
    let connector = TlsConnector::from(Arc::new(config.rustls_client_config()?));
    let name = ServerName::try_from(name.to_owned())?;
    let connected = async {
        connector
            .connect(name, TcpStream::connect(address).await?)
            .await
    };
    let connected = timeout(LIMIT, connected).await;
    let mut stream = connected.context("the server takes no connection")??;
    let (host, port) = address;
    let request =
        format!("GET {target} HTTP/1.1\r\nhost: {host}:{port}\r\nconnection: close\r\n\r\n");
    let mut answer = Vec::new();
    // A server that refuses early may close while the rest is still being sent: what it said by then counts.
    let sent = timeout(LIMIT, stream.write_all(request.as_bytes()))
        .await
        .context("the server reads nothing")?;
    let read = timeout(LIMIT, stream.read_to_end(&mut answer))
        .await
        .context("the server says nothing")?;
    drop((sent, read));
    Ok(parse(&String::from_utf8_lossy(&answer)))
}

/// The answer of which this is the text.
pub(crate) fn parse(text: &str) -> Option<Answer> {
    let (head, body) = text.split_once("\r\n\r\n")?;
    let code = head.split(' ').nth(1)?.parse().ok()?;
    Some(Answer {
        code,
        body: body.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_code_and_a_body() {
        let answer = parse("HTTP/1.1 414 URI Too Long\r\ncontent-length: 2\r\n\r\nno").unwrap();
        assert_eq!((answer.code, answer.body.as_str()), (414, "no"));
        assert_eq!(parse(""), None);
    }
}
