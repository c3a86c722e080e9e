//! Work that takes the processor for long, beside the threads that serve.

use armadex_storage::StoreError;

use crate::backend::error::broken;

/// Does it in another thread if it takes half a millisecond or more; to hand over less takes as long.
pub(crate) async fn aside<T: Send + 'static>(
    is_long: bool,
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    if !is_long {
        return work();
    }
    #[cfg(test)]
    tests::HANDED_OVER.with(|handed_over| handed_over.set(handed_over.get() + 1));
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|err| broken(err.to_string()))?
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
        for is_long in [false, true] {
            let done = aside(is_long, || Ok(thread::current().id())).await;
            assert_eq!(done.expect("no panic") != here, is_long);
        }
    }
}
