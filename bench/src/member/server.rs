//! The members' sockets: one port for all that speak, below a path of its own each, and one for those that do not.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use k8s_openapi::ByteString;
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, pem::PemObject as _};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;
use tokio_rustls::TlsAcceptor;
use tokio_util::task::AbortOnDropHandle;

use super::ledger::Purpose;
use super::request::{self, GROUP, MEMBERS, plural};
use super::role::Role;
use super::scripted::{Head, Members};

/// What a kube-apiserver allows on a connection.
const STREAMS: u32 = 100;
/// The members' second is cut in parts, each for the members of a number: nothing happens to all of them at the same moment.
const PARTS: usize = 10;

/// Members that are being played until this is dropped.
pub(super) struct Playing {
    pub(super) members: Arc<Members>,
    /// Changes in a second, over all members.
    trickle: Arc<AtomicU64>,
    port: u16,
    silent_port: u16,
    /// PEM.
    authority: String,
    _tasks: [AbortOnDropHandle<()>; 3],
}

impl Playing {
    /// Begins; nothing changes yet.
    pub(super) async fn start(members: Members) -> Result<Self> {
        let members = Arc::new(members);
        let begun = Instant::now();
        let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
        let acceptor = TlsAcceptor::from(Arc::new(tls(&certified)?));
        let (speaking, silent) = (listen().await?, listen().await?);
        let trickle = Arc::new(AtomicU64::new(0));
        let (port, silent_port) = (speaking.local_addr()?.port(), silent.local_addr()?.port());
        let speak = accept(speaking, {
            let members = Arc::clone(&members);
            move |socket| serve(socket, acceptor.clone(), Arc::clone(&members), begun)
        });
        let say_nothing = accept(silent, {
            let members = Arc::clone(&members);
            move |socket| {
                members.ledger.note(Role::Silent, Purpose::Others);
                hear(socket)
            }
        });
        let pass = pass_time(Arc::clone(&members), Arc::clone(&trickle), begun);
        Ok(Self {
            members,
            trickle,
            port,
            silent_port,
            authority: certified.cert.pem(),
            _tasks: [
                AbortOnDropHandle::new(tokio::spawn(speak)),
                AbortOnDropHandle::new(tokio::spawn(say_nothing)),
                AbortOnDropHandle::new(tokio::spawn(pass)),
            ],
        })
    }

    /// So many changes in a second from now on, over all members.
    pub(super) fn trickle(&self, changes: u64) {
        self.trickle.store(changes, Ordering::Relaxed);
    }

    /// The spec of the PediaCluster of a member.
    pub(super) fn spec(&self, number: usize) -> Value {
        let port = match Role::of(number) {
            Role::Silent => self.silent_port,
            _ => self.port,
        };
        let kinds: Vec<_> = (0..self.members.kinds).map(plural).collect();
        json!({
            "apiserver": format!("https://127.0.0.1:{port}{MEMBERS}{number}"),
            "caData": ByteString(self.authority.clone().into_bytes()),
            "tokenData": ByteString(b"bench".to_vec()),
            "syncResources": [{"group": GROUP, "resources": kinds}],
        })
    }
}

fn tls(certified: &rcgen::CertifiedKey<rcgen::KeyPair>) -> Result<ServerConfig> {
    let key = PrivateKeyDer::from_pem_slice(certified.signing_key.serialize_pem().as_bytes())?;
    let mut config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(config)
}

async fn listen() -> Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .await
        .context("cannot listen for members")
}

