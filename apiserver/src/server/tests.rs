//! Real TLS on a loopback socket, over HTTP/1.1 and HTTP/2.

mod bodies;
mod handshakes;
mod heads;
mod settings;
mod slots;
mod stalls;
mod wear;

use std::sync::atomic::Ordering;

use arc_swap::ArcSwap;
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Empty};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

use super::*;
use crate::app::{Limits, PoolSizes};
use crate::caller::authn::{Authenticator, Trust};
use crate::caller::authz::Authorizer;
use crate::counters::CounterValues;
use crate::server::tls::{Certificate, H2, SelfMade, Serving, server_config};
use crate::testing::{
    Authority, Contents, FixedTokens, Rules, Watched, extension_authentication, resource,
};

const LIST: &str = "/apis/clusterpedia.io/v1beta1/resources/api/v1/pods";

const SIZES: PoolSizes = PoolSizes {
    short: 10,
    lists: 10,
    short_per_user: 10,
};

const CONNECTIONS: ConnectionLimits = ConnectionLimits {
    slots: SlotLimits {
        all: 16,
        reserved: 4,
        unproven_per_address: 8,
        heads: 1 << 20,
    },
    idle: IdleLimits {
        idle: Duration::from_secs(60),
        unproven: Duration::from_secs(60),
    },
    stall: Duration::from_secs(60),
    answer: Duration::from_secs(60),
    grace: Duration::from_secs(5),
};

struct Running {
    address: std::net::SocketAddr,
    ca: String,
    front_proxy: Authority,
    clients: Authority,
    store: Arc<Watched>,
    app: Arc<App>,
    stop: CancellationToken,
    serving: JoinHandle<()>,
}

/// So many pods of about so many bytes.
fn contents(rows: usize, bytes: usize) -> Contents {
    let pods = resource("", "v1", "pods", "Pod", true);
    let cluster = Contents::new().cluster("m1", "v1.36.1", "");
    (0..rows).fold(cluster, |contents, number| {
        let name = format!("p{number:04}");
        let body = json!({"spec": {"text": "x".repeat(bytes)}});
        contents.object("m1", &pods, "x", &name, body)
    })
}

impl Running {
    async fn start(rows: usize) -> Self {
        Self::start_with(rows, 200, CONNECTIONS).await
    }

    /// Serves so many pods of about so many bytes.
    async fn start_with(rows: usize, bytes: usize, limits: ConnectionLimits) -> Self {
        Self::start_within(4 << 20, rows, bytes, limits).await
    }

    /// Likewise, and holds at most so many for clients.
    async fn start_within(
        budget: usize,
        rows: usize,
        bytes: usize,
        limits: ConnectionLimits,
    ) -> Self {
        let (front_proxy, clients) = (Authority::new("proxies"), Authority::new("clients"));
        let store = contents(rows, bytes).store().await;
        let data = extension_authentication(&front_proxy, &clients);
        let trust = Trust::from_data(&data).expect("a configuration");
        let app = Arc::new(App::new(
            Arc::clone(&store) as Arc<dyn armadex_storage::Search>,
            Authenticator::new(
                Arc::new(ArcSwap::from_pointee(trust)),
                Arc::new(FixedTokens::new([("alice", "alice"), ("bob", "bob")])),
            ),
            Authorizer::new(Arc::new(Rules::new(["everybody may do everything"]))),
            Arc::default(),
            Limits {
                in_flight: SIZES,
                bytes: budget,
                time: Duration::from_secs(60),
                searches: 4,
            },
        ));
        let made = SelfMade::for_names(&["localhost".to_owned(), "127.0.0.1".to_owned()])
            .expect("a certificate");
        let ca = made.ca_pem().to_owned();
        let serving = Arc::new(
            Serving::load(&Certificate::SelfMade(made))
                .await
                .expect("usable"),
        );
        let socket = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = socket.local_addr().expect("an address");
        let listener = Listener {
            socket,
            tls: TlsAcceptor::from(Arc::new(server_config(serving).expect("TLS"))),
            limits,
        };
        let stop = CancellationToken::new();
        let serving = tokio::spawn(listener.serve(Arc::clone(&app), stop.clone()));
        Self {
            address,
            ca,
            front_proxy,
            clients,
            store,
            app,
            stop,
            serving,
        }
    }

    /// A socket whose own address ends in this number.
    async fn socket_from(&self, home: u8) -> TcpStream {
        let socket = TcpSocket::new_v4().expect("a socket");
        let home = std::net::SocketAddr::from(([127, 0, 0, home], 0));
        socket.bind(home).expect("an address of its own");
        socket.connect(self.address).await.expect("a connection")
    }

