//! The server as a whole: what its configuration says reaches the place that it is about.

use std::time::Duration;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::*;
use crate::testing::{Contents, Posted, host};

const PODS: &str = "/apis/clusterpedia.io/v1beta1/fleets/all/proxy/api/v1/pods";
/// Much longer than what is waited for, much shorter than the default limits.
const PATIENCE: Duration = Duration::from_secs(20);

/// A host to which every token is alice's, who may do everything.
fn alices_host() -> (kube::Client, Posted) {
    host(|review| async move {
        let user = json!({"username": "alice"});
        match review["kind"].as_str() {
            Some("TokenReview") => {
                let status = json!({"authenticated": true, "audiences": ["armadex"], "user": user});
                (201, json!({"status": status}))
            }
            Some("SubjectAccessReview") => (201, json!({"status": {"allowed": true}})),
            _ => (404, json!({})),
        }
    })
}

async fn connect(address: std::net::SocketAddr, ca: &str) -> TlsStream<TcpStream> {
    let mut roots = RootCertStore::empty();
    let ca = CertificateDer::from_pem_slice(ca.as_bytes()).expect("a CA");
    roots.add(ca).expect("a root");
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let socket = TcpStream::connect(address).await.expect("a socket");
    let name = ServerName::try_from("localhost").expect("a name");
    let connecting = TlsConnector::from(Arc::new(config)).connect(name, socket);
    connecting.await.expect("a handshake")
}

/// All that a server says on one connection until it ends it.
async fn said(mut stream: TlsStream<TcpStream>, path: &str) -> String {
    let request =
        format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer t\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("taken");
    let mut said = Vec::new();
    let reading = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut said)).await;
    // A server that ends TLS without a word is as good here.
    let _ = reading.expect("the connection is not kept");
    String::from_utf8(said).expect("text")
}

#[tokio::test]
async fn a_server_is_put_together_as_its_configuration_says() {
    let made = SelfMade::for_names(&["localhost".to_owned()]).expect("a certificate");
    let ca = made.ca_pem().to_owned();
    let socket = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = socket.local_addr().expect("an address");
    let counters = Arc::new(Counters::default());
    let config = Config {
        token_audiences: vec!["armadex".to_owned()],
        max_lists_in_flight: 0,
        idle_timeout: Duration::from_millis(100),
        counters: Arc::clone(&counters),
        ..Config::new(address, Certificate::SelfMade(made))
    };
    let (client, posted) = alices_host();
    let search = Contents::new().cluster("m1", "v1.36.1", "").store().await;
    let cancel = CancellationToken::new();
    let serving = tokio::spawn(serve_on(socket, config, search, client, cancel.clone()));
    for (path, code) in [("/apis", "200"), (PODS, "429")] {
        let said = said(connect(address, &ca).await, path).await;
        assert!(said.starts_with(&format!("HTTP/1.1 {code}")), "{said}");
    }
    {
        let posted = posted.lock().expect("no panic");
        let mut reviews = posted
            .iter()
            .filter(|(_, one)| one["kind"] == "TokenReview");
        let (_, review) = reviews.next().expect("a review");
        assert_eq!(review["spec"]["audiences"], json!(["armadex"]));
        let trust = "/api/v1/namespaces/kube-system/configmaps";
        assert!(posted.iter().any(|(path, _)| path.starts_with(trust)));
    }
    assert_eq!(counters.read().requests, 2);
    cancel.cancel();
    serving.await.expect("no panic").expect("a clean end");
}
