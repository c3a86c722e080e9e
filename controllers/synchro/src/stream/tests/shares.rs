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
