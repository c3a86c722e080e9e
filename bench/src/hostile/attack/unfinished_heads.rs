//! Requests whose heads begin and never end: over HTTP/1.1 almost as long as one may be, over HTTP/2 a few bytes that stand for as much.

use std::sync::Arc;

use anyhow::Result;
use rustls::ClientConfig;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::ground::Ground;
use crate::hostile::target::Face;

/// Twice as many as there is room for by default on which nobody has proved who they are.
const CONNECTIONS: usize = 500;
/// A handful of machines.
const ADDRESSES: u8 = 4;

/// Of 128 KiB that a server of ours reads.
const HTTP1_QUERY: usize = 120 << 10;
/// Each counts 33 bytes there, of 64 KiB.
const HTTP2_FIELDS: usize = 1_950;

pub(super) async fn run(ground: &Ground) {
    let mut http2 = ClientConfig::clone(&ground.target.nobody);
    http2.alpn_protocols = vec![b"h2".to_vec()];
    let ways = [
        (Arc::clone(&ground.target.nobody), http1_head()),
        (Arc::new(http2), http2_head()),
    ];
    ground
        .crowd(CONNECTIONS, |number| {
            let (face, head) = &ways[number % 2];
            begin(ground, number / 2, face, head)
        })
        .await;
}

async fn begin(ground: &Ground, number: usize, face: &Face, head: &[u8]) -> Result<()> {
    let from = ground.address(number, ADDRESSES);
    let stream = ground.target.tcp(from, None).await?;
    let mut stream = ground.target.tls(stream, face).await?;
    ground.count("connected");
    stream.write_all(head).await?;
    let mut said = [0; 4096];
    while stream.read(&mut said).await? > 0 {}
    ground.count("ended by the server");
    Ok(())
}

fn http1_head() -> Vec<u8> {
    format!("GET /apis?ignored={}", "x".repeat(HTTP1_QUERY)).into_bytes()
}

/// The preface, empty settings, and headers that more are to follow: one field that is remembered, and its number again and again.
fn http2_head() -> Vec<u8> {
    let mut fields = vec![0x40, 1, b'a', 0];
    fields.resize(fields.len() + HTTP2_FIELDS, 0x80 | 62);
    let length = (fields.len() as u32).to_be_bytes();
    let mut head = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    head.extend([0, 0, 0, 4, 0, 0, 0, 0, 0]);
    head.extend(&length[1..]);
    head.extend([1, 0, 0, 0, 0, 1]);
    head.extend(fields);
    head
}
