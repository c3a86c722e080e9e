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
    let name = ObjectName {
        namespace: "ns".into(),
        name: "one".into(),
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
