//! What the host answered, remembered for a moment: takes a question's key and a way to ask it, gives the answer.
//!
//! Those who ask the same at once wait for one answer. What was not answered is not remembered.

use std::future::Future;
use std::time::Duration;

use moka::future::Cache;
use tokio::time::Instant;

use super::questions::Asking;
use super::review::ReviewFailed;

/// A question's hash.
pub(super) type Key = [u8; 32];

/// The answers. Clones share them.
#[derive(Clone)]
pub(super) struct Kept<T> {
    answers: Cache<Key, Answer<T>>,
    time: Duration,
}

#[derive(Clone)]
struct Answer<T> {
    given: Instant,
    value: T,
}

impl<T> Answer<T> {
    fn now(value: T) -> Self {
        Self {
            given: Instant::now(),
            value,
        }
    }
}

impl<T: Clone + Send + Sync + 'static> Kept<T> {
    /// Remembers so many answers at most, each for this time.
    pub(super) fn new(most: u64, time: Duration) -> Self {
        let answers = Cache::builder().max_capacity(most);
        Self {
            // What nobody asks for again is forgotten as well.
            answers: answers.time_to_live(time).build(),
            time,
        }
    }

    /// The answer to a question, if it was given lately.
    pub(super) async fn known(&self, key: &Key) -> Option<T> {
        let kept = self.answers.get(key).await?;
        (kept.given.elapsed() < self.time).then_some(kept.value)
    }

    /// Remembers an answer.
    pub(super) async fn keep(&self, key: Key, value: T) {
        self.answers.insert(key, Answer::now(value)).await;
    }

    /// The answer to a question, which is asked when it is this place's turn if it was not answered lately. Once it is asked, its
    /// answer is kept even if nobody waits for it any more.
    pub(super) async fn answer_in_turn<E>(
        &self,
        key: Key,
        place: Asking,
        question: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Result<T, E>
    where
        E: From<ReviewFailed> + Clone + Send + Sync + 'static,
    {
        let (sent_away, answers) = (place.sent_away(), self.clone());
        // Boxed, so that requests whose answers are known do not take up the room for it.
        let asking = Box::pin(place.ask(async move {
            let answer = question.await?;
            answers.keep(key, answer.clone()).await;
            Ok(answer)
        }));
        let answer = Box::pin(self.answer(key, asking));
        // Who waits for the answer to somebody else's question has a place in the line as well, and may have to leave it.
        let answer = sent_away.run_until_cancelled(answer).await;
        answer.unwrap_or_else(|| Err(ReviewFailed::Crowded.into()))
    }

    /// The answer to a question, which is asked if it was not answered lately.
    async fn answer<E: Clone + Send + Sync + 'static>(
        &self,
        key: Key,
        ask: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        self.forget_if_old(&key).await;
        let asking = async { Ok(Answer::now(ask.await?)) };
        match self.answers.try_get_with(key, asking).await {
            Ok(answer) => Ok(answer.value),
            Err(error) => Err(E::clone(&error)),
        }
    }

    /// Of two who do so at once, one may forget what the other has just asked for: then it is asked once more.
    async fn forget_if_old(&self, key: &Key) {
        let kept = self.answers.get(key).await;
        if kept.is_some_and(|answer| answer.given.elapsed() >= self.time) {
            self.answers.invalidate(key).await;
        }
    }
}
