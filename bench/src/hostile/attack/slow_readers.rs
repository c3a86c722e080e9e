//! Lists of everything, read so slowly that they would take hours.

use std::time::Duration;

use anyhow::{Result, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::ground::Ground;
use crate::hostile::requests::PODS;

/// Half of the lists that may be under way at once by default would do as much harm as all of them.
const READERS: usize = 64;
/// So few that the server has to wait for us, not for our kernel.
const RECEIVE: u32 = 4 << 10;
/// 1 KiB in half a second, for a list of tens of megabytes.
const BITE: usize = 1 << 10;
const CHEW: Duration = Duration::from_millis(500);

pub(super) async fn run(ground: &Ground) {
    ground.crowd(READERS, |number| reader(ground, number)).await;
}

async fn reader(ground: &Ground, number: usize) -> Result<()> {
    let target = &ground.target;
    let stream = target.tcp(ground.address(number, 1), Some(RECEIVE)).await?;
    let mut stream = target.tls(stream, &ground.user).await?;
    ground.count("connected");
    let request = format!("GET {PODS} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut bite = [0; BITE];
    let mut read = stream.read(&mut bite).await?;
    ensure!(read > 0, "no answer");
    ground.count(status_line(&bite[..read]));
    while read > 0 {
        tokio::time::sleep(CHEW).await;
        read = stream.read(&mut bite).await?;
    }
    ground.count("ended by the server");
    Ok(())
}

/// The code of an answer whose head has begun to come.
fn status_line(head: &[u8]) -> String {
    let text = String::from_utf8_lossy(head);
    format!("answered {}", text.split(' ').nth(1).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_is_read_from_the_first_line() {
        assert_eq!(status_line(b"HTTP/1.1 200 OK\r\ncontent-"), "answered 200");
    }
}
