//! Peers that accept a connection and say nothing on it, while another one serves what was asked for.

use std::sync::atomic::{AtomicUsize, Ordering};

use http_body_util::BodyExt as _;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::io::{DuplexStream, Lines};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tower::service_fn;

use super::*;
use crate::pipe::Pipe;

/// How many are asked for beside the one that is served.
const OTHERS: usize = 3;

/// A proxy that makes one tunnel, and accepts each further connection in silence.
struct Peer {
    opened: Arc<AtomicUsize>,
    /// The first answer may come.
    answers: Arc<Notify>,
    /// One for each silent connection that its client has ended.
    ended: mpsc::UnboundedReceiver<()>,
}

impl Peer {
    fn start() -> (Self, ClientMaker) {
        let (ends, ended) = mpsc::unbounded_channel();
        let peer = Self {
            opened: Arc::default(),
            answers: Arc::default(),
            ended,
        };
        let (opened, answers) = (Arc::clone(&peer.opened), Arc::clone(&peer.answers));
        let dial = service_fn(move |_: Uri| {
            let (near, far) = tokio::io::duplex(4096);
            match opened.fetch_add(1, Ordering::Relaxed) {
                0 => drop(tokio::spawn(serves(far, Arc::clone(&answers)))),
                _ => drop(tokio::spawn(says_nothing(far, ends.clone()))),
            }
            std::future::ready(Ok::<_, io::Error>(TokioIo::new(Pipe::of_http1(near))))
        });
        let proxy = Proxy {
            url: Uri::from_static("http://proxy:3128"),
            credentials: None,
            headers: Vec::new(),
        };
        let clients = maker(tunnel(&proxy, dial).expect("a tunnel"));
        (peer, clients)
    }
}

async fn head(lines: &mut Lines<BufReader<DuplexStream>>) -> Option<()> {
    while !lines.next_line().await.ok()??.is_empty() {}
    Some(())
}

/// Makes the tunnel, and answers what is asked through it, the first time when that is to be.
async fn serves(pipe: DuplexStream, answers: Arc<Notify>) -> Option<()> {
    let mut lines = BufReader::new(pipe).lines();
    head(&mut lines).await?;
    let tunnel = b"HTTP/1.1 200 OK\r\n\r\n";
    lines.get_mut().write_all(tunnel).await.ok()?;
    head(&mut lines).await?;
    answers.notified().await;
    loop {
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
        lines.get_mut().write_all(answer).await.ok()?;
        head(&mut lines).await?;
    }
}

async fn says_nothing(mut pipe: DuplexStream, ends: mpsc::UnboundedSender<()>) {
    while pipe.read(&mut [0; 256]).await.is_ok_and(|read| read > 0) {}
    let _ = ends.send(());
}

fn asks(client: &HttpClient) -> JoinHandle<()> {
    let client = client.clone();
    tokio::spawn(async move {
        let request = get(Uri::from_static("http://member/readyz"), HeaderMap::new());
        let answer = client.oneshot(request).await.expect("an answer");
        answer.into_body().collect().await.expect("a body");
    })
}

/// Whoever asked is served over the connection that became idle, and the ones that were begun for that are nobody's.
#[tokio::test(start_paused = true)]
async fn a_connection_that_a_silent_peer_accepted_is_given_up_when_nobody_waits_for_it() {
    let (mut peer, clients) = Peer::start();
    let client = clients(LIST_WINDOWS);
    let mut asking = vec![asks(&client)];
    // A task that has nothing to do gives way to the others.
    while peer.opened.load(Ordering::Relaxed) == 0 {
        tokio::task::yield_now().await;
    }
    asking.extend((0..OTHERS).map(|_| asks(&client)));
    while peer.opened.load(Ordering::Relaxed) <= OTHERS {
        tokio::task::yield_now().await;
    }
    peer.answers.notify_one();
    for asked in asking {
        asked.await.expect("it is served");
    }
    let all = async {
        for _ in 0..OTHERS {
            peer.ended.recv().await.expect("an end");
        }
    };
    let all = timeout(2 * CONNECTED_WITHIN, all).await;
    all.expect("all of them end");
}
