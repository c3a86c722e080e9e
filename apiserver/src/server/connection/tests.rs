use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
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

/// Both ends of a connection.
async fn sockets() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let theirs = TcpStream::connect(address).await.expect("connected");
    let (ours, _) = listener.accept().await.expect("accepted");
    (ours, theirs)
}

/// A client that says nothing holds this, and each is one of a thousand.
#[test]
fn a_connection_takes_little_before_its_handshake_begins() {
    fn size<F>(_: impl Fn(&'static Service, TcpStream, Arc<Client>, Slot) -> F) -> usize {
        size_of::<F>()
    }
    let size = size(Service::serve);
    assert!(size < 3 << 10, "{size} bytes");
}

#[tokio::test(start_paused = true)]
async fn a_handshake_that_is_begun_and_not_ended_is_given_up() {
    let (tls, hello) = (acceptor().await, hello());
    for said in [0, hello.len() / 2, hello.len()] {
        let (ours, mut theirs) = sockets().await;
        theirs.write_all(&hello[..said]).await.expect("taken");
        let begun = Instant::now();
        let ended = tokio::time::timeout(Duration::from_secs(3600), handshake(&tls, ours)).await;
        assert!(ended.expect("given up").is_none(), "{said} bytes");
        assert_eq!(begun.elapsed().as_secs(), 10, "{said} bytes");
    }
}

/// hyper ends a connection that waits for the next request for that long.
#[test]
fn a_connection_of_http1_may_be_idle_for_as_long_as_one_of_http2() {
    for idle in [1, 90, 600].map(Duration::from_secs) {
        assert!(head_time(idle) > idle);
    }
}
