//! Sharing, ending and changes of watches against a scripted API server.

use std::{pin::pin, time::Duration};

use armadex_control_plane::{
    TroubleKind,
    testing::{Host, Log, ServedType},
};
use futures::StreamExt;
use http::{Request, Response};
use kube::client::Body;
use serde_json::json;

use std::sync::{Arc, Mutex};

use kube::Client;

use super::*;
use crate::Gvr;

/// Lists one object and then keeps the watch open in silence. Records every request.
fn server() -> (Client, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = asked.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let query = request.uri().query().unwrap_or_default().to_owned();
        let is_watch = query.contains("watch=true");
        if !is_watch {
            let accept = request.headers().get(http::header::ACCEPT);
            let accept = accept.map_or("", |accept| accept.to_str().unwrap());
            let what = if accept.contains("PartialObjectMetadata") {
                "metadata of "
            } else {
                ""
            };
            log.lock().unwrap().push(format!("{what}{}", request.uri()));
        }
        async move {
            if is_watch {
                std::future::pending::<()>().await;
            }
            if request.uri().path().ends_with("/one") {
                let one =
                    json!({"metadata": {"namespace": "ns", "name": "one", "resourceVersion": "4"}});
                let body = Body::from(serde_json::to_vec(&one).unwrap());
                return Ok::<_, std::convert::Infallible>(Response::new(body));
            }
            let list = json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "5"},
                "items": [{"metadata": {"namespace": "ns", "name": "one", "resourceVersion": "4"}}]});
            let body = Body::from(serde_json::to_vec(&list).unwrap());
            Ok::<_, std::convert::Infallible>(Response::new(body))
        }
    });
    (Client::new(service, "default"), asked)
}

/// Whatever the kind, and of metadata as well, a page is left in its middle that is too large, and asked for again with fewer objects.
#[tokio::test]
async fn a_page_of_large_objects_is_never_held() {
    for scope in [WatchScope::All, WatchScope::Object(one())] {
        assert_eq!(pages_of_large_objects(scope).await, ["100", "12", "2"]);
    }
}

/// How many objects are asked for, one time after the other.
async fn pages_of_large_objects(scope: WatchScope) -> Vec<String> {
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let log = asked.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let query = request.uri().query().unwrap_or_default();
        let limit = query
            .split('&')
            .find_map(|pair| pair.strip_prefix("limit="));
        log.lock().unwrap().extend(limit.map(ToOwned::to_owned));
        let objects: usize = limit.map_or(0, |limit| limit.parse().unwrap());
        async move {
            let label = "x".repeat(1 << 20);
            let items = vec![json!({"metadata": {"name": "a", "labels": {"a": label}}}); objects];
            let list = json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "5"}, "items": items});
            let body = Body::from(serde_json::to_vec(&list).unwrap());
            Ok::<_, std::convert::Infallible>(Response::new(body))
        }
    });
    let client = armadex_control_plane::limited(Client::new(service, "default"));
    let watches = Watches::new(client);
    let mut changes = pin!(watches.changes());
    let gvr = Gvr {
        group: "cluster.karmada.io".into(),
        version: "v1alpha1".into(),
        resource: "clusters".into(),
    };
    let _watch = watches.acquire(&WatchKey { gvr, scope });
    changes.next().await;
    watches.shutdown().await;
    let asked = asked.lock().unwrap();
    asked[..3].to_vec()
}

fn secrets() -> Gvr {
    Gvr {
        group: String::new(),
        version: "v1".into(),
        resource: "secrets".into(),
    }
}

fn one() -> ObjectName {
    ObjectName {
        namespace: "ns".into(),
        name: "one".into(),
    }
}

async fn listed(watches: &Watches, key: &WatchKey) -> Watch {
    let mut changes = pin!(watches.changes());
    let watch = watches.acquire(key);
    let wait = async {
        while watch.readiness() != Readiness::Listed {
            changes.next().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), wait)
        .await
        .unwrap();
    watch
}

