//! What all scripted members do alike: read the head of a request, and be reached through a pipe.

use std::sync::Arc;

use armadex_member::{Connection, Member, Proxy};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, DuplexStream};

/// What a pipe holds: below what the larger bodies have.
const PIPE_BYTES: usize = 64 << 10;

/// The head of a request.
pub(crate) struct Request {
    /// With its query; empty for a connection that was opened for a request which was then given up.
    pub(crate) path: String,
    /// The lines after the first.
    pub(crate) fields: Vec<String>,
}

impl Request {
    /// Reads a head to its end.
    pub(crate) async fn read(socket: &mut (impl AsyncBufRead + Unpin)) -> Self {
        let mut path = String::new();
        let mut fields = Vec::new();
        loop {
            let mut line = String::new();
            if socket.read_line(&mut line).await.unwrap_or(0) == 0 || line == "\r\n" {
                return Self { path, fields };
            }
            if path.is_empty() {
                path = line.split(' ').nth(1).unwrap_or_default().to_owned();
            } else {
                fields.push(line);
            }
        }
    }

    /// The values of the fields that begin so, without the space around them.
    pub(crate) fn values(&self, prefix: &str) -> impl Iterator<Item = &str> {
        let values = self.fields.iter();
        values.filter_map(move |line| Some(line.strip_prefix(prefix)?.trim()))
    }
}

/// A member that is reached through pipes, each of which `serve` is given the other end of; a test may stop the clock.
pub(crate) fn through_pipes(serve: impl Fn(DuplexStream) + Send + Sync + 'static) -> Arc<Member> {
    connected(&Connection::plain("http://member"), serve)
}

/// The same, as far as it can be told behind a proxy.
pub(crate) fn through_pipes_of_a_proxy(
    serve: impl Fn(DuplexStream) + Send + Sync + 'static,
) -> Arc<Member> {
    let proxy = Proxy {
        url: "http://proxy".parse().expect("a URL"),
        credentials: None,
        headers: Vec::new(),
    };
    let connection = Connection {
        proxy: Some(proxy),
        ..Connection::plain("http://member")
    };
    connected(&connection, serve)
}

fn connected(
    connection: &Connection,
    serve: impl Fn(DuplexStream) + Send + Sync + 'static,
) -> Arc<Member> {
    let dial = move || {
        let (near, far) = tokio::io::duplex(PIPE_BYTES);
        serve(far);
        near
    };
    Arc::new(Member::through_pipes(connection, dial).expect("a member"))
}
