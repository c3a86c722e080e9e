//! Watches whose lines come slowly, that end before their time, and that go back.

use super::*;

/// Waits until the member was asked so often, while hours may pass.
async fn until_asked(scene: &Scene, times: usize) -> Vec<String> {
    for _ in 0..10_000 {
        let requests = scene.member.requests();
        if requests.len() >= times {
            return requests;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    panic!("{:?}", scene.member.requests());
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[tokio::test(start_paused = true)]
async fn an_object_that_takes_minutes_to_come_is_not_passed_over() {
    let scene = Scene::new();
    scene.member.lists([page(10, "", &[("a", 1)])]);
    scene.member.set_present("12");
    let line = event("ADDED", &pod("slow", 12));
    let [first, second, third] = [&line[..20], &line[20..40], &line[40..60]];
    let slow = Answer::ok(first)
        .and_then(seconds(60), second)
        .and_then(seconds(60), third)
        .that_breaks_after(seconds(110));
    scene
        .member
        .watches([slow, Answer::ok(line.as_str()).that_stays_open()]);
    let act = scene.run();
    let requests = until_asked(&scene, 3).await;
    assert_eq!(requests, ["list", "watch@10", "watch@10"]);
    scene.comes_to(&["n/a@1", "n/slow@12"], "Live@12").await;
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_version_is_not_complete_while_a_line_of_it_comes() {
    let scene = Scene::new();
    scene.member.lists([page(10, "", &[])]);
    let both = event("ADDED", &pod("a", 12)) + &event("ADDED", &pod("b", 12));
    let cut = Answer::ok(&both[..both.len() - 10]).that_breaks_after(seconds(30));
    scene
        .member
        .watches([cut, Answer::ok(both.as_str()).that_stays_open()]);
    let act = scene.run();
    let requests = until_asked(&scene, 3).await;
    assert_eq!(requests, ["list", "watch@10", "watch@10"]);
    scene.comes_to(&["n/a@12", "n/b@12"], "Live@12").await;
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn who_answers_is_asked_when_a_watch_ends_before_its_time_and_only_then() {
    let scene = Scene::new();
    scene.member.lists([page(10, "", &[("a", 1)])]);
    scene.member.set_present("10");
    let in_time = || Answer::ok("").that_ends_in_time();
    scene.member.watches([
        in_time(),
        in_time(),
        Answer::ok("").that_ends_after(seconds(60)),
    ]);
    let act = scene.run();
    let requests = until_asked(&scene, 4).await;
    assert_eq!(requests, ["list", "watch@10", "watch@10", "watch@10"]);
    assert_eq!(scene.member.identified(), 0);
    // Another cluster takes the place of the first, behind one address.
    scene.member.set_identity("another");
    let noticed = tokio::time::timeout(seconds(120), act.stranger.cancelled());
    noticed.await.expect("it is noticed");
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_bookmark_that_goes_back_is_not_believed() {
    let scene = Scene::new();
    scene.member.lists([page(10, "", &[("a", 1)])]);
    let changed = Answer::ok(event("MODIFIED", &pod("a", 50)));
    let goes_back = changed
        .and_then(seconds(5), &bookmark(20))
        .that_stays_open();
    scene.member.watches([goes_back]);
    let act = scene.run();
    let words = act.says(ResourceSyncStatus::Error).await;
    assert!(
        words.ends_with("a bookmark of version 20 came after version 50"),
        "{words}"
    );
    let requests = until_asked(&scene, 3).await;
    assert_eq!(requests, ["list", "watch@10", "watch@50"]);
    assert_eq!(scene.member.identified(), 1);
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_came_while_the_store_stood_still_is_told_again() {
    let scene = Scene::new();
    scene.member.lists([page(10, "", &[("z", 1)])]);
    scene.member.set_present("12");
    let [a, b] = ["a", "b"].map(|name| event("ADDED", &pod(name, 12)));
    let stood_still = Answer::ok("")
        .and_then(seconds(2), &a)
        .and_then(seconds(3), &b)
        .that_stays_open();
    let again = Answer::ok(a.clone() + &b).that_stays_open();
    scene.member.watches([stood_still, again]);
    let act = scene.run();
    scene.comes_to(&["n/z@1"], "Live@10").await;
    // Together longer than a watch is kept that nobody reads.
    scene.sink.with(|stored| {
        let away = || StoreError::Unavailable {
            reason: "it is being restarted".into(),
            source: "closed".into(),
        };
        stored.faults.extend(std::iter::repeat_with(away).take(8));
    });
    let requests = until_asked(&scene, 3).await;
    assert_eq!(requests, ["list", "watch@10", "watch@10"]);
    scene
        .comes_to(&["n/a@12", "n/b@12", "n/z@1"], "Live@12")
        .await;
    act.end().await;
}

/// As a proxy does that ends what lasts for a minute.
#[tokio::test(start_paused = true)]
async fn a_page_that_is_too_large_for_its_link_is_asked_for_smaller_and_smaller() {
    let scene = Scene::new();
    scene.member.answers_by(|request| {
        let half = format!(
            r#"{{"metadata":{{"resourceVersion":"10"}},"items":[{},"#,
            pod("a", 1)
        );
        match request {
            "list" => page(10, "t", &[("a", 1)]),
            "list/20:t" => page(10, "u", &[("b", 2)]),
            "list/20:u" => page(10, "", &[("c", 3)]),
            list if list.starts_with("list/100") => Answer::status(504, "it took too long"),
            list if list.starts_with("list") => Answer::ok(half).that_breaks_after(seconds(5)),
            _ => Answer::ok("").that_stays_open(),
        }
    });
    let act = scene.run();
    scene
        .comes_to(&["n/a@1", "n/b@2", "n/c@3"], "Live@10")
        .await;
    assert_eq!(
        scene.member.requests(),
        [
            "list",
            "list:t",
            "list/100:t",
            "list/20:t",
            "list/20:u",
            "watch@10"
        ]
    );
    act.end().await;
}
