//! Threads for work that nobody waits for: copying members, writing the store, following policies. They give way to the threads that answer.
//!
//! A fleet that comes takes every core there is for minutes. Were its work done by the threads that answer requests, or by threads that
//! stand beside those as equals, a search would stand in line behind it again and again. With threads of their own that ask for less, the
//! system's scheduler lets a search through first, and a machine with cores to spare notices nothing.

use rustix::process::{getpriority_process, setpriority_process};
use tokio::runtime::{Builder, Handle, Runtime};

/// Added to the niceness of a thread: it gets a tenth of what one that answers gets, where both want a core. docs/performance.md has what other
/// figures led to: the median of pages is better with it, the slowest of them not always.
const LESS: i32 = 10;

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
            .on_thread_start(give_way)
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

/// On Linux a thread has a priority of its own, which those that it starts inherit. Elsewhere it is the whole process's, and is left alone.
#[cfg(target_os = "linux")]
fn give_way() {
    let lowered = getpriority_process(None).and_then(|now| setpriority_process(None, now + LESS));
    if let Err(error) = lowered {
        tracing::debug!(%error, "a thread could not be given less priority");
    }
}

#[cfg(not(target_os = "linux"))]
fn give_way() {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use armadex_storage::Search as _;
    use armadex_storage_sql::{Options, SqlStore};

    use super::*;

    /// How nice the threads are that work for connections to a database.
    fn connections() -> Vec<i64> {
        let tasks = std::fs::read_dir("/proc/self/task").expect("threads");
        // A thread may end meanwhile.
        let stat = |task: std::io::Result<std::fs::DirEntry>| {
            std::fs::read_to_string(task.ok()?.path().join("stat")).ok()
        };
        let lines = tasks.filter_map(stat);
        let nice = lines.filter_map(|line| {
            let (name, figures) = line.rsplit_once(") ")?;
            // The state is the third figure, niceness the nineteenth.
            let nice = figures.split(' ').nth(19 - 3)?.parse().ok()?;
            name.contains("sqlx-sqlite").then_some(nice)
        });
        nice.collect()
    }

    #[tokio::test]
    async fn who_writes_gives_way_and_who_reads_does_not() {
        let threads = Background::start().expect("threads");
        let folder = tempfile::tempdir().expect("a folder");
        let options = Options {
            writes: Some(threads.handle().clone()),
            ..Options::default()
        };
        let store = SqlStore::sqlite(&folder.path().join("store.db"), &options).await;
        let store = std::sync::Arc::new(store.expect("a store"));
        let asked = std::sync::Arc::clone(&store);
        let head = threads.handle().spawn(async move { asked.head().await });
        head.await.expect("no panic").expect("a head");
        let nice = connections();
        assert_eq!(nice.iter().filter(|nice| **nice > 0).count(), 1, "{nice:?}");
        assert!(nice.contains(&0), "{nice:?}");
        store.shutdown().await;
    }

    #[tokio::test]
    async fn what_nobody_waits_for_gives_way() {
        let threads = Background::start().expect("threads");
        let nice = || async { getpriority_process(None).expect("a priority") };
        let there = threads.handle().spawn(nice()).await.expect("no panic");
        let thread = tokio::task::spawn_blocking(|| getpriority_process(None).expect("a priority"));
        let blocking = {
            let _there = threads.handle().enter();
            tokio::task::spawn_blocking(|| getpriority_process(None).expect("a priority"))
        };
        let here = thread.await.expect("no panic");
        assert_eq!(
            (there, blocking.await.expect("no panic")),
            (here + LESS, here + LESS)
        );
    }
}
