//! Members that are known by one thing now and by another one later, as rights come and go.

use super::*;
use crate::testing::{in_time, until};

const SERVICE: &str = "service:uid-of-service";

impl Scene {
    /// Runs with the member as it is known by this.
    fn run_as_known(&self, identity: &str) -> (Act, Arc<Connected>) {
        let shared = shared(Arc::clone(&self.sink) as Arc<dyn Sink>);
        let connected = self.connect_as(&shared, identity);
        let of = (ClusterId(1), pods());
        let act = self.run_beside(shared, Arc::clone(&connected), of);
        (act, connected)
    }

    /// A former process has stored `a` of the member as it was known by this.
    async fn that_had_a_as(identity: &str) -> Self {
        let scene = Self::new();
        scene.member.tells_service("uid-of-service");
        scene.member.lists([page(10, "", &[("a", 1)])]);
        let (act, _) = scene.run_as_known(identity);
        scene.comes_to(&["n/a@1"], "Live@10").await;
        act.end().await;
        assert_eq!(scene.member_of_position(), identity);
        scene
    }

    fn member_of_position(&self) -> String {
        let of = |stored: &mut sink::Stored| stored.position.clone().expect("a position").member;
        self.sink.with(of)
    }
}

#[tokio::test]
async fn a_right_that_comes_later_lists_nothing_and_the_position_is_restated() {
    let scene = Scene::that_had_a_as(SERVICE).await;
    let (act, _) = scene.run_as_known(IDENTITY);
    act.says(ResourceSyncStatus::Syncing).await;
    assert_eq!(scene.member_of_position(), IDENTITY);
    assert_eq!(scene.member.requests(), ["list", "watch@10", "watch@10"]);
    act.end().await;
    // What it was known by may go, once that is so.
    scene.member.tells_service("");
    let (act, _) = scene.run_as_known(IDENTITY);
    act.says(ResourceSyncStatus::Syncing).await;
    assert_eq!(scene.member.requests()[3..], ["watch@10"]);
    act.end().await;
}

#[tokio::test]
async fn a_right_that_went_while_the_former_source_still_answers_lists_nothing() {
    let scene = Scene::that_had_a_as(IDENTITY).await;
    let (act, _) = scene.run_as_known(SERVICE);
    act.says(ResourceSyncStatus::Syncing).await;
    assert_eq!(scene.member_of_position(), SERVICE);
    assert_eq!(scene.member.requests(), ["list", "watch@10", "watch@10"]);
    act.end().await;
}

/// Of two sources nothing follows.
#[tokio::test]
async fn a_member_that_hides_what_it_was_known_by_is_listed_anew() {
    let scene = Scene::that_had_a_as(IDENTITY).await;
    scene.member.refuses_identity(403);
    scene.member.lists([page(20, "", &[("b", 2)])]);
    let (act, _) = scene.run_as_known(SERVICE);
    let is_listed = || async { scene.sink.with(|stored| stored.place() == "Live@20") };
    in_time("a list", is_listed).await;
    scene.comes_to(&["n/b@2"], "Live@20").await;
    assert_eq!(scene.member_of_position(), SERVICE);
    act.end().await;
}

#[tokio::test]
async fn a_member_that_was_rebuilt_is_listed_anew_by_whichever_source() {
    for (before, now) in [
        (SERVICE, "service:other"),
        (SERVICE, IDENTITY),
        (IDENTITY, SERVICE),
    ] {
        let scene = Scene::that_had_a_as(before).await;
        scene.member.set_identity("other");
        scene.member.tells_service("other");
        scene.member.lists([page(20, "", &[("b", 2)])]);
        let (act, _) = scene.run_as_known(now);
        scene.comes_to(&["n/b@2"], "Live@20").await;
        act.end().await;
    }
}

#[tokio::test]
async fn who_does_not_say_any_more_who_it_is_is_no_stranger_and_its_session_is_told() {
    let scene = Scene::new();
    scene.member.lists([page(10, "", &[("a", 1)])]);
    scene.member.watches([Answer::ok("").that_breaks()]);
    scene.member.refuses_identity(403);
    let (act, connected) = scene.run_as_known(IDENTITY);
    let begun = Instant::now();
    in_time("what its session is told", || async {
        connected.nameless.is_cancelled()
    })
    .await;
    assert!(begun.elapsed() >= Duration::from_secs(60));
    assert!(!connected.stranger.is_cancelled());
    act.end().await;
}

/// An API server that has just started may refuse everything.
#[tokio::test]
async fn who_refuses_for_a_moment_to_say_who_it_is_is_still_known() {
    let stored_as = Scene::that_had_a_as(IDENTITY).await;
    stored_as.member.refuses_identity(403);
    let watched = Scene::new();
    watched.member.lists([page(10, "", &[("a", 1)])]);
    watched.member.watches([Answer::ok("").that_breaks()]);
    watched.member.refuses_identity(403);
    for (scene, known_by) in [(stored_as, SERVICE), (watched, IDENTITY)] {
        let (act, connected) = scene.run_as_known(known_by);
        let words = act.says(ResourceSyncStatus::Error).await;
        // Of one whose watch broke off that is what is told for a minute.
        let is_said = words.starts_with("who the member is: ");
        assert_eq!(is_said, known_by == SERVICE, "{words}");
        let asked = scene.member.identified();
        let is_refused = || async { scene.member.identified() > asked };
        until("a refusal", is_refused).await;
        scene.member.refuses_identity(0);
        act.says(ResourceSyncStatus::Syncing).await;
        let requests = scene.member.requests();
        let lists = requests.iter().filter(|request| *request == "list");
        assert_eq!(lists.count(), 1, "{requests:?}");
        assert!(!connected.nameless.is_cancelled());
        act.end().await;
    }
}

/// One that waits for an answer holds up no other: each tries again.
#[tokio::test]
async fn a_source_that_fails_is_no_other_member() {
    let scene = Scene::that_had_a_as(IDENTITY).await;
    scene.member.refuses_identity(500);
    let (act, _) = scene.run_as_known(SERVICE);
    act.says(ResourceSyncStatus::Error).await;
    scene.member.refuses_identity(0);
    act.says(ResourceSyncStatus::Syncing).await;
    assert_eq!(scene.member.requests(), ["list", "watch@10", "watch@10"]);
    act.end().await;
}
