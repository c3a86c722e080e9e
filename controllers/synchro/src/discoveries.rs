//! Turns to ask members what they serve. An answer is read as a whole and its decoded form is larger, so only so many are read at the
//! same time: 10 of two halves of 8 MiB at the worst, a megabyte each where nobody means harm.
//!
//! A member that takes long is asked among the few that do, so those that hang hold up nobody else.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use armadex_member::{Discovery, Etags, Member, MemberError};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

/// Members that are asked at the same time: a thousand that are connected at a start take 0.2 s each.
const PARALLEL: usize = 8;
/// Two requests; thirty or so, by eights, of a member that knows the older way alone.
const QUICK: Duration = Duration::from_secs(10);
/// Those that took longer the last time.
const PARALLEL_SLOW: usize = 2;
const LONGEST: Duration = Duration::from_secs(60);

/// Turns over all clusters.
#[derive(Debug)]
pub(crate) struct Discoveries {
    quick: Semaphore,
    slow: Semaphore,
}

impl Default for Discoveries {
    fn default() -> Self {
        Self {
            quick: Semaphore::new(PARALLEL),
            slow: Semaphore::new(PARALLEL_SLOW),
        }
    }
}

/// How one cluster is asked.
#[derive(Debug)]
pub(crate) struct ClusterDiscovery {
    all: Arc<Discoveries>,
    slow: AtomicBool,
}

impl ClusterDiscovery {
    pub(crate) fn new(all: Arc<Discoveries>) -> Self {
        Self {
            all,
            slow: AtomicBool::new(false),
        }
    }

    /// What the member serves; `None` if it is what it was by these ETags.
    pub(crate) async fn ask(
        &self,
        member: &Member,
        known: &Etags,
    ) -> Result<Option<(Discovery, Etags)>, MemberError> {
        let (turns, longest) = match self.slow.load(Ordering::Relaxed) {
            false => (&self.all.quick, QUICK),
            true => (&self.all.slow, LONGEST),
        };
        // No semaphore is closed.
        let _turn = turns.acquire().await;
        let begun = Instant::now();
        let answer = timeout(longest, member.discover(known)).await;
        self.slow.store(begun.elapsed() >= QUICK, Ordering::Relaxed);
        answer.unwrap_or(Err(MemberError::TimedOut {
            phase: "whole discovery",
            after: longest,
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tokio::io::{AsyncWriteExt, BufReader, DuplexStream};

    use super::*;
    use crate::testing::request::{Request, through_pipes};

    const SERVED: &str = r#"{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"apps"},"versions":[{"version":"v1"}]}]}"#;

    fn hanging() -> Arc<Member> {
        let pipes = Mutex::new(Vec::new());
        through_pipes(move |pipe| pipes.lock().unwrap().push(pipe))
    }

    fn healthy() -> Arc<Member> {
        let serve = async |pipe: DuplexStream| {
            let mut socket = BufReader::new(pipe);
            Request::read(&mut socket).await;
            let length = SERVED.len();
            let answer = format!(
                "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{SERVED}"
            );
            // Whoever asked may have gone.
            let _ = socket.write_all(answer.as_bytes()).await;
        };
        through_pipes(move |pipe| drop(tokio::spawn(serve(pipe))))
    }

    #[tokio::test(start_paused = true)]
    async fn members_that_hang_hold_up_nobody_else() {
        let all = Arc::<Discoveries>::default();
        let hang = (0..3 * PARALLEL).map(|_| {
            let all = Arc::clone(&all);
            tokio::spawn(async move {
                let (cluster, member) = (ClusterDiscovery::new(all), hanging());
                loop {
                    let answer = cluster.ask(&member, &Etags::default()).await;
                    assert!(answer.is_err());
                }
            })
        });
        let hang: Vec<_> = hang.collect();
        tokio::task::yield_now().await;
        let begun = Instant::now();
        for number in 0..100 {
            let (cluster, member) = (ClusterDiscovery::new(Arc::clone(&all)), healthy());
            let answer = cluster.ask(&member, &Etags::default()).await;
            assert!(answer.is_ok(), "{number}");
        }
        assert!(begun.elapsed() <= 3 * QUICK, "{:?}", begun.elapsed());
        hang.iter().for_each(tokio::task::JoinHandle::abort);
    }
}
