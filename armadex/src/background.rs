//! Threads for work that nobody waits for: copying members and writing the store.
//!
//! Were it done by the threads that answer requests, a search would stand in line behind it again and again while a fleet comes. These threads
//! have the same priority as those: with less, the median page was faster and the slowest several times slower, for a thread that is put aside
//! while it holds a lock of the heap makes all others wait.

use tokio::runtime::{Builder, Handle, Runtime};

/// The threads; dropping it leaves what still runs on them behind.
pub(crate) struct Background {
    runtime: Option<Runtime>,
}

impl Background {
    /// Starts the threads, as many as there are cores.
    pub(crate) fn start() -> std::io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .enable_all()
            .thread_name("background")
            .build()?;
        Ok(Self {
            runtime: Some(runtime),
        })
    }

    /// Where to start a task on them.
    pub(crate) fn handle(&self) -> &Handle {
        self.runtime
            .as_ref()
            .expect("there until it is dropped")
            .handle()
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Whoever drops this is a task of another runtime, which must not wait.
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_nobody_waits_for_has_threads_of_its_own() {
        let threads = Background::start().expect("threads");
        let name = async { std::thread::current().name().map(str::to_owned) };
        let name = threads.handle().spawn(name).await.expect("no panic");
        assert_eq!(name.as_deref(), Some("background"));
    }
}
