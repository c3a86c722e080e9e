//! The socket of members that are played: TLS and HTTP/2 on a port of loopback.

pub(crate) mod body;
pub(crate) mod discovery;

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, pem::PemObject as _};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_util::task::AbortOnDropHandle;

use body::Body;

/// What a kube-apiserver allows on a connection.
const STREAMS: u32 = 100;

/// A socket that is served until this is dropped.
pub(crate) struct Served {
    pub(crate) port: u16,
    /// Whom to trust, PEM.
    pub(crate) authority: String,
    _task: AbortOnDropHandle<()>,
}

impl Served {
    /// Serves what `answer` gives.
    pub(crate) async fn start<F>(answer: F) -> Result<Self>
    where
        F: Fn(&Request<Incoming>) -> Response<Body> + Send + Sync + 'static,
    {
        let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
        let acceptor = TlsAcceptor::from(Arc::new(tls(&certified)?));
        let (listener, answer) = (listen().await?, Arc::new(answer));
        let port = listener.local_addr()?.port();
        let speak = accept(listener, move |socket| {
            serve(socket, acceptor.clone(), Arc::clone(&answer))
        });
        Ok(Self {
            port,
            authority: certified.cert.pem(),
            _task: AbortOnDropHandle::new(tokio::spawn(speak)),
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

/// A port that nobody has.
pub(crate) async fn listen() -> Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .await
        .context("cannot listen for members")
}

/// Serves every connection in a task of its own. Their number is that of the connections that one Armadex makes.
pub(crate) async fn accept<F>(listener: TcpListener, serve: impl Fn(TcpStream) -> F)
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

async fn serve<F>(socket: TcpStream, acceptor: TlsAcceptor, answer: Arc<F>)
where
    F: Fn(&Request<Incoming>) -> Response<Body>,
{
    // Whoever breaks off its handshake, or its connection, needs no answer.
    let _ = socket.set_nodelay(true);
    let Ok(stream) = acceptor.accept(socket).await else {
        return;
    };
    let answer = service_fn(|request: Request<Incoming>| {
        let answer = answer(&request);
        async { Ok::<_, Infallible>(answer) }
    });
    let _ = http2::Builder::new(TokioExecutor::new())
        .max_concurrent_streams(STREAMS)
        .serve_connection(TokioIo::new(stream), answer)
        .await;
}

/// An answer that is there as a whole.
pub(crate) fn whole(text: impl Into<bytes::Bytes>) -> Response<Body> {
    coded(StatusCode::OK, Body::Whole(text.into()))
}

/// A refusal, as Kubernetes says it.
pub(crate) fn refusal(code: StatusCode, reason: &str, message: &str) -> Response<Body> {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure",
        "code": code.as_u16(), "reason": reason, "message": message,
    });
    coded(code, Body::Whole(status.to_string().into()))
}

/// JSON with a code.
pub(crate) fn coded(code: StatusCode, body: Body) -> Response<Body> {
    let mut answer = Response::new(body);
    *answer.status_mut() = code;
    let json = HeaderValue::from_static("application/json");
    answer.headers_mut().insert(CONTENT_TYPE, json);
    answer
}

/// What a parameter of a query says.
pub(crate) fn value<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find_map(|(key, value)| (key == name).then_some(value))
}
