//! Sockets that are opened and then say nothing.

use std::net::Ipv4Addr;

use anyhow::Result;
use tokio::io::AsyncReadExt as _;

use super::ground::Ground;

/// Twice as many as there is room for by default.
const SOCKETS: usize = 2_000;
/// A handful of machines.
const ADDRESSES: u8 = 4;

pub(super) async fn run(ground: &Ground) {
    ground
        .crowd(SOCKETS, |number| {
            socket(ground, ground.address(number, ADDRESSES))
        })
        .await;
}

async fn socket(ground: &Ground, from: Ipv4Addr) -> Result<()> {
    let mut stream = ground.target.tcp(from, None).await?;
    ground.count("connected");
    // The server has nothing to say before we do: this ends when it closes the socket.
    let ended = stream.read_u8().await;
    ground.count("ended by the server");
    drop(ended);
    Ok(())
}
