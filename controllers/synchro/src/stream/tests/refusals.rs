//! How often a member is asked that refuses, or whose answers lead nowhere.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::testing::{lines, warnings};

const TEN_MINUTES: Duration = Duration::from_secs(600);

/// Requests within ten minutes to a member that answers by a rule.
async fn asked(rule: impl Fn(&str) -> Answer + Send + Sync + 'static) -> usize {
    let scene = Scene::new();
    scene.member.answers_by(rule);
    scene.member.set_present(&u64::MAX.to_string());
    let act = scene.run();
    tokio::time::sleep(TEN_MINUTES).await;
    act.end().await;
    scene.member.asked()
}

/// A member whose watches each begin with what `says` makes of the version after the one that it is asked for, and end after a while.
fn watched(
    says: fn(u32) -> String,
    ends_after: Duration,
) -> impl Fn(&str) -> Answer + Send + Sync + 'static {
    move |request| match request.strip_prefix("watch@") {
        None => page(10, "", &[("a", 1)]),
        Some(version) => {
            let next = version.parse::<u32>().unwrap() + 1;
            Answer::ok(says(next)).that_ends_after(ends_after)
        }
    }
}

fn nothing(_: u32) -> String {
    String::new()
}

fn change(version: u32) -> String {
    event("MODIFIED", &pod("a", version)) + &bookmark(version)
}

fn forbidden() -> Answer {
    let status = r#"{"kind":"Status","code":403,"message":"pods is forbidden"}"#;
    Answer::status(403, status)
}

/// A round every 15 to 30 s, of three requests (who are you, how far are you, the watch), and some more at the beginning.
const SELDOM: usize = 3 * (600 / 15 + 8);

#[tokio::test(start_paused = true)]
async fn a_member_that_allows_lists_and_forbids_watches_is_asked_seldom() {
    let rule = |request: &str| match request {
        "list" => page(10, "", &[("a", 1)]),
        _ => forbidden(),
    };
    let asked = asked(rule).await;
    assert!((50..=SELDOM).contains(&asked), "{asked} requests");
}

#[tokio::test(start_paused = true)]
async fn a_member_whose_watches_end_or_break_at_once_is_asked_seldom() {
    for watch in [Answer::ok, |body| Answer::ok(body).that_breaks()] {
        let rule = move |request: &str| match request {
            "list" => page(10, "", &[("a", 1)]),
            _ => watch(event("MODIFIED", &pod("a", 11))),
        };
        let asked = asked(rule).await;
        assert!(asked <= SELDOM, "{asked} requests");
    }
}

/// A bookmark of a higher version costs a member nothing, and is no reason to ask it without end. Nor is that a watch was open for a moment.
#[tokio::test(start_paused = true)]
async fn a_member_whose_watches_end_soon_and_bring_no_change_is_asked_seldom() {
    let soon = [0, 1500, 4500].map(Duration::from_millis);
    for (says, after) in soon
        .iter()
        .flat_map(|after| [(bookmark as fn(_) -> _, *after), (nothing, *after)])
    {
        let warned = warnings();
        let asked = asked(watched(says, after)).await;
        assert!(
            asked <= SELDOM,
            "{asked} requests, where they end after {after:?}"
        );
        assert_eq!(warned.told().len(), 1, "it is told of once");
    }
}

