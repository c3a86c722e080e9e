//! HTTP/2 connections with a window of nothing: the head of each answer comes, and the megabyte behind it waits at the server.

use anyhow::Result;

use super::ground::Ground;
use crate::hostile::requests::large_path;

/// Few, for the harm is in the streams.
const CONNECTIONS: usize = 4;
/// On each connection: together 2 GiB, if the server made all the answers.
const STREAMS: usize = 500;

pub(super) async fn run(ground: &Ground) {
    ground
        .crowd(CONNECTIONS, |number| connection(ground, number))
        .await;
}

async fn connection(ground: &Ground, number: usize) -> Result<()> {
    let target = &ground.target;
    let from = ground.address(number, 1);
    let client = target.http2(from, &ground.user, 0).await?;
    ground.count("connected");
    let answers = client.get_many(&large_path(), STREAMS).await;
    for answer in &answers {
        match answer {
            Ok(answer) => ground.answered(answer.status()),
            Err(_) => ground.count("streams without an answer"),
        }
    }
    client.closed().await;
    ground.count("ended by the server");
    drop(answers);
    Ok(())
}
