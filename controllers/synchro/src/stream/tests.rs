//! Whole streams between a scripted member and a store in memory.

mod audits;
mod bursts;
mod busy;
mod crowd;
mod events;
mod full;
mod identities;
mod kinds;
mod living;
mod member;
mod memory;
mod narrow;
mod outlasted;
mod refusals;
mod rooms;
mod shares;
mod silence;
mod sink;
mod slow;
mod streamed;
mod sweeps;

use std::collections::BTreeSet;

use armadex_crds::ResourceSyncStatus;
use armadex_model::{GroupVersionResource, ObjectKey};
use armadex_storage::{Sink, StoreError};
use jiff::Timestamp;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use self::member::{Answer, FakeMember, IDENTITY};
use self::sink::MemorySink;
use super::*;
use crate::config::Config;
use crate::stream::objects::ClusterObjects;
use crate::stream::turns::ClusterTurns;
use crate::stream::watch::POSITION_PERIOD;
use crate::told::report::Progress;

/// What a task may take that follows a watch: each of forty kinds of a thousand members has one. With what the runtime adds it is 2 KiB.
const TASK_BYTES: usize = 1928;

/// A stream of pods of one cluster, and both its ends.
struct Scene {
    member: FakeMember,
    sink: Arc<MemorySink>,
}

/// A stream that runs.
struct Act {
    report: Arc<Report>,
    changed: Arc<Notify>,
    metrics: Arc<ClusterMetrics>,
    stranger: CancellationToken,
    cancel: CancellationToken,
    task: JoinHandle<()>,
    /// What the task takes.
    bytes: usize,
}

impl Scene {
    fn new() -> Self {
        Self {
            member: FakeMember::start(),
            sink: Arc::default(),
        }
    }

    /// A former process has stored `a`, and followed it.
    async fn that_has_a() -> Self {
        let scene = Self::new();
        scene.member.lists([page(10, "", &[("a", 1)])]);
        let act = scene.run();
        scene.comes_to(&["n/a@1"], "Live@10").await;
        act.end().await;
        scene
    }

    fn run(&self) -> Act {
        let sink: Arc<dyn Sink> = Arc::clone(&self.sink) as Arc<dyn Sink>;
        let shared = shared(sink);
        let connected = self.connect(&shared);
        self.run_beside(shared, connected, (ClusterId(1), pods()))
    }

    fn connect(&self, shared: &Shared) -> Arc<Connected> {
        self.connect_as(shared, IDENTITY)
    }

    /// To the member as it is known by this.
    fn connect_as(&self, shared: &Shared, identity: &str) -> Arc<Connected> {
        let lists = ClusterTurns::new(Arc::clone(&shared.lists));
        let member = self.member.connect();
        let (lists, outages) = (Arc::new(lists), Arc::default());
        let (identity, memory) = (Identity::stored(identity), shared.memory_of_cluster());
        Arc::new(Connected::new(member, identity, lists, outages, memory))
    }

    /// In a cluster that may have so many objects.
    async fn run_within(&self, most: u64) -> Act {
        let shared = shared(Arc::clone(&self.sink) as Arc<dyn Sink>);
        let connected = self.connect(&shared);
        let objects = ClusterObjects::new(most);
        let states = self.sink.streams(ClusterId(1)).await;
        objects.are(&states.expect("a look"), Instant::now());
        self.run_as(shared, connected, (ClusterId(1), pods()), objects)
    }

    /// Among others that share the same limits.
    fn run_beside(
        &self,
        shared: Arc<Shared>,
        connected: Arc<Connected>,
        of: (ClusterId, ResourceType),
    ) -> Act {
        self.run_as(shared, connected, of, ClusterObjects::new(0))
    }

    fn run_as(
        &self,
        shared: Arc<Shared>,
        connected: Arc<Connected>,
        of: (ClusterId, ResourceType),
        objects: ClusterObjects,
    ) -> Act {
        self.run_keeping(shared, connected, of, objects, None)
    }

