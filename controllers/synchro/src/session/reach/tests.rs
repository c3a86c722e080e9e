//! The first questions, with a scripted member and a real store.

use std::sync::Arc;

use armadex_member::Room;
use armadex_storage::conformance::fixture::name;

use super::*;
use crate::incoming::memory::ClusterMemory;
use crate::session::in_line::InLine;
use crate::testing::{ScriptedMember, Stage, unavailable};

const KUBE_SYSTEM: &str = "/api/v1/namespaces/kube-system";

async fn reached(stage: &Stage, member: &ScriptedMember) -> Result<Reached, Unreached> {
    asked(stage, &member.connect()).await
}

async fn asked(stage: &Stage, member: &Member) -> Result<Reached, Unreached> {
    let sink: Arc<dyn Sink> = Arc::clone(&stage.breaking) as _;
    let cluster = name("m");
    let discovery = ClusterDiscovery::new(
        Arc::default(),
        cluster.clone(),
        ClusterMemory::of_nobody_else(),
        InLine::default(),
    );
    reach(member, &*sink, (&cluster, "uid-m"), &discovery).await
}

#[tokio::test]
async fn a_member_that_answers_tells_all_that_a_session_needs() {
    let stage = Stage::new().await;
    let member = ScriptedMember::start("uid-of-member", &[]).await;
    let joined = stage.store.sink.join(&name("m"), "uid-m", "one/").await;
    let found = reached(&stage, &member).await.expect("an answer");
    assert_eq!(
        (
            found.version.as_deref().unwrap_or_default(),
            found.identity.as_str()
        ),
        ("v1.36.0", "uid-of-member")
    );
    assert_eq!(found.cluster, joined.expect("joined"));
    assert!(found.discovery.groups.contains_key("") && found.discovery.groups.contains_key("apps"));
    // What was told is known by its ETags.
    let member = member.connect();
    let asked_again = member.discover(&found.etags, Room::Usual).await;
    assert!(asked_again.expect("an answer").is_none());
}

#[tokio::test]
async fn the_error_names_the_first_question_that_fails_and_nothing_is_adopted() {
    let stage = Stage::new().await;
    let member = ScriptedMember::start("uid-of-member", &[]).await;
    let joined = stage.store.sink.join(&name("m"), "uid-m", "one/").await;
    joined.expect("joined");
    let questions = [
        ("/apis", "discovery: "),
        (KUBE_SYSTEM, "identity (uid of namespace kube-system): "),
        ("/version", "version: "),
        ("/readyz", "health check: "),
    ];
    for (path, words) in questions {
        member.answers(path, 500);
        let error = reached(&stage, &member).await.err().expect("an error");
        let error = error.to_string();
        assert!(error.starts_with(words), "{error}");
        assert_eq!(stage.breaking.adoptions(), 0, "{error}");
    }
    for (path, _) in questions {
        member.answers(path, 200);
    }
    assert!(reached(&stage, &member).await.is_ok());
}

#[tokio::test]
async fn who_may_not_ask_is_told_which_right_is_missing() {
    let stage = Stage::new().await;
    let member = ScriptedMember::start("uid-of-member", &[]).await;
    let joined = stage.store.sink.join(&name("m"), "uid-m", "one/").await;
    joined.expect("joined");
    for (path, expected) in [
        (
            "/apis",
            r#"discovery: as a test says: the account's ClusterRole lacks {nonResourceURLs: ["/api", "/api/*", "/apis", "/apis/*"], verbs: ["get"]}; `armadex rbac --for pediacluster/m` prints the whole of it"#,
        ),
        (
            KUBE_SYSTEM,
            r#"identity (uid of namespace kube-system): as a test says: the account's ClusterRole lacks {apiGroups: [""], resources: ["namespaces"], resourceNames: ["kube-system"], verbs: ["get"]}; `armadex rbac --for pediacluster/m` prints the whole of it"#,
        ),
    ] {
        member.answers(path, 403);
        let error = reached(&stage, &member).await.err().expect("an error");
        assert_eq!(error.to_string(), expected);
        assert!(error.is_forbidden());
        member.answers(path, 200);
    }
}

/// It may be the control plane that refuses, or refuses to let it be asked: the role in the member may lack nothing.
#[tokio::test]
async fn no_right_is_said_to_be_missing_where_the_control_plane_asks() {
    let stage = Stage::new().await;
    let member = ScriptedMember::start("uid-of-member", &[]).await;
    let joined = stage.store.sink.join(&name("m"), "uid-m", "one/").await;
    joined.expect("joined");
    for path in ["/apis", KUBE_SYSTEM] {
        member.answers(path, 403);
        let asked = asked(&stage, &member.behind_control_plane()).await;
        let error = asked.err().expect("an error");
        assert!(error.is_forbidden(), "{error}");
        assert!(!error.to_string().contains("lacks"), "{error}");
        member.answers(path, 200);
    }
}

#[tokio::test]
async fn a_member_that_forbids_to_ask_for_its_health_and_version_is_reached() {
    let stage = Stage::new().await;
    let member = ScriptedMember::start("uid-of-member", &[]).await;
    let joined = stage.store.sink.join(&name("m"), "uid-m", "one/").await;
    joined.expect("joined");
    for path in ["/readyz", "/version"] {
        member.answers(path, 403);
        let found = reached(&stage, &member).await.expect("it is there");
        assert_eq!(found.version.is_err(), path == "/version");
    }
}

#[test]
fn a_member_hangs_where_it_was_waited_for_in_vain_and_nobody_else_does() {
    let of_member = |what, source| Err(unreached(what, source));
    let silence = || MemberError::TimedOut {
        phase: "answer",
        after: std::time::Duration::from_secs(5),
    };
    let answer = || MemberError::GaveWay { phase: "answer" };
    let gateway = || MemberError::Status {
        code: 504,
        message: "upstream request timeout".to_owned().into(),
        retry_after: None,
        fresh_token: None,
        details: None,
    };
    for (answer, took_long, expected) in [
        (of_member(HEALTH_CHECK, silence()), true, true),
        (of_member(HEALTH_CHECK, answer()), true, true),
        (of_member(HEALTH_CHECK, silence()), false, false),
        (of_member("discovery", silence()), true, true),
        (of_member("discovery", gateway()), true, true),
        // It waited for its turn.
        (of_member("discovery", answer()), true, false),
        (Err(Unreached::Store(unavailable())), true, false),
        (Ok(()), true, false),
    ] {
        let tried = Asked { answer, took_long };
        assert_eq!(hangs(&tried), expected, "{tried:?}");
    }
}

#[test]
fn what_fails_in_the_store_is_for_the_log_and_what_fails_at_the_member_for_its_status() {
    let of_store = Unreached::Store(unavailable());
    assert!(of_store.to_string().contains("the disk is full"));
    assert!(!of_store.in_a_status().contains("disk"));
    let what = HEALTH_CHECK;
    let source = MemberError::GaveWay { phase: "answer" };
    let of_member = unreached(what, source);
    assert_eq!(of_member.in_a_status(), of_member.to_string());
}

#[tokio::test]
async fn a_cluster_that_left_is_told_apart_from_a_member_that_fails() {
    let stage = Stage::new().await;
    let member = ScriptedMember::start("uid-of-member", &[]).await;
    let sink = &stage.store.sink;
    sink.join(&name("m"), "uid-m", "one/")
        .await
        .expect("joined");
    sink.leave(&name("m"), "uid-m").await.expect("left");
    let error = reached(&stage, &member).await.err().expect("an error");
    let is_left = matches!(error, Unreached::Store(StoreError::Left { .. }));
    assert!(is_left, "{error}");
}
