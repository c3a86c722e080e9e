//! What is known of lifecycles, and of any objects by their names, on a control plane in a value.

use std::time::Duration;

use armadex_control_plane::testing::{Host, ServedType};
use serde_json::{Value, json};

use super::*;
use crate::named::Followed;
use crate::parts::Parts;

type Lifecycle = Named<Option<RenderedConnection>>;

const LIFECYCLES: ServedType = ServedType::new(
    "policy.clusterpedia.io",
    "v1alpha1",
    "pediaclusterlifecycles",
    "PediaClusterLifecycle",
);

fn path(name: &str) -> String {
    format!("/apis/policy.clusterpedia.io/v1alpha1/pediaclusterlifecycles/{name}")
}

/// One that recorded this digest, or nothing.
fn lifecycle(digest: Option<&str>) -> Value {
    let status = digest.map(|digest| json!({"connection": {"digest": digest}}));
    json!({"spec": {"source": {"group": "", "version": "", "resource": "", "name": ""},
                    "template": "", "creationCondition": ""}, "status": status})
}

fn start(host: &Host) -> Lifecycles {
    Lifecycles::start(host.client(), &Parts::default(), "the watch of lifecycles")
}

fn digest(lifecycle: &Lifecycle) -> Option<&str> {
    match lifecycle {
        Named::Found(Some(rendered)) => Some(&rendered.digest),
        _ => None,
    }
}

impl Followed<Option<RenderedConnection>> {
    async fn comes_to(&mut self, what: &str, holds: impl Fn(&Lifecycle) -> bool) {
        let wait = async {
            while !holds(&self.now()) {
                self.changed().await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(60), wait).await;
        assert!(waited.is_ok(), "{what} did not come: {:?}", self.now());
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_recorded_is_followed_by_name_with_one_watch() {
    let host = Host::new(&[LIFECYCLES]);
    host.put(&path("east"), lifecycle(Some("a")));
    host.put(&path("silent"), lifecycle(None));
    let lifecycles = start(&host);
    let mut east = lifecycles.follow("east");
    assert_eq!(east.now(), Named::Unlisted(String::new()));
    let mut silent = lifecycles.follow("silent");
    let mut absent = lifecycles.follow("absent");
    east.comes_to("a", |lifecycle| digest(lifecycle) == Some("a"))
        .await;
    silent
        .comes_to("silence", |lifecycle| *lifecycle == Named::Found(None))
        .await;
    absent
        .comes_to("absence", |lifecycle| *lifecycle == Named::Absent)
        .await;
    assert_eq!(digest(&lifecycles.follow("east").now()), Some("a"));
    host.put(&path("east"), lifecycle(Some("b")));
    east.comes_to("b", |lifecycle| digest(lifecycle) == Some("b"))
        .await;
    host.put(&path("absent"), lifecycle(Some("c")));
    absent
        .comes_to("c", |lifecycle| digest(lifecycle) == Some("c"))
        .await;
    host.remove(&path("absent"));
    absent
        .comes_to("absence again", |lifecycle| *lifecycle == Named::Absent)
        .await;
    let asked = ["list", "watch"].map(|verb| host.asked(verb, LIFECYCLES.resource));
    assert_eq!(asked, [1, 1]);
}

#[tokio::test(start_paused = true)]
async fn where_the_kind_is_not_served_there_is_none_until_it_is() {
    let host = Host::new(&[]);
    let lifecycles = start(&host);
    let mut east = lifecycles.follow("east");
    east.comes_to("absence", |lifecycle| *lifecycle == Named::Absent)
        .await;
    host.serve(LIFECYCLES);
    host.put(&path("east"), lifecycle(Some("a")));
    east.comes_to("a", |lifecycle| digest(lifecycle) == Some("a"))
        .await;
}

#[tokio::test(start_paused = true)]
async fn what_may_not_be_listed_is_not_known_and_says_why() {
    let host = Host::new(&[LIFECYCLES]);
    host.forbid("list", LIFECYCLES.resource);
    let lifecycles = start(&host);
    let mut east = lifecycles.follow("east");
    east.comes_to(
        "trouble",
        |lifecycle| matches!(lifecycle, Named::Unlisted(why) if why.contains("is forbidden")),
    )
    .await;
    assert_eq!(lifecycles.follow("west").now(), east.now());
    host.permit_all();
    east.comes_to("absence", |lifecycle| *lifecycle == Named::Absent)
        .await;
}

#[tokio::test(start_paused = true)]
async fn what_was_known_stays_while_the_watch_fails_and_goes_with_the_next_list() {
    let host = Host::new(&[LIFECYCLES]);
    for name in ["east", "west"] {
        host.put(&path(name), lifecycle(Some("a")));
    }
    let lifecycles = start(&host);
    let mut east = lifecycles.follow("east");
    east.comes_to("a", |lifecycle| digest(lifecycle) == Some("a"))
        .await;
    host.forbid("list", LIFECYCLES.resource);
    host.remove(&path("east"));
    host.remove(&path("west"));
    host.expire();
    let asked = host.asked("list", LIFECYCLES.resource);
    while host.asked("list", LIFECYCLES.resource) < asked + 2 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(digest(&east.now()), Some("a"));
    host.permit_all();
    east.comes_to("absence", |lifecycle| *lifecycle == Named::Absent)
        .await;
    assert_eq!(lifecycles.kept(), ["east"]);
    drop(east);
    assert_eq!(lifecycles.kept(), [""; 0]);
}
