//! The sockets of the admin port. Nobody proves anything on them, and whoever reaches the pod reaches them: each connection has one request, some
//! seconds and a bounded head, and there are so many of them at most.

use std::collections::VecDeque;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::sync::CancellationToken;

/// Connections at the same time: a probe and a scrape take milliseconds, and for another one the oldest goes.
const CONNECTIONS: usize = 32;
/// What is kept of a head that has not ended. Those of probes and scrapes have some hundred bytes. It is also what is written ahead of a client.
const HEAD: usize = 16 << 10;
/// From a connection's beginning to the end of its request's head.
const HEAD_TIME: Duration = Duration::from_secs(5);
/// From its beginning to its end: a scrape gives up after 10 s by default.
const TIME: Duration = Duration::from_secs(15);
/// For what is being answered when the process stops.
const GRACE: Duration = Duration::from_secs(1);
/// Before another connection is accepted when none could be, which is mostly for want of file descriptors.
const PAUSE: Duration = Duration::from_secs(1);

/// Serves until `cancel`, and what has begun for a moment longer.
pub(super) async fn serve(listener: TcpListener, router: Router, cancel: CancellationToken) {
    let mut connections = Connections::default();
    while let Some(accepted) = cancel.run_until_cancelled(listener.accept()).await {
        match accepted {
            Ok((socket, _)) => connections.begin(socket, router.clone()),
            Err(error) => {
                tracing::warn!(error = %error, "the admin port could not accept a connection");
                cancel.run_until_cancelled(tokio::time::sleep(PAUSE)).await;
            }
        }
    }
    connections.finish().await;
}

/// Those that are open.
#[derive(Default)]
struct Connections {
    tasks: JoinSet<()>,
    /// The oldest first.
    open: VecDeque<AbortHandle>,
}

impl Connections {
    fn begin(&mut self, socket: TcpStream, router: Router) {
        while self.tasks.try_join_next().is_some() {}
        self.open.retain(|one| !one.is_finished());
        if self.open.len() >= CONNECTIONS
            && let Some(oldest) = self.open.pop_front()
        {
            oldest.abort();
        }
        let task = self.tasks.spawn(connection(socket, router));
        self.open.push_back(task);
    }

    async fn finish(mut self) {
        let ending = async { while self.tasks.join_next().await.is_some() {} };
        // What is left is cut off: nothing of it has to be finished.
        let _ = tokio::time::timeout(GRACE, ending).await;
    }
}

async fn connection(socket: TcpStream, router: Router) {
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(HEAD)
        .keep_alive(false)
        .serve_connection(TokioIo::new(socket), TowerToHyperService::new(router));
    match tokio::time::timeout(TIME, serving).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            tracing::debug!(error = %error, "a connection to the admin port ended with an error");
        }
        Err(_) => tracing::debug!("a connection to the admin port took too long"),
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::task::JoinHandle;
    use tokio::time::Instant;

    use super::*;

    struct Port {
        address: SocketAddr,
        cancel: CancellationToken,
        serving: JoinHandle<()>,
    }

    impl Port {
        async fn open() -> Self {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let address = listener.local_addr().expect("an address");
            let router = Router::new().route("/livez", get(|| async { "ok" }));
            let cancel = CancellationToken::new();
            let serving = tokio::spawn(serve(listener, router, cancel.clone()));
            Self {
                address,
                cancel,
                serving,
            }
        }

        /// A socket on which this has been sent.
        async fn send(&self, text: &str) -> TcpStream {
            let mut socket = TcpStream::connect(self.address).await.expect("connected");
            socket.write_all(text.as_bytes()).await.expect("sent");
            socket
        }
    }

    const REQUEST: &str = "GET /livez HTTP/1.1\r\nhost: x\r\n\r\n";

    /// What comes until the other side ends the connection; it must, before any test's patience ends.
    async fn read(mut socket: TcpStream) -> String {
        let mut text = Vec::new();
        let reading = socket.read_to_end(&mut text);
        let read = tokio::time::timeout(Duration::from_secs(60), reading).await;
        // A connection that is cut off may be reset.
        let _ = read.expect("it ends");
        String::from_utf8(text).expect("text")
    }

    #[tokio::test]
    async fn a_request_is_answered_and_is_the_last_of_its_connection() {
        let port = Port::open().await;
        let answer = read(port.send(REQUEST).await).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(answer.ends_with("ok"), "{answer}");
    }

    #[tokio::test]
    async fn a_head_that_is_too_long_ends_its_connection() {
        let port = Port::open().await;
        let socket = port.send("GET /livez HTTP/1.1\r\nx: ").await;
        let (mut reader, mut writer) = socket.into_split();
        let sending = tokio::spawn(async move {
            // More than any buffer on the way takes; it fails when the other side is gone.
            let piece = vec![b'x'; 64 << 10];
            while writer.write_all(&piece).await.is_ok() {}
        });
        let mut text = Vec::new();
        let _ = reader.read_to_end(&mut text).await;
        sending.await.expect("it cannot go on for ever");
    }

    #[tokio::test]
    async fn a_head_that_does_not_end_ends_its_connection() {
        let port = Port::open().await;
        let began = Instant::now();
        for half in ["", "GET /livez HTTP/1.1\r\n"] {
            let socket = port.send(half).await;
            tokio::time::pause();
            let answer = read(socket).await;
            tokio::time::resume();
            assert!(!answer.contains("200"), "{answer}");
        }
        assert!(began.elapsed() >= HEAD_TIME);
    }

    #[tokio::test]
    async fn who_opens_connection_after_connection_keeps_nobody_out() {
        let port = Port::open().await;
        let mut silent = VecDeque::new();
        for _ in 0..3 * CONNECTIONS {
            silent.push_back(port.send("").await);
        }
        let answer = read(port.send(REQUEST).await).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        for _ in 0..2 * CONNECTIONS {
            assert_eq!(read(silent.pop_front().expect("one")).await, "");
        }
    }

    #[tokio::test]
    async fn half_a_request_does_not_keep_the_port_from_stopping() {
        let port = Port::open().await;
        let half = port.send("GET /livez HTTP/1.1\r\n").await;
        // The connections are accepted in their order.
        read(port.send(REQUEST).await).await;
        port.cancel.cancel();
        let stopped = tokio::time::timeout(2 * GRACE, port.serving).await;
        stopped.expect("in time").expect("no panic");
        assert_eq!(read(half).await, "");
    }
}