    /// Of what comes these are kept, or all.
    fn run_keeping(
        &self,
        shared: Arc<Shared>,
        connected: Arc<Connected>,
        (cluster, resource): (ClusterId, ResourceType),
        objects: ClusterObjects,
        involved: Option<Involved>,
    ) -> Act {
        let (changed, metrics) = (Arc::<Notify>::default(), Arc::<ClusterMetrics>::default());
        let report = Report::new(Arc::clone(&changed), Timestamp::UNIX_EPOCH);
        let report = Arc::new(report);
        let (cancel, stranger) = (CancellationToken::new(), connected.stranger.clone());
        let context = StreamContext {
            shared,
            connected,
            cluster,
            cluster_name: ClusterName::new("member1").unwrap(),
            resource: Arc::new(resource),
            converted: None,
            involved: involved.map(Arc::new),
            report: Arc::clone(&report),
            objects: Arc::new(objects),
            metrics: Arc::clone(&metrics),
            cancel: cancel.clone(),
            left: CancellationToken::new(),
        };
        let task = run(context);
        Act {
            report,
            changed,
            metrics,
            stranger,
            cancel,
            bytes: size_of_val(&task),
            task: tokio::spawn(task),
        }
    }

    /// Waits for these rows and this position.
    #[track_caller]
    fn comes_to<'a>(&'a self, rows: &[&str], place: &str) -> impl Future<Output = ()> + use<'a> {
        let wanted: BTreeSet<String> = rows.iter().map(ToString::to_string).collect();
        let place = place.to_owned();
        self.sink
            .until(format!("{rows:?} at {place}"), move |stored| {
                stored.shown().into_iter().collect::<BTreeSet<_>>() == wanted
                    && stored.place() == place
            })
    }
}

impl Act {
    async fn end(self) {
        self.cancel.cancel();
        self.task.await.unwrap();
    }

    /// Waits until the status is this one, and gives its words.
    async fn says(&self, status: ResourceSyncStatus) -> String {
        let is_said = |shown: &Progress| shown.status == status;
        let soon = Duration::from_secs(20);
        self.shows_within(soon, format!("{status:?}"), is_said)
            .await
    }

    /// Waits until what is shown is so, and gives its words.
    async fn shows_within(
        &self,
        limit: Duration,
        what: String,
        is_so: impl Fn(&Progress) -> bool,
    ) -> String {
        let wait = async {
            loop {
                let shown = self.report.shown();
                if is_so(&shown) {
                    return shown.message;
                }
                self.changed.notified().await;
            }
        };
        match tokio::time::timeout(limit, wait).await {
            Ok(words) => words,
            Err(_) => panic!("{:?} instead of {what}", self.report.shown()),
        }
    }
}

fn shared(sink: Arc<dyn Sink>) -> Arc<Shared> {
    let config = Config {
        max_object_bytes: 4096,
        ..Config::default()
    };
    Arc::new(Shared::new(sink, "", config))
}

fn pods() -> ResourceType {
    type_of("pods")
}

fn type_of(resource: &str) -> ResourceType {
    ResourceType {
        gvr: GroupVersionResource::new("", "v1", resource),
        kind: "Pod".into(),
        namespaced: true,
        singular: "pod".into(),
        short_names: vec![],
        categories: vec![],
    }
}

fn pod(name: &str, version: u32) -> String {
    format!(
        r#"{{"metadata":{{"name":"{name}","namespace":"n","uid":"u-{name}","resourceVersion":"{version}"}}}}"#
    )
}

fn page(version: u32, token: &str, pods: &[(&str, u32)]) -> Answer {
    let items: Vec<_> = pods
        .iter()
        .map(|(name, version)| pod(name, *version))
        .collect();
    Answer::ok(format!(
        r#"{{"kind":"PodList","metadata":{{"resourceVersion":"{version}","continue":"{token}"}},"items":[{}]}}"#,
        items.join(",")
    ))
}

