//! Handshakes that are begun and not ended: every other one says all of its first flight, so that the server has signed something, the
//! rest half of it.

use std::net::Ipv4Addr;

use anyhow::Result;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::ground::Ground;

/// As many as there is room for by default.
const SOCKETS: usize = 1_000;
/// A handful of machines.
const ADDRESSES: u8 = 2;

pub(super) async fn run(ground: &Ground) -> Result<()> {
    let hello = ground.target.hello()?;
    ground
        .crowd(SOCKETS, |number| {
            let length = if number % 2 == 0 {
                hello.len()
            } else {
                hello.len() / 2
            };
            // Both addresses have some of either kind.
            let from = ground.address(number / 2, ADDRESSES);
            handshake(ground, from, &hello[..length])
        })
        .await;
    Ok(())
}

async fn handshake(ground: &Ground, from: Ipv4Addr, hello: &[u8]) -> Result<()> {
    let mut stream = ground.target.tcp(from, None).await?;
    ground.count("connected");
    stream.write_all(hello).await?;
    let mut flight = [0; 4096];
    while stream.read(&mut flight).await? > 0 {}
    ground.count("ended by the server");
    Ok(())
}