    async fn connect(
        &self,
        protocol: &[u8],
        identity: Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>,
    ) -> tokio_rustls::client::TlsStream<TcpStream> {
        self.connect_from(1, protocol, identity).await
    }

    async fn connect_from(
        &self,
        home: u8,
        protocol: &[u8],
        identity: Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>,
    ) -> tokio_rustls::client::TlsStream<TcpStream> {
        let mut roots = RootCertStore::empty();
        let ca = CertificateDer::from_pem_slice(self.ca.as_bytes()).expect("a CA");
        roots.add(ca).expect("a root");
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots);
        let mut config = match identity {
            Some((chain, key)) => builder.with_client_auth_cert(chain, key).expect("a pair"),
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = vec![protocol.to_vec()];
        let socket = self.socket_from(home).await;
        let name = ServerName::try_from("localhost").expect("a name");
        let connector = TlsConnector::from(Arc::new(config));
        connector.connect(name, socket).await.expect("a handshake")
    }

    /// Code and body of a GET; `None` for a body that broke off.
    async fn get(
        &self,
        protocol: &[u8],
        identity: Option<(CertificateDer<'static>, PrivateKeyDer<'static>)>,
        uri: &str,
        headers: &[(&str, &str)],
    ) -> (u16, Option<Bytes>) {
        let identity = identity.map(|(certificate, key)| (vec![certificate], key));
        let stream = self.connect(protocol, identity).await;
        let mut request =
            Request::get(format!("https://localhost{uri}")).header("host", "localhost");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Empty::<Bytes>::new()).expect("a request");
        let io = TokioIo::new(stream);
        let response = if protocol == H2 {
            let (mut sender, connection) = http2::handshake(TokioExecutor::new(), io)
                .await
                .expect("HTTP/2");
            tokio::spawn(connection);
            sender.send_request(request).await
        } else {
            let (mut sender, connection) = http1::handshake(io).await.expect("HTTP/1.1");
            tokio::spawn(connection);
            sender.send_request(request).await
        };
        let response = response.expect("a response");
        let code = response.status().as_u16();
        (
            code,
            response
                .into_body()
                .collect()
                .await
                .ok()
                .map(http_body_util::Collected::to_bytes),
        )
    }

    async fn until(&self, what: &str, condition: impl Fn(&CounterValues) -> bool) {
        let waiting = async {
            while !condition(&self.app.counters().read()) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        if tokio::time::timeout(Duration::from_secs(20), waiting)
            .await
            .is_err()
        {
            panic!("{what}: {:?}", self.app.counters().read());
        }
    }

    async fn stop(self) {
        self.stop.cancel();
        self.serving.await.expect("a clean end");
        assert_eq!(self.app.counters().read().connections, 0);
    }
}

const BOTH: [&[u8]; 2] = [H2, b"http/1.1"];
const ALICE: &[(&str, &str)] = &[("authorization", "Bearer alice")];

#[test]
fn an_answer_has_its_time_limit_and_then_the_stall_limit_for_its_end() {
    let limits = ConnectionLimits {
        stall: Duration::from_secs(3),
        answer: Duration::from_secs(7),
        ..CONNECTIONS
    };
    let Patience {
        stall,
        refusal,
        whole,
    } = limits.patience();
    let seconds = [stall, refusal, whole].map(|time| time.as_secs());
    assert_eq!(seconds, [3, 5, 10]);
}

#[tokio::test]
async fn a_list_arrives_over_both_protocols() {
    let server = Running::start(1200).await;
    for protocol in BOTH {
        let (code, body) = server.get(protocol, None, LIST, ALICE).await;
        let list: serde_json::Value =
            serde_json::from_slice(&body.expect("complete")).expect("JSON");
        assert_eq!(
            (code, list["items"].as_array().map(Vec::len)),
            (200, Some(1200))
        );
    }
    server.stop().await;
}

