//! Many members at once: what those that hang cost the others.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::time::Instant;

use super::sink::Sinks;
use super::*;

const MEMBERS: usize = 200;
/// One in twenty hangs, which are more than there are turns.
const HANGS: usize = 20;
/// What a member takes for a page.
const PAGE_TAKES: Duration = Duration::from_millis(200);
/// How long a continue token is good for. In the time in which all members could be listed side by side, it expires.
const TOKEN_LIVES: Duration = Duration::from_secs(10);

/// Three pages, of one version for a while.
fn healthy() -> impl Fn(&str) -> Answer + Send + Sync {
    let begun = Mutex::new(Instant::now());
    move |request| {
        let begun = &mut *begun.lock().unwrap();
        let answer = match request {
            "list" => {
                *begun = Instant::now();
                page(10, "2", &[("a", 1)])
            }
            "watch@10" => Answer::ok("").that_stays_open(),
            _ if begun.elapsed() > TOKEN_LIVES => Answer::status(410, gone()),
            "list:2" => page(10, "3", &[("b", 2)]),
            _ => page(10, "", &[("c", 3)]),
        };
        answer.that_comes_after(PAGE_TAKES)
    }
}

/// It hangs before its first page, or after it, or in the middle of it.
fn hanging(index: usize) -> impl Fn(&str) -> Answer + Send + Sync {
    move |request| match (index % 3, request) {
        (0, "list") => page(10, "2", &[("a", 1)]),
        (1, "list") => Answer::ok("{").that_stays_open(),
        _ => Answer::never(),
    }
}

/// Its pages come a blank at a time, with a pause that is shorter or longer than anybody's patience.
fn trickling(index: usize) -> impl Fn(&str) -> Answer + Send + Sync {
    let pause = Duration::from_millis(if index.is_multiple_of(2) { 400 } else { 600 });
    move |_| Answer::ok(r#"{"items":["#).that_trickles_every(pause)
}

#[tokio::test(start_paused = true)]
async fn lists_of_healthy_members_end_while_one_member_in_twenty_hangs() {
    // 190 lists of 0.6 s by eights are 15 s; those that hang take eight turns of half a second once or twice.
    lists_end_within(Duration::from_secs(20), |scene, index| {
        scene.member.answers_by(hanging(index));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn lists_of_healthy_members_end_while_one_member_in_twenty_trickles() {
    // Ten that trickle take four seconds each of one of eight turns, and then two turns for good: 190 lists of 0.6 s by sixes are 19 s.
    lists_end_within(Duration::from_secs(40), |scene, index| {
        scene.member.answers_by(trickling(index));
    })
    .await;
}

async fn lists_end_within(limit: Duration, misbehaves: impl Fn(&Scene, usize)) {
    let scenes: Vec<_> = (0..MEMBERS).map(|_| Scene::new()).collect();
    let hangs = |index: usize| index.is_multiple_of(HANGS);
    for (index, scene) in scenes.iter().enumerate() {
        if hangs(index) {
            misbehaves(scene, index / HANGS);
        } else {
            scene.member.answers_by(healthy());
        }
    }
    let sinks = scenes.iter().map(|scene| Arc::clone(&scene.sink));
    let shared = shared(Arc::new(Sinks(sinks.collect())));
    let begun = Instant::now();
    let acts: Vec<_> = (0..)
        .zip(&scenes)
        .map(|(id, scene)| {
            let connected = scene.connect(&shared);
            scene.run_beside(Arc::clone(&shared), connected, (ClusterId(id), pods()))
        })
        .collect();
    let rows = ["n/a@1", "n/b@2", "n/c@3"];
    for (index, scene) in scenes.iter().enumerate() {
        if !hangs(index) {
            scene.comes_to(&rows, "Live@10").await;
            acts[index].says(ResourceSyncStatus::Syncing).await;
            assert_eq!(
                scene.member.requests(),
                ["list", "list:2", "list:3", "watch@10"],
                "member {index} is listed once"
            );
        }
    }
    assert!(begun.elapsed() < limit, "{:?}", begun.elapsed());
    for act in acts {
        act.end().await;
    }
}

const LONG_LISTS: usize = 60;
const LONG_PAGES: u32 = 100;
/// Far below what a list takes that goes on side by side with all others, and hardly more than it takes beside those there is room for.
const TOKENS_LIVE: Duration = Duration::from_secs(45);

/// A list of so many pages that says how many objects are to come, and counts the pages that are asked for.
fn long(asked: &Arc<AtomicUsize>) -> impl Fn(&str) -> Answer + Send + Sync + use<> {
    let (begun, asked) = (Mutex::new(Instant::now()), Arc::clone(asked));
    move |request| {
        let number = match request.split_once(':') {
            _ if request.starts_with("watch") => return Answer::ok("").that_stays_open(),
            None => 0,
            Some((_, token)) => token.parse().expect("a number"),
        };
        asked.fetch_add(1, Ordering::Relaxed);
        let begun = &mut *begun.lock().unwrap();
        if number == 0 {
            *begun = Instant::now();
        }
        if begun.elapsed() > TOKENS_LIVE {
            return Answer::status(410, gone()).that_comes_after(PAGE_TAKES);
        }
        let remaining = LONG_PAGES - 1 - number;
        let token = (remaining > 0).then(|| (number + 1).to_string());
        let (token, pod) = (token.unwrap_or_default(), pod(&format!("p{number}"), 1));
        let metadata = format!(
            r#"{{"resourceVersion":"10","continue":"{token}","remainingItemCount":{}}}"#,
            remaining * 500
        );
        let body = format!(r#"{{"kind":"PodList","metadata":{metadata},"items":[{pod}]}}"#);
        Answer::ok(body).that_comes_after(PAGE_TAKES)
    }
}

#[tokio::test(start_paused = true)]
async fn no_more_long_lists_begin_than_come_to_their_end_in_time() {
    let asked = Arc::<AtomicUsize>::default();
    let scenes: Vec<_> = (0..LONG_LISTS).map(|_| Scene::new()).collect();
    let sinks = scenes.iter().map(|scene| Arc::clone(&scene.sink));
    let shared = shared(Arc::new(Sinks(sinks.collect())));
    let acts: Vec<_> = (0..)
        .zip(&scenes)
        .map(|(id, scene)| {
            scene.member.answers_by(long(&asked));
            let connected = scene.connect(&shared);
            scene.run_beside(Arc::clone(&shared), connected, (ClusterId(id), pods()))
        })
        .collect();
    let is_live = |scene: &Scene| scene.sink.with(|stored| stored.place()) == "Live@10";
    let begun = Instant::now();
    while !scenes.iter().all(is_live) && begun.elapsed() < Duration::from_secs(1200) {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let live = scenes.iter().filter(|scene| is_live(scene)).count();
    let needed = LONG_LISTS * LONG_PAGES as usize;
    let asked = asked.load(Ordering::Relaxed);
    let told = format!(
        "{live} live, {asked} of {needed} pages in {:?}",
        begun.elapsed()
    );
    assert!(live == LONG_LISTS && asked <= needed * 11 / 10, "{told}");
    for act in acts {
        act.end().await;
    }
}
