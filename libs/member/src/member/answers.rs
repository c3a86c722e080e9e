//! Answers that are kept as a whole, of members that send them slowly or send too much.

use armadex_model::GroupVersionResource;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::time::Instant;

use super::*;
use crate::LargeAnswers;
use crate::discovery::Etags;

/// What a member sends: this, and then the same piece again and again.
#[derive(Clone)]
struct Sent {
    begin: String,
    piece: String,
    pause: Duration,
}

async fn answer(pipe: DuplexStream, sent: Sent) -> std::io::Result<()> {
    let mut socket = BufReader::new(pipe);
    let mut line = String::new();
    while line != "\r\n" {
        line.clear();
        socket.read_line(&mut line).await?;
    }
    let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    socket.write_all(head).await?;
    let mut next = &sent.begin;
    while !next.is_empty() {
        let chunk = format!("{:x}\r\n{next}\r\n", next.len());
        socket.write_all(chunk.as_bytes()).await?;
        next = &sent.piece;
        tokio::time::sleep(sent.pause).await;
    }
    socket.write_all(b"0\r\n\r\n").await
}

fn member(begin: &str, piece: &str, pause: Duration) -> Member {
    let connection = Connection::plain("http://member");
    let sent = Sent {
        begin: begin.to_owned(),
        piece: piece.to_owned(),
        pause,
    };
    let dial = move || {
        let (near, far) = tokio::io::duplex(64 << 10);
        tokio::spawn(answer(far, sent.clone()));
        near
    };
    Member::through_pipes(&connection, dial).expect("a member")
}

impl Member {
    async fn version_of_pods(&self) -> Result<String, MemberError> {
        let pods = GroupVersionResource::new("", "v1", "pods");
        let request = ListRequest {
            resource: &pods,
            limit: 1,
            continue_token: None,
        };
        self.collection_version(&request).await
    }
}

#[tokio::test(start_paused = true)]
async fn what_comes_byte_by_byte_is_given_up_as_a_whole() {
    let dribble = || member("{", " ", BODY_SILENCE - Duration::from_secs(1));
    let begun = Instant::now();
    let errors = [
        dribble().version().await.expect_err("no version"),
        dribble().identity().await.expect_err("no identity"),
        dribble().version_of_pods().await.expect_err("no position"),
        dribble()
            .discover(&Etags::default(), &LargeAnswers::new(1))
            .await
            .expect_err("no discovery"),
    ];
    for error in errors {
        assert!(matches!(error, MemberError::TimedOut { .. }), "{error}");
    }
    let all = begun.elapsed().as_secs();
    assert!(all <= 3 * 30 + 60, "{all} s");
}

#[tokio::test(start_paused = true)]
async fn what_was_not_asked_for_is_passed_over() {
    let object = format!(r#"{{"data":{{"x":"{}"}}}}"#, "x".repeat(1_500_000));
    let list =
        format!(r#"{{"kind":"List","items":[{object}],"metadata":{{"resourceVersion":"7"}}}}"#);
    let member = member(&list, "", Duration::ZERO);
    assert_eq!(member.version_of_pods().await.expect("a position"), "7");
}

#[tokio::test(start_paused = true)]
async fn a_large_answer_is_read_while_no_other_is_held() {
    let groups = format!(
        r#"{{"kind":"APIGroupDiscoveryList","items":[{{"metadata":{{"name":"apps"}},"versions":[{{"version":"v1"}}]}}],"x":"{}"}}"#,
        "x".repeat(1_500_000)
    );
    let (large, nothing) = (LargeAnswers::new(1), Etags::default());
    let member = || member(&groups, "", Duration::ZERO);
    let told = member().discover(&nothing, &large).await;
    let held = told.expect("an answer").expect("it is told").large;
    assert!(held.is_some());
    let (second, limit) = (member(), Duration::from_secs(10));
    let waits = tokio::time::timeout(limit, second.discover(&nothing, &large)).await;
    assert!(waits.is_err());
    drop(held);
    let told = member().discover(&nothing, &large).await;
    assert!(told.expect("an answer").is_some());
}

#[tokio::test(start_paused = true)]
async fn what_has_no_end_is_given_up_early() {
    let letters = "a".repeat(32 << 10);
    for begin in [
        r#"{"items":["#,
        r#"{"metadata":{"uid":""#,
        r#"{"items":[{"a":""#,
    ] {
        let begun = Instant::now();
        let endless = member(begin, &letters, Duration::from_millis(1));
        let error = endless.identity().await.expect_err("no end");
        assert!(matches!(error, MemberError::Malformed { .. }), "{error}");
        assert!(begun.elapsed() < ANSWER_TIMEOUT, "{begin}");
    }
}