#[tokio::test]
async fn a_watch_is_shared_and_ends_with_its_last_share() {
    let (client, asked) = server();
    let watches = Watches::new(client);
    let key = WatchKey {
        gvr: secrets(),
        scope: WatchScope::All,
    };
    let first = listed(&watches, &key).await;
    let second = watches.acquire(&key);
    assert_eq!(second.objects().len(), 1);
    assert_eq!(asked.lock().unwrap().len(), 1);
    let cancel = first.running.cancel.clone();
    drop(first);
    assert!(!cancel.is_cancelled());
    drop(second);
    assert!(cancel.is_cancelled());
    listed(&watches, &key).await;
    assert_eq!(asked.lock().unwrap().len(), 2);
    watches.shutdown().await;
}

#[tokio::test]
async fn one_object_of_a_namespace_is_read_alone_and_of_others_metadata() {
    let (client, asked) = server();
    let watches = Watches::new(client);
    let key = WatchKey {
        gvr: secrets(),
        scope: WatchScope::Object(one()),
    };
    let watch = listed(&watches, &key).await;
    assert!(watch.get(&one()).is_some());
    let lists = |asked: &str| asked.starts_with("metadata of /api/v1/namespaces/ns/secrets?");
    let asked = asked.lock().unwrap().clone();
    let (lists, reads): (Vec<String>, Vec<String>) = asked.into_iter().partition(|it| lists(it));
    assert!(lists.len() <= 1, "{lists:?}");
    assert_eq!(reads, ["/api/v1/namespaces/ns/secrets/one"]);
    watches.shutdown().await;
}

#[tokio::test]
async fn what_would_lead_to_another_path_is_not_asked_for() {
    let (client, asked) = server();
    let watches = Watches::new(client);
    let of = |resource: &str, scope: WatchScope| WatchKey {
        gvr: Gvr {
            resource: resource.into(),
            ..secrets()
        },
        scope,
    };
    let object = |namespace: &str, name: &str| {
        WatchScope::Object(ObjectName {
            namespace: namespace.into(),
            name: name.into(),
        })
    };
    let keys = [
        of("namespaces/kube-system/secrets", WatchScope::All),
        of("secrets?x=", WatchScope::All),
        of("..", WatchScope::All),
        of("", WatchScope::All),
        of("secrets", object("a/../b", "one")),
        of("secrets", object("ns", "..")),
        of("secrets", object("ns", "one,metadata.name!=two")),
    ];
    for key in keys {
        let mut changes = pin!(watches.changes());
        let watch = watches.acquire(&key);
        changes.next().await;
        let Readiness::Failing(trouble) = watch.readiness() else {
            panic!("{key:?}: {:?}", watch.readiness());
        };
        assert!(trouble.message.contains("is not the name of"), "{trouble}");
    }
    assert_eq!(asked.lock().unwrap().len(), 0);
    watches.shutdown().await;
}

#[tokio::test]
async fn shutdown_ends_watches_that_are_still_shared() {
    let (client, _) = server();
    let watches = Watches::new(client);
    let watch = watches.acquire(&WatchKey {
        gvr: secrets(),
        scope: WatchScope::All,
    });
    tokio::time::timeout(Duration::from_secs(10), watches.shutdown())
        .await
        .unwrap();
    drop(watch);
}