/// Once a second at most, with who it is and how far it is; and the changes do not fall behind.
#[tokio::test(start_paused = true)]
async fn a_member_whose_watches_each_bring_a_change_and_end_is_asked_often_and_not_without_end() {
    let warned = warnings();
    for after in [0, 2000].map(Duration::from_millis) {
        let asked = asked(watched(change, after)).await;
        let longest = after + Duration::from_secs(2);
        let rounds = TEN_MINUTES.as_secs_f64() / longest.as_secs_f64();
        let asked = asked as f64;
        assert!(asked >= 3.0 * (rounds - 2.0), "{asked} requests");
        assert!(asked <= 3.0 * (600.0 + 8.0), "{asked} requests");
    }
    assert_eq!(warned.told().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_member_that_takes_every_position_for_too_old_is_listed_seldom() {
    let rule = |request: &str| match request {
        "list" => page(10, "", &[("a", 1)]),
        _ => Answer::status(410, gone()),
    };
    let scene = Scene::new();
    scene.member.answers_by(rule);
    let act = scene.run();
    tokio::time::sleep(6 * TEN_MINUTES).await;
    act.end().await;
    let lists = scene.member.requests();
    let lists = lists.iter().filter(|request| *request == "list").count();
    assert!((10..=20).contains(&lists), "{lists} lists in an hour");
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_cut_off_in_silence_is_made_again_at_once() {
    let rule = |request: &str| match request {
        "list" => page(10, "", &[("a", 1)]),
        _ => Answer::ok("").that_breaks_after(Duration::from_secs(10)),
    };
    let asked = asked(rule).await;
    assert!(asked > 3 * (600 / 11), "{asked} requests");
}

#[tokio::test(start_paused = true)]
async fn a_long_list_whose_pages_fail_now_and_then_goes_on_quickly() {
    let scene = Scene::new();
    let mut answers = Vec::new();
    for number in 0..40 {
        let name = format!("p{number}");
        let token = if number < 39 { name.as_str() } else { "" };
        answers.push(Answer::status(500, ""));
        answers.push(page(10, token, &[(&name, 1)]));
    }
    scene.member.lists(answers);
    let begun = tokio::time::Instant::now();
    let act = scene.run();
    let rows: Vec<_> = (0..40).map(|number| format!("n/p{number}@1")).collect();
    let rows: Vec<_> = rows.iter().map(String::as_str).collect();
    scene.comes_to(&rows, "Live@10").await;
    assert!(begun.elapsed() <= 41 * FIRST_RETRY, "{:?}", begun.elapsed());
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_member_whose_lists_have_no_end_is_asked_seldom() {
    // A list that is given up after 16 pages is begun anew after 15 to 30 s.
    let at_most = [SELDOM, SELDOM, 16 * (600 / 15 + 8)];
    for (kind, at_most) in at_most.into_iter().enumerate() {
        let pages = AtomicUsize::new(0);
        let asked = asked(move |_| {
            let token = pages.fetch_add(1, Ordering::Relaxed).to_string();
            match kind {
                0 => page(10, "same", &[("a", 1)]),
                1 => page(10, &token, &[]),
                _ => page(10, &token, &[("a", 1)]),
            }
        });
        let asked = asked.await;
        assert!((20..=at_most).contains(&asked), "{asked} requests");
    }
}

#[tokio::test(start_paused = true)]
async fn what_does_not_come_to_its_end_is_given_up() {
    let scene = Scene::new();
    let filled = "x".repeat(40 << 10);
    let item = format!(r#"{{"items":[{{"x":"{filled}"#);
    let line = format!(r#"{{"type":"ADDED","object":{{"x":"{filled}"#);
    let trickling = |body: String| Answer::ok(body).that_trickles_every(Duration::from_secs(10));
    scene
        .member
        .lists([trickling(item), page(10, "", &[("a", 1)])]);
    scene.member.watches([
        trickling(line),
        Answer::ok(event("ADDED", &pod("b", 11))).that_stays_open(),
    ]);
    let act = scene.run();
    tokio::time::sleep(Duration::from_secs(150)).await;
    scene.comes_to(&["n/a@1", "n/b@11"], "Live@11").await;
    assert_eq!(
        scene.member.requests(),
        ["list", "list/100", "watch@10", "watch@10"]
    );
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_member_that_is_not_understood_when_it_says_how_far_it_is_is_listed() {
    let scene = Scene::new();
    scene
        .member
        .lists([page(10, "", &[("a", 1)]), page(20, "", &[("b", 2)])]);
    scene.member.set_present(&"9".repeat(1000));
    let act = scene.run();
    scene.comes_to(&["n/a@1"], "Live@10").await;
    act.end().await;
    // What is not understood after that is asked for again before it is listed again.
    let early = Answer::ok("").that_ends_after(Duration::from_secs(10));
    scene.member.watches([early]);
    let act = scene.run();
    scene.comes_to(&["n/b@2"], "Live@20").await;
    act.says(ResourceSyncStatus::Syncing).await;
    let words = act.says(ResourceSyncStatus::Error).await;
    assert!(words.contains("not understood"), "{words}");
    scene.member.set_present("1000");
    act.says(ResourceSyncStatus::Syncing).await;
    let watched = ["watch@10", "list", "watch@20", "watch@20"];
    assert_eq!(scene.member.requests()[1..], watched);
    act.end().await;
}

/// As those of an aggregated API are that was restarted.
#[tokio::test(start_paused = true)]
async fn a_list_whose_token_is_refused_again_and_again_begins_anew() {
    let scene = Scene::new();
    let refused = |code| Answer::status(code, r#"{"kind":"Status","message":"no such cursor"}"#);
    scene.member.lists([page(10, "t", &[("a", 1), ("b", 2)])]);
    // One that is in trouble for a moment says nothing of the token.
    scene.member.lists([refused(400), refused(503)]);
    scene
        .member
        .lists((0..6).map(|at| refused(400 + 100 * (at % 2))));
    scene.member.lists([page(20, "", &[("b", 2)])]);
    let act = scene.run();
    tokio::time::sleep(Duration::from_secs(120)).await;
    scene.comes_to(&["n/b@2"], "Live@20").await;
    let requests = scene.member.requests();
    assert_eq!(requests[1..9], ["list:t"; 8]);
    assert_eq!(requests[9..], ["list", "watch@20"]);
    act.end().await;
}

/// As by a proxy that is not able to hand one page on.
#[tokio::test(start_paused = true)]
async fn a_list_one_of_whose_pages_fails_without_end_begins_anew_and_seldom() {
    let breaks = || Answer::ok("{").that_breaks();
    let gateway = |code| move || Answer::status(code, "");
    let kinds: [&(dyn Fn() -> Answer + Sync); 3] = [&gateway(502), &gateway(503), &breaks];
    for fails in kinds {
        let scene = Scene::new();
        scene.member.lists([page(10, "t", &[("a", 1)])]);
        scene.member.lists((0..30).map(|_| fails()));
        scene.member.lists([page(20, "", &[("b", 2)])]);
        let act = scene.run();
        let words = act.says(ResourceSyncStatus::Error).await;
        assert!(!words.is_empty());
        // As long as chance has the pauses be.
        let end = tokio::time::Instant::now() + 2 * TEN_MINUTES;
        while scene.member.requests().len() < 33 {
            assert!(tokio::time::Instant::now() < end, "it never began anew");
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        scene.comes_to(&["n/b@2"], "Live@20").await;
        let requests = scene.member.requests();
        assert!(requests[1..31].iter().all(|asked| asked.ends_with(":t")));
        assert!(
            requests[4..7].contains(&"list/20:t".to_owned()),
            "it may be too large"
        );
        assert_eq!(requests[31..33], ["list", "watch@20"]);
        act.end().await;
    }
}

/// As those of a large kind are, read slowly: each attempt goes on with another token, or begins anew.
#[tokio::test(start_paused = true)]
async fn lists_that_take_too_long_to_be_of_one_version_are_told_of_once() {
    let told = lines();
    let rule = |request: &str| match request {
        "list" => page(10, "t", &[("a", 1)]),
        _ => expired("fresh"),
    };
    let asked = asked(rule).await;
    assert!(asked > 40, "{asked} requests");
    assert_eq!(told.told().len(), 1);
}
