//! Members that are known by one thing now and by another one later, as rights come and go.

use super::*;

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
    let told = connected.nameless.cancelled();
    let told = tokio::time::timeout(Duration::from_secs(20), told).await;
    told.expect("it is told");
    assert!(!connected.stranger.is_cancelled());
    act.end().await;
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
