//! Tokens that were shown: what the host said of each is kept for a moment, and what it has not said yet is asked in turns.

use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::token_review::TokenReviewer;
use crate::caller::identity::Identity;
use crate::caller::kept::{Kept, Key};
use crate::caller::questions::Questions;
use crate::caller::review::ReviewFailed;
use crate::turns::{Asker, TurnSizes};

/// A revoked token works this much longer, as with a kube-apiserver's own delegates; one that is nobody's is not asked about again.
const KEPT: Duration = Duration::from_secs(10);
/// Answers of some hundred bytes each: a few megabytes at most. Those of tokens that are nobody's are counted by themselves, so that
/// junk pushes no owner out.
const MAX_KEPT: u64 = 10_000;

/// Strangers and those who have proved who they are have a line each, so that the former do not keep the latter out. At 5 ms for a
/// review, each has 3,200 new tokens a second, and one asker 800. An asker in line is a request that waits: as many as one connection
/// may bring. Four such askers fill a line and then make room for others: a fifth connection gets its place.
const TURNS: TurnSizes = TurnSizes {
    at_once: 16,
    at_once_per_asker: 4,
    in_line: 400,
    in_line_per_asker: 100,
};

/// Whose tokens are.
pub(super) struct Tokens {
    reviewer: Arc<dyn TokenReviewer>,
    /// By the token's hash: the token itself is not kept.
    owners: Kept<Arc<Identity>>,
    /// Tokens that are nobody's.
    junk: Kept<()>,
    strangers: Questions,
    known: Questions,
}

/// Why there is no owner.
#[derive(Clone, Debug)]
enum NoOwner {
    Nobody,
    Unknown(ReviewFailed),
}

impl From<ReviewFailed> for NoOwner {
    fn from(error: ReviewFailed) -> Self {
        Self::Unknown(error)
    }
}

impl Tokens {
    pub(super) fn new(reviewer: Arc<dyn TokenReviewer>) -> Self {
        Self {
            reviewer,
            owners: Kept::new(MAX_KEPT, KEPT),
            junk: Kept::new(MAX_KEPT, KEPT),
            strangers: Questions::new(TURNS),
            known: Questions::new(TURNS),
        }
    }

    /// The owner of a token; `None` if it is nobody's.
    pub(super) async fn owner(
        &self,
        token: &str,
        asker: &Asker,
    ) -> Result<Option<Arc<Identity>>, ReviewFailed> {
        let key: Key = Sha256::digest(token).into();
        if self.junk.known(&key).await.is_some() {
            return Ok(None);
        }
        if let Some(owner) = self.owners.known(&key).await {
            return Ok(Some(owner));
        }
        let place = self.line_of(asker).enter(asker)?;
        // Those who show one token at the same time wait for one answer.
        let (reviewer, junk) = (Arc::clone(&self.reviewer), self.junk.clone());
        let token = token.to_owned();
        let question = async move {
            match reviewer.review(&token).await? {
                Some(owner) => Ok(Arc::new(owner)),
                None => {
                    junk.keep(key, ()).await;
                    Err(NoOwner::Nobody)
                }
            }
        };
        match self.owners.answer_in_turn(key, place, question).await {
            Ok(owner) => Ok(Some(owner)),
            Err(NoOwner::Nobody) => Ok(None),
            Err(NoOwner::Unknown(error)) => Err(error),
        }
    }

