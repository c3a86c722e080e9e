//! What a client has to show at the handshake: that it holds the key, and a chain of a useful length.

use rustls::client::ResolvesClientCert;
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};
use rustls::{SignatureScheme, SupportedProtocolVersion};

use super::*;

/// Shows a chain and signs with a key that need not be the one of its leaf.
#[derive(Debug)]
struct Shown(Arc<CertifiedKey>);

impl Shown {
    fn new(chain: Vec<CertificateDer<'static>>, key: PrivateKeyDer<'static>) -> Self {
        let key = ring::default_provider()
            .key_provider
            .load_private_key(key)
            .expect("a key");
        Self(Arc::new(CertifiedKey::new(chain, key)))
    }
}

impl ResolvesClientCert for Shown {
    fn resolve(&self, _hints: &[&[u8]], _schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }

    fn has_certs(&self) -> bool {
        true
    }
}

/// What a client that speaks for alice gets to read; nothing if it is turned away.
async fn answer(
    server: &Running,
    version: &'static SupportedProtocolVersion,
    shown: Shown,
) -> Vec<u8> {
    let mut roots = RootCertStore::empty();
    let ca = CertificateDer::from_pem_slice(server.ca.as_bytes()).expect("a CA");
    roots.add(ca).expect("a root");
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[version])
        .expect("a version")
        .with_root_certificates(roots)
        .with_client_cert_resolver(Arc::new(shown));
    let socket = TcpStream::connect(server.address).await.expect("a socket");
    let name = ServerName::try_from("localhost").expect("a name");
    let connecting = TlsConnector::from(Arc::new(config)).connect(name, socket);
    let mut answer = Vec::new();
    // TLS 1.2 turns a client away in the handshake, TLS 1.3 when the client's own part of it is complete.
    if let Ok(mut stream) = connecting.await {
        let request = format!(
            "GET {LIST} HTTP/1.1\r\nhost: localhost\r\nx-remote-user: alice\r\nconnection: close\r\n\r\n"
        );
        let _ = stream.write_all(request.as_bytes()).await;
        let _ = stream.read_to_end(&mut answer).await;
    }
    answer
}

#[tokio::test]
async fn a_certificate_is_worth_nothing_without_its_key() {
    let server = Running::start(1).await;
    let (certificate, key) = server.front_proxy.client("front-proxy-client", &[]);
    let (_, another) = server.front_proxy.client("front-proxy-client", &[]);
    for version in [&TLS12, &TLS13] {
        let owner = Shown::new(vec![certificate.clone()], key.clone_key());
        let read = answer(&server, version, owner).await;
        assert!(read.starts_with(b"HTTP/1.1 200"), "{version:?}");
        let thief = Shown::new(vec![certificate.clone()], another.clone_key());
        assert_eq!(answer(&server, version, thief).await, b"", "{version:?}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_chain_that_is_larger_than_any_of_use_ends_the_handshake() {
    let server = Running::start(1).await;
    let (leaf, key) = server.front_proxy.client("front-proxy-client", &[]);
    // It names itself twice, as the subject and as the issuer.
    let large = Authority::new(&"x".repeat(4 << 10)).certificate();
    assert!(large.len() > 8 << 10);
    for (intermediates, served) in [(1, true), (2, false), (4, false)] {
        let mut chain = vec![leaf.clone()];
        chain.extend(std::iter::repeat_n(large.clone(), intermediates));
        let read = answer(&server, &TLS13, Shown::new(chain, key.clone_key())).await;
        assert_eq!(
            read.starts_with(b"HTTP/1.1 200"),
            served,
            "{intermediates} of 8 KiB"
        );
    }
    server.stop().await;
}
