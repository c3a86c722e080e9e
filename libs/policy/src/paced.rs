//! How often one object is looked at while things change: at once when it was quiet, then no
//! more than once in a while. What comes in between is not lost and is no reason to wait longer:
//! a debounce that each event begins anew never ends where events never end.

use std::{
    collections::{HashMap, hash_map::Entry},
    hash::Hash,
    time::Duration,
};

use futures::{FutureExt, Stream, StreamExt, future::BoxFuture, stream, stream::FuturesUnordered};

/// Lets the first of equal items through at once, and then one in each `rest`, as long as there
/// are more. Errors go through as they come.
///
/// What is held is one timer for each distinct item of the last `rest`.
pub fn paced<K, E>(
    items: impl Stream<Item = Result<K, E>> + Send + 'static,
    rest: Duration,
) -> impl Stream<Item = Result<K, E>> + Send + 'static
where
    K: Clone + Eq + Hash + Send + 'static,
    E: Send + 'static,
{
    let paced = Paced {
        items: items.boxed(),
        resting: HashMap::new(),
        timers: FuturesUnordered::new(),
        rest,
    };
    stream::unfold(paced, |mut paced| async move {
        let item = paced.next().await?;
        Some((item, paced))
    })
}

struct Paced<S, K> {
    items: S,
    resting: HashMap<K, Since>,
    timers: FuturesUnordered<BoxFuture<'static, K>>,
    rest: Duration,
}

/// What has come since an item was let through.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Since {
    Nothing,
    More,
}

impl<S, K, E> Paced<S, K>
where
    S: Stream<Item = Result<K, E>> + Unpin,
    K: Clone + Eq + Hash + Send + 'static,
{
    async fn next(&mut self) -> Option<Result<K, E>> {
        loop {
            let due = tokio::select! {
                // Timers first, or items that never end would keep them from being looked at.
                biased;
                Some(rested) = self.timers.next() => self.rested(rested),
                item = self.items.next() => match item? {
                    Ok(item) => self.came(item),
                    Err(error) => return Some(Err(error)),
                },
            };
            if let Some(item) = due {
                self.timers.push(after(self.rest, item.clone()));
                return Some(Ok(item));
            }
        }
    }

    fn rested(&mut self, item: K) -> Option<K> {
        match self.resting.remove(&item) {
            Some(Since::More) => {
                self.resting.insert(item.clone(), Since::Nothing);
                Some(item)
            }
            Some(Since::Nothing) | None => None,
        }
    }

    fn came(&mut self, item: K) -> Option<K> {
        match self.resting.entry(item) {
            Entry::Occupied(mut since) => {
                since.insert(Since::More);
                None
            }
            Entry::Vacant(free) => {
                let item = free.key().clone();
                free.insert(Since::Nothing);
                Some(item)
            }
        }
    }
}

fn after<K: Send + 'static>(rest: Duration, item: K) -> BoxFuture<'static, K> {
    tokio::time::sleep(rest).map(|()| item).boxed()
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, pin::pin};

    use tokio::time::{Instant, interval, timeout};

    use super::*;

    const REST: Duration = Duration::from_secs(1);

    type Item = Result<&'static str, Infallible>;

    /// An item every so often, without end.
    fn busy(item: &'static str, every: Duration) -> impl Stream<Item = Item> + Send + 'static {
        stream::unfold(interval(every), move |mut ticks| async move {
            ticks.tick().await;
            Some((Ok(item), ticks))
        })
    }

    /// The milliseconds after which items are let through, in a time.
    async fn times(items: impl Stream<Item = Item> + Send + 'static, time: Duration) -> Vec<u128> {
        let start = Instant::now();
        let mut paced = pin!(paced(items, REST));
        let mut seen = Vec::new();
        let watch = async {
            while let Some(Ok(_)) = paced.next().await {
                seen.push(start.elapsed().as_millis());
            }
        };
        // That it goes on for longer is what is tried here.
        let _ = timeout(time, watch).await;
        seen
    }

    #[tokio::test(start_paused = true)]
    async fn events_without_end_are_looked_at_at_once_and_then_once_in_a_rest() {
        let often = busy("policy", Duration::from_millis(59));
        let seen = times(often, Duration::from_millis(3500)).await;
        assert_eq!(seen, [0, 1000, 2000, 3000]);
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_of_a_burst_is_not_lost_and_one_event_is_one_look() {
        let burst = stream::iter(["policy"; 40].map(Ok)).chain(stream::pending());
        assert_eq!(times(burst, REST * 10).await, [0, 1000]);
        let single = stream::iter([Ok("policy")]).chain(stream::pending());
        assert_eq!(times(single, REST * 10).await, [0]);
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_is_busy_keeps_no_other_waiting() {
        let busy = busy("busy", Duration::from_millis(10));
        let other = stream::once(async {
            tokio::time::sleep(Duration::from_millis(1500)).await;
            Ok("other")
        });
        let start = Instant::now();
        let mut paced = pin!(paced(stream::select(busy, other), REST));
        let when = loop {
            match paced.next().await.unwrap() {
                Ok("other") => break start.elapsed().as_millis(),
                Ok(_) => {}
            }
        };
        assert_eq!(when, 1500);
    }
}
