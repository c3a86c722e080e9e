//! A watch that has begun and is not followed yet, and for how long it is kept while nobody reads.

use std::time::Duration;

use armadex_member::ByteStream;
use tokio::time::Instant;

use crate::incoming::lines::Lines;

/// Whoever cannot write for so long gives the watch up: what came in meanwhile would stay in memory, up to a window for each watch of
/// each member, while the store is away. It goes on from its position.
pub(super) const STANDS_STILL: Duration = Duration::from_secs(5);

/// A watch that was answered.
pub(super) struct Begun {
    pub(super) body: ByteStream,
    /// What of it has come in.
    pub(super) lines: Lines,
    /// When it was asked for.
    pub(super) at: Instant,
    /// Since when it is followed, or could be: the list that was its beginning has been read.
    pub(super) since: Instant,
    /// For how many seconds.
    pub(super) lasts: u32,
}

/// What a list goes on with once all of it has been read.
pub(super) struct Streamed {
    /// Its version.
    pub(super) version: String,
    /// What happens from then on.
    pub(super) begun: Begun,
}

/// Does `work`, and gives the watch up meanwhile if that takes long. No `async fn`, which would keep room for its arguments beside what is made of them.
pub(super) fn unless_it_stands_still<B, T>(
    body: &mut Option<B>,
    work: impl Future<Output = T>,
) -> impl Future<Output = T> {
    unless_nobody_reads_since(Instant::now(), body, work)
}

/// The same of a watch that nobody has read since then.
pub(super) async fn unless_nobody_reads_since<B, T>(
    since: Instant,
    body: &mut Option<B>,
    work: impl Future<Output = T>,
) -> T {
    let mut work = std::pin::pin!(work);
    if let Ok(done) = tokio::time::timeout_at(since + STANDS_STILL, &mut work).await {
        return done;
    }
    *body = None;
    work.await
}
