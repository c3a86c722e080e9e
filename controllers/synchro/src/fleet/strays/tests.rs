//! What is let go, and what stays: a real store, and a control plane whose lists are what a test says.

use std::convert::Infallible;
use std::sync::Mutex;

use armadex_control_plane::testing::{Host, ServedType};
use armadex_control_plane::{Load, Members};
use armadex_model::ClusterName;
use futures::FutureExt as _;
use http::{Request, Response};
use kube::client::Body;
use serde_json::{Value, json};

use super::*;
use crate::config::Config;
use crate::fleet::owner::FORSAKEN;
use crate::testing::{Stage, in_time, until};

/// A store with clusters of these names, each with a uid that is its name, and of this owner.
async fn stored(stage: &Stage, owner: &str, names: &[&str]) -> Arc<Shared> {
    let sink = Arc::clone(&stage.breaking);
    for name in names {
        let cluster = ClusterName::new(name).expect("a name");
        let joined = stage.store.sink.join(&cluster, name, owner).await;
        joined.expect("joined");
    }
    Arc::new(Shared::new(sink, "one", Config::default()))
}

/// The clusters that are still there.
async fn left_over(shared: &Shared) -> Vec<String> {
    let clusters = shared.sink.clusters().await.expect("clusters");
    let mut names: Vec<_> = clusters
        .iter()
        .map(|cluster| cluster.name.to_string())
        .collect();
    names.sort();
    names
}

/// A control plane that gives these answers in turn, and the queries by which it was asked for them.
fn control_plane(answers: Vec<(u16, Value)>) -> (Objects<PediaCluster>, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&asked);
    let service = tower::service_fn(move |request: Request<Body>| {
        let mut asked = noted.lock().expect("no panic");
        let (code, answer) = &answers[asked.len()];
        asked.push(request.uri().query().unwrap_or_default().to_owned());
        let body = Body::from(answer.to_string().into_bytes());
        let answer = Response::builder()
            .status(*code)
            .body(body)
            .expect("an answer");
        async move { Ok::<_, Infallible>(answer) }
    });
    (Objects::all(Client::new(service, "default")), asked)
}

fn page(names: &[&str], next: &str) -> (u16, Value) {
    let item = |name: &&str| json!({"metadata": {"name": name, "uid": name}});
    let items: Vec<_> = names.iter().map(item).collect();
    (200, json!({"metadata": {"continue": next}, "items": items}))
}

#[tokio::test]
async fn a_list_of_several_pages_is_read_to_its_end() {
    let stage = Stage::new().await;
    let shared = stored(&stage, "one/", &["first", "second", "third", "stray"]).await;
    let pages = vec![
        page(&["first"], "a"),
        page(&["second"], "b"),
        page(&["third"], ""),
    ];
    let (api, asked) = control_plane(pages);
    try_to_look(&shared, &api, &mut Silences::default())
        .await
        .expect("a look");
    assert_eq!(left_over(&shared).await, ["first", "second", "third"]);
    let asked = asked.lock().expect("no panic").clone();
    assert!(
        asked[0].contains("limit=500") && !asked[0].contains("continue="),
        "{asked:?}"
    );
    assert!(
        asked[1].contains("continue=a") && asked[2].contains("continue=b"),
        "{asked:?}"
    );
    assert!(
        shared.purge.notified().now_or_never().is_some(),
        "it can be purged"
    );
}

#[tokio::test]
async fn replicas_share_what_left_unseen_as_they_share_the_clusters() {
    let stage = Stage::new().await;
    let strays = ["m", "member1", "member3", "stays"];
    stored(&stage, "one//7", &strays).await;
    let loads = [(0, Load::default()), (1, Load::default())].into();
    let (_looks, members) = watch::channel(Members { loads, looks: 0 });
    for (replica, left) in [(0, vec!["member1", "member3", "stays"]), (1, vec!["stays"])] {
        let sink = Arc::clone(&stage.breaking);
        let shared = Shared::new(sink, "one", Config::default());
        let shared = shared.of_replica(replica, members.clone());
        let (api, _) = control_plane(vec![page(&["stays"], "")]);
        let looked = try_to_look(&shared, &api, &mut Silences::default()).await;
        looked.expect("a look");
        assert_eq!(left_over(&shared).await, left);
    }
}

#[tokio::test]
async fn who_is_asked_before_an_object_goes_lets_it_go_then() {
    let stage = Stage::new().await;
    let shared = stored(&stage, "one/", &["asked", "unasked", "anew"]).await;
    let going = |name: &str, finalizers: &[&str]| {
        json!({"metadata": {"name": name, "uid": name, "finalizers": finalizers,
            "deletionTimestamp": "2026-01-02T03:04:05Z"}})
    };
    let asked = going("asked", &["example.com/other", PEDIA_CLUSTER_FINALIZER]);
    let unasked = going("unasked", &["example.com/other"]);
    let anew = json!({"metadata": {"name": "anew", "uid": "another"}});
    let list = json!({"metadata": {}, "items": [asked, unasked, anew]});
    let (api, _) = control_plane(vec![(200, list)]);
    try_to_look(&shared, &api, &mut Silences::default())
        .await
        .expect("a look");
    assert_eq!(left_over(&shared).await, ["asked"]);
}

