//! Members that ask to be left alone for a while.

use tokio::time::Instant;

use super::*;
use crate::testing::lines;

#[tokio::test(start_paused = true)]
async fn a_member_that_asks_to_wait_is_asked_no_sooner_and_that_is_no_failure() {
    let told = lines();
    let scene = Scene::new();
    let page_with_a = || page(10, "t", &[("a", 1)]);
    scene.member.lists([
        Answer::wait(429, "5"),
        page_with_a(),
        Answer::wait(503, "7"),
        page(10, "", &[("b", 2)]),
    ]);
    scene.member.watches([Answer::wait(429, "9")]);
    let begun = Instant::now();
    let act = scene.run();
    let words = "the member asks to wait 5 s: the member answered 429 Too Many Requests";
    let is_told = |shown: &Progress| shown.message == words;
    act.shows_within(Duration::from_secs(1), words.to_owned(), is_told)
        .await;
    assert_eq!(act.report.shown().status, ResourceSyncStatus::Pending);
    tokio::time::sleep(Duration::from_secs(40)).await;
    act.says(ResourceSyncStatus::Syncing).await;
    scene.comes_to(&["n/a@1", "n/b@2"], "Live@10").await;
    let asked = ["list", "list", "list:t", "list:t", "watch@10", "watch@10"];
    assert_eq!(scene.member.requests(), asked);
    assert!(begun.elapsed() >= Duration::from_secs(5 + 7 + 9));
    assert_eq!(act.metrics.failures.get(), 0);
    assert_eq!(told.told().len(), 2, "that it asks, and that it is over");
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_member_that_does_not_say_how_long_to_wait_is_told_of_without_a_number() {
    let scene = Scene::new();
    scene.member.answers_by(|_| Answer::status(429, ""));
    let act = scene.run();
    let words = "the member asks to wait: the member answered 429 Too Many Requests";
    let is_told = |shown: &Progress| shown.message == words;
    act.shows_within(Duration::from_secs(1), words.to_owned(), is_told)
        .await;
    act.end().await;
}

/// However long it asks for, and whatever it says.
#[tokio::test(start_paused = true)]
async fn a_member_is_left_alone_for_a_minute_at_most_and_one_that_goes_on_so_fails() {
    let scene = Scene::new();
    scene
        .member
        .answers_by(|_| Answer::wait(429, "99999999999999999999999"));
    let act = scene.run();
    let minutes = 10;
    tokio::time::sleep(Duration::from_secs(60 * minutes + 30)).await;
    let asked = scene.member.requests().len();
    assert!((8..=11).contains(&asked), "{asked} requests");
    let words = act.says(ResourceSyncStatus::Error).await;
    assert!(
        words.starts_with("the member asks to wait 60 s: "),
        "{words}"
    );
    act.end().await;
}

/// They are all refused at the same moment, and asked to come back after the same second.
#[tokio::test(start_paused = true)]
async fn streams_of_a_busy_member_do_not_come_back_all_at_once() {
    const KINDS: u64 = 60;
    const ASKED: Duration = Duration::from_secs(5);
    let scene = Scene::new();
    let lists = Arc::new(std::sync::Mutex::new(Vec::new()));
    let came = Arc::clone(&lists);
    scene.member.answers_by(move |request| {
        if request != "list" {
            return Answer::ok("").that_stays_open();
        }
        let mut came = came.lock().unwrap();
        came.push(Instant::now());
        match came.len() as u64 > KINDS {
            true => page(10, "", &[]),
            false => Answer::wait(429, "5"),
        }
    });
    let shared = shared(Arc::clone(&scene.sink) as Arc<dyn Sink>);
    let connected = scene.connect(&shared);
    let acts = (0..KINDS).map(|kind| {
        let of = (ClusterId(1), type_of(&format!("kind{kind}")));
        scene.run_beside(Arc::clone(&shared), Arc::clone(&connected), of)
    });
    let acts: Vec<_> = acts.collect();
    tokio::time::sleep(Duration::from_secs(30)).await;
    let came = lists.lock().unwrap().clone();
    let (refused, back) = came.split_at(usize::try_from(KINDS).unwrap());
    let first = refused.first().unwrap();
    assert!(refused.iter().all(|at| *at - *first < ASKED / 10));
    assert_eq!(back.len(), refused.len(), "each comes back once");
    assert!(back.iter().all(|at| *at - *first >= ASKED));
    let at_once = back.iter().filter(|at| **at - *first < ASKED + ASKED / 10);
    let at_once = at_once.count();
    assert!(at_once < back.len() / 2, "{at_once} of them come at once");
    for act in acts {
        act.end().await;
    }
}
