//! Members that keep too little of their past for a watch to follow a list.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

/// A member whose lists take 20 s, and of which no watch can follow one while it forgets.
fn forgetful(forgets: &Arc<AtomicBool>) -> Scene {
    let scene = Scene::new();
    let forgets = Arc::clone(forgets);
    scene.member.answers_by(move |request| match request {
        "list" => page(10, "", &[("a", 1)]).that_comes_after(Duration::from_secs(20)),
        // It is answered, as it is by a member that finds out after that.
        _ if forgets.load(Ordering::Relaxed) => Answer::ok(event("ERROR", &gone())),
        _ => Answer::ok("").that_stays_open(),
    });
    scene
}

#[tokio::test(start_paused = true)]
async fn a_list_that_no_watch_can_follow_is_told_of_until_one_has() {
    let forgets = Arc::new(AtomicBool::new(true));
    let scene = forgetful(&forgets);
    let act = scene.run();
    tokio::time::sleep(Duration::from_secs(60)).await;
    for _ in 0..600 {
        let shown = act.report.shown();
        assert_eq!(shown.status, ResourceSyncStatus::Error);
        assert!(
            shown.message.starts_with("the list took 20 s"),
            "{}",
            shown.message
        );
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    forgets.store(false, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_secs(700)).await;
    assert_eq!(act.report.shown().status, ResourceSyncStatus::Syncing);
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_position_that_is_too_old_after_a_watch_that_lasted_is_listed_at_once() {
    let scene = Scene::new();
    scene.member.answers_by(|request| match request {
        "list" => page(10, "", &[("a", 1)]),
        _ => Answer::ok("").and_then(Duration::from_secs(6), &event("ERROR", &gone())),
    });
    let act = scene.run();
    tokio::time::sleep(Duration::from_secs(600)).await;
    act.end().await;
    let requests = scene.member.requests();
    assert!(requests.len() > 2 * 600 / 7, "{}", requests.len());
    assert_eq!(scene.member.identified(), 0);
}

/// As behind a load balancer, which leads lists to one of them and watches to the other.
#[tokio::test(start_paused = true)]
async fn who_answers_is_asked_where_a_watch_right_after_a_list_is_refused() {
    let too_new = Answer::status(504, r#"{"kind":"Status","message":"too large"}"#);
    for refusal in [Answer::status(410, gone()), too_new] {
        let scene = Scene::new();
        let late = Duration::from_millis(1);
        let list = page(10, "", &[("a", 1)]).that_comes_after(late);
        scene.member.lists([list]);
        scene.member.watches([refusal]);
        scene.member.set_identity("another");
        let act = scene.run();
        let noticed = act.stranger.cancelled();
        let noticed = tokio::time::timeout(Duration::from_secs(20), noticed);
        noticed.await.expect("it is noticed");
        assert_eq!(scene.member.requests()[..2], ["list", "watch@10"]);
        act.end().await;
    }
}
