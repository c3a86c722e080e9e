//! Strangers with long and tangled chains of certificates, which ask again and again for what needs a caller.

use anyhow::Result;

use super::chain;
use super::ground::Ground;
use crate::hostile::requests::PODS;
use crate::hostile::target::Face;

/// Half of them with a long chain, half with a tangled one.
const CONNECTIONS: usize = 8;
/// 60 certificates of some 400 bytes: 24 KB, under the 64 KB that a handshake's message may have.
const LONG: usize = 60;
/// As many as a server lets through its handshake, so that somebody has to look for a way among them.
const TANGLED: usize = 4;
/// What the host's authority is called.
const TRUSTED: &str = "ca";

pub(super) async fn run(ground: &Ground) -> Result<()> {
    let faces = [
        ground.target.stranger(chain::long(LONG)?)?,
        ground.target.stranger(chain::tangled(TANGLED, TRUSTED)?)?,
    ];
    ground
        .crowd(CONNECTIONS, |number| {
            connection(ground, number, &faces[number % faces.len()])
        })
        .await;
    Ok(())
}

async fn connection(ground: &Ground, number: usize, face: &Face) -> Result<()> {
    let mut client = ground.target.http1(ground.address(number, 1), face).await?;
    loop {
        let code = client.get_all(&format!("{PODS}?limit=1")).await?;
        ground.answered(code);
    }
}
