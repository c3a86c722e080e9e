//! What is taken in of members that flood while the store stands still.

use super::sink::Sinks;
use super::*;

const BUDGET: usize = 256 << 10;
const MEMBERS: usize = 20;
/// What each of them sends, if it may.
const FLOOD: usize = 1 << 20;
/// What one reads ahead.
const AHEAD: usize = 64 << 10;

fn flood() -> String {
    let mut lines = String::new();
    for number in 0.. {
        if lines.len() >= FLOOD {
            break;
        }
        lines += &event("ADDED", &pod(&format!("p{number}"), 11));
    }
    lines
}

#[tokio::test(start_paused = true)]
async fn no_more_is_taken_in_than_there_is_room_for_while_the_store_stands_still() {
    let scenes: Vec<_> = (0..MEMBERS).map(|_| Scene::new()).collect();
    let sinks = scenes.iter().map(|scene| Arc::clone(&scene.sink));
    let config = Config {
        max_object_bytes: 4096,
        memory_budget: BUDGET,
        ..Config::default()
    };
    let sinks = Sinks(sinks.collect());
    let shared = Arc::new(Shared::new(Arc::new(sinks), "", config));
    let mut acts = Vec::new();
    for (id, scene) in (0..).zip(&scenes) {
        scene.member.lists([page(10, "", &[])]);
        let flood = Answer::ok(flood()).that_stays_open();
        let later = Duration::from_secs(5);
        scene.member.watches([flood.that_comes_after(later)]);
        let connected = scene.connect(&shared);
        let of = (ClusterId(id), pods());
        acts.push(scene.run_beside(Arc::clone(&shared), connected, of));
    }
    for scene in &scenes {
        scene.comes_to(&[], "Live@10").await;
        scene.sink.with(|stored| {
            let away = || StoreError::Unavailable {
                reason: "it is being restarted".into(),
                source: "closed".into(),
            };
            stored.faults.extend(std::iter::repeat_with(away).take(100));
        });
    }
    // Before the watches are given up, which begin anew.
    tokio::time::sleep(Duration::from_secs(8)).await;
    let received = acts.iter().map(|act| act.metrics.received_bytes.get());
    let received = usize::try_from(received.sum::<u64>()).expect("a number");
    let room = BUDGET + MEMBERS * AHEAD;
    assert!(received > BUDGET / 2, "{received}: they flood");
    assert!(received <= room, "{received} instead of {room}");
    for act in acts {
        act.end().await;
    }
}
