//! Questions for health by nobody, as fast as they are answered.

use anyhow::Result;

use super::ground::Ground;

/// Enough to keep a core busy.
const CONNECTIONS: usize = 32;
/// What is asked for, in turn.
const PATHS: [&str; 2] = ["/readyz", "/livez"];

pub(super) async fn run(ground: &Ground) {
    ground
        .crowd(CONNECTIONS, |number| connection(ground, number))
        .await;
}

async fn connection(ground: &Ground, number: usize) -> Result<()> {
    let target = &ground.target;
    let from = ground.address(number, 1);
    let mut client = target.http1(from, &target.nobody).await?;
    ground.count("connected");
    for path in PATHS.iter().cycle() {
        let code = client.get_all(path).await?;
        ground.answered(code);
    }
    Ok(())
}
