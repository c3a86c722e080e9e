//! A wire between one process and a server, which can be cut while everybody else still reaches that.

use std::net::SocketAddr;

use anyhow::Result;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

/// A port of its own that leads to a server until this is dropped: its connections end then, and nobody is let in.
#[derive(Debug)]
pub struct Wire {
    port: u16,
    _task: AbortOnDropHandle<()>,
}

impl Wire {
    /// A wire to the server on this port of 127.0.0.1.
    pub async fn to(server: u16) -> Result<Self> {
        Self::again(0, server).await
    }

    /// The same that begins where one did before.
    pub async fn again(port: u16, server: u16) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        let port = listener.local_addr()?.port();
        let task = tokio::spawn(serve(listener, ([127, 0, 0, 1], server).into()));
        let _task = AbortOnDropHandle::new(task);
        Ok(Self { port, _task })
    }

    /// Where it begins.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }
}

/// Carries whoever comes to the listener to the server. Its connections end with it.
pub(crate) async fn serve(listener: TcpListener, server: SocketAddr) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => if let Ok((client, _)) = accepted {
                connections.spawn(carry(client, server));
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// What breaks is seen by both ends.
async fn carry(mut client: TcpStream, server: SocketAddr) {
    if let Ok(mut server) = TcpStream::connect(server).await {
        let _ = copy_bidirectional(&mut client, &mut server).await;
    }
}
