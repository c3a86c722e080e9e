//! HTTP clients of one member: the connector (TLS, proxy) and what each kind of traffic needs of HTTP/2.

#[cfg(test)]
mod believed;
#[cfg(test)]
mod generations;
#[cfg(test)]
mod proxied;
#[cfg(test)]
mod silent;
#[cfg(test)]
mod unread;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, Uri};
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::rt::{Read, Write};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::legacy::connect::{Connect, Connection as Connected, HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tower::util::{BoxCloneSyncService, ServiceExt as _};
use tower::{BoxError, Service};

use crate::allow_list::AllowList;
use crate::connection::{Connection, Proxy};
use crate::error::ConfigError;
use crate::names::{AllowedNames, Names};
use crate::tls;

/// One pool of connections; clones share it.
pub(crate) type HttpClient =
    BoxCloneSyncService<Request<Empty<Bytes>>, Response<Incoming>, BoxError>;

/// A SYN is repeated after 1 s and 3 s; a host that takes longer is not there. A health check lasts longer: were both over at the same time, one would
/// be told to have failed now in the words of the one and now in those of the other, and each would be news.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(4);
/// The whole way to a member: its name, TCP, what a proxy answers and TLS. Whoever asked may be served over another connection meanwhile, and then nobody
/// waits for this one: a peer that accepts it and stays silent would keep it for ever, and so each that was begun beside one that became idle. A
/// name and TCP take 4 s each at most, and hardly ever more than one.
const CONNECTED_WITHIN: Duration = Duration::from_secs(10);
const _: () = assert!(CONNECTED_WITHIN.as_secs() > CONNECT_TIMEOUT.as_secs());
/// A dead peer is found within 25 s, well before the end of a silent watch.
const PING_INTERVAL: Duration = Duration::from_secs(15);
const PING_TIMEOUT: Duration = Duration::from_secs(10);
/// What finds it over HTTP/1.1: left to itself, Linux asks nine times, every 75 s.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEPALIVE_RETRIES: u32 = 2;
const _: () =
    assert!(KEEPALIVE_INTERVAL.as_secs() * KEEPALIVE_RETRIES as u64 <= PING_TIMEOUT.as_secs());
/// The connection of lists is used for moments and then not for hours, and takes 40 KB; it is closed after one of these times, or almost
/// two.
const IDLE_CONNECTION: Duration = Duration::from_secs(30);

/// After which each watch is begun anew at the latest; whoever watches is to ask for none that is longer.
pub const LONGEST_WATCH: Duration = Duration::from_secs(580);
/// Above that: by the measure of a pool a connection is idle on which no request was begun, though it has eighty watches, and each generation of them
/// would make another one.
const IDLE_WATCHES: Duration = Duration::from_secs(LONGEST_WATCH.as_secs() + 20);

/// A peer that speaks HTTP/1.1 has no window: what its connection reads ahead is as much as a watch over HTTP/2 has. The default is 400 KiB.
const HTTP1_BUFFER: usize = WATCH_WINDOWS.stream as usize;

/// How much a peer may send ahead of its reader, and for how long a connection is kept for the next request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Windows {
    /// On one stream, in bytes.
    pub(crate) stream: u32,
    /// On one connection, in bytes.
    pub(crate) connection: u32,
    /// For how long a connection stays that no request is begun on, whatever streams it has.
    pub(crate) idle: Duration,
}

/// A watch is a trickle: 64 KiB carries 640 KB/s over 100 ms, some 200 changes. Times the 80 streams of a connection that is what the
/// connection allows, and a few more for what is asked beside them, so a stream whose reader stands still never starves another. A
/// reader that stands still for long is to drop its watch, so this is held for seconds at most.
pub(crate) const WATCH_WINDOWS: Windows = Windows {
    stream: 64 << 10,
    connection: (80 + 4) * (64 << 10),
    idle: IDLE_WATCHES,
};
/// Pages of one member that may have begun to come at the same time, be they read or not; whoever reads lists is to bound them.
pub const PAGES: usize = 128;
/// A page is a burst: 256 KiB carries 2.5 MB/s over 100 ms. There is a window for all that may come, so pages that nobody reads yet starve neither
/// those that are read nor what a member serves, nor what is asked while there is no watch.
pub(crate) const LIST_WINDOWS: Windows = Windows {
    stream: 256 << 10,
    connection: (PAGES as u32 + 4) * (256 << 10),
    idle: IDLE_CONNECTION,
};

/// Makes clients of one connection, each with a pool of its own and all with the same TLS configuration.
pub(crate) type ClientMaker = Arc<dyn Fn(Windows) -> HttpClient + Send + Sync>;

/// Prepares TLS and proxy; nothing is sent yet.
pub(crate) fn client_maker(connection: &Connection) -> Result<ClientMaker, ConfigError> {
    let tcp = tcp_connector(&connection.allowed);
    let server_name = connection.server_name.as_deref();
    let to_member = https(server_name, tls::client_config(connection)?)?;
    let to_proxy = || tls::proxy_config(connection);
    through(connection.proxy.as_ref(), to_proxy, to_member, tcp)
}

