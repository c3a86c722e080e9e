//! Label selectors with very many clauses, half of them as many as are taken, half of them as many as fit into a URL.

use anyhow::Result;

use super::ground::Ground;
use crate::hostile::requests::PODS;

/// Half of them of each kind.
const CONNECTIONS: usize = 8;
/// The most that is taken.
const SOME: usize = 64;
/// 9 characters each: 45 KB of a URL that may have 60.
const MANY: usize = 5_000;

pub(super) async fn run(ground: &Ground) {
    let paths = [
        list(SOME, |number| {
            format!("app.kubernetes.io/instance!=checkout-{number}")
        }),
        list(MANY, |number| format!("k{number}!=v")),
    ];
    ground
        .crowd(CONNECTIONS, |number| {
            connection(ground, number, &paths[number % paths.len()])
        })
        .await;
}

fn list(clauses: usize, clause: impl Fn(usize) -> String) -> String {
    let clauses: Vec<String> = (0..clauses).map(clause).collect();
    format!("{PODS}?limit=500&labelSelector={}", clauses.join(","))
}

async fn connection(ground: &Ground, number: usize, path: &str) -> Result<()> {
    let target = &ground.target;
    let from = ground.address(number, 1);
    let mut client = target.http1(from, &ground.user).await?;
    ground.count("connected");
    loop {
        let code = client.get_all(path).await?;
        ground.answered(code);
    }
}
