//! What is read again, without an API server.

use serde_json::json;
use tokio::sync::broadcast;

use super::*;
use crate::Share;
use crate::watches::object::{ObjectName, WatchKey, WatchScope};

fn secrets() -> Gvr {
    Gvr {
        group: String::new(),
        version: "v1".into(),
        resource: "secrets".into(),
    }
}

fn view() -> View {
    view_of("one")
}

fn view_of(name: &str) -> View {
    let name = ObjectName {
        namespace: "ns".into(),
        name: name.into(),
    };
    View {
        key: WatchKey {
            gvr: secrets(),
            scope: WatchScope::Object(name),
        },
        state: Arc::default(),
        changes: broadcast::Sender::new(1),
    }
}

fn one() -> DynamicObject {
    let metadata = json!({"namespace": "ns", "name": "one", "resourceVersion": "5"});
    serde_json::from_value(json!({"metadata": metadata})).expect("an object")
}

#[tokio::test]
async fn what_a_list_lacks_that_was_read_meanwhile_is_read_once_more() {
    let namespace = Namespace {
        named: Arc::default(),
        _cancel: CancellationToken::new().drop_guard(),
    };
    namespace.enter("one", view());
    let mut following = Following::new(
        secrets(),
        "ns".to_owned(),
        namespace.named.clone(),
        Arc::default(),
    );
    following.pausing = false;
    following.take_in(Event::Init);
    assert_eq!(following.next().as_deref(), Some("one"));
    // It was there when it was read, and gone when it was listed, whose end is seen first.
    following.take_in(Event::InitDone);
    namespace.named.lock().read("one", Some(one()));
    assert_eq!(following.next().as_deref(), Some("one"));
    namespace.named.lock().read("one", None);
    assert_eq!(following.next(), None);
}

#[tokio::test]
async fn an_object_that_is_never_answered_holds_up_no_others() {
    let namespace = Namespace {
        named: Arc::default(),
        _cancel: CancellationToken::new().drop_guard(),
    };
    let names = ["a", "b", "c", "d"];
    for name in names {
        namespace.enter(name, view_of(name));
    }
    let mut following = Following::new(
        secrets(),
        "ns".to_owned(),
        namespace.named.clone(),
        Arc::default(),
    );
    following.pausing = false;
    let lost = || Trouble::unavailable("unable to transform key");
    assert_eq!(following.next().as_deref(), Some("a"));
    following.unread("a".to_owned(), lost());
    // Everything is due, as where the list fails for it as well, and it is the last.
    namespace.named.lock().all_due();
    for name in ["b", "c", "d", "a"] {
        assert_eq!(following.next().as_deref(), Some(name));
        match name {
            "a" => following.unread(name.to_owned(), lost()),
            _ => following.read(name, Some(one())),
        }
    }
    // An API server that is down fails for all.
    for name in ["b", "c", "d"] {
        assert!(!following.pausing);
        following.unread(name.to_owned(), lost());
    }
    assert!(following.pausing);
}

/// Of a namespace whose objects of these names could not be read the last time.
fn unread(names: &[&str]) -> (Namespace, Following) {
    let namespace = Namespace {
        named: Arc::default(),
        _cancel: CancellationToken::new().drop_guard(),
    };
    let mut following = Following::new(
        secrets(),
        "ns".to_owned(),
        namespace.named.clone(),
        Arc::default(),
    );
    for name in names {
        namespace.enter(name, view_of(name));
        following.pausing = false;
        assert_eq!(following.next().as_deref(), Some(*name));
        following.unread((*name).to_owned(), Trouble::unavailable("a key was lost"));
    }
    following.read_again();
    (namespace, following)
}

#[tokio::test]
async fn three_that_fail_again_and_again_hold_up_no_others() {
    let (namespace, mut following) = unread(&["a", "b", "c"]);
    for name in ["a", "b", "c"] {
        assert_eq!(following.next().as_deref(), Some(name));
        following.unread(name.to_owned(), Trouble::unavailable("a key was lost"));
    }
    namespace.enter("new", view_of("new"));
    assert_eq!(following.next().as_deref(), Some("new"));
    following.read("new", Some(one()));
    assert_eq!(following.next(), None, "the others have a rest");
    following.read_again();
    assert_eq!(following.next().as_deref(), Some("a"));
}