/// Straight, or by a proxy, which is asked with a TLS configuration of its own.
fn through(
    proxy: Option<&Proxy>,
    to_proxy: impl FnOnce() -> Result<rustls::ClientConfig, ConfigError>,
    to_server: Builder,
    tcp: Tcp,
) -> Result<ClientMaker, ConfigError> {
    let Some(proxy) = proxy else {
        return Ok(maker(to_server.wrap_connector(tcp)));
    };
    Ok(match proxy.url.scheme_str() {
        Some("socks5") => maker(to_server.wrap_connector(socks(proxy, tcp))),
        Some("https") => {
            let tcp = to_https_proxy(to_proxy()?, tcp);
            maker(to_server.wrap_connector(tunnel(proxy, tcp)?))
        }
        _ => maker(to_server.wrap_connector(tunnel(proxy, tcp)?)),
    })
}

/// Whatever the connector is made of, it has [`CONNECTED_WITHIN`].
pub(crate) fn maker<C>(connector: C) -> ClientMaker
where
    C: Service<Uri> + Clone + Send + Sync + 'static,
    C::Response: Read + Write + Connected + Unpin + Send + 'static,
    C::Error: Into<BoxError>,
    C::Future: Send + 'static,
{
    let connector = connector
        .map_err(Into::into)
        .map_future(|connecting| Box::pin(in_time(connecting)));
    Arc::new(move |windows| pool(connector.clone(), windows))
}

async fn in_time<T>(connecting: impl Future<Output = Result<T, BoxError>>) -> Result<T, BoxError> {
    let connected = tokio::time::timeout(CONNECTED_WITHIN, connecting).await;
    connected.unwrap_or_else(|_| {
        let words = format!("no connection within {} s", CONNECTED_WITHIN.as_secs());
        Err(io::Error::new(io::ErrorKind::TimedOut, words).into())
    })
}

/// The same to a server that may be anywhere. Its CAs count for a proxy, too, as for all else that is asked there.
pub(crate) fn maker_to_anywhere(
    server_name: Option<&str>,
    config: rustls::ClientConfig,
    proxy: Option<&Proxy>,
) -> Result<ClientMaker, ConfigError> {
    let tcp = tcp_connector(&AllowList::of_all());
    let to_server = https(server_name, config.clone())?;
    through(proxy, || Ok(config), to_server, tcp)
}

type Builder = HttpsConnectorBuilder<hyper_rustls::builderstates::WantsProtocols3>;

fn https(server_name: Option<&str>, config: rustls::ClientConfig) -> Result<Builder, ConfigError> {
    let mut builder = HttpsConnectorBuilder::new()
        .with_tls_config(config)
        .https_or_http();
    if let Some(name) = server_name {
        let name = name.to_owned().try_into().map_err(|_| {
            ConfigError::invalid("tls-server-name", "is not a DNS name or an address")
        })?;
        builder =
            builder.with_server_name_resolver(hyper_rustls::FixedServerNameResolver::new(name));
    }
    Ok(builder.enable_all_versions())
}

/// Opens connections to members and proxies.
type Tcp = HttpConnector<AllowedNames>;

fn tcp_connector(allowed: &AllowList) -> Tcp {
    let names = Names::of_the_process().held_to(allowed);
    let mut connector = HttpConnector::new_with_resolver(names);
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
    connector.set_keepalive(Some(PING_INTERVAL));
    connector.set_keepalive_interval(Some(KEEPALIVE_INTERVAL));
    connector.set_keepalive_retries(Some(KEEPALIVE_RETRIES));
    connector
}

fn socks(proxy: &Proxy, tcp: Tcp) -> SocksV5<Tcp> {
    let connector = SocksV5::new(proxy.url.clone(), tcp);
    match &proxy.credentials {
        None => connector,
        Some((user, password)) => {
            let password = String::from_utf8_lossy(password.expose()).into_owned();
            connector.with_auth(user.clone(), password)
        }
    }
}

/// A CONNECT request is HTTP/1.1, so that is what the proxy is offered.
fn to_https_proxy(config: rustls::ClientConfig, tcp: Tcp) -> HttpsConnector<Tcp> {
    HttpsConnectorBuilder::new()
        .with_tls_config(config)
        .https_or_http()
        .enable_http1()
        .wrap_connector(tcp)
}

fn tunnel<C>(proxy: &Proxy, connector: C) -> Result<Tunnel<C>, ConfigError> {
    let mut headers = HeaderMap::new();
    for (name, value) in &proxy.headers {
        headers.append(name, secret_header(value.expose())?);
    }
    if let Some((user, password)) = &proxy.credentials {
        let password = String::from_utf8_lossy(password.expose());
        let login = BASE64_STANDARD.encode(format!("{user}:{password}"));
        let value = secret_header(format!("Basic {login}").as_bytes())?;
        headers.insert(http::header::PROXY_AUTHORIZATION, value);
    }
    Ok(Tunnel::new(proxy.url.clone(), connector).with_headers(headers))
}

