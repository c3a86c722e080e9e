//! How long what may pass is tried again: an API server that starts, has too much to do or is not reached.

use std::time::Duration;

use armadex_backoff::Backoff;
use armadex_control_plane::{Trouble, TroubleKind};
use tokio::time::{Instant, sleep_until};

/// An apiserver that says that it has too much to do asks for a second.
const FIRST: Duration = Duration::from_secs(1);
/// Who waits at a terminal sees within this time that it is over.
const LONGEST: Duration = Duration::from_secs(10);

/// Until when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    until: Instant,
}

impl Patience {
    /// For so long from now.
    pub(crate) fn new(limit: Duration) -> Self {
        Self {
            until: Instant::now() + limit,
        }
    }

    /// Whether nothing is tried again.
    pub(crate) fn is_over(self) -> bool {
        Instant::now() >= self.until
    }

    /// Asks until there is an answer, or trouble that does not pass, or no patience.
    pub(crate) async fn ask<T>(
        self,
        passes: impl Fn(TroubleKind) -> bool,
        ask: impl AsyncFn() -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        let mut waits = Waits::new(self);
        loop {
            match ask().await {
                Err(trouble) if passes(trouble.kind) && !self.is_over() => {
                    tracing::debug!(error = %trouble, "trying again");
                    waits.next().await;
                }
                answered => return answered,
            }
        }
    }

    /// Looks until something is there to be seen. `None`: it was not, until patience was over.
    pub(crate) async fn look<T>(
        self,
        look: impl AsyncFn() -> Result<Option<T>, Trouble>,
    ) -> Result<Option<T>, Trouble> {
        let mut waits = Waits::new(self);
        loop {
            let seen = self.ask(TroubleKind::is_outage, &look).await?;
            if seen.is_some() || self.is_over() {
                return Ok(seen);
            }
            waits.next().await;
        }
    }
}

/// Whether whatever is asked next would have the same trouble, and take as long to say so: the API server is not to be had, rather than failing at this.
pub(crate) fn is_the_end(trouble: &Trouble) -> bool {
    let kind = trouble.kind;
    kind.is_outage() && kind != TroubleKind::Failed
}

/// Waits that grow, none of which goes beyond the end of patience.
struct Waits {
    backoff: Backoff,
    until: Instant,
}

impl Waits {
    fn new(patience: Patience) -> Self {
        Self {
            backoff: Backoff::new(FIRST, LONGEST),
            until: patience.until,
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

    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

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
        let patience = Patience::new(LIMIT);
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
    async fn what_is_not_there_is_looked_for_until_patience_is_over() {
        let (looks, begun) = (Cell::new(0), Instant::now());
        let look = async || {
            looks.set(looks.get() + 1);
            Ok((looks.get() > 4).then_some("there"))
        };
        assert_eq!(Patience::new(LIMIT).look(look).await, Ok(Some("there")));
        let nothing = async || Ok(None::<()>);
        assert!(begun.elapsed() < LIMIT);
        let begun = Instant::now();
        assert_eq!(Patience::new(LIMIT).look(nothing).await, Ok(None));
        assert_eq!(begun.elapsed(), LIMIT);
    }
}
