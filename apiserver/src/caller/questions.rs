//! Questions to the host: each is asked when it is its asker's turn, in a task of its own.
//!
//! Anybody can make us ask, and the host has other work. A question that the host has begun to answer is never broken off, unless
//! nobody can want any answer any more: that would cost the host a connection, and the turn would be given away while the host still
//! works.

use std::future::Future;
use std::sync::Arc;

use tokio_util::sync::{CancellationToken, DropGuard};

use super::review::ReviewFailed;
use crate::turns::{self, Asker, Full, TurnSizes, Turns};

/// The questions of one kind.
pub(crate) struct Questions {
    turns: Arc<Turns>,
    ending: CancellationToken,
    /// Ends those that are being asked.
    _end: DropGuard,
}

/// A place in the line of those who want to ask.
pub(crate) struct Asking {
    place: turns::InLine,
    ending: CancellationToken,
}

impl Questions {
    pub(crate) fn new(sizes: TurnSizes) -> Self {
        let ending = CancellationToken::new();
        Self {
            turns: Turns::new(sizes),
            ending: ending.clone(),
            _end: ending.drop_guard(),
        }
    }

    /// A place at the end of the line, if there is one.
    pub(crate) fn enter(&self, asker: &Asker) -> Result<Asking, ReviewFailed> {
        Ok(Asking {
            place: self.turns.enter(asker)?,
            ending: self.ending.clone(),
        })
    }
}

impl Asking {
    /// Cancelled if somebody else gets the place, which nobody does who has begun to ask.
    pub(crate) fn sent_away(&self) -> CancellationToken {
        self.place.sent_away()
    }

    /// Waits for a turn and asks, in a task of its own: it goes on when nobody waits for the answer any more.
    pub(crate) async fn ask<T, E>(
        self,
        question: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<ReviewFailed> + Send + 'static,
    {
        let Self { place, ending } = self;
        let turn = place.turn().await.map_err(ReviewFailed::from)?;
        let asking = tokio::spawn(async move {
            let answer = ending.run_until_cancelled_owned(question).await;
            drop(turn);
            answer.unwrap_or_else(|| Err(ReviewFailed::new("the server stops").into()))
        });
        let failed =
            |error| Err(ReviewFailed::new(format!("the review broke off: {error}")).into());
        asking.await.unwrap_or_else(failed)
    }
}

impl From<Full> for ReviewFailed {
    fn from(full: Full) -> Self {
        match full {
            Full::OfAll => Self::Crowded,
            Full::OfAsker => Self::CrowdedByAsker,
        }
    }
}
