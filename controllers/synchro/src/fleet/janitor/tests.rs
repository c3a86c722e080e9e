//! How the janitor paces its steps: a store whose purges come to what a test says, and a clock that stands still.

use armadex_storage::Purged;

use super::*;
use crate::config::Config;
use crate::testing::{Stage, unavailable};

#[test]
fn half_of_the_time_is_left_to_others() {
    assert_eq!(rest_after(SPELL / 2), Duration::ZERO);
    assert_eq!(rest_after(2 * SPELL), 2 * SPELL);
    assert_eq!(rest_after(9 * LONGEST_REST), LONGEST_REST);
}

/// A janitor that works on this stage, once the PediaClusters are listed.
async fn janitor(purge_after: Duration) -> (Stage, Arc<Shared>, CancellationToken) {
    let stage = Stage::new().await;
    let config = Config {
        purge_after,
        ..Config::default()
    };
    let shared = Arc::new(Shared::new(Arc::clone(&stage.breaking) as _, "one", config));
    shared.listed.cancel();
    tokio::time::pause();
    (stage, shared, CancellationToken::new())
}

/// Waits until so many purges were asked for.
async fn until_purged(stage: &Stage, times: usize) {
    let wait = async {
        while stage.breaking.purges().len() < times {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let waited = tokio::time::timeout(10 * PERIOD, wait).await;
    assert!(waited.is_ok(), "{:?}", stage.breaking.purges());
}

fn step(objects: u64, finished: bool) -> Purged {
    Purged {
        objects,
        finished,
        took: SPELL / 4,
        ..Purged::default()
    }
}

#[tokio::test]
async fn what_left_is_removed_step_by_step_whatever_the_store_says_in_between() {
    let grace = Duration::from_secs(900);
    let (stage, shared, cancel) = janitor(grace).await;
    let steps = [
        Ok(step(2000, false)),
        Err(unavailable()),
        Ok(step(2000, false)),
        Ok(step(5, true)),
    ];
    stage.breaking.purges_come_to(steps);
    let janitor = tokio::spawn(run(Arc::clone(&shared), cancel.clone()));
    until_purged(&stage, 4).await;
    let purges = stage.breaking.purges();
    // Whatever left before may come back yet.
    assert!(
        purges
            .iter()
            .all(|purge| (purge.limit, purge.grace) == (STEP, Duration::MAX))
    );
    let waited = purges[2].at - purges[1].at;
    assert!(
        waited >= Duration::from_millis(500),
        "a store that fails has time: {waited:?}"
    );
    let worked = purges[3].at - purges[2].at;
    assert!(worked <= 2 * SPELL, "one that works has not: {worked:?}");

    until_purged(&stage, 5).await;
    assert_eq!(shared.metrics.purged.get(), 4005);
    let purges = stage.breaking.purges();
    let quiet = purges[4].at - purges[3].at;
    assert!(
        quiet >= PERIOD.mul_f64(0.79) && quiet <= PERIOD.mul_f64(1.21),
        "{quiet:?}"
    );
    cancel.cancel();
    janitor.await.expect("no panic");
}

/// Behind what others write each step waits for its turn longer than it takes.
#[tokio::test]
async fn a_step_that_waited_for_its_turn_is_followed_as_soon_as_one_that_did_not() {
    let (stage, shared, cancel) = janitor(PERIOD).await;
    let took = 2 * SPELL;
    let steps = [1, 2, 3].map(|_| {
        Ok(Purged {
            took,
            ..Purged::default()
        })
    });
    stage.breaking.purges_come_to(steps);
    let waits = 8 * SPELL;
    stage.breaking.purges_wait_for(waits);
    let janitor = tokio::spawn(run(Arc::clone(&shared), cancel.clone()));
    until_purged(&stage, 4).await;
    let purges = stage.breaking.purges();
    for pair in purges.windows(2) {
        let apart = pair[1].at - pair[0].at;
        assert!(
            apart >= waits + took && apart < waits + 2 * took,
            "{apart:?}"
        );
    }
    cancel.cancel();
    janitor.await.expect("no panic");
}

/// What is written would be more than goes.
#[tokio::test]
async fn a_step_that_is_behind_what_is_written_is_followed_at_once() {
    let (stage, shared, cancel) = janitor(PERIOD).await;
    let took = 2 * LONGEST_REST;
    let step = |is_behind| {
        Ok(Purged {
            took,
            is_behind,
            ..Purged::default()
        })
    };
    stage
        .breaking
        .purges_come_to([step(true), step(true), step(false)]);
    let janitor = tokio::spawn(run(Arc::clone(&shared), cancel.clone()));
    until_purged(&stage, 4).await;
    let purges = stage.breaking.purges();
    let apart = purges.windows(2).map(|pair| pair[1].at - pair[0].at);
    let apart = Vec::from_iter(apart);
    assert_eq!(apart[..2], [Duration::ZERO; 2]);
    assert!(apart[2] >= LONGEST_REST, "{apart:?}");
    cancel.cancel();
    janitor.await.expect("no panic");
}

#[tokio::test]
async fn what_is_kept_for_no_time_is_looked_for_all_the_time() {
    let (stage, shared, cancel) = janitor(Duration::ZERO).await;
    stage.breaking.purges_come_to([]);
    let janitor = tokio::spawn(run(Arc::clone(&shared), cancel.clone()));
    until_purged(&stage, 2).await;
    let purges = stage.breaking.purges();
    let quiet = purges[1].at - purges[0].at;
    assert!(quiet <= SHORTEST_PERIOD.mul_f64(1.21), "{quiet:?}");
    cancel.cancel();
    janitor.await.expect("no panic");
}

#[tokio::test]
async fn what_leaves_is_looked_for_at_once() {
    let (stage, shared, cancel) = janitor(PERIOD).await;
    stage.breaking.purges_come_to([]);
    let janitor = tokio::spawn(run(Arc::clone(&shared), cancel.clone()));
    until_purged(&stage, 1).await;
    shared.purge.notify_one();
    let begun = Instant::now();
    until_purged(&stage, 2).await;
    assert!(begun.elapsed() < Duration::from_secs(1));
    cancel.cancel();
    janitor.await.expect("no panic");
}

#[tokio::test]
async fn nobody_waits_for_a_janitor_that_rests() {
    let (stage, shared, cancel) = janitor(PERIOD).await;
    stage.breaking.purges_come_to([Err(unavailable())]);
    let janitor = tokio::spawn(run(Arc::clone(&shared), cancel.clone()));
    until_purged(&stage, 1).await;
    // What is hidden meanwhile is no reason to try a store that fails.
    shared.purge.notify_one();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(stage.breaking.purges().len(), 1);
    let begun = Instant::now();
    cancel.cancel();
    janitor.await.expect("no panic");
    assert!(begun.elapsed() < Duration::from_millis(100));
}
