//! One connection from its handshake to its end: HTTP/1.1 or HTTP/2, and all the reasons to end it.

use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use http::header::{CONNECTION, HeaderValue};
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;

use super::client::{Client, IdleLimits};
use super::delivery::{Delivery, Ended, Followed, Patience};
use super::guarded::Guarded;
use super::heads::Heads;
use super::slots::{Proving, Slot};
use super::streams::{self, Streams};
use super::tls::H2;
use crate::answer::body;
use crate::app::{App, Connection, Standing};

/// A handshake takes two round trips.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// From one request of an HTTP/1.1 connection to the end of the next one's head, beside the time that it may be idle: hyper counts from
/// the answer's end and not from the head's first byte. What heads hold until they end is bounded otherwise.
const HEAD: Duration = Duration::from_secs(10);
/// How often an HTTP/2 client is asked whether it is there, and how long it may take to say so.
const PING: Duration = Duration::from_secs(20);
/// Longer than a ping and its answer, so that it ends only connections that hyper does not ping.
const SILENCE: Duration = Duration::from_secs(90);

/// The head of an HTTP/2 request: a URL of 60 KiB and the usual headers fit. It must not be more than the longest URL that is
/// parsed (65,534 bytes): one that is longer ends in a stream error, which Go's client takes for a reason to try again, on a
/// connection of its own each time, for minutes. Clients that keep to this limit, which they are told, say so to their user;
/// others get 431.
const MAX_HEAD: u32 = 64 << 10;
/// The head of an HTTP/1.1 request, and what is written ahead of its client: twice as much, so that a URL that is too long is still
/// read and gets its 414. One that is longer than this gets 431.
const MAX_HEAD_HTTP1: usize = 128 << 10;
/// Requests at the same time on one HTTP/2 connection, as on a kube-apiserver's; Go's clients open another connection for more.
const STREAMS: u32 = 100;
/// An aggregator sends all of its users' requests over a few connections.
const STREAMS_OF_FRONT_PROXY: u32 = 1000;
/// What a client may send of a request before it is read: the largest body there may be.
const RECEIVED: u32 = 16 << 10;
/// What it may send of all requests. Those of a front proxy belong to many users, whose bodies wait for reviews that may be slow: none
/// keeps another from being sent.
const RECEIVED_OF_ALL: u32 = 64 << 10;
const RECEIVED_OF_ALL_FROM_FRONT_PROXY: u32 = STREAMS_OF_FRONT_PROXY * RECEIVED;
/// What is handed to a stream ahead of its client's window: the budget counts it until it is on the wire.
const AHEAD: usize = 64 << 10;

/// From an answer's end to the end of the next head, on a connection of HTTP/1.1 that may be idle for so long.
fn head_time(idle: Duration) -> Duration {
    idle + HEAD
}

type Stream = TlsStream<TcpStream>;

/// What every connection is served with.
pub(super) struct Service {
    pub(super) app: Arc<App>,
    pub(super) tls: TlsAcceptor,
    pub(super) patience: Patience,
    pub(super) idle: IdleLimits,
    pub(super) grace: Duration,
    pub(super) stop: CancellationToken,
}

impl Service {
    /// Serves a connection to its end.
    pub(super) async fn serve(&self, socket: TcpStream, client: Arc<Client>, slot: Slot) {
        let cut = client.cut.clone();
        let served = self.serve_client(socket, client, &slot);
        if cut.run_until_cancelled(served).await.is_none() {
            tracing::debug!("a connection was cut off");
        }
    }

    async fn serve_client(&self, socket: TcpStream, client: Arc<Client>, slot: &Slot) {
        // Without it the end of a small answer waits for the client's acknowledgement of its beginning.
        let _ = socket.set_nodelay(true);
        let handshake = handshake(&self.tls, socket);
        let Some(Some(stream)) = self.stop.run_until_cancelled(handshake).await else {
            tracing::debug!("a connection ended before its handshake was complete");
            return;
        };
        // Boxed like the handshake, so that those who never get here do not take up the room for it.
        Box::pin(self.serve_stream(stream, client, slot)).await;
    }

    async fn serve_stream(&self, stream: Stream, client: Arc<Client>, slot: &Slot) {
        let (_, session) = stream.get_ref();
        let certificates = session.peer_certificates().unwrap_or_default();
        let certificates = certificates.iter().map(|one| one.clone().into_owned());
        let connection = Arc::new(self.app.connection(client.address, certificates.collect()));
        // Its certificate is verified here and not while the slots are locked, where only what was found out before counts.
        let standing = self.app.standing(&connection);
        client.connected(Arc::clone(&connection));
        if !slot.settle() {
            tracing::debug!("a connection found no slot: the last ones are kept for front proxies");
            return;
        }
        let is_http2 = session.alpn_protocol() == Some(H2);
        let ended = match is_http2 {
            true => Box::pin(self.http2(stream, &client, slot, connection, standing)).await,
            false => Box::pin(self.http1(stream, &client, slot, connection)).await,
        };
        if let Err(error) = ended {
            tracing::debug!(error = %error, "a connection ended with an error");
        }
    }

