//! Connections to Armadex's own port, as anybody can make them: from any address of loopback, with any certificate, or none.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use armadex_e2e::pki::Pki;
use bytes::Bytes;
use http::{Request, StatusCode, Version};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::task::AbortOnDropHandle;

use super::requests::ORDINARY;
use crate::readers::READERS;

/// A client certificate with its chain, and the key of its leaf.
pub(super) struct Identity {
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) key: PrivateKeyDer<'static>,
}

impl Identity {
    fn read(pki: &Pki, name: &str) -> Result<Self> {
        Ok(Self {
            chain: certificates(&pki.read(&format!("{name}.crt"))?)?,
            key: PrivateKeyDer::from_pem_slice(pki.read(&format!("{name}.key"))?.as_bytes())?,
        })
    }
}

/// A client's side of TLS: whom it shows itself as.
pub(super) type Face = Arc<ClientConfig>;

/// Armadex's own port.
pub(super) struct Target {
    address: SocketAddr,
    pki: Pki,
    roots: RootCertStore,
    /// Nobody.
    pub(super) nobody: Face,
    /// The kube-apiserver in its role as a front proxy.
    front_proxy: Face,
}

impl Target {
    /// The server on `port` of loopback, whose certificate is of the authority of `pki`.
    pub(super) fn new(port: u16, pki: Pki) -> Result<Self> {
        let mut roots = RootCertStore::empty();
        for certificate in certificates(&pki.read("ca.crt")?)? {
            roots.add(certificate)?;
        }
        let front_proxy = Identity::read(&pki, "front-proxy-client")?;
        Ok(Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            nobody: face(&roots, None)?,
            front_proxy: face(&roots, Some(front_proxy))?,
            pki,
            roots,
        })
    }

    /// A user whose certificate the host's authority has issued.
    pub(super) fn user(&self, name: &str) -> Result<Face> {
        Ok(face(&self.roots, Some(Identity::read(&self.pki, name)?))?)
    }

    /// Somebody with a certificate that the server has never seen.
    pub(super) fn stranger(&self, identity: Identity) -> Result<Face> {
        Ok(face(&self.roots, Some(identity))?)
    }

    /// A socket that says nothing yet. `receive` is how many bytes the kernel may take before we read them; its own choice if absent.
    pub(super) async fn tcp(&self, from: Ipv4Addr, receive: Option<u32>) -> Result<TcpStream> {
        let socket = TcpSocket::new_v4()?;
        if let Some(bytes) = receive {
            socket.set_recv_buffer_size(bytes)?;
        }
        socket.bind(SocketAddr::from((from, 0)))?;
        Ok(socket.connect(self.address).await?)
    }

    /// The first flight of a handshake.
    pub(super) fn hello(&self) -> Result<Vec<u8>> {
        let mut session = ClientConnection::new(Arc::clone(&self.nobody), server_name())?;
        let mut bytes = Vec::new();
        session.write_tls(&mut bytes)?;
        Ok(bytes)
    }

    /// A connection whose handshake is complete.
    pub(super) async fn tls(&self, stream: TcpStream, face: &Face) -> Result<TlsStream<TcpStream>> {
        let connector = TlsConnector::from(Arc::clone(face));
        Ok(connector.connect(server_name(), stream).await?)
    }

    /// An HTTP/1.1 client.
    pub(super) async fn http1(&self, from: Ipv4Addr, face: &Face) -> Result<Client> {
        let stream = self.tls(self.tcp(from, None).await?, face).await?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        Ok(Client {
            sender: Sender::Http1(sender),
            driver: AbortOnDropHandle::new(tokio::spawn(async { drop(connection.await) })),
        })
    }

    /// An HTTP/2 client that grants each answer `window` bytes, and more when they were read.
    pub(super) async fn http2(&self, from: Ipv4Addr, face: &Face, window: u32) -> Result<Client> {
        let mut config = ClientConfig::clone(face);
        config.alpn_protocols = vec![b"h2".to_vec()];
        let stream = self.tcp(from, None).await?;
        let stream = self.tls(stream, &Arc::new(config)).await?;
        let (sender, connection) = http2::Builder::new(TokioExecutor::new())
            .initial_stream_window_size(window)
            .handshake(TokioIo::new(stream))
            .await?;
        Ok(Client {
            sender: Sender::Http2(sender),
            driver: AbortOnDropHandle::new(tokio::spawn(async { drop(connection.await) })),
        })
    }

    /// What the aggregator does for the ordinary user when it has no connection yet.
    pub(super) async fn as_front_proxy(&self, path: &str) -> Result<(StatusCode, Bytes)> {
        let mut client = self
            .http2(Ipv4Addr::LOCALHOST, &self.front_proxy, 1 << 20)
            .await?;
        let request = Request::get(url(path))
            .version(Version::HTTP_2)
            .header("x-remote-user", ORDINARY)
            .header("x-remote-group", READERS)
            .header("x-remote-group", "system:authenticated");
        let answer = client.send(request.body(Empty::new())?).await?;
        let code = answer.status();
        Ok((code, answer.into_body().collect().await?.to_bytes()))
    }
}

