//! A kind that a member serves in an older version than the one in which it is stored.

use armadex_model::{GroupVersionResource, ObjectKey};

use super::*;

const INGRESS: (&str, &str) = ("Ingress", "ingresses");
const OLD: &str = r#"{"metadata":{"name":"a","namespace":"n","uid":"a","resourceVersion":"5"},"spec":{"backend":{"serviceName":"web","servicePort":80}}}"#;
const NEW: &str = r#"{"metadata":{"name":"a","namespace":"n","uid":"a","resourceVersion":"5"},"spec":{"defaultBackend":{"service":{"name":"web","port":{"number":80}}},"ingressClassName":"nginx"}}"#;
const CONVERTED: &str =
    r#""spec":{"defaultBackend":{"service":{"name":"web","port":{"number":80}}}}}"#;
const EXTENSIONS: (&str, &str, &str) = ("extensions", "v1beta1", OLD);
const BETA: (&str, &str, &str) = ("networking.k8s.io", "v1beta1", OLD);
const STORED: (&str, &str, &str) = ("networking.k8s.io", "v1", NEW);

fn ingresses() -> GroupVersionResource {
    GroupVersionResource::new("networking.k8s.io", "v1", "ingresses")
}

/// A cluster whose Ingresses are synced.
struct Act {
    stage: Stage,
    member: ScriptedMember,
    object: PediaCluster,
    fleet: Fleet,
}

impl Act {
    async fn begin(versions: &[(&str, &str, &str)]) -> Self {
        let stage = Stage::new().await;
        let member = ScriptedMember::start("uid", &[]).await;
        member.serves_one(INGRESS, versions);
        let mut object = pedia_cluster("m", "uid-m", &member);
        let asked = &mut object.spec.sync_resources[0];
        asked.group = "networking.k8s.io".to_owned();
        asked.resources = vec!["ingresses".to_owned()];
        let mut fleet = stage.synchro("");
        stage.relist(&mut fleet, [object.clone()]);
        Self {
            stage,
            member,
            object,
            fleet,
        }
    }

    /// How it is stored, in the version in which all are.
    async fn body(&self, ingress: &str) -> String {
        let search = &self.stage.store.search;
        let key = ObjectKey::new("n", ingress);
        let found = search.get(&name("m"), &ingresses(), &key).await;
        let body = found.expect("read").map(|found| found.body);
        String::from_utf8(body.unwrap_or_default().to_vec()).expect("text")
    }

    async fn comes_to_store(&self, expected: &str) {
        let found = || async { self.body("a").await.ends_with(expected) };
        in_time(expected, found).await;
    }

    /// What the last status says of it: version, version and resource of another group, stored version, status.
    fn said(&self) -> String {
        let written = self.stage.control_plane.statuses("m").pop();
        let status = written.map_or(Value::Null, |written| written.body["status"].clone());
        let group = &status["syncResources"][0];
        let said = &group["resources"][0]["syncConditions"][0];
        let words = [
            "version",
            "syncVersion",
            "syncResource",
            "storageVersion",
            "status",
        ];
        let words = words.map(|word| said[word].as_str().unwrap_or("-"));
        format!(
            "{}: {}",
            group["group"].as_str().unwrap_or("-"),
            words.join(" ")
        )
    }

    async fn comes_to_say(&self, expected: &str) {
        in_time(expected, || async { self.said() == expected }).await;
    }

    async fn has_looked_again(&self) {
        self.member.take_discoveries();
        let asked = || async { !self.member.take_discoveries().is_empty() };
        in_time("another look", asked).await;
    }
}

#[tokio::test]
async fn a_kind_of_another_group_and_version_is_stored_as_that_of_other_members() {
    let mut act = Act::begin(&[EXTENSIONS]).await;
    act.comes_to_store(CONVERTED).await;
    act.comes_to_say("networking.k8s.io: v1 v1beta1 ingresses.extensions v1 Syncing")
        .await;
    let watched = "watch@10 /apis/extensions/v1beta1/ingresses";
    in_time("a watch", || async {
        act.member
            .requests()
            .iter()
            .any(|request| request == watched)
    })
    .await;
    // A pod to the script, and to the stream an Ingress without rules.
    act.member.adds("b");
    in_time("an event", || async { !act.body("b").await.is_empty() }).await;
    act.fleet.shutdown().await;
}

