//! Watches that are begun anew on the connection of those before, over pipes on which HTTP/2 was agreed.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use http_body_util::StreamBody;
use hyper::body::Frame;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::client::legacy::connect::{Connected, Connection as Connects};
use hyper_util::rt::TokioIo;
use tokio::io::DuplexStream;
use tower::{Service, ServiceExt};

use super::*;

/// The longest time between two watches of one type.
const GENERATION: Duration = Duration::from_secs(290);

struct Pipe(TokioIo<DuplexStream>);

/// Counts the connections that it opens, each to a server of its own.
#[derive(Clone, Default)]
struct Dialer(Arc<AtomicUsize>);

impl Service<Uri> for Dialer {
    type Response = Pipe;
    type Error = Infallible;
    type Future = Ready<Result<Pipe, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        self.0.fetch_add(1, Ordering::Relaxed);
        let (near, far) = tokio::io::duplex(64 << 10);
        // Bodies never end, as those of watches do not.
        let watch = service_fn(async |_: Request<Incoming>| {
            let body =
                StreamBody::new(futures::stream::pending::<Result<Frame<Bytes>, Infallible>>());
            Ok::<_, Infallible>(Response::new(body))
        });
        let mut server = http2::Builder::new(TokioExecutor::new());
        server.timer(TokioTimer::new());
        tokio::spawn(server.serve_connection(TokioIo::new(far), watch));
        ready(Ok(Pipe(TokioIo::new(near))))
    }
}

impl Connects for Pipe {
    fn connected(&self) -> Connected {
        Connected::new().negotiated_h2()
    }
}

impl Read for Pipe {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl Write for Pipe {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

async fn begun(client: &mut HttpClient) -> Response<Incoming> {
    let request = get(Uri::from_static("http://member/watch"), HeaderMap::new());
    let client = client.ready().await.expect("it is ready");
    client.call(request).await.expect("an answer")
}

#[tokio::test(start_paused = true)]
async fn a_connection_of_watches_is_kept_for_the_next_generation() {
    let dialer = Dialer::default();
    let mut client = pool(dialer.clone(), WATCH_WINDOWS);
    let mut watches = Vec::new();
    for _ in 0..3 {
        watches.push(begun(&mut client).await);
        tokio::time::sleep(GENERATION).await;
    }
    assert_eq!(dialer.0.load(Ordering::Relaxed), 1);
    drop(watches);
}
