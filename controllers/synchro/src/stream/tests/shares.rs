//! What the streams of a member that brings more than the store takes, or leaves objects unfinished, cost another one.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::sink::{Sinks, Stored};
use super::*;

const KINDS: usize = 200;
/// What one object of the hostile member has, about.
const OBJECT: usize = 8 << 10;
const OBJECTS: usize = 16;
/// All of its kinds together bring twelve times as much.
const BUDGET: usize = 2 << 20;

fn filled(name: &str, version: usize, bytes: usize) -> String {
    let filling = "x".repeat(bytes);
    format!(
        r#"{{"metadata":{{"name":"{name}","namespace":"n","uid":"u-{name}","resourceVersion":"{version}","annotations":{{"a":"{filling}"}}}}}}"#
    )
}

/// A hostile member of many kinds, each with a store of its own, and a healthy one of one kind.
struct Two {
    hostile: Scene,
    healthy: Scene,
    sinks: Vec<Arc<MemorySink>>,
    shared: Arc<Shared>,
    acts: Vec<Act>,
}

impl Two {
    fn new(kinds: usize, max_object_bytes: usize) -> Self {
        let (hostile, healthy) = (Scene::new(), Scene::new());
        let mut sinks = vec![Arc::clone(&healthy.sink)];
        sinks.resize_with(1 + kinds, Arc::default);
        let config = Config {
            max_object_bytes,
            memory_budget: BUDGET,
            ..Config::default()
        };
        let shared = Shared::new(Arc::new(Sinks(sinks.clone())), "", config);
        Self {
            hostile,
            healthy,
            sinks,
            shared: Arc::new(shared),
            acts: Vec::new(),
        }
    }

    fn run_healthy(&mut self) {
        let connected = self.healthy.connect(&self.shared);
        let of = (ClusterId(0), pods());
        let act = self
            .healthy
            .run_beside(Arc::clone(&self.shared), connected, of);
        self.acts.push(act);
    }

    fn run_hostile(&mut self) {
        let connected = self.hostile.connect(&self.shared);
        for number in 1..self.sinks.len() {
            let (shared, connected) = (Arc::clone(&self.shared), Arc::clone(&connected));
            let of = (
                ClusterId(number.try_into().expect("a number")),
                kind(number),
            );
            self.acts
                .push(self.hostile.run_beside(shared, connected, of));
        }
    }

    async fn healthy_has(&self, row: &str) {
        let wanted = [row.to_owned()];
        let is_there = move |stored: &Stored| stored.shown() == wanted;
        self.healthy.sink.until(row.to_owned(), is_there).await;
    }

    async fn end(self) {
        for act in self.acts {
            act.end().await;
        }
    }
}

fn kind(number: usize) -> ResourceType {
    let mut kind = pods();
    kind.gvr.resource = format!("kind{number}");
    kind
}

fn away() -> StoreError {
    StoreError::Unavailable {
        reason: "it is being restarted".into(),
        source: "closed".into(),
    }
}

