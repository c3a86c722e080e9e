//! How long what may pass is tried again: an API server that starts, has too much to do or is not reached.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use armadex_backoff::Backoff;
use armadex_control_plane::{Trouble, TroubleKind};
use tokio::time::{Instant, sleep_until, timeout_at};
use tracing::{debug, warn};

/// An apiserver that says that it has too much to do asks for a second.
const FIRST: Duration = Duration::from_secs(1);
/// Who waits at a terminal sees within this time that it is over.
const LONGEST: Duration = Duration::from_secs(10);
/// What is asked when patience is over, since nobody asked before, has this time for its answer: an API server that works takes a part of a second.
const AFTERWARDS: Duration = Duration::from_secs(5);

/// Until when, and of whom.
#[derive(Debug)]
pub(crate) struct Patience {
    limit: Duration,
    until: Instant,
    server: String,
    /// Whoever waits is told once for what.
    is_told: AtomicBool,
}

impl Patience {
    /// For so long from now, with this API server.
    pub(crate) fn new(limit: Duration, server: &str) -> Self {
        Self {
            limit,
            until: Instant::now() + limit,
            server: server.to_owned(),
            is_told: AtomicBool::new(false),
        }
    }

    /// For how long it was at the beginning.
    pub(crate) fn limit(&self) -> Duration {
        self.limit
    }

    /// Whether nothing is tried again.
    pub(crate) fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    /// Asks until there is an answer, or trouble that does not pass, or no patience.
    pub(crate) async fn ask<T>(
        &self,
        passes: impl Fn(TroubleKind) -> bool,
        ask: impl AsyncFn() -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        let mut waits = Waits::new(self.until);
        loop {
            match self.answer(ask()).await {
                Err(trouble)
                    if passes(trouble.kind) && !is_for_ever(trouble.kind) && !self.is_over() =>
                {
                    self.tell(&trouble);
                    waits.next().await;
                }
                answered => return answered,
            }
        }
    }

    /// Looks until something is there to be seen. `None`: it was not, until patience was over.
    pub(crate) async fn look<T>(
        &self,
        look: impl AsyncFn() -> Result<Option<T>, Trouble>,
    ) -> Result<Option<T>, Trouble> {
        let mut waits = Waits::new(self.until);
        loop {
            let seen = self.ask(TroubleKind::is_outage, &look).await?;
            if seen.is_some() || self.is_over() {
                return Ok(seen);
            }
            waits.next().await;
        }
    }

    /// One answer, as long as there is patience.
    pub(crate) async fn answer<T>(
        &self,
        asked: impl Future<Output = Result<T, Trouble>>,
    ) -> Result<T, Trouble> {
        let until = self.until.max(Instant::now() + AFTERWARDS.min(self.limit));
        let answered = timeout_at(until, asked).await;
        answered.unwrap_or_else(|_| Err(Trouble::unanswered()))
    }

    fn tell(&self, trouble: &Trouble) {
        let (server, seconds) = (&self.server, self.limit.as_secs());
        if trouble.kind.is_outage() && !self.is_told.swap(true, Ordering::Relaxed) {
            warn!(server, error = %trouble, "{server}: {trouble}, trying again for {seconds} s at the most");
        } else {
            debug!(server, error = %trouble, "trying again");
        }
    }
}

/// Whether whatever is asked next would have the same trouble, and take as long to say so: the API server is not to be had, rather than failing at this.
pub(crate) fn is_the_end(trouble: &Trouble) -> bool {
    let kind = trouble.kind;
    is_for_ever(kind) || (kind.is_outage() && kind != TroubleKind::Failed)
}

/// Whether the kubeconfig is wrong: somebody who waits at a terminal waits in vain.
fn is_for_ever(kind: TroubleKind) -> bool {
    matches!(kind, TroubleKind::Unauthenticated | TroubleKind::Untrusted)
}

/// Waits that grow, none of which goes beyond the end of patience.
struct Waits {
    backoff: Backoff,
    until: Instant,
}

