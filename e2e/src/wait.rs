//! Waiting for a condition, never for a time.

use std::future::Future;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// Short enough not to be felt, long enough not to load two cores.
const POLL: Duration = Duration::from_millis(150);

/// Asks `check` until it gives a value. An error counts as "not yet"; the last one is told when `limit` is over.
pub async fn wait_for<T, F>(what: &str, limit: Duration, mut check: impl FnMut() -> F) -> Result<T>
where
    F: Future<Output = Result<Option<T>>>,
{
    let end = Instant::now() + limit;
    loop {
        let last = match check().await {
            Ok(Some(value)) => return Ok(value),
            Ok(None) => None,
            Err(error) => Some(error),
        };
        if Instant::now() >= end {
            let Some(error) = last else {
                bail!("{what}: not seen within {} s", limit.as_secs())
            };
            return Err(error.context(format!("{what}: not seen within {} s", limit.as_secs())));
        }
        tokio::time::sleep(POLL).await;
    }
}

/// Asks `check` until it says yes.
pub async fn wait_until<F>(what: &str, limit: Duration, mut check: impl FnMut() -> F) -> Result<()>
where
    F: Future<Output = Result<bool>>,
{
    wait_for(what, limit, || {
        let answer = check();
        async { Ok(answer.await?.then_some(())) }
    })
    .await
}
