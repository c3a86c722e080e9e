//! A way to a server that can be cut off at a statement, or be slow at one.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use armadex_databases::Address;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::sleep;

/// Where a connection is cut off, or waits.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cut {
    /// The server gets the commit, and the client no answer.
    AfterCommit,
    /// The server does not get it.
    BeforeCommit,
    /// The server does not get the statement with this text.
    At(&'static str),
    /// The answer to the statement with this text stops in its middle, and nobody is told.
    Silent(&'static str),
    /// The client is told at once that its connection is gone, and the server gets the commit when it is let go.
    HeldCommit,
    /// The server does not get the message before which so many others came.
    After(usize),
    /// The answer to the statement with this text comes so much later.
    Late(&'static str, Duration),
    /// So does that to the commit.
    LateCommit(Duration),
}

/// What comes through of an answer that stops.
const HEARD: usize = 32 << 10;

impl Cut {
    /// Whether this is the message, before which so many came since the order. A commit ends with its word, and with a zero where texts do.
    fn is_at(self, message: &[u8], before: usize) -> bool {
        match self {
            Self::AfterCommit | Self::BeforeCommit | Self::HeldCommit | Self::LateCommit(_) => {
                message.ends_with(b"COMMIT") || message.ends_with(b"COMMIT\0")
            }
            Self::At(text) | Self::Silent(text) | Self::Late(text, _) => {
                let text = text.as_bytes();
                message.windows(text.len()).any(|part| part == text)
            }
            Self::After(count) => before == count,
        }
    }
}

#[derive(Default)]
struct Orders {
    /// And how many messages had come by then.
    next: Mutex<Option<(Cut, usize)>>,
    has_cut: AtomicBool,
    messages: AtomicUsize,
    let_go: Notify,
}

/// Ends with this value.
pub(super) struct Proxy {
    port: u16,
    orders: Arc<Orders>,
    task: AbortHandle,
}

impl Proxy {
    pub(super) async fn to(server: &Address) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let target = (server.host().to_owned(), server.port());
        let orders = Arc::<Orders>::default();
        let shared = Arc::clone(&orders);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (target, orders) = (target.clone(), Arc::clone(&shared));
                tokio::spawn(async move {
                    // A connection that ends is no matter of the proxy's.
                    if let Ok(server) = TcpStream::connect(target).await {
                        let _ = carry(client, server, &orders).await;
                    }
                });
            }
        });
        Self {
            port,
            orders,
            task: task.abort_handle(),
        }
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Cuts off the next connection that says so, once.
    pub(super) fn cut_next(&self, cut: Cut) {
        self.orders.has_cut.store(false, Ordering::Release);
        let order = Some((cut, self.messages()));
        *self.orders.next.lock().expect("no panic") = order;
    }

    /// Takes back what was not done.
    pub(super) fn take_back(&self) {
        *self.orders.next.lock().expect("no panic") = None;
    }

    /// Lets the server have the commit that is held, or will be.
    pub(super) fn let_go(&self) {
        self.orders.let_go.notify_one();
    }

    /// How often a client has written something.
    pub(super) fn messages(&self) -> usize {
        self.orders.messages.load(Ordering::Acquire)
    }

    pub(super) fn has_cut(&self) -> bool {
        self.orders.has_cut.load(Ordering::Acquire)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Orders {
    /// What to do with a message of a client, which is whole: drivers write each at once.
    fn take(&self, message: &[u8]) -> Option<Cut> {
        let came = self.messages.fetch_add(1, Ordering::AcqRel);
        let mut next = self.next.lock().expect("no panic");
        let taken = next.take_if(|(cut, before)| cut.is_at(message, came - *before));
        let (cut, _) = taken?;
        self.has_cut.store(true, Ordering::Release);
        Some(cut)
    }
}

/// Carries bytes both ways until one side ends, or until it is to be cut off.
async fn carry(
    mut client: TcpStream,
    mut server: TcpStream,
    orders: &Orders,
) -> std::io::Result<()> {
    let (mut asked, mut answered) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    let mut left = usize::MAX;
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let message = &asked[..read?];
                if message.is_empty() {
                    return Ok(());
                }
                match orders.take(message) {
                    None => server.write_all(message).await?,
                    Some(Cut::AfterCommit) => {
                        server.write_all(message).await?;
                        // Its answer, whatever it is, says that it is done.
                        return server.read(&mut answered).await.map(drop);
                    }
                    Some(Cut::BeforeCommit | Cut::At(_) | Cut::After(_)) => return Ok(()),
                    Some(Cut::HeldCommit) => {
                        drop(client);
                        orders.let_go.notified().await;
                        server.write_all(message).await?;
                        return server.read(&mut answered).await.map(drop);
                    }
                    Some(Cut::Late(_, late) | Cut::LateCommit(late)) => {
                        server.write_all(message).await?;
                        sleep(late).await;
                    }
                    Some(Cut::Silent(_)) => {
                        left = HEARD;
                        server.write_all(message).await?;
                    }
                }
            }
            read = server.read(&mut answered) => {
                let answer = &answered[..read?];
                if answer.is_empty() {
                    return Ok(());
                }
                let heard = &answer[..answer.len().min(left)];
                client.write_all(heard).await?;
                left -= heard.len();
                if left == 0 {
                    return std::future::pending().await;
                }
            }
        }
    }
}
