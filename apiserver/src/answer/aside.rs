//! Work that takes long enough that others would wait for it: done beside the threads that answer requests.

use std::sync::LazyLock;

use tokio::sync::Semaphore;
use tokio::task::JoinError;

/// Bytes that are looked at in a fraction of a millisecond: to hand less to another thread takes as long as to do it.
const SMALL: usize = 64 << 10;

/// As many at a time as the machine has cores: what they make is there beside what they make it of, and more would be no faster.
static CORES: LazyLock<Semaphore> = LazyLock::new(|| {
    let cores = std::thread::available_parallelism();
    Semaphore::new(cores.map_or(1, std::num::NonZero::get))
});

/// Does what goes through so many bytes where it keeps nobody waiting.
pub(crate) async fn aside<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JoinError> {
    if bytes <= SMALL {
        return Ok(work());
    }
    #[cfg(test)]
    tests::HANDED_OVER.with(|handed_over| handed_over.set(handed_over.get() + 1));
    let _core = CORES.acquire().await;
    tokio::task::spawn_blocking(work).await
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::Cell;
    use std::thread;

    use super::*;

    thread_local! {
        /// How often something was handed over by this thread, which is a test's own.
        pub(crate) static HANDED_OVER: Cell<usize> = const { Cell::new(0) };
    }

    #[tokio::test]
    async fn what_is_long_is_done_in_another_thread() {
        let here = thread::current().id();
        for (bytes, is_here) in [(0, true), (SMALL, true), (SMALL + 1, false)] {
            let done = aside(bytes, || thread::current().id()).await;
            assert_eq!(done.expect("no panic") == here, is_here, "{bytes}");
        }
    }
}