fn event(kind: &str, object: &str) -> String {
    format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n")
}

fn bookmark(version: u32) -> String {
    event(
        "BOOKMARK",
        &format!(r#"{{"metadata":{{"resourceVersion":"{version}"}}}}"#),
    )
}

/// What a member says of a continue token that has expired.
fn expired(fresh: &str) -> Answer {
    let status = format!(
        r#"{{"kind":"Status","code":410,"reason":"Expired","metadata":{{"continue":"{fresh}"}}}}"#
    );
    Answer::status(410, status)
}

fn gone() -> String {
    r#"{"kind":"Status","code":410,"message":"too old resource version"}"#.to_owned()
}

#[tokio::test]
async fn a_list_in_pages_is_followed_by_a_watch_from_its_first_version() {
    let scene = Scene::new();
    scene.member.lists([
        page(10, "t", &[("a", 1), ("b", 2)]),
        page(12, "", &[("c", 3)]),
    ]);
    let act = scene.run();
    scene
        .comes_to(&["n/a@1", "n/b@2", "n/c@3"], "Live@10")
        .await;
    act.says(ResourceSyncStatus::Syncing).await;
    assert_eq!(scene.member.requests(), ["list", "list:t", "watch@10"]);
    assert!(!act.report.shown().initial_list);
    act.end().await;
}

#[tokio::test]
async fn changes_and_bookmarks_move_the_position_and_half_a_line_does_not() {
    let scene = Scene::new();
    scene.member.lists([page(10, "", &[("a", 1), ("b", 2)])]);
    let half = event("ADDED", &pod("half", 99));
    let lines = [
        event("MODIFIED", &pod("a", 11)),
        event("ADDED", &pod("c", 12)),
        event("DELETED", &pod("b", 13)),
        bookmark(20),
        half[..half.len() / 2].to_owned(),
    ];
    scene
        .member
        .watches([Answer::ok(lines.concat()).that_breaks()]);
    let act = scene.run();
    scene.comes_to(&["n/a@11", "n/c@12"], "Live@20").await;
    act.says(ResourceSyncStatus::Error).await;
    act.says(ResourceSyncStatus::Syncing).await;
    assert_eq!(scene.member.requests(), ["list", "watch@10", "watch@20"]);
    act.end().await;
}

#[tokio::test]
async fn a_watch_that_is_cut_off_among_objects_of_one_version_brings_the_others_next_time() {
    let scene = Scene::new();
    scene.member.lists([page(10, "", &[])]);
    let first = [event("ADDED", &pod("a", 11)), event("ADDED", &pod("b", 12))];
    let again = [event("ADDED", &pod("b", 12)), event("ADDED", &pod("c", 12))];
    scene.member.watches([
        Answer::ok(first.concat()),
        Answer::ok(again.concat()).that_stays_open(),
    ]);
    let act = scene.run();
    scene
        .comes_to(&["n/a@11", "n/b@12", "n/c@12"], "Live@12")
        .await;
    assert_eq!(scene.member.requests(), ["list", "watch@10", "watch@11"]);
    act.end().await;
}

#[tokio::test]
async fn a_position_that_is_too_old_leads_to_a_list_that_deletes_what_it_lacks() {
    let as_status = Answer::status(410, gone());
    let as_event = Answer::ok(event("ADDED", &pod("late", 11)) + &event("ERROR", &gone()));
    for too_old in [as_status, as_event] {
        let scene = Scene::new();
        scene.member.lists([
            page(10, "", &[("a", 1), ("b", 2)]),
            page(30, "", &[("a", 21)]),
        ]);
        scene.member.watches([too_old]);
        let act = scene.run();
        scene.comes_to(&["n/a@21"], "Live@30").await;
        act.says(ResourceSyncStatus::Syncing).await;
        assert_eq!(
            scene.member.requests(),
            ["list", "watch@10", "list", "watch@30"]
        );
        act.end().await;
    }
}

#[tokio::test]
async fn a_restart_lists_nothing() {
    let scene = Scene::new();
    scene.member.lists([page(10, "", &[("a", 1)])]);
    let change = event("MODIFIED", &pod("a", 15));
    scene.member.watches([Answer::ok(change).that_stays_open()]);
    let act = scene.run();
    scene.comes_to(&["n/a@15"], "Live@15").await;
    act.end().await;
    let act = scene.run();
    act.says(ResourceSyncStatus::Syncing).await;
    assert_eq!(scene.member.requests(), ["list", "watch@10", "watch@15"]);
    act.end().await;
}

#[tokio::test]
async fn a_type_that_others_mean_otherwise_is_said_to_be_so_until_they_agree() {
    let scene = Scene::new();
    scene.member.lists([page(10, "", &[("a", 1)])]);
    scene.sink.with(|stored| stored.differs = true);
    let act = scene.run();
    let message = act.says(ResourceSyncStatus::Error).await;
    assert_eq!(message, "a Pod is a Node elsewhere");
    assert!(scene.member.requests().is_empty());
    scene.sink.with(|stored| stored.differs = false);
    scene.comes_to(&["n/a@1"], "Live@10").await;
    act.says(ResourceSyncStatus::Syncing).await;
    act.end().await;
}

#[tokio::test]
async fn rows_of_a_former_cluster_are_shown_once_the_member_lets_them_be_read() {
    let scene = Scene::that_has_a().await;
    scene.sink.with(|stored| stored.hidden = true);
    scene.member.set_present("");
    let act = scene.run();
    let message = act.says(ResourceSyncStatus::Error).await;
    assert!(message.starts_with("pods is forbidden: "), "{message}");
    assert!(scene.sink.with(|stored| stored.shown()).is_empty());
    scene.member.set_present("1000");
    scene.comes_to(&["n/a@1"], "Live@10").await;
    act.says(ResourceSyncStatus::Syncing).await;
    assert_eq!(scene.member.requests(), ["list", "watch@10", "watch@10"]);
    act.end().await;
}

#[tokio::test]
async fn rows_of_a_former_cluster_stay_hidden_where_another_lets_none_be_read() {
    let scene = Scene::that_has_a().await;
    scene.sink.with(|stored| {
        stored.hidden = true;
        stored.is_of_another();
    });
    let forbidden = r#"{"kind":"Status","code":403,"message":"pods is forbidden"}"#;
    scene.member.lists([Answer::status(403, forbidden)]);
    let act = scene.run();
    act.says(ResourceSyncStatus::Error).await;
    let (is_hidden, place) = scene.sink.with(|stored| (stored.hidden, stored.place()));
    assert_eq!((is_hidden, place), (true, "Live@10".to_owned()));
    scene.member.lists([page(20, "", &[("b", 2)])]);
    scene.comes_to(&["n/b@2"], "Live@20").await;
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn where_a_former_cluster_stood_is_forgotten_once_a_list_leads_elsewhere() {
    let scene = Scene::that_has_a().await;
    scene.member.lists([page(20, "", &[("b", 2)])]);
    scene.sink.with(|stored| stored.hidden = true);
    // It is not understood when it says how far it is, and so it is listed.
    scene.member.set_present(&"9".repeat(1000));
    let early = Answer::ok("").that_ends_after(Duration::from_secs(10));
    scene.member.watches([early]);
    let act = scene.run();
    scene.comes_to(&["n/b@2"], "Live@20").await;
    act.says(ResourceSyncStatus::Syncing).await;
    act.says(ResourceSyncStatus::Error).await;
    scene.member.set_present("1000");
    act.says(ResourceSyncStatus::Syncing).await;
    let watched = ["watch@10", "list", "watch@20", "watch@20"];
    assert_eq!(scene.member.requests()[1..], watched);
    assert_eq!(scene.sink.with(|stored| stored.place()), "Live@20");
    act.end().await;
}

#[tokio::test]
async fn a_member_that_fell_behind_is_listed_at_a_restart() {
    let scene = Scene::new();
    scene.member.lists([
        page(10, "", &[("a", 1), ("b", 2)]),
        page(7, "", &[("a", 1)]),
    ]);
    let act = scene.run();
    scene.comes_to(&["n/a@1", "n/b@2"], "Live@10").await;
    act.end().await;
    scene.member.set_present("7");
    let act = scene.run();
    scene.comes_to(&["n/a@1"], "Live@7").await;
    act.end().await;
}

#[tokio::test]
async fn another_member_at_the_same_address_is_noticed() {
    let scene = Scene::new();
    scene.member.lists([page(10, "", &[("a", 1)])]);
    scene.member.watches([Answer::ok("").that_breaks()]);
    scene.member.set_identity("another");
    let act = scene.run();
    let noticed = act.stranger.cancelled();
    tokio::time::timeout(Duration::from_secs(20), noticed)
        .await
        .unwrap();
    assert_eq!(
        scene.sink.with(|stored| stored.shown()),
        ["n/a@1"],
        "its rows stay"
    );
    act.end().await;
}

#[tokio::test]
async fn an_object_that_is_too_large_is_named_and_the_position_moves_on() {
    let scene = Scene::new();
    scene.member.lists([page(10, "", &[("a", 1), ("b", 2)])]);
    let large = |name: &str, version: u32, size: usize| {
        let filled = format!(r#""data":"{}","metadata""#, "x".repeat(size));
        pod(name, version).replace("\"metadata\"", &filled)
    };
    let behind = |name: &str, version: u32, size: usize| {
        let object = pod(name, version);
        format!(
            "{},\"data\":\"{}\"}}",
            &object[..object.len() - 1],
            "x".repeat(size)
        )
    };
    let lines = [
        event("MODIFIED", &large("a", 11, 5_000)),
        event("MODIFIED", &behind("b", 12, 500_000)),
        event("ADDED", "{\"metadata\":{}}"),
        event("ADDED", &pod("c", 13)),
    ];
    scene
        .member
        .watches([Answer::ok(lines.concat()).that_stays_open()]);
    let act = scene.run();
    scene.comes_to(&["n/c@13"], "Live@13").await;
    let message = act.says(ResourceSyncStatus::Syncing).await;
    for words in [
        "an object is not stored: it has no name",
        "n/a is not stored",
        "n/b is not stored: it came with",
    ] {
        assert!(message.contains(words), "{message}");
    }
    act.end().await;
}

#[tokio::test]
async fn a_list_goes_on_after_an_object_that_cannot_be_stored() {
    let scene = Scene::new();
    let body = format!(
        r#"{{"items":[{},7,{}],"metadata":{{"resourceVersion":"5"}}}}"#,
        r#"{"metadata":{"name":"bad","namespace":"n","labels":{"x":1}}}"#,
        pod("good", 2)
    );
    let broken = Answer::ok(body);
    let body = format!(
        r#"{{"items":[{},{}],"metadata":{{"resourceVersion":"5"}}}}"#,
        r#"{"metadata":{"name":"bad","namespace":"n","labels":{"x":1}}}"#,
        pod("good", 2)
    );
    scene.member.lists([broken, Answer::ok(body)]);
    let act = scene.run();
    scene.comes_to(&["n/good@2"], "Live@5").await;
    let message = act.says(ResourceSyncStatus::Syncing).await;
    assert!(
        message.starts_with("n/bad is not stored: metadata.labels"),
        "{message}"
    );
    act.end().await;
}

#[tokio::test]
async fn a_page_that_breaks_off_is_read_again() {
    let scene = Scene::new();
    let whole = page(10, "", &[("b", 2)]);
    let half = Answer::ok(r#"{"metadata":{"resourceVersion":"10"},"items":["#).that_breaks();
    scene
        .member
        .lists([page(10, "t", &[("a", 1)]), half, whole]);
    let act = scene.run();
    scene.comes_to(&["n/a@1", "n/b@2"], "Live@10").await;
    assert_eq!(
        scene.member.requests()[..3],
        ["list", "list:t", "list/100:t"]
    );
    act.end().await;
}

#[tokio::test]
async fn a_list_of_one_page_is_one_write() {
    let scene = Scene::new();
    scene.member.lists([page(10, "", &[("a", 1), ("b", 2)])]);
    let act = scene.run();
    scene.comes_to(&["n/a@1", "n/b@2"], "Live@10").await;
    act.says(ResourceSyncStatus::Syncing).await;
    assert_eq!(scene.sink.with(|stored| stored.writes), 1);
    act.end().await;
}

#[tokio::test]
async fn what_a_first_page_brought_before_it_broke_off_does_not_outlive_its_object() {
    let scene = Scene::new();
    let items = [pod("gone", 1), pod("stays", 2)].join(",");
    let half = format!(r#"{{"metadata":{{"resourceVersion":"10"}},"items":[{items},"#);
    scene.member.lists([
        Answer::ok(half).that_breaks(),
        page(20, "", &[("stays", 2)]),
    ]);
    let act = scene.run();
    scene.comes_to(&["n/stays@2"], "Live@20").await;
    act.end().await;
}

#[tokio::test]
async fn an_expired_token_begins_the_list_anew() {
    let scene = Scene::new();
    scene.member.lists([
        page(10, "t", &[("a", 1), ("b", 2)]),
        Answer::status(410, gone()),
        page(20, "", &[("b", 2)]),
    ]);
    let act = scene.run();
    scene.comes_to(&["n/b@2"], "Live@20").await;
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_expired_list_goes_on_with_the_token_it_is_given_and_the_watch_tells_the_rest() {
    let scene = Scene::new();
    scene.member.lists([
        page(10, "t", &[("a", 1), ("b", 2)]),
        expired("fresh"),
        page(20, "", &[("c", 15), ("d", 4)]),
    ]);
    let since = [
        event("MODIFIED", &pod("c", 12)),
        event("DELETED", &pod("b", 13)),
        event("MODIFIED", &pod("c", 15)),
        event("MODIFIED", &pod("a", 16)),
        bookmark(20),
    ];
    let since = Answer::ok(since.concat()).that_stays_open();
    scene.member.watches([since]);
    let act = scene.run();
    scene
        .comes_to(&["n/a@16", "n/c@15", "n/d@4"], "Live@20")
        .await;
    assert_eq!(
        scene.member.requests(),
        ["list", "list:t", "list:fresh", "watch@10"]
    );
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_list_of_two_versions_that_cannot_be_watched_from_the_first_is_made_anew() {
    let scene = Scene::new();
    scene.member.lists([
        page(10, "t", &[("a", 1), ("b", 2)]),
        expired("fresh"),
        page(20, "", &[("c", 15)]),
        page(30, "", &[("a", 1), ("c", 15)]),
    ]);
    scene.member.watches([Answer::status(410, gone())]);
    let act = scene.run();
    scene.comes_to(&["n/a@1", "n/c@15"], "Live@30").await;
    act.says(ResourceSyncStatus::Syncing).await;
    assert_eq!(
        scene.member.requests()[3..],
        ["watch@10", "list", "watch@30"]
    );
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_type_that_is_dropped_and_added_again_shows_no_row_that_the_member_has_not() {
    for purged in 0..3 {
        let scene = Scene::new();
        scene.member.lists([
            page(10, "", &[("a", 1), ("b", 2)]),
            page(20, "", &[("c", 3)]),
        ]);
        let act = scene.run();
        scene.comes_to(&["n/a@1", "n/b@2"], "Live@10").await;
        act.end().await;
        let stream = scene.sink.streams(ClusterId(1)).await.unwrap();
        scene
            .sink
            .close(ClusterId(1), "", stream[0].id)
            .await
            .unwrap();
        scene.comes_to(&[], "none").await;
        let gone = scene.sink.purge(purged, Duration::ZERO).await.unwrap();
        assert_eq!(gone.objects, u64::from(purged), "the others are left");
        let act = scene.run();
        scene.comes_to(&["n/c@3"], "Live@20").await;
        act.end().await;
    }
}

#[tokio::test]
async fn a_forbidden_kind_says_so_in_the_members_words_and_which_right_is_missing() {
    let scene = Scene::new();
    let words = "pods is forbidden: User \\\"x\\\" cannot list";
    let refusal = format!(r#"{{"kind":"Status","code":403,"message":"{words}"}}"#);
    scene
        .member
        .lists([Answer::status(403, refusal), page(10, "", &[("a", 1)])]);
    let act = scene.run();
    let message = act.says(ResourceSyncStatus::Error).await;
    let expected = concat!(
        r#"pods is forbidden: User "x" cannot list: the account's ClusterRole lacks {apiGroups: [""], resources: ["pods"], "#,
        r#"verbs: ["list", "watch"]}; `armadex rbac --for pediacluster/member1` prints the whole of it"#
    );
    assert_eq!(message, expected);
    scene.comes_to(&["n/a@1"], "Live@10").await;
    act.says(ResourceSyncStatus::Syncing).await;
    act.end().await;
}

#[tokio::test]
async fn a_store_that_is_away_gets_the_same_batch_when_it_is_back() {
    let scene = Scene::new();
    scene.member.lists([page(10, "", &[("a", 1)])]);
    let away = || StoreError::Unavailable {
        reason: "it is being restarted".into(),
        source: "closed".into(),
    };
    scene
        .sink
        .with(|stored| stored.faults.extend([away(), away(), away()]));
    let act = scene.run();
    let message = act.says(ResourceSyncStatus::Stop).await;
    let words = "the store is not available, the log of the synchro says more";
    assert_eq!(message, words);
    scene.comes_to(&["n/a@1"], "Live@10").await;
    act.says(ResourceSyncStatus::Syncing).await;
    assert_eq!(scene.member.requests()[..1], ["list"]);
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_is_given_up_while_the_store_is_away_and_goes_on_from_its_position() {
    let scene = Scene::new();
    scene.member.lists([page(10, "", &[("a", 1)])]);
    let changes = [event("ADDED", &pod("b", 11)), event("ADDED", &pod("c", 12))];
    let changes = Answer::ok(changes.concat()).that_stays_open();
    scene.member.watches([
        changes.that_comes_after(Duration::from_secs(2)),
        Answer::ok(event("ADDED", &pod("d", 13))).that_stays_open(),
    ]);
    let act = scene.run();
    scene.comes_to(&["n/a@1"], "Live@10").await;
    let away = || StoreError::Unavailable {
        reason: "it is being restarted".into(),
        source: "closed".into(),
    };
    // Tried again after 0.2, 0.4, ... 6.4 s, each shortened by half at most.
    let for_six_seconds = (0..6).map(|_| away());
    scene
        .sink
        .with(|stored| stored.faults.extend(for_six_seconds));
    scene
        .comes_to(&["n/a@1", "n/b@11", "n/c@12", "n/d@13"], "Live@13")
        .await;
    assert_eq!(scene.member.requests(), ["list", "watch@10", "watch@11"]);
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_brings_no_change_is_kept_while_the_store_is_away() {
    let seconds = Duration::from_secs;
    let scene = Scene::new();
    scene.member.lists([page(10, "", &[("a", 1)])]);
    let watch = Answer::ok(bookmark(11))
        .and_then(seconds(60), &bookmark(12))
        .and_then(seconds(60), &bookmark(13))
        .and_then(seconds(50), &bookmark(14));
    scene.member.watches([watch.that_stays_open()]);
    let act = scene.run();
    scene.comes_to(&["n/a@1"], "Live@10").await;
    let away = || StoreError::Unavailable {
        reason: "it is being restarted".into(),
        source: "closed".into(),
    };
    // More tries than are made of it.
    let for_as_long_as_it_takes = (0..1000).map(|_| away());
    scene
        .sink
        .with(|stored| stored.faults.extend(for_as_long_as_it_takes));
    tokio::time::sleep(POSITION_PERIOD + seconds(8)).await;
    scene.sink.with(|stored| {
        assert!(stored.faults.len() < 1000, "a position was due");
        assert_eq!(stored.place(), "Live@10");
        stored.faults.clear();
    });
    // It was put off for 15 s: no watch ends before that of itself.
    let is_told = |stored: &sink::Stored| stored.place() != "Live@10";
    scene.sink.until("a position".to_owned(), is_told).await;
    assert_eq!(scene.member.requests(), ["list", "watch@10"]);
    act.end().await;
}

#[tokio::test]
async fn an_object_that_the_store_refuses_is_left_out_and_named() {
    let scene = Scene::new();
    scene.member.lists([page(10, "", &[("a", 1), ("odd", 2)])]);
    scene
        .sink
        .with(|stored| stored.refused = Some(ObjectKey::new("n", "odd")));
    let act = scene.run();
    scene.comes_to(&["n/a@1"], "Live@10").await;
    let message = act.says(ResourceSyncStatus::Syncing).await;
    assert_eq!(message, "n/odd is not stored: it is odd");
    act.end().await;
}

#[tokio::test]
async fn what_was_left_out_is_told_again_after_a_restart_and_stored_if_that_is_possible_now() {
    let scene = Scene::new();
    let list = || page(10, "", &[("a", 1), ("odd", 2)]);
    scene.member.lists([list(), list(), list()]);
    scene
        .sink
        .with(|stored| stored.refused = Some(ObjectKey::new("n", "odd")));
    for _ in 0..2 {
        let act = scene.run();
        let message = act.says(ResourceSyncStatus::Syncing).await;
        assert_eq!(message, "n/odd is not stored: it is odd");
        scene.comes_to(&["n/a@1"], "Live@10").await;
        act.end().await;
    }
    scene.sink.with(|stored| stored.refused = None);
    for _ in 0..2 {
        let act = scene.run();
        scene.comes_to(&["n/a@1", "n/odd@2"], "Live@10").await;
        assert_eq!(act.says(ResourceSyncStatus::Syncing).await, "");
        act.end().await;
    }
    let requests = scene.member.requests();
    let lists = requests.iter().filter(|request| *request == "list");
    assert_eq!(lists.count(), 3, "{requests:?}");
}

#[tokio::test]
async fn a_stream_that_somebody_took_over_writes_nothing_more() {
    let scene = Scene::new();
    scene.member.lists([page(10, "", &[("a", 1)])]);
    let what = "pods".to_owned();
    scene
        .sink
        .with(|stored| stored.faults.push_back(StoreError::Fenced { what }));
    let act = scene.run();
    let message = act.says(ResourceSyncStatus::Stop).await;
    assert_eq!(message, "another synchro writes this stream");
    act.end().await;
    let (rows, writes) = scene.sink.with(|stored| (stored.shown(), stored.writes));
    assert_eq!((rows.len(), writes), (0, 1));
}

#[tokio::test]
async fn what_is_held_is_written_before_a_stream_ends() {
    let scene = Scene::new();
    scene.member.lists([page(10, "", &[])]);
    scene
        .member
        .watches([Answer::ok(bookmark(50)).that_stays_open()]);
    let act = scene.run();
    let received = async {
        while act.metrics.received_objects.get() == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), received)
        .await
        .unwrap();
    assert_eq!(
        scene.sink.with(|stored| stored.place()),
        "Live@10",
        "a bookmark can wait"
    );
    act.end().await;
    assert_eq!(scene.sink.with(|stored| stored.place()), "Live@50");
}

#[tokio::test]
async fn a_stream_takes_no_more_memory_than_its_watch() {
    let scene = Scene::new();
    let act = scene.run();
    assert!(act.bytes <= TASK_BYTES, "{} bytes", act.bytes);
    act.end().await;
}
