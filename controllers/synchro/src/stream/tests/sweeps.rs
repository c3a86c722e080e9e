//! Streams of many clusters that are all listed over rows, as after a release with other rules, and a store that takes its time to say what it has.

use tokio::time::Instant;

use super::sink::{Comparing, Sinks};
use super::*;

const MEMBERS: usize = 40;
/// Behind so many whoever else asks the store for something waits.
const FEW: usize = 4;

/// Each has a row that its member lacks.
fn scenes(comparing: &Arc<Comparing>) -> Vec<Scene> {
    let scene = || {
        let scene = Scene::new();
        scene.member.answers_by(|request| match request {
            "list" => page(10, "", &[("a", 1)]),
            _ => Answer::ok("").that_stays_open(),
        });
        scene.sink.with(|stored| {
            stored.position = Some(MemberPosition {
                resource_version: "5".to_owned(),
                member: IDENTITY.to_owned(),
                phase: Phase::Listing,
            });
            stored.comparing = Some(Arc::clone(comparing));
        });
        scene
    };
    std::iter::repeat_with(scene).take(MEMBERS).collect()
}

fn run_all(scenes: &[Scene]) -> Vec<Act> {
    let sinks = scenes.iter().map(|scene| Arc::clone(&scene.sink));
    let shared = shared(Arc::new(Sinks(sinks.collect())));
    let run = |(id, scene): (i64, &Scene)| {
        let connected = scene.connect(&shared);
        scene.run_beside(Arc::clone(&shared), connected, (ClusterId(id), pods()))
    };
    (0..).zip(scenes).map(run).collect()
}

#[tokio::test(start_paused = true)]
async fn few_sweeps_stand_in_the_line_of_the_store_and_all_come_to_their_end() {
    let comparing = Comparing::that_takes(Duration::from_millis(100));
    let scenes = scenes(&comparing);
    let acts = run_all(&scenes);
    for scene in &scenes {
        scene.comes_to(&["n/a@1"], "Live@10").await;
    }
    assert_eq!(comparing.most(), FEW);
    for act in acts {
        act.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_ends_at_once_while_it_waits_for_its_sweep() {
    let comparing = Comparing::that_takes(Duration::from_secs(3600));
    let scenes = scenes(&comparing);
    let acts = run_all(&scenes);
    while scenes
        .iter()
        .any(|scene| scene.member.requests() != ["list"])
    {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let begun = Instant::now();
    for act in acts {
        act.end().await;
    }
    assert!(begun.elapsed() < Duration::from_secs(1));
}
