//! Sorted pages that have to look at very much for what they give: thousands of objects have one sort value, or thousands of names are looked for.

use anyhow::Result;

use super::ground::Ground;
use crate::hostile::requests::TIED;

/// Twice as many as the store has readers.
const CONNECTIONS: usize = 8;
/// Nearly all of [`TIED`] have one value of these. They are told apart by what no index has next, or walked as a page is, where others are passed by.
const TIES: [&str; 4] = [
    "orderby=name&limit=500&clusters=member1",
    "orderby=name,uid&limit=500",
    "orderby=created_at%20desc,uid&limit=500",
    "orderby=cluster,created_at%20desc,uid&limit=500",
];
/// 7 characters each: 35 KB of a URL that may have 60. After so long a head the connection is closed.
const NAMES: usize = 5_000;

pub(super) async fn run(ground: &Ground) {
    let names: Vec<String> = (0..NAMES).map(|number| format!("n{number:05}")).collect();
    let names = format!("orderby=uid&limit=500&names={}", names.join(","));
    let queries = [&TIES[..], &[&names]].concat();
    ground
        .crowd(CONNECTIONS, |number| connection(ground, number, &queries))
        .await;
}

async fn connection(ground: &Ground, number: usize, queries: &[&str]) -> Result<()> {
    let target = &ground.target;
    let from = ground.address(number, 1);
    let mut client = target.http1(from, &ground.user).await?;
    ground.count("connected");
    for query in queries.iter().cycle().skip(number) {
        let code = client.get_all(&format!("{TIED}?{query}")).await?;
        ground.answered(code);
    }
    Ok(())
}
