use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use tokio::io::AsyncWriteExt as _;
use tokio::time::Instant;

use super::*;
use crate::server::tls::{Certificate, SelfMade, Serving, server_config};

async fn acceptor() -> TlsAcceptor {
    let made = SelfMade::for_names(&["localhost".to_owned()]).expect("a certificate");
    let serving = Serving::load(&Certificate::SelfMade(made)).await;
    let config = server_config(Arc::new(serving.expect("usable"))).expect("TLS");
    TlsAcceptor::from(Arc::new(config))
}

/// The first thing that a client says.
fn hello() -> Vec<u8> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").expect("a name");
    let mut client = ClientConnection::new(Arc::new(config), name).expect("a client");
    let mut hello = Vec::new();
    client.write_tls(&mut hello).expect("taken");
    hello
}

#[tokio::test(start_paused = true)]
async fn a_handshake_that_is_begun_and_not_ended_is_given_up() {
    let (tls, hello) = (acceptor().await, hello());
    for said in [0, hello.len() / 2, hello.len()] {
        let (ours, mut theirs) = tokio::io::duplex(64 << 10);
        theirs.write_all(&hello[..said]).await.expect("taken");
        let begun = Instant::now();
        let ended = tokio::time::timeout(Duration::from_secs(3600), handshake(&tls, ours)).await;
        assert!(ended.expect("given up").is_none(), "{said} bytes");
        assert_eq!(begun.elapsed().as_secs(), 10, "{said} bytes");
    }
}
