//! Sockets: accept, handshake, HTTP/1.1 or HTTP/2, and a stop that lets requests finish.
//!
//! Every step of a connection has a time limit and every buffer a size, because none of it is authenticated yet.

mod guarded;
pub(crate) mod tls;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::app::App;
use crate::caller::authn::Peer;
use guarded::Guarded;
use tls::H2;

/// A handshake takes two round trips.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// From one request of an HTTP/1.1 connection to the end of the next one's head.
const HEAD: Duration = Duration::from_secs(60);
/// How often an HTTP/2 client is asked whether it is there, and how long it may take to say so.
const PING: Duration = Duration::from_secs(20);
/// Longer than a ping and its answer, so that it ends only connections that hyper does not ping.
const SILENCE: Duration = Duration::from_secs(90);
/// A client that has taken nothing for so long is gone.
const STALL: Duration = Duration::from_secs(60);

/// The head of an HTTP/2 request: a URL of 60 KiB and the usual headers fit. It must not be more than the longest URL that is
/// parsed (65,534 bytes): one that is longer ends in a stream error, which Go's client takes for a reason to try again, on a
/// connection of its own each time, for minutes. Clients that keep to this limit, which they are told, say so to their user;
/// others get 431. HTTP/1.1 keeps hyper's own limit of about 400 KiB and answers 414.
const MAX_HEAD: u32 = 64 << 10;
/// Requests at the same time on one HTTP/2 connection; an aggregator sends all of its users' over a few.
const STREAMS: u32 = 1000;
/// Wait before accepting again when the process is out of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What the accept loop needs.
pub(crate) struct Listener {
    pub(crate) socket: TcpListener,
    pub(crate) tls: TlsAcceptor,
    pub(crate) max_connections: usize,
    pub(crate) grace: Duration,
}

impl Listener {
    /// Serves connections until cancelled, then lets those that are open finish.
    pub(crate) async fn serve(self, app: Arc<App>, cancel: CancellationToken) {
        let connections = TaskTracker::new();
        let room = Arc::new(Semaphore::new(self.max_connections));
        while let Some(Ok(permit)) = cancel
            .run_until_cancelled(Arc::clone(&room).acquire_owned())
            .await
        {
            let Some(accepted) = cancel.run_until_cancelled(self.socket.accept()).await else {
                break;
            };
            let socket = match accepted {
                Ok((socket, _)) => socket,
                Err(error) => {
                    tracing::warn!(error = %error, "a connection could not be accepted");
                    let _ = cancel
                        .run_until_cancelled(tokio::time::sleep(ACCEPT_PAUSE))
                        .await;
                    continue;
                }
            };
            let (app, tls, stop) = (Arc::clone(&app), self.tls.clone(), cancel.clone());
            let grace = self.grace;
            connections.spawn(async move {
                connection(socket, tls, app, stop, grace).await;
                drop(permit);
            });
        }
        drop(self.socket);
        connections.close();
        connections.wait().await;
        app.close().await;
    }
}

async fn connection(
    socket: TcpStream,
    tls: TlsAcceptor,
    app: Arc<App>,
    stop: CancellationToken,
    grace: Duration,
) {
    let _counted = app.counters().connection();
    // Without it the end of a small answer waits for the client's acknowledgement of its beginning.
    let _ = socket.set_nodelay(true);
    let handshake = stop.run_until_cancelled(tokio::time::timeout(HANDSHAKE, tls.accept(socket)));
    let Some(Ok(Ok(stream))) = handshake.await else {
        tracing::debug!("a connection ended before its handshake was complete");
        return;
    };
    if let Err(error) = http(stream, Arc::clone(&app), stop, grace).await {
        tracing::debug!(error = %error, "a connection ended with an error");
    }
}

async fn http(
    stream: TlsStream<TcpStream>,
    app: Arc<App>,
    stop: CancellationToken,
    grace: Duration,
) -> Result<(), hyper::Error> {
    let (_, session) = stream.get_ref();
    let is_h2 = session.alpn_protocol() == Some(H2);
    let certificates = session.peer_certificates().unwrap_or_default();
    let certificates = certificates.iter().map(|one| one.clone().into_owned());
    let peer = Arc::new(Peer::new(certificates.collect()));
    let service = service_fn(move |request: Request<Incoming>| {
        let (app, peer) = (Arc::clone(&app), Arc::clone(&peer));
        async move { Ok::<_, Infallible>(app.respond(request, &peer).await) }
    });
    if is_h2 {
        let io = TokioIo::new(Guarded::new(stream, Some(SILENCE), STALL));
        let connection = http2().serve_connection(io, service);
        finish(
            connection,
            http2::Connection::graceful_shutdown,
            stop,
            grace,
        )
        .await
    } else {
        let io = TokioIo::new(Guarded::new(stream, None, STALL));
        let connection = http1().serve_connection(io, service);
        finish(
            connection,
            http1::Connection::graceful_shutdown,
            stop,
            grace,
        )
        .await
    }
}

fn http1() -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_headers(200);
    builder
}

fn http2() -> http2::Builder<TokioExecutor> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .keep_alive_interval(PING)
        .keep_alive_timeout(PING)
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(MAX_HEAD)
        // What a slow client has not taken yet is kept here, for each of its requests.
        .max_send_buf_size(256 << 10);
    builder
}

/// Drives a connection; when the server stops, lets it finish its requests for a while.
async fn finish<C>(
    connection: C,
    ask_to_stop: impl FnOnce(std::pin::Pin<&mut C>),
    stop: CancellationToken,
    grace: Duration,
) -> Result<(), hyper::Error>
where
    C: Future<Output = Result<(), hyper::Error>>,
{
    let mut connection = std::pin::pin!(connection);
    if let Some(result) = stop.run_until_cancelled(connection.as_mut()).await {
        return result;
    }
    ask_to_stop(connection.as_mut());
    match tokio::time::timeout(grace, connection).await {
        Ok(result) => result,
        // What is still running is broken off, and its clients see it.
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests;
