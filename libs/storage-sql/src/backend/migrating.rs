//! A schema that others change as well, or whose tables they use: it is tried again and again, and they are left time in between.

use std::time::Duration;

use armadex_backoff::Backoff;
use armadex_storage::StoreError;
use async_trait::async_trait;
use tokio::time::Instant;

use super::error::is_collision;

/// How long a process begins again that met others at the same work, or who uses a table that is to be changed: another may build the indexes of a large
/// store.
const PATIENCE: Duration = Duration::from_secs(600);
const FIRST_PAUSE: Duration = Duration::from_millis(20);
/// So long all who search get on with theirs at least, half of it by chance.
const LAST_PAUSE: Duration = Duration::from_secs(10);

/// A schema that is brought up to date.
#[async_trait]
pub(super) trait Migrating: Send {
    /// Does it, unless it is done.
    async fn migrate_once(&mut self) -> Result<(), StoreError>;

    /// Says for whom it is waited, after a try that met somebody.
    async fn tell(&mut self);
}

/// Brings a schema up to date, however often others are met.
pub(super) async fn migrate(schema: &mut dyn Migrating) -> Result<(), StoreError> {
    let begun = Instant::now();
    let mut backoff = Backoff::new(FIRST_PAUSE, LAST_PAUSE);
    loop {
        let done = schema.migrate_once().await;
        if !done.as_ref().is_err_and(is_collision) || begun.elapsed() >= PATIENCE {
            return done;
        }
        schema.tell().await;
        tokio::time::sleep(backoff.next(rand::random())).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::error::{broken, collided};

    /// Meets others so often before it is told this.
    struct Met {
        others: usize,
        tries: usize,
        told: usize,
        end: fn() -> Result<(), StoreError>,
    }

    #[async_trait]
    impl Migrating for Met {
        async fn migrate_once(&mut self) -> Result<(), StoreError> {
            self.tries += 1;
            match self.tries > self.others {
                true => (self.end)(),
                false => Err(collided("others were there")),
            }
        }

        async fn tell(&mut self) {
            self.told += 1;
        }
    }

    fn met(others: usize, end: fn() -> Result<(), StoreError>) -> Met {
        Met {
            others,
            tries: 0,
            told: 0,
            end,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_begun_again_until_nobody_is_met() {
        let mut schema = met(7, || Ok(()));
        assert!(migrate(&mut schema).await.is_ok());
        assert_eq!((schema.tries, schema.told), (8, 7));
        let mut schema = met(1, || Err(broken("something else")));
        assert!(migrate(&mut schema).await.is_err());
        assert_eq!((schema.tries, schema.told), (2, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn patience_ends() {
        let (mut schema, begun) = (met(usize::MAX, || Ok(())), Instant::now());
        assert!(is_collision(&migrate(&mut schema).await.expect_err("met")));
        assert!(begun.elapsed() >= PATIENCE && begun.elapsed() < PATIENCE + LAST_PAUSE);
        assert!(schema.tries < 200, "{}", schema.tries);
    }
}