#[tokio::test(start_paused = true)]
async fn a_member_that_brings_more_than_the_store_takes_holds_up_nobody_else() {
    let mut two = Two::new(KINDS, 4 * OBJECT);
    let flood = (0..OBJECTS).map(|number| {
        let name = format!("p{number}");
        event("ADDED", &filled(&name, 11 + number, OBJECT))
    });
    let (flood, later) = (flood.collect::<String>(), Duration::from_secs(20));
    let watched = Arc::<AtomicUsize>::default();
    let counts = Arc::clone(&watched);
    two.hostile.member.answers_by(move |request| {
        if request == "list" {
            return page(10, "", &[]);
        }
        counts.fetch_add(1, Ordering::Relaxed);
        let flood = Answer::ok("").and_then(later, &flood);
        flood.that_stays_open()
    });
    two.healthy.member.lists([page(10, "", &[])]);
    let added = event("ADDED", &pod("new", 11));
    let watch = Answer::ok("").and_then(2 * later, &added).that_stays_open();
    two.healthy.member.watches([watch]);
    two.run_healthy();
    two.healthy.comes_to(&[], "Live@10").await;
    two.run_hostile();
    while watched.load(Ordering::Relaxed) < KINDS {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // What the hostile one has brought by then stays in memory.
    for sink in &two.sinks[1..] {
        sink.with(|stored| stored.faults.extend(std::iter::repeat_with(away).take(100)));
    }
    tokio::time::sleep(2 * later - Duration::from_secs(5)).await;
    let received = two.acts[1..].iter();
    let received = received
        .map(|act| act.metrics.received_bytes.get())
        .sum::<u64>();
    assert!(received > BUDGET as u64 / 2, "{received}: it floods");
    two.healthy_has("n/new@11").await;
    two.end().await;
}

/// Half of a line of a watch, or of an item of a list, and nothing more.
fn half(bytes: usize) -> String {
    let line = event("ADDED", &filled("half", 11, bytes));
    line[..line.len() - 10].to_owned()
}

#[tokio::test(start_paused = true)]
async fn a_large_object_comes_in_beside_a_member_that_begins_one_after_the_other() {
    const LARGE: usize = 64 << 10;
    const HALF: usize = 100 << 10;
    let mut two = Two::new(20, 2 * LARGE);
    two.hostile.member.answers_by(|request| match request {
        "list" => page(10, "", &[]),
        _ => Answer::ok(half(HALF)).that_stays_open(),
    });
    let large = event("ADDED", &filled("large", 11, LARGE));
    let (first, rest) = large.split_at(large.len() - 10);
    two.healthy.member.lists([page(10, "", &[])]);
    let watch = Answer::ok(first)
        .and_then(Duration::from_secs(30), rest)
        .that_stays_open();
    two.healthy.member.watches([watch]);
    two.run_healthy();
    two.healthy.comes_to(&[], "Live@10").await;
    two.run_hostile();
    tokio::time::sleep(Duration::from_secs(29)).await;
    two.healthy_has("n/large@11").await;
    assert_eq!(two.healthy.member.requests(), ["list", "watch@10"]);
    let begun = two.hostile.member.requests().len();
    assert!(begun > 60, "{begun}: it begins again and again");
    two.end().await;
}

/// An object of so many megabytes, each of which comes half a second after the one before it.
const HUGE: usize = 100;

/// The beginning of an object and what ends it. In between `answer` sends what makes it that large.
fn huge(answer: Answer, end: &str) -> Answer {
    let letters = "x".repeat(1 << 20);
    answer
        .and_then_times(HUGE, Duration::from_millis(500), &letters)
        .and_then(Duration::ZERO, end)
}

/// Watches what is held of what is not whole until `ends`, and gives the most.
async fn most_held(two: &Two, ends: impl Fn() -> bool) -> usize {
    let mut most = 0;
    for _ in 0..1_000 {
        most = most.max(two.shared.unfinished.held());
        if ends() {
            return most;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("it does not end");
}

/// That the hostile member has stored these, and how much was held until then. Something of the healthy one comes in meanwhile.
async fn comes_beside_a_huge_object(hostile: [Answer; 2], stored: &[&str]) {
    let mut two = Two::new(1, 4 * OBJECT);
    let [list, watch] = hostile;
    two.hostile.member.lists([list]);
    two.hostile.member.watches([watch]);
    two.healthy.member.lists([page(10, "", &[])]);
    let added = event("ADDED", &pod("new", 11));
    let soon = Duration::from_secs(10);
    let watch = Answer::ok("").and_then(soon, &added).that_stays_open();
    two.healthy.member.watches([watch]);
    two.run_healthy();
    two.run_hostile();
    let (hostile, healthy) = (Arc::clone(&two.sinks[1]), Arc::clone(&two.sinks[0]));
    let beside = most_held(&two, || healthy.with(|rows| rows.shown() == ["n/new@11"])).await;
    let is_stored = || hostile.with(|rows| rows.shown() == stored);
    assert!(!is_stored(), "the large one still comes");
    let most = beside.max(most_held(&two, is_stored).await);
    let limit = two.shared.config.incoming_limit() + (64 << 10);
    assert!(most > 0 && most <= limit, "{most} beside {limit}");
    let received = two.acts[1].metrics.received_bytes.get();
    assert!(received > 100 << 20, "{received}");
    assert!(two.acts[1].report.leaves_out(), "it is told of");
    two.end().await;
}

/// The beginning of a list and of its second object, a huge one.
const HUGE_LIST: &str = r#"{"metadata":{"resourceVersion":"10"},"items":[
  {"metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"1"}},
  {"metadata":{"name":"huge","namespace":"n","uid":"u","resourceVersion":"2","annotations":{"a":""#;

#[tokio::test(start_paused = true)]
async fn a_huge_object_of_a_list_is_left_out_and_costs_no_more_than_any_other() {
    let rest = format!(r#""}}}}}},{}]}}"#, pod("b", 3));
    let list = huge(Answer::ok(HUGE_LIST), &rest);
    let watch = Answer::ok("").that_stays_open();
    comes_beside_a_huge_object([list, watch], &["n/a@1", "n/b@3"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_huge_object_of_a_watch_is_left_out_and_costs_no_more_than_any_other() {
    let line = event("ADDED", &filled("huge", 11, 1));
    let (begin, _) = line.split_once("x\"").expect("its letter");
    let rest = [r#""}}}"#, "}\n", &event("ADDED", &pod("b", 12))].concat();
    let watch = huge(Answer::ok(begin), &rest).that_stays_open();
    let list = page(10, "", &[("a", 1)]);
    comes_beside_a_huge_object([list, watch], &["n/a@1", "n/b@12"]).await;
}

/// Nothing that a member's clock says counts here.
#[tokio::test(start_paused = true)]
async fn a_member_whose_clock_is_years_off_is_followed_as_any_other() {
    for (date, created) in [
        ("Mon, 01 Jan 2001 00:00:00 GMT", "2001-01-01T00:00:00Z"),
        ("Fri, 01 Jan 2060 00:00:00 GMT", "2060-01-01T00:00:00Z"),
    ] {
        let scene = Scene::new();
        let dated = |name: &str, version: u32| {
            let stamp = format!(r#""creationTimestamp":"{created}","name":"{name}""#);
            pod(name, version).replacen(&format!(r#""name":"{name}""#), &stamp, 1)
        };
        let list = format!(
            r#"{{"metadata":{{"resourceVersion":"10"}},"items":[{}]}}"#,
            dated("a", 1)
        );
        scene.member.lists([Answer::ok(list).dated(date)]);
        let lines = event("ADDED", &dated("b", 11));
        let watch = Answer::ok(lines).dated(date).that_stays_open();
        scene.member.watches([watch]);
        let act = scene.run();
        scene.comes_to(&["n/a@1", "n/b@11"], "Live@11").await;
        act.says(ResourceSyncStatus::Syncing).await;
        let told = act.report.shown().tally.last_event();
        let off = told.map(|told| (Timestamp::now().as_second() - told.as_second()).abs());
        assert!(off.is_some_and(|off| off < 3_600), "{told:?}");
        act.end().await;
    }
}