impl Waits {
    fn new(until: Instant) -> Self {
        Self {
            backoff: Backoff::new(FIRST, LONGEST),
            until,
        }
    }

    async fn next(&mut self) {
        let wait = self.backoff.next(rand::random());
        sleep_until(self.until.min(Instant::now() + wait)).await;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use armadex_control_plane::testing::Log;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    fn patience() -> Patience {
        Patience::new(LIMIT, "https://fleet.example")
    }

    fn trouble(kind: TroubleKind) -> Trouble {
        Trouble {
            kind,
            message: kind.as_str().to_owned(),
        }
    }

    /// What comes of asking something that fails so often, and how often it was asked.
    async fn ask(kind: TroubleKind, fails: usize) -> (Result<usize, Trouble>, usize, Duration) {
        let (asked, begun) = (Cell::new(0), Instant::now());
        let answer = async || {
            asked.set(asked.get() + 1);
            match asked.get() > fails {
                true => Ok(asked.get()),
                false => Err(trouble(kind)),
            }
        };
        let patience = patience();
        let answered = patience.ask(TroubleKind::is_outage, answer).await;
        (answered, asked.get(), begun.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn what_passes_is_tried_again_until_patience_is_over() {
        let (answered, ..) = ask(TroubleKind::Unavailable, 3).await;
        assert_eq!(answered, Ok(4));
        let (answered, asked, took) = ask(TroubleKind::Unavailable, usize::MAX).await;
        assert_eq!(answered, Err(trouble(TroubleKind::Unavailable)));
        assert!((8..20).contains(&asked), "{asked}");
        assert_eq!(took, LIMIT);
        let (answered, asked, _) = ask(TroubleKind::Forbidden, usize::MAX).await;
        assert_eq!(answered, Err(trouble(TroubleKind::Forbidden)));
        assert_eq!(asked, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_kubeconfig_is_wrong_about_is_not_tried_again() {
        for kind in [TroubleKind::Unauthenticated, TroubleKind::Untrusted] {
            let (answered, asked, took) = ask(kind, usize::MAX).await;
            assert!(is_the_end(&answered.expect_err("it is wrong")));
            assert_eq!((asked, took), (1, Duration::ZERO));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_does_not_answer_is_given_up_when_patience_is_over() {
        let log = Log::warnings_of("armadex");
        let begun = Instant::now();
        let patience = patience();
        let silent = async || std::future::pending::<Result<(), Trouble>>().await;
        let answered = patience.ask(TroubleKind::is_outage, silent).await;
        assert_eq!(
            (answered, begun.elapsed()),
            (Err(Trouble::unanswered()), LIMIT)
        );
        // Others may be asked still.
        let answered = patience.ask(TroubleKind::is_outage, silent).await;
        assert_eq!(
            (answered, begun.elapsed()),
            (Err(Trouble::unanswered()), LIMIT + AFTERWARDS)
        );
        assert_eq!(log.told(), [""; 0], "nothing was tried again");
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_waits_is_told_once_for_what() {
        let log = Log::warnings_of("armadex");
        let busy = async || Err::<(), _>(trouble(TroubleKind::Unavailable));
        let patience = patience();
        for _ in 0..2 {
            let answered = patience.ask(TroubleKind::is_outage, busy).await;
            answered.expect_err("it is never another");
        }
        let told = log.told();
        let words = "https://fleet.example: unavailable, trying again for 60 s";
        assert!(told.len() == 1 && told[0].contains(words), "{told:#?}");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_not_there_is_looked_for_until_patience_is_over() {
        let (looks, begun) = (Cell::new(0), Instant::now());
        let look = async || {
            looks.set(looks.get() + 1);
            Ok((looks.get() > 4).then_some("there"))
        };
        assert_eq!(patience().look(look).await, Ok(Some("there")));
        let nothing = async || Ok(None::<()>);
        assert!(begun.elapsed() < LIMIT);
        let begun = Instant::now();
        assert_eq!(patience().look(nothing).await, Ok(None));
        assert_eq!(begun.elapsed(), LIMIT);
    }
}
