//! Many streams of one member: what they ask and tell together.

use tokio::time::Instant;

use super::sink::Sinks;
use super::*;
use crate::testing::warnings;

const KINDS: i64 = 12;

/// Streams of one member, each with a store of its own.
struct Kinds {
    scene: Scene,
    sinks: Vec<Arc<MemorySink>>,
    acts: Vec<Act>,
}

impl Kinds {
    fn run(scene: Scene) -> Self {
        let sinks: Vec<_> = (0..KINDS).map(|_| Arc::<MemorySink>::default()).collect();
        let shared = shared(Arc::new(Sinks(sinks.clone())));
        let connected = scene.connect(&shared);
        let run = |kind| {
            let (shared, connected) = (Arc::clone(&shared), Arc::clone(&connected));
            let gvr = GroupVersionResource::new("", "v1", format!("kind{kind}"));
            let resource = ResourceType { gvr, ..pods() };
            scene.run_beside(shared, connected, (ClusterId(kind), resource))
        };
        let acts = (0..KINDS).map(run).collect();
        Self { scene, sinks, acts }
    }

    async fn come_to(&self, place: &str) {
        for sink in &self.sinks {
            let wanted = place.to_owned();
            sink.until(place.to_owned(), move |stored| stored.place() == wanted)
                .await;
        }
    }

    async fn end(self) {
        for act in self.acts {
            act.end().await;
        }
    }
}

/// A list and a watch that breaks after ten seconds; what comes after that is for the test.
fn breaks_once(after: impl Fn() -> Answer + Send + Sync) -> impl Fn(&str) -> Answer + Send + Sync {
    move |request| match request {
        "list" => page(10, "", &[("a", 1)]),
        "watch@10" => Answer::ok(bookmark(20)).that_breaks_after(Duration::from_secs(10)),
        _ => after(),
    }
}

#[tokio::test(start_paused = true)]
async fn one_stream_asks_for_all_who_the_member_is() {
    let scene = Scene::new();
    let open = || Answer::ok(event("MODIFIED", &pod("a", 30))).that_stays_open();
    scene.member.answers_by(breaks_once(open));
    let kinds = Kinds::run(scene);
    kinds.come_to("Live@20").await;
    kinds.come_to("Live@30").await;
    assert_eq!(kinds.scene.member.identified(), 1);
    kinds.end().await;
}

