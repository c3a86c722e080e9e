//! Long lists and the room that they need.

use std::sync::Mutex;

use super::sink::Sinks;
use super::*;
use crate::stream::turns::{Room, Turns};

/// Takes long enough that a cluster which was slow at one page counts as slow no more at the last.
const PAGES: u32 = 80;
const PAGE_TAKES: Duration = Duration::from_secs(5);

/// All the room that is left, for others.
fn all_that_is_left(lists: &Arc<Turns>) -> Vec<Room> {
    let mut rooms = Vec::new();
    loop {
        let cluster = ClusterTurns::new(Arc::clone(lists));
        let before = rooms.len();
        rooms.extend(std::iter::from_fn(|| cluster.room_now().map(|room| *room)));
        if rooms.len() == before {
            return rooms;
        }
    }
}

/// The number of the page that is asked for.
fn number(request: &str) -> Option<u32> {
    let token = request.strip_prefix("list")?.strip_prefix(':');
    Some(token.map_or(0, |token| token.parse().expect("a number")))
}

fn long_page(number: u32) -> Answer {
    let remaining = PAGES - 1 - number;
    let token = (remaining > 0).then(|| (number + 1).to_string());
    let (token, pod) = (token.unwrap_or_default(), pod(&format!("p{number}"), 1));
    let remaining = remaining * 500;
    let metadata = format!(
        r#"{{"resourceVersion":"10","continue":"{token}","remainingItemCount":{remaining}}}"#
    );
    Answer::ok(format!(
        r#"{{"kind":"PodList","metadata":{metadata},"items":[{pod}]}}"#
    ))
}

/// Its last bytes come one by one.
fn slowly(page: Answer) -> Answer {
    let pause = Duration::from_millis(400);
    (0..12).fold(page, |page, _| page.and_then(pause, " "))
}

/// A list that is slow at one page, while others take all the room before another.
async fn is_listed_once(slow: u32, taken: u32) {
    let scene = Scene::new();
    let shared = shared(Arc::clone(&scene.sink) as Arc<dyn Sink>);
    let (lists, others) = (Arc::clone(&shared.lists), Mutex::new(Vec::new()));
    scene.member.answers_by(move |request| {
        let Some(number) = number(request) else {
            return Answer::ok("").that_stays_open();
        };
        if number == taken {
            others.lock().unwrap().extend(all_that_is_left(&lists));
        }
        match number == slow {
            true => slowly(long_page(number)),
            false => long_page(number).that_comes_after(PAGE_TAKES),
        }
    });
    let connected = scene.connect(&shared);
    let act = scene.run_beside(shared, connected, (ClusterId(1), pods()));
    tokio::time::sleep(PAGE_TAKES * (PAGES + 10)).await;
    assert_eq!(scene.sink.with(|stored| stored.place()), "Live@10");
    let requests = scene.member.requests();
    let again = requests.iter().filter(|request| *request == "list").count();
    assert_eq!(again, 1, "slow at {slow}, no room from {taken} on");
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_long_list_that_was_slow_for_a_moment_is_not_begun_anew() {
    is_listed_once(10, 11).await;
    is_listed_once(0, 0).await;
}

/// All but the first page are slow.
fn slow_after_its_first_page(request: &str) -> Answer {
    match number(request) {
        Some(0) => long_page(0),
        Some(number) => slowly(long_page(number)),
        None => Answer::ok("").that_stays_open(),
    }
}

#[tokio::test(start_paused = true)]
async fn long_lists_that_are_slow_keep_no_room_that_others_wait_for() {
    let rooms = all_that_is_left(&Arc::default()).len();
    let scenes: Vec<_> = (0..=rooms).map(|_| Scene::new()).collect();
    let sinks = scenes.iter().map(|scene| Arc::clone(&scene.sink));
    let shared = shared(Arc::new(Sinks(sinks.collect())));
    let mut acts = Vec::new();
    for (id, scene) in (0..).zip(&scenes) {
        let connected = scene.connect(&shared);
        if acts.len() < rooms {
            scene.member.answers_by(slow_after_its_first_page);
        } else {
            tokio::time::sleep(Duration::from_secs(30)).await;
            assert_eq!(all_that_is_left(&shared.lists).len(), 0, "all is taken");
            scene.member.answers_by(|request| match number(request) {
                Some(number) => long_page(number),
                None => Answer::ok("").that_stays_open(),
            });
        }
        let of = (ClusterId(id), pods());
        acts.push(scene.run_beside(Arc::clone(&shared), connected, of));
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    let places = scenes.iter();
    let places = places.map(|scene| scene.sink.with(|stored| stored.place()));
    let live: Vec<_> = places.map(|place| place == "Live@10").collect();
    let (healthy, slow) = live.split_last().expect("there is one");
    assert!(*healthy, "it waits for none of those that are slow");
    assert!(!slow.contains(&true), "they are under way");
    for act in acts {
        act.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_long_list_that_needed_no_room_goes_behind_those_that_wait_when_it_has_no_end() {
    let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
    let scene = Scene::new();
    let shared = shared(Arc::clone(&scene.sink) as Arc<dyn Sink>);
    let others = all_that_is_left(&shared.lists);
    // Eighty times that are twenty minutes.
    scene.member.answers_by(|request| match number(request) {
        Some(0) => slowly(long_page(0)),
        Some(number) => long_page(number).that_comes_after(Duration::from_secs(15)),
        None => Answer::ok("").that_stays_open(),
    });
    let waits = ClusterTurns::new(Arc::clone(&shared.lists));
    let connected = scene.connect(&shared);
    let act = scene.run_beside(shared, connected, (ClusterId(1), pods()));
    let waits = tokio::spawn(async move { drop(waits.room().await) });
    tokio::time::sleep(minutes(13)).await;
    let before = scene.member.requests().len();
    tokio::time::sleep(minutes(4)).await;
    let asked = scene.member.requests().len();
    assert!(asked > before, "it may go on for a quarter of an hour");
    tokio::time::sleep(minutes(2)).await;
    assert_eq!(scene.member.requests().len(), asked, "it stands behind");
    drop(others);
    waits.await.expect("room");
    tokio::time::sleep(minutes(10)).await;
    assert_eq!(scene.sink.with(|stored| stored.place()), "Live@10");
    let requests = scene.member.requests();
    let again = requests.iter().filter(|request| *request == "list").count();
    assert_eq!(again, 1, "it is not begun anew");
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_long_list_whose_page_fails_again_lets_others_have_its_room() {
    let scene = Scene::new();
    let shared = shared(Arc::clone(&scene.sink) as Arc<dyn Sink>);
    let lists = Arc::clone(&shared.lists);
    scene.member.answers_by(|request| match number(request) {
        Some(number) if number < 3 => long_page(number),
        _ => Answer::status(500, ""),
    });
    let connected = scene.connect(&shared);
    let all = all_that_is_left(&lists).len();
    let act = scene.run_beside(shared, connected, (ClusterId(1), pods()));
    act.says(ResourceSyncStatus::Error).await;
    let others = all_that_is_left(&lists);
    assert_eq!(others.len(), all - 1, "one failure is none");
    let waits = ClusterTurns::new(lists);
    let room = tokio::time::timeout(Duration::from_secs(60), waits.room()).await;
    assert!(matches!(room, Ok(Some(_))), "within a minute");
    act.end().await;
}