/// Serves every connection in a task of its own. Their number is that of the connections that one Armadex makes.
async fn accept<F>(listener: TcpListener, serve: impl Fn(TcpStream) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                // One that is gone again is none.
                if let Ok((socket, _)) = accepted {
                    connections.spawn(serve(socket));
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(socket: TcpStream, acceptor: TlsAcceptor, members: Arc<Members>, begun: Instant) {
    // Whoever breaks off its handshake, or its connection, needs no answer.
    let _ = socket.set_nodelay(true);
    let Ok(stream) = acceptor.accept(socket).await else {
        return;
    };
    let answer = service_fn(|request: http::Request<hyper::body::Incoming>| {
        let head = Head::read(begun.elapsed(), request.headers());
        let query = request.uri().query().unwrap_or_default();
        let asked = request::read(request.uri().path(), query);
        let answer = match asked {
            Some((number, asked)) => members.answer(number, &asked, head),
            None => members.answer(usize::MAX, &request::Asked::Unknown, head),
        };
        async { Ok::<_, std::convert::Infallible>(answer) }
    });
    let _ = http2::Builder::new(TokioExecutor::new())
        .max_concurrent_streams(STREAMS)
        .serve_connection(TokioIo::new(stream), answer)
        .await;
}

/// Until the other side ends the connection.
async fn hear(mut socket: TcpStream) {
    let mut heard = [0; 1024];
    while matches!(socket.read(&mut heard).await, Ok(1..)) {}
}

async fn pass_time(members: Arc<Members>, trickle: Arc<AtomicU64>, begun: Instant) {
    let mut parts = tokio::time::interval(Duration::from_secs(1) / PARTS as u32);
    // None is left out: each is a second of some members.
    parts.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let (mut part, mut owed, mut changes) = (0, 0, 0);
    loop {
        parts.tick().await;
        members.second(begun.elapsed(), |number| number % PARTS == part);
        part = (part + 1) % PARTS;
        owed += trickle.load(Ordering::Relaxed);
        while owed >= PARTS as u64 {
            owed -= PARTS as u64;
            members.change(changes);
            changes += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use bytes::Bytes;
    use http_body_util::{BodyExt as _, Empty};
    use hyper::client::conn::http2::SendRequest;
    use rustls::pki_types::{CertificateDer, ServerName};

    async fn connect(playing: &Playing) -> (SendRequest<Empty<Bytes>>, AbortOnDropHandle<()>) {
        let mut roots = rustls::RootCertStore::empty();
        let authority = CertificateDer::from_pem_slice(playing.authority.as_bytes());
        roots.add(authority.expect("PEM")).expect("a certificate");
        let mut config = rustls::ClientConfig::builder()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let socket = TcpStream::connect(("127.0.0.1", playing.port)).await;
        let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
        let name = ServerName::try_from("127.0.0.1").expect("an address");
        let stream = connector.connect(name, socket.expect("a port")).await;
        let io = TokioIo::new(stream.expect("a handshake"));
        let (sender, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), io)
            .await
            .expect("HTTP/2");
        let driver = tokio::spawn(async move { drop(connection.await) });
        (sender, AbortOnDropHandle::new(driver))
    }

    async fn get(
        client: &mut SendRequest<Empty<Bytes>>,
        path: &str,
    ) -> http::Response<hyper::body::Incoming> {
        let request = http::Request::get(format!("https://127.0.0.1/members/3{path}"));
        let request = request.body(Empty::new()).expect("a request");
        client.send_request(request).await.expect("an answer")
    }

    #[tokio::test]
    async fn a_member_is_listed_and_watched_over_tls() {
        armadex_e2e::install_crypto();
        let playing = Playing::start(Members::new(4, 2, 3))
            .await
            .expect("members");
        let (mut client, _driver) = connect(&playing).await;
        let things = "/apis/bench.armadex.dev/v1/things00";
        let list = get(&mut client, &format!("{things}?limit=500")).await;
        let list = list.into_body().collect().await.expect("a body").to_bytes();
        let list: Value = serde_json::from_slice(&list).expect("JSON");
        assert_eq!(list["items"].as_array().map(Vec::len), Some(3));
        let version = list["metadata"]["resourceVersion"]
            .as_str()
            .expect("a text");
        let watch = format!("{things}?watch=true&timeoutSeconds=290&resourceVersion={version}");
        let mut watch = get(&mut client, &watch).await.into_body();
        assert_eq!(playing.members.live(), 1);
        playing.trickle(100);
        let line = watch.frame().await.expect("a line").expect("no error");
        let line: Value = serde_json::from_slice(line.data_ref().expect("data")).expect("JSON");
        assert_eq!(line["type"], "MODIFIED");
        assert_eq!(line["object"]["metadata"]["name"], "thing-00000");
    }
}