    fn line_of(&self, asker: &Asker) -> &Questions {
        match asker.is_stranger() {
            true => &self.strangers,
            false => &self.known,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use async_trait::async_trait;
    use futures::FutureExt as _;
    use futures::future::join_all;

    use super::*;

    /// Counts what it is asked. Never answers about `slow…`; `junk…` is nobody's; every other token is its own owner's.
    #[derive(Default)]
    struct Host(AtomicUsize);

    #[async_trait]
    impl TokenReviewer for Host {
        async fn review(&self, token: &str) -> Result<Option<Identity>, ReviewFailed> {
            self.0.fetch_add(1, Ordering::Relaxed);
            if token.starts_with("slow") {
                futures::future::pending::<()>().await;
            }
            Ok((!token.starts_with("junk")).then(|| Identity {
                user: token.to_owned(),
                ..Identity::default()
            }))
        }
    }

    fn tokens() -> (Tokens, Arc<Host>) {
        let host = Arc::new(Host::default());
        (Tokens::new(Arc::clone(&host) as _), host)
    }

    fn from(address: u8, number: u64) -> Asker {
        Asker::stranger([10, 0, 0, address].into(), number)
    }

    fn user(name: &str) -> Asker {
        Asker::user(name)
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_kept_for_ten_seconds_whatever_it_is() {
        let (tokens, host) = tokens();
        let alice = user("alice");
        for (seconds, token, asked) in [
            (0, "junk", 1),
            (0, "carol", 2),
            (9, "junk", 2),
            (0, "carol", 2),
            (1, "junk", 3),
            (0, "carol", 4),
        ] {
            tokio::time::advance(Duration::from_secs(seconds)).await;
            let owner = tokens.owner(token, &alice).await.expect("an answer");
            assert_eq!(owner.is_some(), token == "carol");
            assert_eq!(host.0.load(Ordering::Relaxed), asked, "{token}");
        }
    }

    #[tokio::test]
    async fn a_token_that_many_show_at_once_is_asked_about_once() {
        let (tokens, host) = tokens();
        let alice = user("alice");
        let shown = join_all((0..50).map(|_| tokens.owner("carol", &alice))).await;
        assert!(shown.iter().all(|owner| matches!(owner, Ok(Some(_)))));
        assert_eq!(host.0.load(Ordering::Relaxed), 1);
    }

    /// The first of many, polled until each has got as far as it gets.
    async fn flood(tokens: &Tokens, askers: impl Iterator<Item = Asker>) -> (usize, usize) {
        let asking = askers.enumerate().map(|(number, asker)| async move {
            let token = format!("slow{number}");
            tokens
                .owner(&token, &asker)
                .await
                .err()
                .map(|error| match error {
                    ReviewFailed::Crowded => "all",
                    ReviewFailed::CrowdedByAsker => "one",
                    ReviewFailed::Unanswered(_) => "unanswered",
                })
        });
        let mut asking: Vec<_> = asking.map(Box::pin).collect();
        let (mut of_all, mut of_one) = (0, 0);
        for one in &mut asking {
            match one.as_mut().now_or_never() {
                Some(Some("all")) => of_all += 1,
                Some(Some("one")) => of_one += 1,
                Some(other) => panic!("{other:?}"),
                None => {}
            }
        }
        // Others are served while all of these wait.
        let dave = tokens.owner("dave", &user("dave")).await;
        assert!(matches!(dave, Ok(Some(_))));
        (of_all, of_one)
    }

    #[tokio::test]
    async fn a_user_who_shows_token_after_token_is_turned_away_and_keeps_nobody_else_waiting() {
        let (tokens, host) = tokens();
        let refused = flood(&tokens, (0..1000).map(|_| user("alice"))).await;
        assert_eq!(refused, (0, 900));
        // Four of hers, and the other's.
        assert_eq!(host.0.load(Ordering::Relaxed), 5);
    }

    #[tokio::test]
    async fn a_stranger_finds_a_place_in_a_line_that_others_have_filled() {
        let (tokens, _) = tokens();
        let shown: Vec<String> = (0..400).map(|number| format!("slow{number}")).collect();
        let mut asking: Vec<_> = (0..)
            .zip(&shown)
            .map(|(number, token)| {
                let asker = from(1, number % 4);
                let tokens = &tokens;
                Box::pin(async move { tokens.owner(token, &asker).await })
            })
            .collect();
        for one in &mut asking {
            assert!(one.as_mut().now_or_never().is_none());
        }
        let newcomer = from(1, 4);
        let mut owner = Box::pin(tokens.owner("carol", &newcomer));
        assert!(owner.as_mut().now_or_never().is_none(), "it waits");
        let left = asking
            .iter_mut()
            .filter_map(|one| one.as_mut().now_or_never());
        assert!(matches!(
            left.collect::<Vec<_>>()[..],
            [Err(ReviewFailed::Crowded)]
        ));
    }

    /// Takes 20 ms to answer, and counts what it was asked and what was broken off.
    #[derive(Default)]
    struct Busy {
        asked: AtomicUsize,
        answered: AtomicUsize,
    }

    #[async_trait]
    impl TokenReviewer for Busy {
        async fn review(&self, _: &str) -> Result<Option<Identity>, ReviewFailed> {
            self.asked.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(20)).await;
            self.answered.fetch_add(1, Ordering::Relaxed);
            Ok(Some(Identity::default()))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_goes_away_breaks_off_no_review_and_frees_no_turn() {
        let host = Arc::new(Busy::default());
        let tokens = Tokens::new(Arc::clone(&host) as _);
        let alice = user("alice");
        for number in 0..500 {
            let token = number.to_string();
            let shown = tokens.owner(&token, &alice);
            let waited = tokio::time::timeout(Duration::from_millis(2), shown).await;
            assert!(waited.is_err());
        }
        // A second of four turns.
        let asked = host.asked.load(Ordering::Relaxed);
        assert!((4..=200).contains(&asked), "{asked} were asked");
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert_eq!(host.answered.load(Ordering::Relaxed), asked);
        // The answer to a question that nobody waited for is kept.
        let owner = tokens.owner("0", &alice).await;
        assert!(matches!(owner, Ok(Some(_))));
        assert_eq!(host.asked.load(Ordering::Relaxed), asked);
    }

    #[tokio::test]
    async fn strangers_have_a_line_of_their_own_and_those_of_one_address_do_not_fill_it() {
        let (tokens, host) = tokens();
        let askers = (0..1000).map(|number| from(1, number % 50));
        let refused = flood(&tokens, askers).await;
        assert_eq!(refused, (600, 0));
        // Twelve of theirs, and the other's.
        assert_eq!(host.0.load(Ordering::Relaxed), 13);
        let shown: Vec<String> = (0..400).map(|number| format!("slow{number}")).collect();
        let mut asking: Vec<_> = (0..)
            .zip(&shown)
            .map(|(number, token)| {
                let (asker, tokens) = (from(1, number), &tokens);
                Box::pin(async move { tokens.owner(token, &asker).await })
            })
            .collect();
        for one in &mut asking {
            assert!(one.as_mut().now_or_never().is_none());
        }
        let owner = tokens.owner("erin", &from(2, 1000)).await;
        assert!(matches!(owner, Ok(Some(_))));
    }
}
