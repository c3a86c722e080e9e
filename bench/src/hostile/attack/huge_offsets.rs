//! Pages that begin millions of rows behind the end, in orders for which everything has to be sorted.

use anyhow::Result;

use super::ground::Ground;
use crate::hostile::requests::PODS;

/// Twice as many as the store has readers.
const CONNECTIONS: usize = 8;
/// What is asked for, in turn.
const QUERIES: [&str; 4] = [
    "orderby=uid&continue=5000000&limit=1",
    "orderby=created_at%20desc&continue=15000&limit=500",
    "orderby=resource_version,uid&continue=9000&limit=500",
    "continue=4000000000&limit=500",
];

pub(super) async fn run(ground: &Ground) {
    ground
        .crowd(CONNECTIONS, |number| connection(ground, number))
        .await;
}

async fn connection(ground: &Ground, number: usize) -> Result<()> {
    let target = &ground.target;
    let from = ground.address(number, 1);
    let mut client = target.http1(from, &ground.user).await?;
    ground.count("connected");
    for query in QUERIES.iter().cycle().skip(number) {
        let code = client.get_all(&format!("{PODS}?{query}")).await?;
        ground.answered(code);
    }
    Ok(())
}
