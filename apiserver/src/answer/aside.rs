//! Work that takes long enough that others would wait for it: they are answered by other threads meanwhile.

use std::sync::LazyLock;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Semaphore;
use tokio::task::block_in_place;

/// Bytes that are looked at in a fraction of a millisecond: to hand less to another thread takes as long as to do it.
const SMALL: usize = 64 << 10;

/// As many at a time as the machine has cores: what they make is there beside what they make it of, and more would be no faster.
static CORES: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(cores()));

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Does what goes through so many bytes where it keeps nobody waiting: other threads take over what this one has to do. Once begun it goes to its end and
/// is there, whether or not who asked for it has left: it would be begun anew for the next one. Where it panics, so does the request.
pub(crate) async fn aside<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    if bytes <= SMALL {
        return work();
    }
    #[cfg(test)]
    tests::HANDED_OVER.with(|handed_over| handed_over.set(handed_over.get() + 1));
    let _core = CORES.acquire().await;
    match Handle::current().runtime_flavor() {
        // There is no other thread.
        RuntimeFlavor::CurrentThread => work(),
        _ => block_in_place(work),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::Cell;
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    thread_local! {
        /// How often something was handed over by this thread, which is a test's own.
        pub(crate) static HANDED_OVER: Cell<usize> = const { Cell::new(0) };
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn what_is_long_keeps_nobody_waiting() {
        let worker = tokio::spawn(async {
            let (tells, told) = mpsc::channel();
            tokio::spawn(async move { tells.send(()).expect("it is waited for") });
            aside(SMALL + 1, move || {
                let told = told.recv_timeout(Duration::from_secs(60));
                (told, CORES.available_permits())
            })
            .await
        });
        let (told, left) = worker.await.expect("no panic");
        told.expect("the thread had another task");
        assert!(left < cores(), "it takes a core's place");
    }
}