#[tokio::test]
async fn those_that_are_never_answered_leave_room_for_others() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let (namespace, mut following) = unread(&names);
    let asked = std::iter::from_fn(|| following.next()).count();
    assert_eq!(asked, LATE_READS);
    namespace.enter("new", view_of("new"));
    assert_eq!(following.next().as_deref(), Some("new"));
}

#[tokio::test]
async fn what_is_followed_no_more_is_no_sign_of_an_outage() {
    let (namespace, mut following) = unread(&["a", "b"]);
    for name in ["a", "b"] {
        let state = namespace.named.lock().by_name[name].view.state.clone();
        namespace.leave(name, &state);
    }
    for name in ["c", "d"] {
        namespace.enter(name, view_of(name));
        assert_eq!(following.next().as_deref(), Some(name));
        following.unread(name.to_owned(), Trouble::unavailable("a key was lost"));
    }
    assert!(!following.pausing);
}

fn refused() -> watcher::Error {
    let status = kube::core::Status::failure("it may not", "Forbidden").with_code(403);
    watcher::Error::WatchError(status.boxed())
}

/// How many of a namespace with so many objects are read in a time, once all have been read.
async fn read_in(following: &mut Following, time: Duration) -> usize {
    let (begun, mut count) = (Instant::now(), 0);
    while begun.elapsed() < time {
        while let Some(name) = following.next() {
            following.read(&name, Some(one()));
            count += 1;
        }
        tokio::time::advance(Duration::from_millis(10)).await;
    }
    count
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_breaks_is_gone_on_with_soon_and_what_is_named_is_read_if_it_breaks_again() {
    let namespace = Namespace {
        named: Arc::default(),
        _cancel: CancellationToken::new().drop_guard(),
    };
    let names: Vec<String> = (0..1000).map(|number| format!("s{number}")).collect();
    for name in &names {
        namespace.enter(name, view_of(name));
    }
    let mut following = Following::new(
        secrets(),
        "ns".to_owned(),
        namespace.named.clone(),
        Arc::default(),
    );
    following.begun();
    let minute = Duration::from_secs(60);
    assert_eq!(read_in(&mut following, minute).await, 1000);
    let gone = kube::core::Status::failure("too old", "Expired").with_code(410);
    following.broke(&watcher::Error::WatchError(gone.boxed()));
    assert_eq!(read_in(&mut following, minute).await, 0);
    following.broke(&refused());
    assert!(following.rewatch <= Instant::now() + Duration::from_secs(1));
    assert_eq!(read_in(&mut following, minute).await, 0);
    following.broke(&refused());
    assert!(following.rewatch <= Instant::now() + Duration::from_secs(2));
    let read = read_in(&mut following, minute + minute / 2).await;
    assert_eq!(read, 1000, "each once, however long it has broken");
    following.broke(&refused());
    let read = read_in(&mut following, minute / 2).await;
    assert!((550..=600).contains(&read), "{read} at 20 in a second");
    following.take_in(Event::Init);
    following.take_in(Event::Delete(
        serde_json::from_value(json!({"metadata": {"name": "other"}})).expect("metadata"),
    ));
    assert_eq!(read_in(&mut following, minute).await, 0, "it is watched");
}

#[tokio::test(start_paused = true)]
async fn what_had_no_room_is_read_again_once_there_is_some() {
    let namespace = Namespace {
        named: Arc::default(),
        _cancel: CancellationToken::new().drop_guard(),
    };
    let room = Room::of(1 << 20);
    let mut others = Share::new(room.clone());
    assert!(others.take(1 << 20));
    let view = View {
        state: Arc::new(RwLock::new(State::within(room.clone()))),
        ..view()
    };
    let state = view.state.clone();
    let is_known = || {
        let state = state.read().expect("no panic");
        let found = state.objects().pop();
        found.is_some_and(|found| found.object.lacks_some().is_none())
    };
    namespace.enter("one", view);
    let named = namespace.named.clone();
    let mut following = Following::new(secrets(), "ns".to_owned(), named, room.clone());
    following.pausing = false;
    assert_eq!(following.next().as_deref(), Some("one"));
    following.read("one", Some(one()));
    assert!(following.lacks_room() && !is_known());
    following.find_room();
    assert_eq!(following.next(), None, "others have it all");
    drop(others);
    following.find_room();
    assert_eq!(following.next().as_deref(), Some("one"));
    following.read("one", Some(one()));
    assert!(is_known() && !following.lacks_room());
}
