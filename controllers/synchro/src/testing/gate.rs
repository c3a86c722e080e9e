//! An address that leads to a member while it is open: the member itself goes on, and is reached by others.

use std::net::SocketAddr;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::AbortOnDropHandle;

/// Where a member is said to be.
pub(crate) struct Gate {
    address: SocketAddr,
    /// Of the member behind it.
    member: String,
    open: Option<AbortOnDropHandle<()>>,
}

impl Gate {
    /// An open one before the member of this URL.
    pub(crate) async fn before(member: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let mut gate = Self {
            address: listener.local_addr().expect("an address"),
            member: member.trim_start_matches("http://").to_owned(),
            open: None,
        };
        gate.serve(listener);
        gate
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Connections break off, and no others are taken.
    pub(crate) async fn shuts(&mut self) {
        if let Some(open) = self.open.take() {
            open.abort();
            // Cancelled, so that the port is free.
            let _ = open.await;
        }
    }

    pub(crate) async fn opens(&mut self) {
        let listener = TcpListener::bind(self.address).await;
        self.serve(listener.expect("the same port"));
    }

    fn serve(&mut self, listener: TcpListener) {
        let member = self.member.clone();
        let serving = tokio::spawn(async move {
            let mut connections = Vec::new();
            while let Ok((mut near, _)) = listener.accept().await {
                let member = member.clone();
                let connection = tokio::spawn(async move {
                    let mut far = TcpStream::connect(member).await.expect("a member");
                    // Either side may break off.
                    let _ = copy_bidirectional(&mut near, &mut far).await;
                });
                connections.push(AbortOnDropHandle::new(connection));
            }
        });
        self.open = Some(AbortOnDropHandle::new(serving));
    }
}
