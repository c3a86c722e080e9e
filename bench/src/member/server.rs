//! The members' sockets: one port for all that speak, below a path of its own each, and one for those that do not.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use http::{Request, Response};
use hyper::body::Incoming;
use k8s_openapi::ByteString;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::time::MissedTickBehavior;
use tokio_util::task::AbortOnDropHandle;

use super::ledger::Purpose;
use super::request::{self, GROUP, MEMBERS, plural};
use super::role::Role;
use super::scripted::{Head, Members};
use crate::served::body::Body;
use crate::served::{self, Served};

/// The members' second is cut in parts, each for the members of a number: nothing happens to all of them at the same moment.
const PARTS: usize = 10;

/// Members that are being played until this is dropped.
pub(super) struct Playing {
    pub(super) members: Arc<Members>,
    /// Changes in a second, over all members.
    trickle: Arc<AtomicU64>,
    served: Served,
    silent_port: u16,
    _tasks: [AbortOnDropHandle<()>; 2],
}

impl Playing {
    /// Begins; nothing changes yet.
    pub(super) async fn start(members: Members) -> Result<Self> {
        let members = Arc::new(members);
        let begun = Instant::now();
        let silent = served::listen().await?;
        let trickle = Arc::new(AtomicU64::new(0));
        let silent_port = silent.local_addr()?.port();
        let served = Served::start({
            let members = Arc::clone(&members);
            move |request| answer(&members, begun, request)
        });
        let served = served.await?;
        let say_nothing = served::accept(silent, {
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
            served,
            silent_port,
            _tasks: [
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
        let port = match self.members.role(number) {
            Role::Silent => self.silent_port,
            _ => self.served.port,
        };
        let kinds: Vec<_> = (0..self.members.kinds).map(plural).collect();
        json!({
            "apiserver": format!("https://127.0.0.1:{port}{MEMBERS}{number}"),
            "caData": ByteString(self.served.authority.clone().into_bytes()),
            "tokenData": ByteString(b"bench".to_vec()),
            "syncResources": [{"group": GROUP, "resources": kinds}],
        })
    }
}

fn answer(members: &Members, begun: Instant, request: &Request<Incoming>) -> Response<Body> {
    let head = Head::read(begun.elapsed(), request.headers());
    let query = request.uri().query().unwrap_or_default();
    match request::read(request.uri().path(), query) {
        Some((number, asked)) => members.answer(number, &asked, head),
        None => members.answer(usize::MAX, &request::Asked::Unknown, head),
    }
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
    use hyper_util::rt::{TokioExecutor, TokioIo};
    use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject as _};

    async fn connect(playing: &Playing) -> (SendRequest<Empty<Bytes>>, AbortOnDropHandle<()>) {
        let mut roots = rustls::RootCertStore::empty();
        let authority = CertificateDer::from_pem_slice(playing.served.authority.as_bytes());
        roots.add(authority.expect("PEM")).expect("a certificate");
        let mut config = rustls::ClientConfig::builder()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let socket = TcpStream::connect(("127.0.0.1", playing.served.port)).await;
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
        let playing = Playing::start(Members::new(4, Role::of, 2, 3))
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