/// A client on a connection of its own, which ends with it.
pub(super) struct Client {
    sender: Sender,
    driver: AbortOnDropHandle<()>,
}

enum Sender {
    Http1(http1::SendRequest<Empty<Bytes>>),
    Http2(http2::SendRequest<Empty<Bytes>>),
}

impl Client {
    /// Asks and gives the head of the answer; its body waits to be read.
    pub(super) async fn get(&mut self, path: &str) -> Result<http::Response<Incoming>> {
        let request = match self.sender {
            Sender::Http1(_) => Request::get(path).header("host", HOST),
            Sender::Http2(_) => Request::get(url(path)).version(Version::HTTP_2),
        };
        self.send(request.body(Empty::new())?).await
    }

    /// Asks and reads the answer to its end.
    pub(super) async fn get_all(&mut self, path: &str) -> Result<StatusCode> {
        let mut answer = self.get(path).await?;
        while let Some(frame) = answer.body_mut().frame().await {
            frame?;
        }
        Ok(answer.status())
    }

    /// Asks many times at once, over HTTP/2; an answer that never came is an error.
    pub(super) async fn get_many(
        &self,
        path: &str,
        times: usize,
    ) -> Vec<Result<http::Response<Incoming>>> {
        let Sender::Http2(sender) = &self.sender else {
            return vec![];
        };
        let asking = (0..times).map(|_| {
            let mut sender = sender.clone();
            async move {
                let request = Request::get(url(path)).version(Version::HTTP_2);
                sender.ready().await?;
                Ok(sender.send_request(request.body(Empty::new())?).await?)
            }
        });
        futures::future::join_all(asking).await
    }

    /// Waits until the server ends the connection.
    pub(super) async fn closed(self) {
        // The driver is never aborted while it is waited for, and does not panic.
        let _ = self.driver.await;
    }

    async fn send(&mut self, request: Request<Empty<Bytes>>) -> Result<http::Response<Incoming>> {
        match &mut self.sender {
            Sender::Http1(sender) => {
                sender.ready().await?;
                Ok(sender.send_request(request).await?)
            }
            Sender::Http2(sender) => {
                sender.ready().await?;
                Ok(sender.send_request(request).await?)
            }
        }
    }
}

/// The name in the server's certificate.
const HOST: &str = "localhost";

fn url(path: &str) -> String {
    format!("https://{HOST}{path}")
}

fn server_name() -> ServerName<'static> {
    ServerName::try_from(HOST).expect("a name")
}

fn face(roots: &RootCertStore, identity: Option<Identity>) -> Result<Face, rustls::Error> {
    let builder = ClientConfig::builder().with_root_certificates(roots.clone());
    let mut config = match identity {
        Some(Identity { chain, key }) => builder.with_client_auth_cert(chain, key)?,
        None => builder.with_no_client_auth(),
    };
    // Each connection pays for a whole handshake, and so does the server.
    config.resumption = rustls::client::Resumption::disabled();
    Ok(Arc::new(config))
}

fn certificates(pem: &str) -> Result<Vec<CertificateDer<'static>>> {
    CertificateDer::pem_slice_iter(pem.as_bytes())
        .collect::<Result<_, _>>()
        .context("no PEM bundle of certificates")
}
