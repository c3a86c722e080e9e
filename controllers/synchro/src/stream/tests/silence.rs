//! Watches that say nothing: nothing happens, or nobody is there to tell it while something on the way keeps them open.

use super::*;
use crate::told::tally::BEHIND;

/// A member whose first watch brings this and then nothing, for ever, and whose next one tells of what came meanwhile. It says
/// that it is at version 1000.
fn of_which_nothing_is_heard_after(first: &str) -> Scene {
    that_watches(Answer::ok(first).that_stays_open())
}

/// The same, of a first watch that ends in some way.
fn that_watches(first: Answer) -> Scene {
    let scene = Scene::new();
    scene.member.lists([page(10, "", &[("a", 1)])]);
    let missed = event("ADDED", &pod("missed", 500));
    let second = Answer::ok(missed).that_stays_open();
    scene.member.watches([first, second]);
    scene
}

/// Waits for the second watch, which may take as long as the first one lasts, and gives the requests.
async fn until_watched_again(scene: &Scene) -> Vec<String> {
    for _ in 0..1000 {
        let requests = scene.member.requests();
        if requests.len() == 3 {
            return requests;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    panic!("{:?}", scene.member.requests());
}

/// Whether that the first watch says nothing is taken for that nothing happened, before it may be over.
async fn is_believed(act: &Act) -> bool {
    let believed = act.report.place().reaches("1000");
    let in_time = tokio::time::timeout(Duration::from_secs(119), believed);
    in_time.await.is_ok()
}

#[tokio::test(start_paused = true)]
async fn what_a_watch_missed_that_was_dead_is_told_by_the_next() {
    let scene = of_which_nothing_is_heard_after("");
    let act = scene.run();
    assert!(is_believed(&act).await);
    let requests = until_watched_again(&scene).await;
    assert_eq!(requests, ["list", "watch@10", "watch@10"]);
    scene.comes_to(&["n/a@1", "n/missed@500"], "Live@500").await;
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_was_believed_of_a_watch_that_does_not_end_in_time_is_taken_back() {
    // After it was believed, and before the shortest may be over.
    let late = Duration::from_secs(110);
    let ends: [fn(Answer, Duration) -> Answer; 2] =
        [Answer::that_breaks_after, Answer::that_ends_after];
    for ends in ends {
        let scene = that_watches(ends(Answer::ok(""), late));
        let act = scene.run();
        assert!(is_believed(&act).await);
        let requests = until_watched_again(&scene).await;
        assert_eq!(requests, ["list", "watch@10", "watch@10"]);
        scene.comes_to(&["n/a@1", "n/missed@500"], "Live@500").await;
        act.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_only_believed_is_never_stored() {
    let scene = Scene::new();
    scene.member.lists([page(10, "", &[("a", 1)])]);
    // Longer than a position waits for being stored, and shorter than any watch that comes after one that ended in time.
    let late = Duration::from_secs(450);
    let ends_early = Answer::ok("").that_ends_after(late);
    let in_time = Answer::ok("").that_ends_in_time();
    scene.member.watches([in_time, ends_early]);
    let act = scene.run();
    let requests = until_watched_again(&scene).await;
    assert_eq!(requests, ["list", "watch@10", "watch@1000"]);
    scene.member.set_present("2000");
    tokio::time::sleep(late - Duration::from_secs(10)).await;
    act.report.place().reaches("2000").await;
    // The watch that ended in time has proved what was believed of it.
    assert_eq!(scene.sink.with(|stored| stored.place()), "Live@1000");
    // It does not say any more whether it would go on from there.
    scene.member.hangs_when_asked_for(["pods".to_owned()]);
    scene.comes_to(&["n/a@1"], "Live@1000").await;
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_was_only_believed_is_not_stored_by_who_is_cancelled() {
    let scene = of_which_nothing_is_heard_after("");
    let act = scene.run();
    assert!(is_believed(&act).await);
    act.end().await;
    assert_eq!(scene.sink.with(|stored| stored.place()), "Live@10");
}

#[tokio::test(start_paused = true)]
async fn a_late_event_refutes_what_was_believed() {
    let late = Duration::from_secs(110);
    let line = event("ADDED", &pod("late", 500));
    let scene = that_watches(Answer::ok("").and_then(late, &line).that_stays_open());
    let act = scene.run();
    assert!(is_believed(&act).await);
    let stored = || {
        scene
            .sink
            .with(|stored| stored.shown().contains(&"n/late@500".to_owned()))
    };
    while !stored() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // Others of that time may follow.
    assert_eq!(scene.sink.with(|stored| stored.place()), "Live@10");
    scene.comes_to(&["n/a@1", "n/late@500"], "Live@500").await;
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn half_a_line_is_no_sign_of_life_for_ever() {
    let line = event("ADDED", &pod("b", 11)) + &event("MODIFIED", &pod("b", 12));
    // The second line breaks off, and the version of the first is never known to be complete.
    let scene = of_which_nothing_is_heard_after(&line[..line.len() - 20]);
    let act = scene.run();
    let requests = until_watched_again(&scene).await;
    assert_eq!(requests, ["list", "watch@10", "watch@10"]);
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn watches_that_die_together_are_told_of_in_the_same_words() {
    for (first, words) in [
        ("", "no word of the watch within 30 s"),
        (&*bookmark(20), "no word of the watch within 150 s"),
    ] {
        let scene = of_which_nothing_is_heard_after(first);
        let act = scene.run();
        act.says(ResourceSyncStatus::Syncing).await;
        let told = tokio::time::timeout(Duration::from_secs(1000), async {
            while act.report.shown().status != ResourceSyncStatus::Error {
                act.changed.notified().await;
            }
        });
        told.await.expect("it is told");
        assert_eq!(act.report.shown().message, words);
        act.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_whose_bookmarks_stay_away_is_dead() {
    let scene = of_which_nothing_is_heard_after(&bookmark(20));
    let begun = tokio::time::Instant::now();
    let act = scene.run();
    let requests = until_watched_again(&scene).await;
    assert_eq!(requests, ["list", "watch@10", "watch@20"]);
    // Twice the time between two of them, unless it was to last for less.
    let took = begun.elapsed().as_secs();
    assert!((149..=153).contains(&took), "{took} s");
    scene.comes_to(&["n/a@1", "n/missed@500"], "Live@500").await;
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn silence_behind_a_proxy_that_sees_no_ping_moves_no_position() {
    let scene = of_which_nothing_is_heard_after("");
    let shared = shared(Arc::clone(&scene.sink) as Arc<dyn Sink>);
    let lists = ClusterTurns::new(Arc::clone(&shared.lists));
    let member = scene.member.connect_behind_a_proxy();
    let (identity, memory) = (Identity::stored(IDENTITY), shared.memory_of_cluster());
    let connected = Connected::new(member, identity, Arc::new(lists), Arc::default(), memory);
    let act = scene.run_beside(shared, Arc::new(connected), (ClusterId(1), pods()));
    assert!(!is_believed(&act).await);
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_is_read_while_it_is_asked_how_far_it_is() {
    let scene = Scene::new();
    scene.member.lists([page(10, "", &[("a", 1)])]);
    scene.member.hangs_when_asked_for(["pods".to_owned()]);
    let (silent, line) = (Duration::from_secs(80), event("ADDED", &pod("b", 11)));
    let late = Answer::ok("").and_then(silent, &line).that_stays_open();
    scene.member.watches([late]);
    let act = scene.run();
    tokio::time::sleep(silent).await;
    scene.comes_to(&["n/a@1", "n/b@11"], "Live@11").await;
    act.end().await;
}

/// Of a kind without bookmarks nothing else tells it.
#[tokio::test(start_paused = true)]
async fn a_quiet_kind_whose_watches_are_cut_off_on_the_way_is_not_behind() {
    for cut in [10, 60, 90].map(Duration::from_secs) {
        let scene = Scene::new();
        scene.member.answers_by(move |request| match request {
            "list" => page(10, "", &[("a", 1)]),
            _ => Answer::ok("").that_ends_after(cut),
        });
        scene.member.set_present("1000");
        let act = scene.run();
        tokio::time::sleep(2 * cut).await;
        let then = jiff::Timestamp::now();
        tokio::time::sleep(BEHIND).await;
        let tally = act.report.shown().tally;
        let proved = tally.behind_since(jiff::Timestamp::now(), Duration::ZERO);
        assert!(proved > Some(then), "{proved:?} {then}");
        act.end().await;
    }
}
