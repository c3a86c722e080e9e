//! Types that are new and wait for room.

use std::sync::Arc;

use armadex_model::GroupVersionResource;

use super::*;
use crate::session::plan::Plan;
use crate::session::rediscovery::{Found, Rest};
use crate::told::metrics::ClusterMetrics;

/// So many types may a cluster have, and so many that are new in an hour.
const MOST: usize = 5;
const KINDS: usize = 12;
/// After so long there is room for another.
const EACH: Duration = Duration::from_secs(60 * 60 / MOST as u64);

/// A cluster whose member serves more kinds than it may have.
struct Act {
    stage: Stage,
    member: ScriptedMember,
    fleet: Fleet,
    metrics: Arc<ClusterMetrics>,
}

impl Act {
    async fn begin() -> Self {
        let stage = Stage::new().await;
        let member = ScriptedMember::start("uid", &[]).await;
        member.serves_kinds(0..KINDS);
        let config = Config {
            max_resources: MOST,
            audit_every: Duration::ZERO,
            ..Config::default()
        };
        let shared = stage.shared("one", config);
        let metrics = shared.metrics.of(&name("m"));
        let mut fleet = stage.synchro_of_these(stage.control_plane.client(), &shared);
        stage.relist(&mut fleet, [asking_for(&member, &["*"])]);
        Self {
            stage,
            member,
            fleet,
            metrics,
        }
    }

    /// Waits until so many types are synced, and so many are said to wait.
    async fn comes_to(&self, synced: usize, wait: usize) {
        let counts = || async {
            let (streams, waiting) = (&self.metrics.streams, &self.metrics.waiting_types);
            (streams.get(), waiting.get()) == (synced as u64, wait as u64)
        };
        in_time(&format!("{synced} synced, {wait} that wait"), counts).await;
    }

    /// Waits until what is said of the types that are not synced has these words, or does not.
    async fn says(&self, words: &str, said: bool) {
        let is_said = || async {
            let written = self.stage.control_plane.statuses("m").pop();
            let groups = written.map_or(Value::Null, |written| {
                written.body["status"]["syncResources"].clone()
            });
            let mut rows = groups.as_array().into_iter().flatten();
            let rest = rows.find(|group| group["group"] == "*");
            let message = rest.map(|rest| &rest["resources"][0]["syncConditions"][0]["message"]);
            message.is_some_and(|message| {
                message
                    .as_str()
                    .is_some_and(|message| message.contains(words) == said)
            })
        };
        in_time(&format!("{words:?}: {said}"), is_said).await;
    }

    fn is_listed(&self, kind: usize) -> bool {
        let list = format!("list kind{kind:02}");
        self.member.requests().contains(&list)
    }
}

#[tokio::test]
async fn a_type_that_waits_for_room_is_synced_by_and_by() {
    let mut act = Act::begin().await;
    let begun = Instant::now();
    act.comes_to(MOST, 0).await;
    act.says("7 more resources are not synced", true).await;
    act.says("by and by", false).await;

    act.member.serves_kinds(1..KINDS);
    act.comes_to(MOST - 1, 1).await;
    act.says("6 more resources are not synced", true).await;
    act.says("by and by", true).await;

    act.member.dies();
    act.comes_to(0, 0).await;
    act.member.returns_as("uid", &[]);
    act.comes_to(MOST - 1, 1).await;
    assert!(
        !act.is_listed(MOST),
        "another session has no room of its own"
    );
    assert!(begun.elapsed() < EACH, "{:?}", begun.elapsed());

    act.comes_to(MOST, 0).await;
    assert!(begun.elapsed() >= EACH, "{:?}", begun.elapsed());
    in_time("its list", || async { act.is_listed(MOST) }).await;
    act.says("by and by", false).await;
    act.fleet.shutdown().await;
}

#[tokio::test]
async fn nothing_is_said_to_wait_that_is_not_asked_for_any_more() {
    let mut act = Act::begin().await;
    act.comes_to(MOST, 0).await;
    act.member.serves_kinds(1..KINDS);
    act.comes_to(MOST - 1, 1).await;
    act.member.answers("/api", 500);
    act.member.answers("/apis", 500);
    let edited = asking_for(&act.member, &["kind01"]);
    act.fleet.handle(Event::Apply(edited));
    act.comes_to(1, 0).await;
    act.fleet.shutdown().await;
}

#[test]
fn what_is_doubted_is_asked_for_soon_whatever_waits() {
    let mut plan = Plan {
        wait: 1,
        ..Plan::default()
    };
    assert_eq!(Found::by(&plan, Rest::None), Found::Waiting);
    assert_eq!(Found::by(&plan, Rest::Unclear), Found::Unclear);
    assert_eq!(Found::by(&plan, Rest::Versions), Found::Versions);
    let gone = GroupVersionResource::new("shop.example", "v1", "orders");
    plan.kept.doubted.insert(gone);
    assert_eq!(Found::by(&plan, Rest::Versions), Found::Unclear);
}