/// What is stored stays until all of it has been listed in the version that came, and is followed in the older one for as long as that is asked for.
#[tokio::test]
async fn a_member_that_comes_to_serve_the_stored_version_is_listed_once_more_and_shown_meanwhile() {
    let mut act = Act::begin(&[BETA]).await;
    act.comes_to_store(CONVERTED).await;
    act.comes_to_say("networking.k8s.io: v1beta1 - - v1 Syncing")
        .await;
    act.member
        .answers("/apis/networking.k8s.io/v1/ingresses", 500);
    act.member.serves_one(INGRESS, &[STORED, BETA]);
    act.comes_to_say("networking.k8s.io: v1 - - v1 Error").await;
    act.has_looked_again().await;
    assert!(act.body("a").await.ends_with(CONVERTED));
    assert_eq!(act.stage.store.purge(100).await, 0);
    act.member
        .answers("/apis/networking.k8s.io/v1/ingresses", 200);
    act.comes_to_store(r#""ingressClassName":"nginx"}}"#).await;
    act.comes_to_say("networking.k8s.io: v1 - - v1 Syncing")
        .await;
    act.fleet.shutdown().await;
}

/// As behind API servers of two releases, one after the other.
#[tokio::test]
async fn a_member_that_ceases_to_serve_the_stored_version_is_read_in_an_older_one_after_two_answers()
 {
    let mut act = Act::begin(&[STORED, EXTENSIONS]).await;
    act.comes_to_store(r#""ingressClassName":"nginx"}}"#).await;
    act.comes_to_say("networking.k8s.io: v1 - - v1 Syncing")
        .await;
    act.member.serves_one(INGRESS, &[EXTENSIONS]);
    act.comes_to_store(CONVERTED).await;
    act.comes_to_say("networking.k8s.io: v1 v1beta1 ingresses.extensions v1 Syncing")
        .await;
    act.fleet.shutdown().await;
}

#[tokio::test]
async fn who_may_not_read_the_group_that_is_served_is_told_of_the_right_in_that() {
    let mut act = Act::begin(&[EXTENSIONS]).await;
    act.comes_to_store(CONVERTED).await;
    act.member
        .answers("/apis/extensions/v1beta1/ingresses", 403);
    act.member.dies();
    act.member.returns_as("uid", &[]);
    let says = || async {
        let written = act.stage.control_plane.statuses("m").pop();
        let status = written.map_or(Value::Null, |written| written.body["status"].clone());
        let said = &status["syncResources"][0]["resources"][0]["syncConditions"][0];
        let message = said["message"].as_str().unwrap_or_default();
        message.contains(r#"apiGroups: ["extensions"], resources: ["ingresses"]"#)
    };
    in_time("the right", says).await;
    act.fleet.shutdown().await;
}

#[tokio::test]
async fn an_audit_compares_with_what_is_served() {
    let mut act = Act::begin(&[EXTENSIONS]).await;
    act.comes_to_say("networking.k8s.io: v1 v1beta1 ingresses.extensions v1 Syncing")
        .await;
    let annotations = act.object.annotations_mut();
    annotations.insert(AUDIT_ANNOTATION.to_owned(), "7".to_owned());
    act.fleet.handle(Event::Apply(act.object.clone()));
    let is_proved = || async {
        let written = act.stage.control_plane.statuses("m").pop();
        let audit = written.map_or(Value::Null, |written| {
            written.body["status"]["audit"].clone()
        });
        audit["request"] == "7" && audit["proved"] == 1
    };
    in_time("a proof", is_proved).await;
    act.fleet.shutdown().await;
}
