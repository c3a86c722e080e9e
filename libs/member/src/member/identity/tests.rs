//! Members that let one thing be read and forbid another.

use std::sync::{Arc, Mutex};

use armadex_model::GroupVersionResource;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};

use super::*;
use crate::connection::{Connection, Trust};

const READYZ: &str = "/readyz";
const VERSION: &str = "/version";
const PODS: &str = "/api/v1/pods?limit=1";

/// What is answered at a path, and what else is forbidden.
type Answers = &'static [(&'static str, u16, &'static str)];

async fn answer(pipe: DuplexStream, answers: Answers, asked: Arc<Mutex<Vec<String>>>) {
    let mut socket = BufReader::new(pipe);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if socket.read_line(&mut head).await.unwrap_or(0) == 0 {
            return;
        }
    }
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let known = answers.iter().find(|(known, ..)| *known == path);
    let forbidden = r#"{"kind":"Status","message":"forbidden"}"#;
    let (code, body) = known.map_or((403, forbidden), |(_, code, body)| (*code, *body));
    asked.lock().expect("no panic").push(path);
    let length = body.len();
    let answer =
        format!("HTTP/1.1 {code} X\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}");
    // Whoever asked may have gone.
    let _ = socket.write_all(answer.as_bytes()).await;
}

/// A member that answers so, whose certificate is believed by a bundle or by anything; and what it is asked.
fn member(answers: Answers, trust: Trust) -> (Member, Arc<Mutex<Vec<String>>>) {
    let connection = Connection {
        trust,
        ..Connection::plain("https://member")
    };
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let notes = Arc::clone(&asked);
    let dial = move || {
        let (near, far) = tokio::io::duplex(64 << 10);
        tokio::spawn(answer(far, answers, Arc::clone(&notes)));
        near
    };
    (
        Member::through_pipes(&connection, dial).expect("a member"),
        asked,
    )
}

fn bundle() -> Trust {
    Trust::Bundle(vec![b"a certificate".to_vec()])
}

const BY_GET: (&str, u16, &str) = (
    KUBE_SYSTEM,
    200,
    r#"{"metadata":{"name":"kube-system","uid":"k"}}"#,
);
const BY_LIST: (&str, u16, &str) = (
    KUBE_SYSTEM_LIST,
    200,
    r#"{"items":[{"metadata":{"name":"kube-system","uid":"k"}}]}"#,
);
const BY_SERVICE: (&str, u16, &str) = (
    SERVICE_LIST,
    200,
    r#"{"items":[{"metadata":{"name":"kubernetes","uid":"s"}}]}"#,
);
/// As of a server that knows no field selectors.
const OTHERS: (&str, u16, &str) = (
    KUBE_SYSTEM_LIST,
    200,
    r#"{"items":[{"metadata":{"name":"a","uid":"a"}}]}"#,
);
const NO_SERVICE: (&str, u16, &str) = (SERVICE_LIST, 200, r#"{"items":null}"#);

#[tokio::test(start_paused = true)]
async fn the_surest_source_that_may_be_read_says_who_a_member_is() {
    let known_by_bundle = Connection {
        trust: bundle(),
        ..Connection::plain("https://member")
    };
    let by_bundle = format!("ca:{}", known_by_bundle.authority().expect("a digest"));
    let cases: [(Answers, &str); 6] = [
        (&[BY_GET, BY_SERVICE], "k"),
        (&[BY_LIST, BY_SERVICE], "k"),
        (&[BY_SERVICE], "service:s"),
        (&[OTHERS, BY_SERVICE], "service:s"),
        (&[NO_SERVICE], &by_bundle),
        (&[], &by_bundle),
    ];
    for (answers, expected) in cases {
        let (member, _) = member(answers, bundle());
        let told = member.identity().await.expect("an identity");
        assert_eq!(told.as_str(), expected);
        let again = member.identity_of_watches(told.source()).await;
        assert_eq!(again.expect("the same"), told);
        assert_eq!(Identity::stored(told.as_str()).source(), told.source());
    }
}

#[tokio::test(start_paused = true)]
async fn a_member_that_anybody_may_pose_as_and_that_says_nothing_is_refused_in_its_words() {
    let (member, _) = member(&[], Trust::Anyone);
    let error = member.identity().await.expect_err("no identity");
    assert!(error.is_forbidden() && error.hides_identity(), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn what_fails_is_not_passed_over() {
    for answers in [
        &[(KUBE_SYSTEM, 500, "")][..],
        &[(KUBE_SYSTEM_LIST, 500, "")],
        &[(SERVICE_LIST, 429, "")],
    ] {
        let (member, _) = member(answers, bundle());
        let error = member.identity().await.expect_err("no identity");
        assert!(!error.hides_identity(), "{error:?}");
    }
}

/// It could be taken for one that another source tells of.
#[tokio::test(start_paused = true)]
async fn a_uid_has_no_colon() {
    let (member, _) = member(
        &[(KUBE_SYSTEM, 200, r#"{"metadata":{"uid":"ca:1"}}"#)],
        bundle(),
    );
    let error = member.identity().await.expect_err("no uid");
    assert!(matches!(error, MemberError::Malformed { .. }), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn who_forbids_to_be_asked_whether_it_is_well_is_there_and_is_asked_something_else() {
    let pods = GroupVersionResource::new("", "v1", "pods");
    let cases: [(Answers, bool, &[&str]); 8] = [
        (&[(READYZ, 200, "ok")], true, &[READYZ]),
        (&[(READYZ, 500, "")], false, &[READYZ]),
        (&[(READYZ, 401, "")], false, &[READYZ]),
        (&[(VERSION, 200, "{}")], true, &[READYZ, VERSION]),
        (&[(VERSION, 503, "")], false, &[READYZ, VERSION]),
        (&[(PODS, 200, "{}")], true, &[READYZ, VERSION, PODS]),
        (&[(PODS, 500, "")], false, &[READYZ, VERSION, PODS]),
        (&[(PODS, 403, "")], false, &[READYZ, VERSION, PODS]),
    ];
    for (answers, is_well, expected) in cases {
        let (member, asked) = member(answers, bundle());
        let probed = member.probe(Some(&pods)).await;
        assert_eq!(probed.is_ok(), is_well, "{answers:?} {probed:?}");
        assert_eq!(*asked.lock().expect("no panic"), expected);
    }
    let (member, asked) = member(&[], bundle());
    member.probe(None).await.expect("it is there");
    assert_eq!(*asked.lock().expect("no panic"), [READYZ, VERSION]);
}
