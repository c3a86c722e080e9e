//! Answers that are kept as a whole, of members that send them slowly or send too much.

use armadex_model::GroupVersionResource;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::time::Instant;

use super::*;
use crate::discovery::{Etags, Room, Told, VersionState};

/// What a member sends: this, and then the same piece again and again.
#[derive(Clone)]
struct Sent {
    begin: String,
    piece: String,
    pause: Duration,
}

async fn answer(pipe: DuplexStream, sent: impl Fn(&str) -> Sent) -> std::io::Result<()> {
    let mut socket = BufReader::new(pipe);
    let mut line = String::new();
    socket.read_line(&mut line).await?;
    let sent = sent(line.split(' ').nth(1).unwrap_or_default());
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
    let sent = Sent {
        begin: begin.to_owned(),
        piece: piece.to_owned(),
        pause,
    };
    member_that(move |_| sent.clone())
}

/// A member that sends what this says of each path.
fn member_that(sent: impl Fn(&str) -> Sent + Clone + Send + Sync + 'static) -> Member {
    let connection = Connection::plain("http://member");
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
            field_selector: None,
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
            .discover(&Etags::default(), Room::Large)
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

/// How many objects a member has that answers so to a list of one of them.
async fn size_of(list: &str) -> Option<u64> {
    let pods = GroupVersionResource::new("", "v1", "pods");
    let request = ListRequest {
        resource: &pods,
        limit: 1,
        continue_token: None,
        field_selector: None,
    };
    let member = member(list, "", Duration::ZERO);
    member.collection_size(&request).await.expect("an answer")
}

#[tokio::test(start_paused = true)]
async fn a_collection_has_what_came_and_what_is_said_to_come() {
    let cases = [
        (r#"{"items":[],"metadata":{}}"#, Some(0)),
        (r#"{"items":null,"metadata":{"continue":""}}"#, Some(0)),
        (
            r#"{"items":[{"metadata":{"labels":{"a":"b"},"managedFields":[{},{}]}}],"metadata":{}}"#,
            Some(1),
        ),
        // Of an API that knows no limit to a list.
        (
            r#"{"metadata":{},"items":[{"a":[{}]},{},{"b":"},{"}]}"#,
            Some(3),
        ),
        (
            r#"{"metadata":{"continue":"t","remainingItemCount":41},"items":[{}]}"#,
            Some(42),
        ),
        (
            r#"{"metadata":{"continue":"t","remainingItemCount":18446744073709551615},"items":[{}]}"#,
            Some(u64::MAX),
        ),
        (r#"{"metadata":{"continue":"t"},"items":[{}]}"#, None),
    ];
    for (list, want) in cases {
        assert_eq!(size_of(list).await, want, "{list}");
    }
}

impl Member {
    async fn told(&self, room: Room) -> Result<Told, MemberError> {
        let told = self.discover(&Etags::default(), room).await?;
        Ok(told.expect("nothing was known"))
    }
}

#[tokio::test(start_paused = true)]
async fn a_large_answer_is_read_where_there_is_room_for_it() {
    let groups = |spaces| {
        let spaces = " ".repeat(spaces);
        format!(
            r#"{{"kind":"APIGroupDiscoveryList","items":[{{"metadata":{{"name":"apps"}},"versions":[{{"version":"v1"}}]}}]{spaces}}}"#
        )
    };
    let usual = member(&groups(400_000), "", Duration::ZERO);
    let told = usual.told(Room::Usual).await;
    assert!(!told.expect("an answer").is_large);
    // Neither half of it is large.
    let large = member(&groups(600_000), "", Duration::ZERO);
    let error = large.told(Room::Usual).await.expect_err("no room");
    assert!(matches!(error, MemberError::Large), "{error}");
    let told = large.told(Room::Large).await;
    assert!(told.expect("an answer").is_large);
}

/// A member that knows the older way alone, and says this of each of its three versions, the rest after so long.
fn older(said: impl Fn(&str) -> (String, Duration) + Clone + Send + Sync + 'static) -> Member {
    member_that(move |path| {
        let (begin, pause) = match path {
            "/api" => (r#"{"versions":["v1"]}"#.to_owned(), Duration::ZERO),
            "/apis" => (
                r#"{"groups":[{"name":"apps","versions":[{"version":"v1"},{"version":"v2"}]}]}"#
                    .to_owned(),
                Duration::ZERO,
            ),
            path => said(path),
        };
        Sent {
            begin,
            piece: String::new(),
            pause,
        }
    })
}

/// Each of its versions takes half of what is usual.
fn large_and_older() -> Member {
    let spaces = " ".repeat(500_000);
    let said = format!(r#"{{"resources":[{{"name":"things","kind":"Thing"}}]{spaces}}}"#);
    older(move |_| (said.clone(), Duration::ZERO))
}

#[tokio::test(start_paused = true)]
async fn no_version_is_said_to_fail_for_want_of_room() {
    let error = large_and_older()
        .told(Room::Usual)
        .await
        .expect_err("no room");
    assert!(matches!(error, MemberError::Large), "{error}");
    let told = large_and_older()
        .told(Room::Large)
        .await
        .expect("an answer");
    let versions = told.discovery.groups.values();
    let versions: Vec<_> = versions.flat_map(|group| &group.versions).collect();
    assert_eq!((told.is_large, versions.len()), (true, 3));
    for version in versions {
        let VersionState::Served(found) = &version.state else {
            panic!("{version:?}");
        };
        assert_eq!(found.len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_told_of_versions_that_fail_is_held_as_well() {
    // The answers alone are half of what is usual, and what is said of those that are no JSON names each path.
    let names: Vec<_> = (0..1_000).map(|number| format!("{number:0>250}")).collect();
    let group = |name| format!(r#"{{"name":"{name}","versions":[{{"version":"{name}"}}]}}"#);
    let groups = names.iter().map(group).collect::<Vec<_>>().join(",");
    let said = move |path: &str| {
        match path {
        "/api" => r#"{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":""},"versions":[{"version":"v1"}]}]}"#.to_owned(),
        "/apis" => format!(r#"{{"groups":[{groups}]}}"#),
        _ => "-".to_owned(),
    }
    };
    let failing = member_that(move |path| Sent {
        begin: said(path),
        piece: String::new(),
        pause: Duration::ZERO,
    });
    let error = failing.told(Room::Usual).await.expect_err("no room");
    assert!(matches!(error, MemberError::Large), "{error}");
    let told = failing.told(Room::Large).await.expect("an answer");
    assert_eq!((told.is_large, told.discovery.groups.len()), (true, 1_001));
}

#[tokio::test(start_paused = true)]
async fn a_member_of_too_many_types_in_the_older_way_is_told_so_whatever_comes_first() {
    for last in ["/api/v1", "/apis/apps/v1", "/apis/apps/v2"] {
        for (in_core, is_within) in [(2_000, true), (2_001, false)] {
            let member = older(move |path| {
                let number = if path == "/api/v1" { in_core } else { 4_000 };
                let types = vec![r#"{"name":"things","kind":"Thing"}"#; number].join(",");
                let pause = Duration::from_secs((path == last).into());
                (format!(r#"{{"resources":[{types}]}}"#), pause)
            });
            let told = member.told(Room::Large).await;
            let error = told.err().map(|error| error.to_string());
            let is_refused = error.is_some_and(|error| error.contains("10000 resources"));
            assert_eq!(is_refused, !is_within, "{last} {in_core}");
        }
    }
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

/// Answers with this status and coding, and with this body.
async fn packed(pipe: DuplexStream, said: [&str; 2], body: Vec<u8>) -> std::io::Result<()> {
    let mut socket = BufReader::new(pipe);
    let (mut line, mut asks) = (String::new(), false);
    while line != "\r\n" {
        line.clear();
        socket.read_line(&mut line).await?;
        asks |= line == "accept-encoding: gzip\r\n";
    }
    assert!(asks, "it is to be compressed");
    let [status, coding] = said;
    let head =
        format!("HTTP/1.1 {status} X\r\ncontent-encoding: {coding}\r\nconnection: close\r\n\r\n");
    socket.write_all(head.as_bytes()).await?;
    socket.write_all(&body).await
}

/// What comes of a list that is compressed with gzip.
async fn unpacked(body: &[u8]) -> Result<Vec<u8>, MemberError> {
    said_packed(["200", "gzip"], body).await
}

fn gzip(text: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let fast = flate2::Compression::fast();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), fast);
    encoder.write_all(text).expect("memory");
    encoder.finish().expect("memory")
}

/// What comes of a list that is answered with this status and coding.
async fn said_packed(said: [&'static str; 2], body: &[u8]) -> Result<Vec<u8>, MemberError> {
    let (connection, body) = (Connection::plain("http://member"), body.to_vec());
    let dial = move || {
        let (near, far) = tokio::io::duplex(64 << 10);
        tokio::spawn(packed(far, said, body.clone()));
        near
    };
    let member = Member::through_pipes(&connection, dial).expect("a member");
    let pods = GroupVersionResource::new("", "v1", "pods");
    let request = ListRequest {
        resource: &pods,
        limit: 500,
        continue_token: None,
        field_selector: None,
    };
    let mut list = member.list_compressed(&request).await?;
    let mut came = Vec::new();
    while let Some(piece) = list.next().await {
        came.extend_from_slice(&piece?);
    }
    assert!(list.is_packed() && list.came().bytes < came.len() as u64);
    Ok(came)
}

#[tokio::test]
async fn a_list_may_come_compressed_and_is_none_if_it_breaks_off() {
    let list = br#"{"metadata":{"resourceVersion":"1"},"items":[{},{}]}"#.repeat(2000);
    let packed = gzip(&list);
    assert!(unpacked(&packed).await.expect("a list") == list);
    for broken in [&packed[..packed.len() - 9], b"", b"no gzip"] {
        let error = unpacked(broken).await.expect_err("no list");
        assert!(matches!(error, MemberError::Malformed { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn how_a_list_is_compressed_is_said_in_any_case_of_letters_and_another_way_is_none() {
    let list = br#"{"metadata":{"resourceVersion":"1"},"items":[{},{}]}"#.repeat(2000);
    let packed = gzip(&list);
    for coding in ["GZip", "x-gzip", " gzip "] {
        let came = said_packed(["200", coding], &packed).await;
        assert!(came.expect(coding) == list, "{coding}");
    }
    for coding in ["br", "gzip, gzip", ""] {
        let error = said_packed(["200", coding], &packed).await;
        let error = error.expect_err("not asked for");
        assert!(matches!(error, MemberError::Malformed { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn a_refusal_may_come_compressed_and_no_more_of_it_is_unpacked_than_is_read_of_others() {
    let words = async |body: &[u8]| {
        let refused = said_packed(["403", "gzip"], body).await;
        refused.expect_err("a refusal").to_string()
    };
    let status = br#"{"kind":"Status","message":"no lists today"}"#;
    assert_eq!(words(&gzip(status)).await, "no lists today");
    let long = [&vec![b' '; 2 * ERROR_BYTES], status.as_slice()].concat();
    let unread = "the member answered 403 Forbidden";
    for body in [gzip(&long), status.to_vec()] {
        assert_eq!(words(&body).await, unread);
    }
}

/// Answers whatever is asked with this, compressed, though nobody asked for that.
fn packed_unasked(body: Vec<u8>) -> Member {
    let dial = move || {
        let (near, far) = tokio::io::duplex(64 << 10);
        let body = body.clone();
        tokio::spawn(async move {
            let mut socket = BufReader::new(far);
            let mut line = String::new();
            while line != "\r\n" && !line.contains("gzip") {
                line.clear();
                socket.read_line(&mut line).await?;
            }
            assert_eq!(line, "\r\n", "it is not asked for");
            let head = "HTTP/1.1 200 X\r\ncontent-encoding: gzip\r\nconnection: close\r\n\r\n";
            socket.write_all(head.as_bytes()).await?;
            socket.write_all(&body).await
        });
        near
    };
    Member::through_pipes(&Connection::plain("http://member"), dial).expect("a member")
}

#[tokio::test]
async fn what_comes_compressed_though_nobody_asked_for_it_is_refused() {
    let list = br#"{"kind":"List","metadata":{"resourceVersion":"7"},"items":[]}"#;
    let member = packed_unasked(gzip(list));
    let pods = GroupVersionResource::new("", "v1", "pods");
    let page = ListRequest {
        resource: &pods,
        limit: 500,
        continue_token: None,
        field_selector: None,
    };
    let watch = WatchRequest {
        resource: &pods,
        resource_version: "7",
        timeout_seconds: 60,
        field_selector: None,
    };
    let errors = [
        member.list(&page).await.err(),
        member.list_metadata(&page).await.err(),
        member.watch(&watch).await.err(),
        member.collection_version(&page).await.err(),
        member.version().await.err(),
        member.told(Room::Usual).await.err(),
    ];
    for error in errors {
        let error = error.expect("a refusal").to_string();
        assert!(
            error.contains("it is compressed, which nobody asked for"),
            "{error}"
        );
    }
}

/// What is made of it is counted before any of it is looked at.
#[tokio::test]
async fn of_a_hundred_megabytes_that_were_packed_into_little_next_to_nothing_is_unpacked() {
    let bomb = {
        use std::io::Write as _;
        let best = flate2::Compression::best();
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), best);
        encoder.write_all(&vec![b' '; 100 << 20]).expect("memory");
        encoder.finish().expect("memory")
    };
    assert!(bomb.len() < 200 << 10, "{}", bomb.len());
    let dial = move || {
        let (near, far) = tokio::io::duplex(64 << 10);
        tokio::spawn(packed(far, ["200", "gzip"], bomb.clone()));
        near
    };
    let member = Member::through_pipes(&Connection::plain("http://member"), dial);
    let (member, pods) = (
        member.expect("a member"),
        GroupVersionResource::new("", "v1", "pods"),
    );
    let page = ListRequest {
        resource: &pods,
        limit: 500,
        continue_token: None,
        field_selector: None,
    };
    let mut list = member.list_compressed(&page).await.expect("an answer");
    let mut unpacked = 0;
    let error = loop {
        match list.next().await.expect("it is no whole list") {
            Ok(piece) => unpacked += piece.len(),
            Err(error) => break error.to_string(),
        }
    };
    assert!(error.contains("what is compressed is no list"), "{error}");
    assert!(unpacked < 10 << 20, "{unpacked}");
}

#[tokio::test(start_paused = true)]
async fn a_member_that_tells_of_a_hundred_thousand_kinds_is_told_so_and_not_believed() {
    let kinds = (0..100_000).map(|number| {
        format!(
            r#"{{"resource":"k{number}","responseKind":{{"kind":"K"}},"verbs":["list","watch"]}}"#
        )
    });
    let kinds = kinds.collect::<Vec<_>>().join(",");
    let said = format!(
        r#"{{"kind":"APIGroupDiscoveryList","items":[{{"metadata":{{"name":"shop.example"}},"versions":[{{"version":"v1","resources":[{kinds}]}}]}}]}}"#
    );
    let hostile = member(&said, "", Duration::ZERO);
    let usual = hostile.told(Room::Usual).await.expect_err("no room");
    assert!(matches!(usual, MemberError::Large), "{usual}");
    let large = hostile.told(Room::Large).await.expect_err("too many");
    let words = large.to_string();
    assert!(words.contains("10000") && words.len() < 500, "{words}");
}
