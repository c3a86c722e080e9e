//! The Cluster API as Karmada serves it: aggregated, so that it may come late and flap, and with `clusters/NAME/proxy`.
//!
//! A kube-apiserver that nobody else knows keeps the Clusters, as objects of the stand-in's CRD; it is asked for all but the proxy, which leads to a member
//! (`way`).

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use http::{HeaderMap, Request, Response, StatusCode, header};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use kube::Client;
use kube::client::Body;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_util::task::AbortOnDropHandle;

use super::cluster::Cluster;
use super::host;
use crate::aggregation::ApiService;
use crate::cluster::Cluster as ApiServer;
use crate::pki::Pki;
use crate::wait::wait_until;
use way::{Caller, ClientOf, Ways};

mod way;

const SERVICE: &str = "armadex-stand-in";
const NAMESPACE: &str = "karmada-system";
/// The apiserver looks for an API that was away every 30 s at most.
const SERVED: Duration = Duration::from_secs(90);
/// What is of one connection, of the caller before the aggregator, or of who asks here.
const NOT_PASSED_ON: [&str; 10] = [
    "authorization",
    "connection",
    "host",
    "transfer-encoding",
    "accept-encoding",
    "x-remote-user",
    "x-remote-group",
    "x-remote-uid",
    "x-forwarded-for",
    "x-forwarded-uri",
];

/// The API, until this is dropped.
#[derive(Debug)]
pub struct Aggregated {
    address: SocketAddr,
    answers: Arc<Answers>,
    tls: Arc<ServerConfig>,
    serving: Option<AbortOnDropHandle<()>>,
}

/// What answers are made from.
#[derive(Debug)]
struct Answers {
    /// The kube-apiserver that keeps the Clusters.
    keeper: ClientOf,
    ways: Ways,
}

impl Aggregated {
    /// Serves the API on the control plane `front`, with the Clusters in `keeper`, and waits until it is served there.
    pub async fn serve(front: &ApiServer, keeper: &ApiServer) -> Result<Self> {
        let clusters = keeper.client().await?;
        host::install(&clusters).await?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let pki = front.pki();
        pki.issue_for_service(SERVICE, NAMESPACE)?;
        let mut api = Self {
            address: listener.local_addr()?,
            answers: Arc::new(Answers {
                keeper: ClientOf(clusters.clone()),
                ways: Ways::new(clusters, front.client().await?),
            }),
            tls: Arc::new(tls(&pki)?),
            serving: None,
        };
        api.accept(listener);
        let service = ApiService {
            group: "cluster.karmada.io",
            version: "v1alpha1",
            service: SERVICE,
            namespace: NAMESPACE,
            port: api.address.port(),
        };
        let client = front.client().await?;
        service.apply(&client, &pki.read("ca.crt")?).await?;
        service.wait_until_available(&client).await?;
        Ok(api)
    }

    /// Where the member of this name is for the control plane, which may be in another network than whoever reads the Cluster.
    pub fn reaches(&self, member: &str, url: &str) {
        self.answers.ways.lead(member, url);
    }

    /// Nobody is answered any more, and the aggregator says so.
    pub async fn goes_away(&mut self) {
        if let Some(serving) = self.serving.take() {
            serving.abort();
            // Cancelled, so that the port is free.
            let _ = serving.await;
        }
    }

    /// It is served again.
    pub async fn returns(&mut self, front: &Client) -> Result<()> {
        let listener = TcpListener::bind(self.address).await?;
        self.accept(listener);
        let clusters: kube::Api<Cluster> = kube::Api::all(front.clone());
        wait_until("the Cluster API is served again", SERVED, || async {
            clusters.list(&Default::default()).await?;
            Ok(true)
        })
        .await
    }

    fn accept(&mut self, listener: TcpListener) {
        let acceptor = TlsAcceptor::from(Arc::clone(&self.tls));
        let accepting = accept(listener, acceptor, Arc::clone(&self.answers));
        self.serving = Some(AbortOnDropHandle::new(tokio::spawn(accepting)));
    }
}

/// Whoever is no front proxy is not let in.
fn tls(pki: &Pki) -> Result<ServerConfig> {
    let mut roots = RootCertStore::empty();
    let authority = pki.read("front-proxy-ca.crt")?;
    for root in CertificateDer::pem_slice_iter(authority.as_bytes()) {
        roots.add(root?)?;
    }
    let front_proxies = WebPkiClientVerifier::builder(Arc::new(roots)).build()?;
    let (chain, key) = (
        pki.read(&format!("{SERVICE}.crt"))?,
        pki.read(&format!("{SERVICE}.key"))?,
    );
    let chain = CertificateDer::pem_slice_iter(chain.as_bytes()).collect::<Result<_, _>>()?;
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes())?;
    let mut config = ServerConfig::builder()
        .with_client_cert_verifier(front_proxies)
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// Its connections end with it.
async fn accept(listener: TcpListener, tls: TlsAcceptor, answers: Arc<Answers>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => if let Ok((socket, _)) = accepted {
                connections.spawn(connection(socket, tls.clone(), Arc::clone(&answers)));
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// What breaks is seen by who asked.
async fn connection(socket: TcpStream, tls: TlsAcceptor, answers: Arc<Answers>) {
    let Ok(stream) = tls.accept(socket).await else {
        return;
    };
    let service = service_fn(move |request: Request<Incoming>| {
        let answers = Arc::clone(&answers);
        async move {
            let answer = answers.answer(request).await;
            Ok::<_, Infallible>(answer.unwrap_or_else(|error| failed(&error)))
        }
    });
    let server = Builder::new(TokioExecutor::new());
    let serving = server.serve_connection_with_upgrades(TokioIo::new(stream), service);
    let _ = serving.await;
}

impl Answers {
    async fn answer(&self, request: Request<Incoming>) -> Result<Response<Body>> {
        let (head, body) = request.into_parts();
        let caller = Caller::of(&head.headers)?;
        let asked = head.uri.path_and_query().context("no path")?.as_str();
        let (client, asked) = match way::proxied(asked) {
            None => (self.keeper.0.clone(), asked),
            Some((member, below)) => (self.ways.client(member, &caller).await?, below),
        };
        let body = body.collect().await?.to_bytes();
        let mut passed = Request::builder()
            .method(head.method)
            .uri(asked)
            .body(Body::from(body.to_vec()))?;
        *passed.headers_mut() = passed_on(head.headers);
        let mut answer = client.send(passed).await?;
        let own = [header::CONNECTION, header::TRANSFER_ENCODING];
        for field in own {
            answer.headers_mut().remove(field);
        }
        Ok(answer)
    }
}

fn passed_on(mut headers: HeaderMap) -> HeaderMap {
    for field in NOT_PASSED_ON {
        headers.remove(field);
    }
    headers
}

/// As an API server says that it could not do what was asked.
fn failed(error: &anyhow::Error) -> Response<Body> {
    let code = StatusCode::INTERNAL_SERVER_ERROR;
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": format!("{error:#}"), "reason": "InternalError", "code": code.as_u16(),
    });
    let answer = Response::builder()
        .status(code)
        .header(header::CONTENT_TYPE, "application/json");
    let body = Body::from(status.to_string().into_bytes());
    answer.body(body).expect("a code and a type")
}