#[tokio::test]
async fn only_a_front_proxy_speaks_for_others() {
    let server = Running::start(1).await;
    let spoken_for = &[
        ("x-remote-user", "root"),
        ("x-remote-group", "system:masters"),
    ][..];
    for protocol in BOTH {
        let proxy = server.front_proxy.client("front-proxy-client", &[]);
        assert_eq!(
            server.get(protocol, Some(proxy), LIST, spoken_for).await.0,
            200
        );
        let other = server.front_proxy.client("other", &[]);
        assert_eq!(
            server.get(protocol, Some(other), LIST, spoken_for).await.0,
            401
        );
        let stranger = Authority::new("proxies").client("front-proxy-client", &[]);
        assert_eq!(
            server
                .get(protocol, Some(stranger), LIST, spoken_for)
                .await
                .0,
            401
        );
        assert_eq!(server.get(protocol, None, LIST, spoken_for).await.0, 401);
        let user = server.clients.client("bob", &["dev"]);
        assert_eq!(server.get(protocol, Some(user), LIST, &[]).await.0, 200);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_list_that_fails_in_the_middle_breaks_the_connection_off() {
    let server = Running::start(1200).await;
    for (protocol, failing) in [(BOTH[0], 2), (BOTH[1], 4)] {
        server.store.failing_page.store(failing, Ordering::Relaxed);
        let (code, body) = server.get(protocol, None, LIST, ALICE).await;
        assert_eq!((code, body.is_none()), (200, true));
    }
    server.stop().await;
}

#[tokio::test]
async fn a_query_string_of_60_kilobytes_is_served() {
    let server = Running::start(1).await;
    let uri = format!(
        "{LIST}?names={}",
        "p0000-a-long-name,".repeat(3500) + "p0000"
    );
    assert!(uri.len() > 60 << 10);
    for protocol in BOTH {
        assert_eq!(server.get(protocol, None, &uri, ALICE).await.0, 200);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_url_that_is_too_long_is_refused_over_http_1() {
    let server = Running::start(1).await;
    for (kilobytes, code) in [(100, "414"), (300, "431")] {
        let mut stream = server.connect(b"http/1.1", None).await;
        let query = "x".repeat(kilobytes << 10);
        let request = format!("GET {LIST}?names={query} HTTP/1.1\r\nhost: localhost\r\n\r\n");
        // The answer comes before all has been taken.
        let _ = stream.write_all(request.as_bytes()).await;
        let mut head = [0; 12];
        stream.read_exact(&mut head).await.expect("an answer");
        assert_eq!(head, format!("HTTP/1.1 {code}").as_bytes());
    }
    server.stop().await;
}

/// Go's client takes a stream error for a reason to try again, so there must be none.
#[tokio::test]
async fn a_url_that_is_too_long_for_http_2_is_refused_with_a_code() {
    let server = Running::start(1).await;
    let longest = 65_534 - "https://localhost?names=".len() - LIST.len();
    let uri = format!("{LIST}?names={}", "x".repeat(longest));
    assert_eq!(server.get(H2, None, &uri, ALICE).await.0, 431);
    server.stop().await;
}

#[tokio::test]
async fn many_large_headers_are_refused_over_http_2() {
    let server = Running::start(1).await;
    let names: Vec<String> = (0..2).map(|number| format!("x-large-{number}")).collect();
    let large = "x".repeat(40 << 10);
    let headers: Vec<(&str, &str)> = names
        .iter()
        .map(|name| (name.as_str(), large.as_str()))
        .collect();
    assert_eq!(server.get(H2, None, LIST, &headers).await.0, 431);
    server.stop().await;
}

#[tokio::test]
async fn an_idle_connection_does_not_keep_the_server_from_stopping() {
    let server = Running::start(1).await;
    let _before_the_handshake = TcpStream::connect(server.address)
        .await
        .expect("a connection");
    let _http1 = server.connect(b"http/1.1", None).await;
    let _http2 = server.connect(H2, None).await;
    server.stop().await;
}

#[tokio::test]
async fn a_chain_that_is_longer_than_any_of_use_ends_the_handshake() {
    let server = Running::start(1).await;
    let (leaf, key) = server.clients.client("bob", &[]);
    for (intermediates, served) in [(4, true), (5, false), (50, false)] {
        let others = (0..intermediates).map(|_| Authority::new("another").certificate());
        let chain = std::iter::once(leaf.clone()).chain(others).collect();
        let stream = server
            .connect(b"http/1.1", Some((chain, key.clone_key())))
            .await;
        let (mut read, mut write) = tokio::io::split(stream);
        let request =
            format!("GET {LIST} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        // TLS 1.3 tells a client that its certificate was refused after its own handshake is complete.
        let _ = write.write_all(request.as_bytes()).await;
        let mut answer = Vec::new();
        let ended = read.read_to_end(&mut answer).await;
        assert_eq!(
            answer.starts_with(b"HTTP/1.1 200"),
            served,
            "{intermediates}: {ended:?}"
        );
    }
    server.stop().await;
}