/// A header that is not printed.
pub(crate) fn secret_header(value: &[u8]) -> Result<HeaderValue, ConfigError> {
    let mut value = HeaderValue::from_bytes(value)
        .map_err(|_| ConfigError::invalid("a credential", "cannot be sent in a header"))?;
    value.set_sensitive(true);
    Ok(value)
}

fn pool<C>(connector: C, windows: Windows) -> HttpClient
where
    C: Connect + Clone + Send + Sync + 'static,
{
    let client: Client<C, Empty<Bytes>> = Client::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(windows.idle)
        .http1_max_buf_size(HTTP1_BUFFER)
        .http2_initial_stream_window_size(windows.stream)
        .http2_initial_connection_window_size(windows.connection)
        .http2_keep_alive_interval(PING_INTERVAL)
        .http2_keep_alive_timeout(PING_TIMEOUT)
        // A connection that was left ends when all of its last words are sent, which a peer may refuse to read.
        .http2_keep_alive_while_idle(true)
        .build(connector);
    BoxCloneSyncService::new(client.map_err(BoxError::from))
}

/// A GET request.
pub(crate) fn get(uri: Uri, headers: HeaderMap) -> Request<Empty<Bytes>> {
    let mut request = Request::new(Empty::new());
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    request
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::MemberError;
    use crate::member::Member;
    use tokio::io::{
        AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream,
    };
    use tokio::sync::mpsc;
    use tokio::time::Instant;

    /// Without a word of it a connection to a peer that lost its power lives for eleven minutes over HTTP/1.1.
    #[tokio::test]
    async fn a_dead_peer_is_found_by_tcp_as_soon_as_by_http2() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("a port");
        let address = listener.local_addr().expect("an address");
        let uri = format!("http://{address}").parse().expect("a URL");
        let stream = tcp_connector(&AllowList::default())
            .ready()
            .await
            .expect("it is")
            .call(uri);
        let stream = stream.await.expect("a connection");
        let socket = socket2::SockRef::from(stream.inner());
        let (time, interval) = (socket.tcp_keepalive_time(), socket.tcp_keepalive_interval());
        let retries = socket.tcp_keepalive_retries().expect("an option");
        let found = time.expect("an option") + interval.expect("an option") * retries;
        assert_eq!(found, PING_INTERVAL + PING_TIMEOUT);
    }

    #[tokio::test]
    async fn who_is_not_believed_is_told_from_who_is_not_there() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("a port");
        let address = listener.local_addr().expect("an address");
        let speaks_no_tls = tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.expect("a connection");
            let words = b"HTTP/1.1 400 Bad Request\r\n\r\n";
            socket.write_all(words).await.expect("a reader");
            let _ = socket.read(&mut [0; 1024]).await;
        });
        let member = Member::new(&Connection::plain(&format!("https://{address}")));
        let member = member.expect("a member");
        let told = member.probe(None).await.expect_err("no TLS");
        assert!(matches!(told, MemberError::Untrusted { .. }), "{told:?}");
        assert!(!told.is_silence());
        speaks_no_tls.await.expect("no panic");
        let told = member.probe(None).await.expect_err("nobody listens");
        assert!(matches!(told, MemberError::Unreachable { .. }), "{told:?}");
        assert!(told.is_silence());
    }

    #[tokio::test]
    async fn a_name_that_leads_where_no_member_may_be_is_no_silence() {
        let mut connection = Connection::plain("https://localhost:1");
        connection.allowed = ["10.0.0.0/8".parse().expect("a network")]
            .into_iter()
            .collect();
        let member = Member::new(&connection).expect("a member");
        let told = member.probe(None).await.expect_err("nobody is asked");
        assert!(matches!(told, MemberError::Barred { .. }), "{told:?}");
        assert!(!told.is_silence());
        let words = "localhost leads to no address that members may have (--member-addresses)";
        assert!(told.to_string().contains(words), "{told}");
    }

    /// Answers one health check, and says when the other side has ended the connection.
    async fn answer_once(socket: DuplexStream, closed: mpsc::Sender<Instant>) {
        let mut socket = BufReader::new(socket);
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            socket.read_line(&mut line).await.expect("a head");
        }
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
        socket.write_all(answer).await.expect("a reader");
        assert_eq!(socket.read(&mut [0; 1]).await.expect("an end"), 0);
        closed.send(Instant::now()).await.expect("a test");
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_nobody_uses_is_closed_within_a_minute() {
        let connection = Connection::plain("http://member");
        let (closed, mut is_closed) = mpsc::channel(1);
        let dial = move || {
            let (near, far) = tokio::io::duplex(4096);
            tokio::spawn(answer_once(far, closed.clone()));
            near
        };
        let member = Member::through_pipes(&connection, dial).expect("a member");
        let begun = Instant::now();
        member.probe(None).await.expect("an answer");
        let at = is_closed.recv().await.expect("an end");
        let after = at - begun;
        assert!((25..=61).contains(&after.as_secs()), "{after:?}");
    }
}
