//! Lists that come as the beginning of a watch, and members that do not know them.

use super::*;
use crate::testing::warnings;

/// Shared by streams that ask for such lists.
fn asking(sink: &Arc<MemorySink>) -> Arc<Shared> {
    let config = Config {
        max_object_bytes: 4096,
        streaming_lists: true,
        ..Config::default()
    };
    let sink = Arc::clone(sink) as Arc<dyn Sink>;
    Arc::new(Shared::new(sink, "", config))
}

impl Scene {
    fn run_asking(&self) -> Act {
        let shared = asking(&self.sink);
        let connected = self.connect(&shared);
        self.run_beside(shared, connected, (ClusterId(1), pods()))
    }
}

fn added(pods: &[(&str, u32)]) -> String {
    let events = pods.iter();
    let events = events.map(|(name, version)| event("ADDED", &pod(name, *version)));
    events.collect()
}

/// The bookmark behind all that there was.
fn end(version: u32) -> String {
    let annotations = r#""annotations":{"k8s.io/initial-events-end":"true"}"#;
    let object = format!(r#"{{"metadata":{{"resourceVersion":"{version}",{annotations}}}}}"#);
    event("BOOKMARK", &object)
}

#[tokio::test]
async fn a_list_and_the_watch_after_it_are_one_request() {
    let scene = Scene::new();
    let told = added(&[("a", 1), ("b", 9)]) + &end(10) + &added(&[("c", 11)]);
    let then = event("DELETED", &pod("a", 12)) + &bookmark(12);
    let told = Answer::ok(told).and_then(Duration::ZERO, &then);
    scene.member.lists([told.that_stays_open()]);
    let act = scene.run_asking();
    scene.comes_to(&["n/b@9", "n/c@11"], "Live@12").await;
    act.says(ResourceSyncStatus::Syncing).await;
    assert!(!act.report.shown().initial_list);
    assert_eq!(scene.member.requests(), ["list+watch"]);
    act.end().await;
}

#[tokio::test]
async fn what_such_a_list_does_not_have_goes_and_the_watch_goes_on() {
    let scene = Scene::that_has_a().await;
    // It was restored: it stands before what is stored.
    scene.member.set_present("5");
    let told = added(&[("b", 2)]) + &end(6) + &added(&[("c", 7)]);
    scene.member.lists([Answer::ok(told).that_stays_open()]);
    let act = scene.run_asking();
    scene.comes_to(&["n/b@2", "n/c@7"], "Live@6").await;
    assert_eq!(scene.member.requests()[2..], ["list+watch"]);
    act.end().await;
}

/// Each group once, and nobody is told of it.
#[tokio::test(start_paused = true)]
async fn a_member_that_does_not_know_such_lists_is_asked_for_pages_at_once() {
    let warned = warnings();
    let scene = Scene::new();
    let refusal = r#"{"kind":"Status","code":422,"message":"sendInitialEvents is forbidden"}"#;
    scene.member.lists([
        Answer::status(422, refusal),
        page(10, "", &[("a", 1)]),
        page(10, "", &[]),
    ]);
    let shared = asking(&scene.sink);
    let connected = scene.connect(&shared);
    let run = |resource| {
        let of = (ClusterId(1), type_of(resource));
        scene.run_beside(Arc::clone(&shared), Arc::clone(&connected), of)
    };
    let act = run("pods");
    act.says(ResourceSyncStatus::Syncing).await;
    let other = run("services");
    other.says(ResourceSyncStatus::Syncing).await;
    let asked = ["list+watch", "list", "watch@10", "list", "watch@10"];
    assert_eq!(scene.member.requests(), asked);
    assert_eq!(act.metrics.failures.get() + other.metrics.failures.get(), 0);
    assert_eq!(warned.told().len(), 0);
    act.end().await;
    other.end().await;
}

/// It breaks, it never says that it has told all, it says that something else is so.
#[tokio::test(start_paused = true)]
async fn a_list_that_does_not_come_to_its_end_stays_stored_and_comes_in_pages_after_that() {
    let begun = added(&[("a", 1)]);
    let answers = [
        Answer::ok(begun.clone()).that_breaks(),
        Answer::ok(begun.clone()),
        Answer::ok(begun.clone()).that_stays_open(),
        Answer::ok(begun.clone() + &bookmark(10)).that_stays_open(),
        Answer::ok(begun.clone() + &event("ERROR", &gone())).that_stays_open(),
    ];
    for answer in answers {
        let scene = Scene::new();
        let held = Answer::never();
        scene.member.lists([answer, held]);
        let act = scene.run_asking();
        let is_stored = |stored: &sink::Stored| stored.shown() == ["n/a@1"];
        scene.sink.until("what came".to_owned(), is_stored).await;
        tokio::time::sleep(Duration::from_secs(45)).await;
        assert_eq!(scene.sink.with(|stored| stored.place()), "Listing@");
        assert_eq!(scene.member.requests()[..2], ["list+watch", "list"]);
        act.end().await;
    }
}

#[tokio::test]
async fn what_changes_or_goes_before_the_end_of_a_list_is_told_right() {
    let scene = Scene::that_has_a().await;
    scene.member.set_present("5");
    let told = [
        added(&[("a", 1), ("b", 2), ("c", 3)]),
        event("MODIFIED", &pod("b", 4)),
        event("DELETED", &pod("a", 5)),
        end(6),
    ];
    scene
        .member
        .lists([Answer::ok(told.concat()).that_stays_open()]);
    let act = scene.run_asking();
    scene.comes_to(&["n/b@4", "n/c@3"], "Live@6").await;
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_busy_member_is_asked_for_such_a_list_again() {
    let scene = Scene::new();
    let told = Answer::ok(added(&[("a", 1)]) + &end(10)).that_stays_open();
    scene.member.lists([Answer::wait(429, "5"), told]);
    let act = scene.run_asking();
    scene.comes_to(&["n/a@1"], "Live@10").await;
    assert_eq!(scene.member.requests(), ["list+watch"; 2]);
    act.end().await;
}

#[tokio::test]
async fn what_is_left_out_before_the_end_of_a_list_does_not_keep_its_old_form() {
    let large = format!(
        r#"{{"metadata":{{"name":"b","namespace":"n","resourceVersion":"4"}},"x":"{}"}}"#,
        "x".repeat(5000)
    );
    for goes in [false, true] {
        let scene = Scene::that_has_a().await;
        scene.member.set_present("5");
        let mut told = added(&[("a", 1), ("b", 2)]) + &event("MODIFIED", &large);
        if goes {
            told += &event("DELETED", &pod("b", 5));
        }
        scene
            .member
            .lists([Answer::ok(told + &end(6)).that_stays_open()]);
        let act = scene.run_asking();
        scene.comes_to(&["n/a@1"], "Live@6").await;
        assert_eq!(act.report.leaves_out(), !goes);
        act.end().await;
    }
}

/// Else what comes in meanwhile would stay in memory for as long as the store takes.
#[tokio::test(start_paused = true)]
async fn the_watch_behind_a_list_is_given_up_while_the_list_is_not_stored() {
    for (takes, after_that) in [(1, None), (6, Some("watch@10"))] {
        let scene = Scene::new();
        scene
            .sink
            .with(|stored| stored.late = Duration::from_secs(takes));
        let told = Answer::ok(added(&[("a", 1)]) + &end(10)).that_stays_open();
        scene.member.lists([told]);
        scene.member.watches([Answer::ok("").that_stays_open()]);
        let act = scene.run_asking();
        scene.comes_to(&["n/a@1"], "Live@10").await;
        tokio::time::sleep(Duration::from_secs(10)).await;
        let asked: Vec<_> = std::iter::once("list+watch").chain(after_that).collect();
        assert_eq!(scene.member.requests(), asked);
        act.end().await;
    }
}

/// It is over as soon as the list is, and so is the next one: the second in a row is told of.
#[tokio::test(start_paused = true)]
async fn how_long_a_list_takes_proves_nothing_of_the_watch_behind_it() {
    let scene = Scene::new();
    let told = Answer::ok(added(&[("a", 1)])).and_then(Duration::from_secs(8), &end(10));
    scene.member.lists([told]);
    let held = Answer::ok("").that_stays_open();
    scene.member.watches([Answer::ok(""), held]);
    let act = scene.run_asking();
    scene.comes_to(&["n/a@1"], "Live@10").await;
    tokio::time::sleep(Duration::from_secs(30)).await;
    let asked = ["list+watch", "watch@10", "watch@10"];
    assert_eq!(scene.member.requests(), asked);
    assert_eq!(act.metrics.failures.get(), 1);
    act.end().await;
}
