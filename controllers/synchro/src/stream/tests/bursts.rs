//! Pages that come in bursts and stop, of as many members as may be read on without a turn: what they leave of the memory to the others.

use super::sink::{Sinks, Stored};
use super::*;

const BUDGET: usize = 4 << 20;
/// Members whose pages stop; together they send four times as much as there is room for.
const MEMBERS: usize = 32;
/// What one object takes, about.
const OBJECT: usize = 2 << 10;
/// Together less than a batch.
const OBJECTS: usize = 200;
/// What the watch of another brings.
const LARGE: usize = 512 << 10;

/// Part of a page.
fn pods_of(numbers: std::ops::Range<usize>) -> String {
    let filled = |number| {
        let filling = "x".repeat(OBJECT);
        format!(
            r#"{{"metadata":{{"name":"p{number}","namespace":"n","resourceVersion":"1","annotations":{{"a":"{filling}"}}}}}},"#
        )
    };
    numbers.map(filled).collect()
}

/// A page that brings what it does with its turn and is silent for as long as it may, or when it has lost it and with a blank now and then.
fn stops(early: bool) -> Answer {
    const HEAD: &str = r#"{"kind":"PodList","metadata":{"resourceVersion":"10"},"items":["#;
    let many = pods_of(1..OBJECTS);
    let first = HEAD.to_owned() + &pods_of(0..1);
    match early {
        true => Answer::ok(first + &many)
            .and_then(Duration::from_secs(29), " ")
            .that_stays_open(),
        false => Answer::ok(first)
            .and_then(Duration::from_secs(2), &many)
            .that_trickles_every(Duration::from_millis(700)),
    }
}

#[tokio::test(start_paused = true)]
async fn pages_that_stop_leave_room_to_the_watches_of_others() {
    let scenes: Vec<_> = (0..=MEMBERS).map(|_| Scene::new()).collect();
    let sinks = scenes.iter().map(|scene| Arc::clone(&scene.sink));
    let config = Config {
        max_object_bytes: LARGE,
        memory_budget: BUDGET,
        ..Config::default()
    };
    let sinks = Sinks(sinks.collect());
    let shared = Arc::new(Shared::new(Arc::new(sinks), "", config));
    let run = |id: usize, scene: &Scene| {
        let of = (ClusterId(id.try_into().expect("a number")), pods());
        scene.run_beside(Arc::clone(&shared), scene.connect(&shared), of)
    };
    let (watched, stopping) = scenes.split_last().expect("one at least");
    watched.member.lists([page(10, "", &[])]);
    let later = Duration::from_secs(25);
    let filling = "x".repeat(LARGE / 2);
    let large = format!(
        r#"{{"metadata":{{"name":"new","namespace":"n","resourceVersion":"11","annotations":{{"a":"{filling}"}}}}}}"#
    );
    let added = event("ADDED", &large);
    let watch = Answer::ok("").and_then(later, &added).that_stays_open();
    watched.member.watches([watch]);
    let mut acts = vec![run(MEMBERS, watched)];
    watched.comes_to(&[], "Live@10").await;
    for (id, scene) in stopping.iter().enumerate() {
        scene.member.lists([stops(id.is_multiple_of(2))]);
        acts.push(run(id, scene));
    }
    tokio::time::sleep(later).await;
    let is_new = |stored: &Stored| stored.shown() == ["n/new@11"];
    watched.sink.until("an event".to_owned(), is_new).await;
    for scene in stopping {
        let stored = scene.sink.with(|stored| stored.rows.len());
        assert!(stored > OBJECTS * 3 / 4, "{stored} of {OBJECTS}");
    }
    for act in acts {
        act.end().await;
    }
}