    async fn http1(
        &self,
        stream: Stream,
        client: &Arc<Client>,
        slot: &Slot,
        connection: Arc<Connection>,
    ) -> Result<(), hyper::Error> {
        let delivery = Delivery::new(self.patience);
        let following = Arc::clone(&delivery);
        let (asked, asker) = (self.asked(client, slot, connection), Arc::clone(client));
        let service = service_fn(move |request| {
            let was_long = asker.head.end();
            let (answer, delivery) = (asked(request), Arc::clone(&following));
            let asker = Arc::clone(&asker);
            async move {
                let mut answer = answer.await;
                asker.head.body_ended();
                if was_long {
                    // Only the connection's end frees what hyper has made for the head.
                    let close = HeaderValue::from_static("close");
                    answer.headers_mut().insert(CONNECTION, close);
                }
                Ok::<_, Infallible>(delivery.follow(answer))
            }
        });
        let io = TokioIo::new(Guarded::new(
            stream,
            head_reader(Heads::Http1, client, slot),
            None,
            self.patience.stall,
        ));
        let mut builder = http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(head_time(self.idle.idle))
            .max_headers(200)
            .max_buf_size(MAX_HEAD_HTTP1);
        let serving = builder.serve_connection(io, service);
        let ending = self.finish(client, serving, http1::Connection::graceful_shutdown);
        match delivery.watch(ending).await {
            Ended::Complete(result) => result,
            Ended::Stalled { .. } => {
                self.app.counters().stalled();
                Ok(())
            }
        }
    }

    async fn http2(
        &self,
        stream: Stream,
        client: &Arc<Client>,
        slot: &Slot,
        connection: Arc<Connection>,
        standing: Standing,
    ) -> Result<(), hyper::Error> {
        let patience = self.patience;
        let asked = self.asked(client, slot, connection);
        let service = service_fn(move |request| {
            let answer = asked(request);
            async move {
                let delivery = streams::present().unwrap_or_else(|| Delivery::new(patience));
                let answer: Response<Followed> = delivery.follow(answer.await);
                Ok::<_, Infallible>(answer)
            }
        });
        let io = TokioIo::new(Guarded::new(
            stream,
            head_reader(Heads::of_http2(), client, slot),
            Some(SILENCE),
            patience.stall,
        ));
        let streams = Streams {
            client: Arc::clone(client),
            patience,
        };
        let (most_streams, received_of_all) = match standing {
            Standing::FrontProxy => (STREAMS_OF_FRONT_PROXY, RECEIVED_OF_ALL_FROM_FRONT_PROXY),
            Standing::Known | Standing::Unproven => (STREAMS, RECEIVED_OF_ALL),
        };
        let mut builder = http2::Builder::new(streams);
        builder
            .timer(TokioTimer::new())
            .keep_alive_interval(PING)
            .keep_alive_timeout(PING)
            .max_concurrent_streams(most_streams)
            .max_header_list_size(MAX_HEAD)
            .initial_stream_window_size(RECEIVED)
            .initial_connection_window_size(received_of_all)
            .max_send_buf_size(AHEAD);
        let serving = builder.serve_connection(io, service);
        self.finish(client, serving, http2::Connection::graceful_shutdown)
            .await
    }

    /// What answers a connection's requests. The client is busy from a request's head until its answer's body is gone.
    fn asked(
        &self,
        client: &Arc<Client>,
        slot: &Slot,
        connection: Arc<Connection>,
    ) -> impl Fn(Request<Incoming>) -> Pin<Box<dyn Future<Output = Response<body::Body>> + Send>> + use<>
    {
        let (app, client) = (Arc::clone(&self.app), Arc::clone(client));
        let slots = Arc::clone(slot.slots());
        move |request| {
            let (app, connection, busy) =
                (Arc::clone(&app), Arc::clone(&connection), client.busy());
            let (slots, client) = (Arc::clone(&slots), Arc::clone(&client));
            let proving = Proving { slots, client };
            Box::pin(async move {
                let answer = app.respond(request, &connection).await;
                drop(proving);
                answer.map(|body| body::keeping(body, busy))
            })
        }
    }

    /// Drives a connection; when the server stops, or it has been of no use or used too much, lets it finish its requests for a while.
    async fn finish<C>(
        &self,
        client: &Client,
        connection: C,
        ask_to_stop: impl FnOnce(Pin<&mut C>),
    ) -> Result<(), hyper::Error>
    where
        C: Future<Output = Result<(), hyper::Error>>,
    {
        let mut connection = pin!(connection);
        let more = tokio::select! {
            result = connection.as_mut() => return result,
            () = self.stop.cancelled() => Duration::ZERO,
            () = client.useless(self.idle) => Duration::ZERO,
            // As long as an answer may take, unless the server stops meanwhile.
            () = client.told.cancelled() => self.patience.whole,
        };
        ask_to_stop(connection.as_mut());
        let too_late = async {
            let _ = tokio::time::timeout(more, self.stop.cancelled()).await;
            tokio::time::sleep(self.grace).await;
        };
        tokio::select! {
            result = connection => result,
            // What is still running is broken off, and its clients see it.
            () = too_late => Ok(()),
        }
    }
}

/// Follows what a client's unfinished head holds, and how much was read of it.
fn head_reader(mut heads: Heads, client: &Arc<Client>, slot: &Slot) -> impl FnMut(&[u8]) + use<> {
    let (client, slots) = (Arc::clone(client), Arc::clone(slot.slots()));
    move |bytes| {
        if let Some(total) = client.head.read(&mut heads, bytes) {
            slots.bound_heads(total);
        }
        if let Some(wear) = heads.wear() {
            client.has_read(wear);
        }
    }
}

/// The stream of a client whose handshake is complete in time.
async fn handshake(tls: &TlsAcceptor, socket: TcpStream) -> Option<Stream> {
    let accepted = async {
        // Who says nothing takes a socket and no more: the room for a handshake is made when it begins.
        socket.readable().await?;
        Box::pin(tls.accept(socket)).await
    };
    let accepted = tokio::time::timeout(HANDSHAKE, accepted).await;
    accepted.ok()?.ok()
}

#[cfg(test)]
mod tests;