#[tokio::test]
async fn nothing_leaves_until_the_whole_list_could_be_read() {
    let stage = Stage::new().await;
    let shared = stored(&stage, "one/", &["stays", "stray"]).await;
    let refused = json!({"kind": "Status", "status": "Failure", "code": 403, "reason": "Forbidden", "message": "no"});
    let expired = json!({"kind": "Status", "status": "Failure", "code": 410, "reason": "Expired", "message": "late"});
    let (api, asked) = control_plane(vec![
        (403, refused),
        page(&[], "a"),
        (410, expired),
        page(&["stays"], ""),
    ]);
    for _ in 0..2 {
        let failed = try_to_look(&shared, &api, &mut Silences::default())
            .await
            .expect_err("no list");
        assert!(matches!(failed, Failed::List(_)), "{failed}");
        assert_eq!(left_over(&shared).await, ["stays", "stray"]);
    }
    look(&shared, &api, &mut Silences::default()).await;
    assert_eq!(left_over(&shared).await, ["stays"]);
    assert_eq!(asked.lock().expect("no panic").len(), 4);
}

#[tokio::test]
async fn a_look_that_fails_is_tried_again_until_it_does_not() {
    let stage = Stage::new().await;
    let shared = stored(&stage, "one/", &["stray"]).await;
    let broken = json!({"kind": "Status", "status": "Failure", "code": 500, "reason": "InternalError", "message": "no"});
    let answers = vec![(500, broken.clone()), (500, broken), page(&[], "")];
    let (api, asked) = control_plane(answers);
    look(&shared, &api, &mut Silences::default()).await;
    assert_eq!(left_over(&shared).await, Vec::<String>::new());
    assert_eq!(asked.lock().expect("no panic").len(), 3);
}

#[tokio::test]
async fn who_answers_for_nobody_asks_nothing() {
    let stage = Stage::new().await;
    let shared = stored(&stage, "two/other", &["theirs"]).await;
    let (api, asked) = control_plane(vec![]);
    try_to_look(&shared, &api, &mut Silences::default())
        .await
        .expect("a look");
    assert_eq!(left_over(&shared).await, ["theirs"]);
    assert_eq!(asked.lock().expect("no panic").len(), 0);
}

#[tokio::test]
async fn of_a_control_plane_that_is_no_more_everything_goes_when_nobody_was_heard_for_half_an_hour()
{
    let stage = Stage::new().await;
    let shared = stored(&stage, "two/", &["theirs"]).await;
    let (api, _) = control_plane(vec![page(&[], "")]);
    let mut silences = Silences::default();
    let mut looks_after = async |wait: Duration| {
        tokio::time::pause();
        tokio::time::advance(wait).await;
        tokio::time::resume();
        let looked = try_to_look(&shared, &api, &mut silences).await;
        looked.expect("a look");
        left_over(&shared).await
    };
    // However long nobody was heard before: while all were stopped nobody could be.
    assert_eq!(looks_after(Duration::ZERO).await, ["theirs"]);
    let almost = FORSAKEN - Duration::from_secs(60);
    assert_eq!(looks_after(almost).await, ["theirs"]);
    assert_eq!(looks_after(Duration::from_secs(60)).await, [""; 0]);
}

#[tokio::test]
async fn a_list_that_is_left_without_an_answer_is_asked_for_again() {
    let stage = Stage::new().await;
    let shared = stored(&stage, "one/", &["stray"]).await;
    let host = Host::new(&[ServedType::new(
        "cluster.clusterpedia.io",
        "v1alpha2",
        "pediaclusters",
        "PediaCluster",
    )]);
    host.hang("list", "pediaclusters");
    let (looking, api) = (Arc::clone(&shared), Objects::all(host.client()));
    let looking = tokio::spawn(async move { look(&looking, &api, &mut Silences::default()).await });
    until("a list", || async {
        host.asked("list", "pediaclusters") > 0
    })
    .await;
    host.hang_no_more();
    in_time("a look", || async { looking.is_finished() }).await;
    assert_eq!(left_over(&shared).await, Vec::<String>::new());
}

/// As of a platform that keeps on each what it has applied there.
#[tokio::test]
async fn a_control_plane_whose_objects_are_large_is_read_in_pages_that_are_taken() {
    let stage = Stage::new().await;
    let shared = stored(&stage, "one/", &["stays", "stray"]).await;
    let service = tower::service_fn(move |request: Request<Body>| {
        let query = request.uri().query().unwrap_or_default();
        let mut pairs = query.split('&');
        let limit = pairs.find_map(|pair| pair.strip_prefix("limit="));
        let limit: usize = limit.and_then(|limit| limit.parse().ok()).expect("a page");
        let note = "x".repeat(100 << 10);
        let item =
            json!({"metadata": {"name": "stays", "uid": "stays", "annotations": {"note": note}}});
        let list = json!({"metadata": {}, "items": vec![item; limit]});
        let body = Body::from(list.to_string().into_bytes());
        async move { Ok::<_, Infallible>(Response::new(body)) }
    });
    let client = armadex_control_plane::limited(Client::new(service, "default"));
    let (looked, looks) = watch::channel(0);
    let looking = tokio::spawn(look_after(Arc::clone(&shared), client, looked));
    in_time("a look", || async { looks.has_changed().expect("it runs") }).await;
    looking.abort();
    assert_eq!(left_over(&shared).await, ["stays"]);
}