#[tokio::test]
async fn a_change_concerns_those_who_need_its_object() {
    let (client, _) = server();
    let watches = Watches::new(client);
    let key = WatchKey {
        gvr: secrets(),
        scope: WatchScope::All,
    };
    let interest = |object: Option<&str>| {
        let object = object.map(|name| ObjectName {
            namespace: "ns".into(),
            name: name.into(),
        });
        vec![Interest {
            watch: watches.acquire(&key),
            object,
        }]
    };
    let interests = Interests::default();
    interests.set("all", interest(None));
    interests.set("one", interest(Some("one")));
    interests.set("two", interest(Some("two")));
    let change = |object: Option<ObjectName>| Change {
        watch: key.clone(),
        object,
    };
    assert_eq!(interests.owners(Some(&change(Some(one())))), ["all", "one"]);
    assert_eq!(interests.owners(Some(&change(None))), ["all", "one", "two"]);
    assert_eq!(interests.owners(None), ["all", "one", "two"]);
    let other = WatchKey {
        gvr: secrets(),
        scope: WatchScope::Object(one()),
    };
    let elsewhere = Change {
        watch: other,
        object: Some(one()),
    };
    assert!(interests.owners(Some(&elsewhere)).is_empty());
    interests.remove("all");
    assert_eq!(interests.owners(Some(&change(Some(one())))), ["one"]);
    // What is looked at is looked at again and again, and is held once.
    for _ in 0..3 {
        interests.add("one", interest(Some("one")).remove(0));
    }
    assert_eq!(interests.owners(Some(&change(Some(one())))), ["one"]);
    interests.set("one", interest(Some("three")));
    assert_eq!(interests.owners(Some(&change(Some(one())))), [""; 0]);
    assert_eq!(interests.owners(Some(&change(None))), ["one", "two"]);
    assert_eq!(interests.entries(), 2);
    interests.remove("one");
    interests.set("two", Vec::new());
    assert_eq!((interests.entries(), interests.owners(None).len()), (0, 0));
    watches.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_left_without_an_answer_is_told_until_it_is_answered() {
    let host = Host::new(&[ServedType::new("", "v1", "secrets", "Secret").namespaced()]);
    host.hang("watch", "secrets");
    let (watches, log) = (
        Watches::new(host.client()),
        Log::warnings_of("armadex_policy"),
    );
    let mut changes = pin!(watches.changes());
    let watch = watches.acquire(&WatchKey {
        gvr: secrets(),
        scope: WatchScope::All,
    });
    let mut change = async || {
        let wait = tokio::time::timeout(Duration::from_secs(600), changes.next());
        wait.await.expect("something changes")
    };
    change().await;
    assert_eq!(watch.readiness(), Readiness::Listed);
    change().await;
    let trouble = watch.trouble().map(|trouble| trouble.kind);
    assert_eq!(trouble, Some(TroubleKind::Unanswered));
    assert_eq!(log.told(), ["watch of secrets failed, retrying"]);
    host.hang_no_more();
    change().await;
    assert_eq!(watch.trouble(), None);
    watches.shutdown().await;
}

/// Nothing changes there, so the watch brings nothing.
#[tokio::test(start_paused = true)]
async fn a_watch_that_is_answered_again_is_well_within_seconds() {
    let host = Host::new(&[ServedType::new("", "v1", "secrets", "Secret").namespaced()]);
    host.forbid("watch", "secrets");
    let watches = Watches::new(host.client());
    let mut changes = pin!(watches.changes());
    let watch = watches.acquire(&secrets_of("ns"));
    let mut comes_to = async |wanted: Option<TroubleKind>| {
        while watch.trouble().map(|trouble| trouble.kind) != wanted
            || watch.readiness() != Readiness::Listed
        {
            let wait = tokio::time::timeout(Duration::from_secs(600), changes.next());
            wait.await.expect("something changes");
        }
    };
    comes_to(Some(TroubleKind::Forbidden)).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    host.permit_all();
    let began = tokio::time::Instant::now();
    comes_to(None).await;
    let limit = crate::retries::LONGEST + 2 * settling::SETTLED;
    assert!(began.elapsed() <= limit, "{:?}", began.elapsed());
    watches.shutdown().await;
}

/// Each life is long enough to say that it is well, were it the only one; and something changes in each.
#[tokio::test(start_paused = true)]
async fn a_watch_that_breaks_again_and_again_is_not_said_to_be_well_in_between() {
    for is_busy in [false, true] {
        let host = Host::new(&[ServedType::new("", "v1", "secrets", "Secret").namespaced()]);
        host.break_watches("secrets", Duration::from_secs(5));
        let changing = host.clone();
        let busy = tokio_util::task::AbortOnDropHandle::new(tokio::spawn(async move {
            for number in 0.. {
                tokio::time::sleep(Duration::from_secs(1)).await;
                if is_busy {
                    changing.put("/api/v1/namespaces/ns/secrets/a", json!({"beat": number}));
                }
            }
        }));
        let watches = Watches::new(host.client());
        let mut changes = pin!(watches.changes());
        let watch = watches.acquire(&secrets_of("ns"));
        let mut fails = false;
        let mut turns = 0;
        let mut for_a_while = async |seconds| {
            let over = tokio::time::Instant::now() + Duration::from_secs(seconds);
            while tokio::time::timeout_at(over, changes.next()).await.is_ok() {
                turns +=
                    u32::from(std::mem::replace(&mut fails, watch.trouble().is_some()) != fails);
            }
            (fails, turns)
        };
        assert_eq!(for_a_while(600).await, (true, 3), "{is_busy}");
        host.permit_all();
        assert_eq!(for_a_while(60).await, (false, 4), "{is_busy}");
        drop(busy);
        watches.shutdown().await;
    }
}

/// Those of a namespace.
fn secrets_of(namespace: &str) -> WatchKey {
    WatchKey {
        gvr: secrets(),
        scope: WatchScope::Namespace(namespace.into()),
    }
}

#[tokio::test]
async fn of_the_secrets_of_a_namespace_those_of_helm_are_neither_held_nor_asked_for() {
    let host = Host::new(&[ServedType::new("", "v1", "secrets", "Secret").namespaced()]);
    let put = |name: &str, type_: &str, bytes: usize| {
        let path = format!("/api/v1/namespaces/ns/secrets/{name}");
        host.put(
            &path,
            json!({"type": type_, "data": {"x": "x".repeat(bytes)}}),
        );
    };
    for number in 0..50 {
        put(
            &format!("release-{number}"),
            "helm.sh/release.v1",
            1_000_000,
        );
    }
    for number in 0..5 {
        put(&format!("member-{number}"), "Opaque", 1_000);
    }
    let watches = Watches::new(host.client());
    let watch = listed(&watches, &secrets_of("ns")).await;
    let mut changes = pin!(watches.changes());
    put("one-more", "helm.sh/release.v1", 1_000_000);
    put("member-5", "Opaque", 1_000);
    while watch.objects().len() < 6 {
        changes.next().await;
    }
    let held = watch.objects();
    let held: usize = held.iter().map(|found| found.object.bytes()).sum();
    assert!(held < 10_000, "{held} bytes are held");
    watches.shutdown().await;

    let (client, asked) = server();
    let watches = Watches::new(client);
    listed(&watches, &secrets_of("ns")).await;
    let asked = asked.lock().unwrap()[0].clone();
    assert!(
        asked.contains("fieldSelector=type%21%3Dhelm.sh%2Frelease.v1"),
        "{asked}"
    );
    watches.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn namespaces_are_listed_two_at_a_time() {
    let host = Host::new(&[ServedType::new("", "v1", "secrets", "Secret").namespaced()]);
    host.hang("list", "secrets");
    let watches = Watches::new(host.client());
    let all = ["a", "b", "c", "d", "e", "f"].map(|name| watches.acquire(&secrets_of(name)));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(host.asked("list", "secrets"), 2);
    host.hang_no_more();
    let mut changes = pin!(watches.changes());
    while all
        .iter()
        .any(|watch| watch.readiness() != Readiness::Listed)
    {
        let change = tokio::time::timeout(Duration::from_secs(600), changes.next());
        change
            .await
            .expect("those that hung do not hold up the others");
    }
    watches.shutdown().await;
}
