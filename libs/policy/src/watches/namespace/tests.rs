//! What is read again, without an API server.

use serde_json::json;
use tokio::sync::broadcast;

use super::*;
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
    let mut following = Following::new(secrets(), "ns".to_owned(), namespace.named.clone());
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
    let mut following = Following::new(secrets(), "ns".to_owned(), namespace.named.clone());
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
    let mut following = Following::new(secrets(), "ns".to_owned(), namespace.named.clone());
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
    let (namespace, following) = unread(&names);
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
