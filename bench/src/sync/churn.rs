//! Pods that change: at a rate, while some of the changes are looked for in searches, or as fast as they are taken.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use super::playing::Playing;
use super::stage::{self, Stage};
use super::stock::Stock;
use crate::percentiles::Percentiles;

/// Between two changes that are looked for.
const LOOKED_FOR: Duration = Duration::from_millis(50);
/// How often what is due is made up for.
const TICK: Duration = Duration::from_millis(10);
/// From one pod to the one that changes next: neighbours on a page do not change one after the other.
const STRIDE: usize = 7_919;

/// Changes of all members at once until this is dropped or taken in.
pub(super) struct Churn {
    tasks: JoinSet<usize>,
}

impl Churn {
    /// So many changes in a second over all members, or as many as they take, for so long.
    pub(super) fn start(playing: &Playing, rate: Option<usize>, length: Duration) -> Self {
        let mut tasks = JoinSet::new();
        let members = playing.stock.members();
        for member in 0..members {
            let stock = Arc::clone(&playing.stock);
            tasks.spawn(change(
                stock,
                member,
                rate.map(|rate| rate / members),
                length,
            ));
        }
        Self { tasks }
    }

    /// Waits until it is over; gives how many changes there were.
    pub(super) async fn end(self) -> usize {
        self.tasks.join_all().await.into_iter().sum()
    }
}

async fn change(stock: Arc<Stock>, member: usize, rate: Option<usize>, length: Duration) -> usize {
    let pods = stock.pods() / stock.members();
    let begun = Instant::now();
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut made = 0;
    while begun.elapsed() < length {
        let due = match rate {
            Some(rate) => {
                ticks.tick().await;
                (begun.elapsed().as_millis() as usize * rate / 1_000).saturating_sub(made)
            }
            None => 1,
        };
        for _ in 0..due {
            stock.change(member, made * STRIDE % pods).await;
            made += 1;
        }
    }
    made
}

/// How long changes took from the member to a search, looked for over this time.
pub(super) async fn freshness(
    stage: &Stage,
    playing: &Playing,
    length: Duration,
) -> Result<Percentiles> {
    let stock = &playing.stock;
    let pods = stock.pods() / stock.members();
    let begun = Instant::now();
    let mut ticks = tokio::time::interval(LOOKED_FOR);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut took = Vec::new();
    while begun.elapsed() < length {
        ticks.tick().await;
        let number = took.len();
        let (member, pod) = (number % stock.members(), number * STRIDE % pods);
        let path = stage::path(member, &stock.named(member, pod)?);
        let changed = stock.change(member, pod).await;
        let found = stage.until_found(&path, changed.version).await?;
        took.push(found - changed.at);
    }
    Ok(Percentiles::of(took))
}