#[tokio::test(start_paused = true)]
async fn kinds_that_hang_hold_up_no_other_kind() {
    const HANGING: usize = 8;
    let scene = Scene::new();
    let open = || Answer::ok(event("MODIFIED", &pod("a", 30))).that_stays_open();
    scene.member.answers_by(breaks_once(open));
    let hanging = (0..HANGING).map(|kind| format!("kind{kind}"));
    scene.member.hangs_when_asked_for(hanging);
    let mut kinds = Kinds::run(scene);
    kinds.come_to("Live@20").await;
    // The first seconds are those that are waited before it is asked again.
    let others = kinds.sinks.split_off(HANGING);
    let begun = Instant::now();
    for sink in &others {
        let is_there = |stored: &super::sink::Stored| stored.place() == "Live@30";
        sink.until("the others".into(), is_there).await;
    }
    assert!(begun.elapsed() < Duration::from_secs(5));
    kinds.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_outage_that_hits_all_streams_of_a_member_is_told_once() {
    let told = warnings();
    let scene = Scene::new();
    let again = Instant::now() + Duration::from_secs(300);
    let down = move || match Instant::now() < again {
        true => Answer::status(503, r#"{"message":"etcd is away"}"#),
        false => Answer::ok(event("MODIFIED", &pod("a", 30))).that_stays_open(),
    };
    scene.member.answers_by(breaks_once(down));
    let kinds = Kinds::run(scene);
    tokio::time::sleep(Duration::from_secs(290)).await;
    assert_eq!(
        told.told().len(),
        2,
        "connections broke, and then etcd was away"
    );
    tokio::time::sleep(Duration::from_secs(40)).await;
    kinds.come_to("Live@30").await;
    assert_eq!(told.told().len(), 2);
    kinds.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_away_is_told_of_once_for_all_streams() {
    let told = warnings();
    let scene = Scene::new();
    scene.member.answers_by(breaks_once(|| Answer::ok("")));
    let kinds = Kinds::run(scene);
    for sink in &kinds.sinks {
        let away = || StoreError::Unavailable {
            reason: "it is being restarted".into(),
            source: "closed".into(),
        };
        sink.with(|stored| stored.faults.extend([away(), away(), away()]));
    }
    kinds.come_to("Live@10").await;
    assert_eq!(told.told().len(), 1);
    kinds.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_outage_that_comes_back_over_another_connection_is_told_once() {
    let told = warnings();
    let scene = Scene::new();
    scene.member.answers_by(|request| match request {
        "list" => page(10, "", &[("a", 1)]),
        _ => Answer::status(403, r#"{"message":"pods is forbidden"}"#),
    });
    let shared = shared(Arc::clone(&scene.sink) as Arc<dyn Sink>);
    let lists = Arc::new(ClusterTurns::new(Arc::clone(&shared.lists)));
    let outages = Arc::default();
    for _ in 0..3 {
        let (member, identity) = (scene.member.connect(), Identity::stored(IDENTITY));
        let (lists, outages) = (Arc::clone(&lists), Arc::clone(&outages));
        let memory = shared.memory_of_cluster();
        let connected = Connected::new(member, identity, lists, outages, memory);
        let connected = Arc::new(connected);
        let act = scene.run_beside(Arc::clone(&shared), connected, (ClusterId(1), pods()));
        act.says(ResourceSyncStatus::Error).await;
        act.end().await;
    }
    assert_eq!(told.told().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_kind_whose_watch_is_forbidden_is_told_of_once() {
    let told = warnings();
    let scene = Scene::new();
    scene.member.answers_by(|request| match request {
        "list" => page(10, "", &[("a", 1)]),
        _ => Answer::status(403, r#"{"message":"pods is forbidden"}"#),
    });
    let act = scene.run();
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(told.told().len(), 1);
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn positions_after_events_of_different_moments_are_stored_together() {
    let scene = Scene::new();
    let asked = std::sync::atomic::AtomicU32::new(0);
    scene.member.answers_by(move |request| match request {
        "list" => page(10, "", &[("a", 1)]),
        _ => {
            // One event of each kind, 70 ms after another's: some of them in another second.
            let nth = asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let event = event("MODIFIED", &pod("a", 30));
            Answer::ok(bookmark(20))
                .and_then(Duration::from_millis(300 + u64::from(nth) * 70), &event)
                .that_stays_open()
        }
    });
    let kinds = Kinds::run(scene);
    let begun = Instant::now();
    kinds.come_to("Live@30").await;
    assert!(begun.elapsed() < Duration::from_secs(4));
    let last = |sink: &Arc<MemorySink>| sink.with(|stored| *stored.written.last().unwrap());
    let moments: std::collections::BTreeSet<_> = kinds.sinks.iter().map(last).collect();
    assert!(moments.len() <= 2, "{moments:?}");
    kinds.end().await;
}

#[tokio::test(start_paused = true)]
async fn positions_that_move_without_a_change_are_stored_together_and_seldom() {
    const MINUTE: Duration = Duration::from_secs(60);
    let scene = Scene::new();
    scene.member.answers_by(|request| {
        let version = request.strip_prefix("watch@").map(str::parse::<u32>);
        match version {
            None => page(10, "", &[("a", 1)]),
            Some(version) => Answer::ok(bookmark(version.unwrap() + 1)).that_ends_after(MINUTE),
        }
    });
    let kinds = Kinds::run(scene);
    tokio::time::sleep(30 * MINUTE + Duration::from_secs(1)).await;
    let written: Vec<_> = kinds
        .sinks
        .iter()
        .map(|sink| sink.with(|stored| stored.written.clone()))
        .collect();
    for times in &written {
        assert_eq!(times.len(), 1 + 30 / 3, "the list, and every three minutes");
        assert_eq!(times[1..], written[0][1..], "all at the same time");
    }
    let sinks = kinds.sinks.clone();
    kinds.end().await;
    for sink in sinks {
        let place = sink.with(|stored| stored.place());
        assert_eq!(place, "Live@41", "what was not stored is, at the end");
    }
}
