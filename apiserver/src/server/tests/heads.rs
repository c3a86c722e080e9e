//! Requests that begin and do not end.

use super::*;

type Stream = tokio_rustls::client::TlsStream<TcpStream>;

async fn server(heads: usize) -> Running {
    let slots = SlotLimits {
        heads,
        ..CONNECTIONS.slots
    };
    let limits = ConnectionLimits {
        slots,
        ..CONNECTIONS
    };
    Running::start_with(1, 10, limits).await
}

/// Sends the beginning of a request whose query is so long.
async fn begin(stream: &mut Stream, kilobytes: usize) {
    let query = "x".repeat(kilobytes << 10);
    let request = format!("GET {LIST}?ignored={query}");
    stream.write_all(request.as_bytes()).await.expect("taken");
}

/// Sends its end, and tells the code of the answer; none if the connection has ended.
async fn end(stream: &mut Stream) -> Option<String> {
    end_with(stream, "authorization: Bearer alice").await
}

/// Likewise, with a header that says who asks.
async fn end_with(stream: &mut Stream, who: &str) -> Option<String> {
    let rest = format!(" HTTP/1.1\r\nhost: localhost\r\n{who}\r\n\r\n");
    stream.write_all(rest.as_bytes()).await.ok()?;
    let mut head = [0; 12];
    stream.read_exact(&mut head).await.ok()?;
    let mut answer = Vec::new();
    while !answer.ends_with(b"0\r\n\r\n") {
        answer.push(stream.read_u8().await.ok()?);
    }
    String::from_utf8(head[9..].to_vec()).ok()
}

#[tokio::test]
async fn heads_that_do_not_end_make_room_for_those_that_do() {
    let server = server(125 << 10).await;
    let mut alice = server.connect(b"http/1.1", None).await;
    begin(&mut alice, 0).await;
    assert_eq!(end(&mut alice).await.as_deref(), Some("200"));
    begin(&mut alice, 40).await;
    let mut strangers = Vec::new();
    for kilobytes in [20, 50, 30] {
        let mut stranger = server.connect(b"http/1.1", None).await;
        begin(&mut stranger, kilobytes).await;
        strangers.push(stranger);
    }
    let evicted = |counts: &CounterValues| counts.evicted == 1;
    server.until("the oldest has gone", evicted).await;
    let [oldest, second, last] = &mut strangers[..] else {
        panic!("three")
    };
    assert_eq!(end(oldest).await, None);
    for stream in [&mut alice, second, last] {
        assert_eq!(end(stream).await.as_deref(), Some("200"));
    }
    // What has ended holds nothing.
    let ended = |counts: &CounterValues| counts.connections == 0;
    server.until("the last ones have gone", ended).await;
    let mut alice = server.connect(b"http/1.1", None).await;
    begin(&mut alice, 60).await;
    assert_eq!(end(&mut alice).await.as_deref(), Some("200"));
    assert_eq!(server.app.counters().read().evicted, 1);
    drop((alice, strangers));
    server.stop().await;
}

/// What was made for it would stay as long as the connection.
#[tokio::test]
async fn a_long_head_of_http_1_ends_its_connection_with_its_answer() {
    let server = server(1 << 20).await;
    for (kilobytes, again) in [(10, Some("200")), (20, None)] {
        let mut stream = server.connect(b"http/1.1", None).await;
        begin(&mut stream, kilobytes).await;
        assert_eq!(end(&mut stream).await.as_deref(), Some("200"));
        let beginning = format!("GET {LIST}");
        // Nobody may be there to take it.
        let _ = stream.write_all(beginning.as_bytes()).await;
        assert_eq!(end(&mut stream).await.as_deref(), again);
    }
    server.stop().await;
}

/// The greediest address loses, and not the oldest head.
#[tokio::test]
async fn heads_of_one_address_end_none_of_another() {
    let server = server(100 << 10).await;
    let mut other = server.connect_from(3, b"http/1.1", None).await;
    begin(&mut other, 20).await;
    let mut crowd = Vec::new();
    for _ in 0..2 {
        let mut stranger = server.connect_from(2, b"http/1.1", None).await;
        begin(&mut stranger, 50).await;
        crowd.push(stranger);
    }
    let evicted = |counts: &CounterValues| counts.evicted == 1;
    server.until("one has gone", evicted).await;
    let answers = [end(&mut other).await, end(&mut crowd[0]).await];
    assert_eq!(answers, [Some("200".to_owned()), None]);
    assert_eq!(end(&mut crowd[1]).await.as_deref(), Some("200"));
    drop((other, crowd));
    server.stop().await;
}

#[tokio::test]
async fn a_front_proxys_head_ends_by_itself_however_many_others_there_are() {
    let server = server(100 << 10).await;
    let (certificate, key) = server.front_proxy.client("front-proxy-client", &[]);
    let identity = Some((vec![certificate], key));
    let mut proxy = server.connect(b"http/1.1", identity).await;
    begin(&mut proxy, 60).await;
    let mut others = Vec::new();
    for _ in 0..3 {
        let mut stranger = server.connect(b"http/1.1", None).await;
        begin(&mut stranger, 50).await;
        others.push(stranger);
    }
    let evicted = |counts: &CounterValues| counts.evicted == 1;
    server.until("one has gone", evicted).await;
    let answer = end_with(&mut proxy, "x-remote-user: carol").await;
    assert_eq!(answer.as_deref(), Some("200"));
    assert_eq!(end(&mut others[0]).await, None);
    drop((proxy, others));
    server.stop().await;
}

#[tokio::test]
async fn a_body_is_no_head() {
    let server = server(20 << 10).await;
    let review = json!({
        "kind": "SelfSubjectReview",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"name": "x".repeat(15 << 10)},
    });
    let review = review.to_string();
    let mut streams = Vec::new();
    for _ in 0..3 {
        let mut stream = server.connect(b"http/1.1", None).await;
        let path = "/apis/clusterpedia.io/v1beta1/resources/apis/authentication.k8s.io/v1/selfsubjectreviews";
        let length = review.len();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer alice\r\ncontent-length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.expect("taken");
        let is_asked = |counts: &CounterValues| counts.in_flight == 1;
        server.until("its head has ended", is_asked).await;
        stream.write_all(review.as_bytes()).await.expect("taken");
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).await.expect("an answer");
        assert_eq!(&answer, b"HTTP/1.1 201");
        let is_answered = |counts: &CounterValues| counts.in_flight == 0;
        server.until("it is answered", is_answered).await;
        streams.push(stream);
    }
    assert_eq!(server.app.counters().read().evicted, 0);
    drop(streams);
    server.stop().await;
}

/// Some bytes may stand for a long head there, so that each counts as long as it may be.
#[tokio::test]
async fn heads_of_http_2_that_do_not_end_make_room_as_well() {
    let server = server(600 << 10).await;
    let frame = |kind: u8| [0, 0, 0, kind, 0, 0, 0, 0, 0];
    let mut headers = frame(1);
    headers[8] = 1;
    let mut beginning = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    beginning.extend(frame(4));
    beginning.extend(headers);
    let mut streams = Vec::new();
    for _ in 0..3 {
        let mut stream = server.connect(H2, None).await;
        stream.write_all(&beginning).await.expect("taken");
        streams.push(stream);
    }
    let evicted = |counts: &CounterValues| counts.evicted == 1 && counts.connections == 2;
    server.until("one has gone", evicted).await;
    assert_eq!(server.get(H2, None, LIST, ALICE).await.0, 200);
    drop(streams);
    server.stop().await;
}
