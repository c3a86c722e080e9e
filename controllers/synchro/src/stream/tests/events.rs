//! Streams of Events of which those of pods are kept, over all that a member has or those of pods that it is asked for.

use super::*;
use crate::testing::named;

const MOST: u64 = 10;

fn of_pods() -> Involved {
    let pods = ResourceType {
        kind: "Pod".to_owned(),
        ..named("pods")
    };
    Involved::in_types([&pods].into_iter()).expect("a kind")
}

/// An Event about something of this kind.
fn about(kind: &str, name: &str, version: u32) -> String {
    format!(
        r#"{{"metadata":{{"name":"{name}","namespace":"n","resourceVersion":"{version}"}},"involvedObject":{{"kind":"{kind}","apiVersion":"v1"}}}}"#
    )
}

fn page_of(version: u32, token: &str, events: &[String]) -> Answer {
    let items = events.join(",");
    Answer::ok(format!(
        r#"{{"metadata":{{"resourceVersion":"{version}","continue":"{token}"}},"items":[{items}]}}"#
    ))
}

fn refusal() -> Answer {
    Answer::status(400, r#"{"kind":"Status","code":400,"message":"no"}"#)
}

impl Scene {
    async fn run_events(&self, streaming_lists: bool, involved: Option<Involved>) -> Act {
        let config = Config {
            streaming_lists,
            ..Config::default()
        };
        let sink: Arc<dyn Sink> = Arc::clone(&self.sink) as _;
        let shared = Arc::new(Shared::new(sink, "", config));
        let connected = self.connect(&shared);
        let objects = ClusterObjects::new(MOST);
        let states = self.sink.streams(ClusterId(1)).await;
        objects.are(&states.expect("a look"), Instant::now());
        let of = (ClusterId(1), type_of("events"));
        self.run_keeping(shared, connected, of, objects, involved)
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_that_comes_to_be_about_something_else_goes() {
    let scene = Scene::new();
    let events = [about("Pod", "a", 1), about("Pod", "b", 2)];
    scene.member.lists([page_of(10, "", &events)]);
    let lines = event("MODIFIED", &about("Node", "a", 11)) + &bookmark(12);
    scene.member.watches([Answer::ok(lines).that_stays_open()]);
    let act = scene.run_events(false, Some(of_pods())).await;
    scene.comes_to(&["n/b@2"], "Live@12").await;
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn one_that_does_so_before_the_end_of_its_list_is_not_stored() {
    let scene = Scene::new();
    let end = r#"{"metadata":{"resourceVersion":"6","annotations":{"k8s.io/initial-events-end":"true"}}}"#;
    let told = [
        event("ADDED", &about("Pod", "a", 1)),
        event("ADDED", &about("Pod", "b", 2)),
        event("MODIFIED", &about("Node", "a", 5)),
        event("BOOKMARK", end),
    ];
    let told = Answer::ok(told.concat()).that_stays_open();
    scene.member.lists([told]);
    let act = scene.run_events(true, Some(of_pods())).await;
    scene.comes_to(&["n/b@2"], "Live@6").await;
    assert_eq!(scene.member.requests(), ["list+watch selecting"]);
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_refused_without_its_selector_too_says_nothing_of_selectors() {
    let scene = Scene::new();
    scene.member.lists([
        page_of(10, "t", &[about("Pod", "a", 1)]),
        refusal(),
        refusal(),
        page_of(10, "", &[about("Pod", "b", 2)]),
    ]);
    scene.member.watches([refusal(), refusal()]);
    let act = scene.run_events(false, Some(of_pods())).await;
    scene.comes_to(&["n/a@1", "n/b@2"], "Live@10").await;
    let asked = || scene.member.requests();
    while asked()
        .last()
        .is_none_or(|last| last != "watch@10 selecting")
        || asked().len() < 7
    {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let expected = [
        "list selecting",
        "list:t selecting",
        "list:t",
        "list:t selecting",
        "watch@10 selecting",
        "watch@10",
        "watch@10 selecting",
    ];
    assert_eq!(asked(), expected);
    act.end().await;
}

/// Such a list may be refused as well; the selector is believed to be it where the same is answered without.
#[tokio::test(start_paused = true)]
async fn a_selector_that_is_refused_is_no_refusal_of_a_streamed_list() {
    let scene = Scene::new();
    let end = r#"{"metadata":{"resourceVersion":"6","annotations":{"k8s.io/initial-events-end":"true"}}}"#;
    let told = event("ADDED", &about("Pod", "a", 1))
        + &event("ADDED", &about("Node", "b", 2))
        + &event("BOOKMARK", end);
    scene.member.lists([refusal(), Answer::ok(told)]);
    let act = scene.run_events(true, Some(of_pods())).await;
    scene.comes_to(&["n/a@1"], "Live@6").await;
    while scene.member.requests().len() < 3 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let asked = ["list+watch selecting", "list+watch", "watch@6"];
    assert_eq!(scene.member.requests()[..3], asked);
    act.end().await;

    let scene = Scene::new();
    let page = page_of(10, "", &[about("Pod", "a", 1)]);
    scene.member.lists([refusal(), refusal(), page]);
    let act = scene.run_events(true, Some(of_pods())).await;
    scene.comes_to(&["n/a@1"], "Live@10").await;
    let asked = ["list+watch selecting", "list+watch", "list selecting"];
    assert_eq!(scene.member.requests()[..3], asked);
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_filtered_watch_that_is_too_old_leads_to_a_filtered_list() {
    let scene = Scene::new();
    let list = |version, name| page_of(version, "", &[about("Pod", name, 1)]);
    scene.member.lists([list(10, "a"), list(20, "b")]);
    scene.member.watches([Answer::status(410, gone())]);
    let act = scene.run_events(false, Some(of_pods())).await;
    scene.comes_to(&["n/b@1"], "Live@20").await;
    let asked = scene.member.requests();
    assert_eq!(
        asked[..3],
        ["list selecting", "watch@10 selecting", "list selecting"]
    );
    act.end().await;
}

/// How many are kept of all that a member has it does not say.
#[tokio::test(start_paused = true)]
async fn in_a_cluster_far_too_full_fewer_kinds_make_place() {
    let scene = Scene::new();
    let pods = (0..4).map(|number| about("Pod", &format!("p{number}"), 1));
    let pods = Vec::from_iter(pods);
    let nodes = (0..9).map(|number| about("Node", &format!("n{number}"), 1));
    let all: Vec<_> = pods.iter().cloned().chain(nodes).collect();
    scene.member.lists([page_of(10, "", &all)]);
    let act = scene.run_events(false, None).await;
    let has_all = |stored: &sink::Stored| stored.rows.len() == all.len();
    scene.sink.until("all".to_owned(), has_all).await;
    act.end().await;
    scene.member.answers_by(move |_| page_of(10, "", &pods));
    let act = scene.run_events(false, Some(of_pods())).await;
    let kept = ["n/p0@1", "n/p1@1", "n/p2@1", "n/p3@1"];
    scene.comes_to(&kept, "Live@10").await;
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_not_kept_fills_no_cluster() {
    let scene = Scene::new();
    let pods = |numbers: std::ops::Range<u32>| {
        numbers.map(|number| about("Pod", &format!("p{number:02}"), 1))
    };
    let of_11 = Vec::from_iter(pods(0..11));
    scene.member.lists([page_of(10, "", &of_11)]);
    let act = scene.run_events(false, None).await;
    let has_all = |stored: &sink::Stored| stored.rows.len() == of_11.len();
    scene.sink.until("all".to_owned(), has_all).await;
    act.end().await;
    let nodes = (0..20).map(|number| about("Node", &format!("n{number}"), 1));
    let first: Vec<_> = nodes.chain(pods(1..6)).collect();
    let rest: Vec<_> = pods(6..11).chain(pods(11..12)).collect();
    let before = scene.member.requests().len();
    scene
        .member
        .lists([page_of(20, "t", &first), page_of(20, "", &rest)]);
    let act = scene.run_events(false, Some(of_pods())).await;
    let kept = (1..12).map(|number| format!("n/p{number:02}@1"));
    let kept = Vec::from_iter(kept);
    let kept = Vec::from_iter(kept.iter().map(String::as_str));
    scene.comes_to(&kept, "Live@20").await;
    let asked = scene.member.requests();
    let lists = asked[before..]
        .iter()
        .filter(|asked| asked.starts_with("list"));
    assert_eq!(lists.count(), 2, "two pages of one list");
    act.end().await;
}
