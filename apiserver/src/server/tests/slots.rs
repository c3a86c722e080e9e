//! More connections than there are slots.

use super::stalls::{ask, narrow};
use super::*;

fn limits(all: usize, reserved: usize, unproven_per_address: usize) -> ConnectionLimits {
    ConnectionLimits {
        slots: SlotLimits {
            all,
            reserved,
            unproven_per_address,
            ..CONNECTIONS.slots
        },
        ..CONNECTIONS
    }
}

/// A list that is not read keeps its connection busy.
async fn busy(server: &Running, user: &str) -> tokio_rustls::client::TlsStream<TcpStream> {
    let mut stream = server.connect(b"http/1.1", None).await;
    let request =
        format!("GET {LIST} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {user}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("taken");
    let mut head = [0; 12];
    // None if the connection was closed instead.
    if stream.read_exact(&mut head).await.is_ok() {
        assert_eq!(&head, b"HTTP/1.1 200");
    }
    stream
}

#[tokio::test]
async fn silent_sockets_make_room_for_those_who_say_who_they_are() {
    for (limits, strangers) in [(limits(16, 4, 100), 8), (limits(100, 4, 8), 8)] {
        let server = Running::start_with(1, 10, limits).await;
        let mut silent = Vec::new();
        for _ in 0..60 {
            silent.push(TcpStream::connect(server.address).await.expect("a socket"));
        }
        for protocol in BOTH {
            assert_eq!(server.get(protocol, None, LIST, ALICE).await.0, 200);
        }
        server
            .until("strangers have gone", |counts| {
                counts.connections <= strangers
            })
            .await;
        assert!(server.app.counters().read().evicted >= 60 - strangers);
        drop(silent);
        server.stop().await;
    }
}

#[tokio::test]
async fn a_crowd_of_one_address_makes_room_for_itself_and_ends_nobody_of_another() {
    // By what an address may have, and by what all strangers may.
    for limits in [limits(100, 4, 8), limits(16, 4, 100)] {
        let server = Running::start_with(1, 10, limits).await;
        let mut first = server.connect_from(3, b"http/1.1", None).await;
        let mut crowd = Vec::new();
        for _ in 0..40 {
            crowd.push(server.socket_from(2).await);
        }
        let gone = |counts: &CounterValues| counts.evicted >= 32 && counts.connections <= 9;
        server.until("most of the crowd have gone", gone).await;
        let request = format!(
            "GET {LIST} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer alice\r\n\r\n"
        );
        first.write_all(request.as_bytes()).await.expect("taken");
        let mut head = [0; 12];
        first
            .read_exact(&mut head)
            .await
            .expect("it is still there");
        assert_eq!(&head, b"HTTP/1.1 200");
        drop((first, crowd));
        server.stop().await;
    }
}

#[tokio::test]
async fn of_strangers_of_whom_none_has_more_the_oldest_goes() {
    let server = Running::start_with(1, 10, limits(16, 4, 100)).await;
    let mut oldest = server.socket_from(3).await;
    let mut others = Vec::new();
    for (number, address) in (2..).zip([6, 4, 5]) {
        others.push(server.socket_from(address).await);
        let there = |counts: &CounterValues| counts.connections >= number;
        server.until("it is there", there).await;
    }
    others.push(server.socket_from(2).await);
    let mut rest = Vec::new();
    let ended = oldest.read_to_end(&mut rest);
    let ended = tokio::time::timeout(Duration::from_secs(10), ended).await;
    assert!(ended.is_ok(), "the oldest is still there");
    drop(others);
    server.stop().await;
}

#[tokio::test]
async fn a_front_proxy_finds_a_slot_when_all_others_are_busy() {
    // Room for four lists of one user.
    let server = Running::start_within(64 << 20, 1200, 10 << 10, limits(16, 12, 100)).await;
    let mut streams = Vec::new();
    for _ in 0..4 {
        streams.push(busy(&server, "alice").await);
    }
    let mut refused = server.connect(b"http/1.1", None).await;
    let mut rest = Vec::new();
    let ended = refused.read_to_end(&mut rest);
    let ended = tokio::time::timeout(Duration::from_secs(10), ended).await;
    assert!(ended.is_ok(), "the last slots are not for everybody");
    let headers = &[("x-remote-user", "carol")][..];
    let uri = format!("{LIST}?limit=1");
    for protocol in BOTH {
        let proxy = server.front_proxy.client("front-proxy-client", &[]);
        assert_eq!(
            server.get(protocol, Some(proxy), &uri, headers).await.0,
            200
        );
    }
    drop((streams, refused));
    server.stop().await;
}

#[tokio::test]
async fn an_idle_connection_makes_room_and_a_front_proxys_does_not() {
    let server = Running::start_with(1, 10, limits(4, 1, 100)).await;
    let (certificate, key) = server.front_proxy.client("front-proxy-client", &[]);
    let proxy = server.connect(H2, Some((vec![certificate], key))).await;
    let io = TokioIo::new(proxy);
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), io)
        .await
        .expect("HTTP/2");
    let driven = tokio::spawn(connection);
    let mut idle = Vec::new();
    for _ in 0..8 {
        let identity = server.clients.client("bob", &[]);
        let stream = server
            .connect(b"http/1.1", Some((vec![identity.0], identity.1)))
            .await;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .expect("HTTP/1.1");
        tokio::spawn(connection);
        let request = Request::get(LIST).header("host", "localhost");
        let request = request.body(Empty::<Bytes>::new()).expect("a request");
        let answer = sender.send_request(request).await.expect("an answer");
        assert_eq!(answer.status(), 200);
        answer.into_body().collect().await.expect("complete");
        idle.push(sender);
    }
    let request = Request::get(format!("https://localhost{LIST}")).header("x-remote-user", "carol");
    let request = request.body(Empty::<Bytes>::new()).expect("a request");
    assert_eq!(
        sender
            .send_request(request)
            .await
            .expect("an answer")
            .status(),
        200
    );
    drop((sender, idle));
    let _ = driven.await;
    server.stop().await;
}

type Http1 = http1::SendRequest<Empty<Bytes>>;

/// What a request on this connection is answered; none if the connection has ended.
async fn answered(sender: &mut Http1, user: &str) -> Option<u16> {
    let request = Request::get(LIST)
        .header("host", "localhost")
        .header("authorization", format!("Bearer {user}"));
    let request = request.body(Empty::new()).expect("a request");
    sender.ready().await.ok()?;
    let answer = sender.send_request(request).await.ok()?;
    let code = answer.status().as_u16();
    answer.into_body().collect().await.ok()?;
    Some(code)
}

#[tokio::test]
async fn a_user_who_opens_connection_after_connection_pushes_nobody_else_out() {
    let server = Running::start_with(1, 10, limits(16, 11, 100)).await;
    let mut senders = Vec::new();
    for user in ["bob", "alice", "alice", "alice", "alice", "alice", "alice"] {
        let stream = server.connect(b"http/1.1", None).await;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .expect("HTTP/1.1");
        tokio::spawn(connection);
        assert_eq!(answered(&mut sender, user).await, Some(200));
        senders.push(sender);
    }
    assert_eq!(answered(&mut senders[0], "bob").await, Some(200));
    assert_eq!(server.app.counters().read().evicted, 2);
    drop(senders);
    server.stop().await;
}

/// A connection is busy while its answer is not taken, which says nothing of its use.
#[tokio::test]
async fn who_keeps_connections_busy_keeps_a_quarter_of_them_and_ends_nobody_elses() {
    for is_certified in [false, true] {
        let server = Running::start_with(1, 10, limits(16, 4, 100)).await;
        let io = TokioIo::new(server.connect(b"http/1.1", None).await);
        let (mut bob, connection) = http1::handshake(io).await.expect("HTTP/1.1");
        tokio::spawn(connection);
        assert_eq!(answered(&mut bob, "bob").await, Some(200));
        let mut hers = Vec::new();
        for _ in 0..6 {
            let (certificate, key) = server.clients.client("alice", &[]);
            let identity = is_certified.then(|| (vec![certificate], key));
            let headers = if is_certified { &[] } else { ALICE };
            let (sender, driven) = narrow(&server, 0, identity).await;
            let answer = ask(&sender, "/version", headers).await.expect("a head");
            assert_eq!(answer.status(), 200);
            hers.push((driven, sender, answer));
        }
        let evicted = |counts: &CounterValues| counts.evicted == 2 && counts.connections == 5;
        server.until("two of hers have gone", evicted).await;
        for (driven, ..) in hers.drain(..2) {
            driven.await.expect("the oldest have gone");
        }
        assert!(hers.iter().all(|(driven, ..)| !driven.is_finished()));
        assert_eq!(answered(&mut bob, "bob").await, Some(200));
        drop((bob, hers));
        server.stop().await;
    }
}

#[tokio::test]
async fn a_connection_that_is_idle_and_one_that_proves_nothing_are_ended() {
    let (short, long) = (Duration::from_millis(300), Duration::from_secs(60));
    for (idle, unproven, knows) in [(short, long, true), (long, short, false)] {
        let limits = ConnectionLimits {
            idle: IdleLimits { idle, unproven },
            ..CONNECTIONS
        };
        let server = Running::start_with(1, 10, limits).await;
        let (certificate, key) = server.clients.client("bob", &[]);
        let identity = knows.then(|| (vec![certificate], key));
        let io = TokioIo::new(server.connect(H2, identity).await);
        let (_sender, connection) =
            http2::handshake::<_, _, Empty<Bytes>>(TokioExecutor::new(), io)
                .await
                .expect("HTTP/2");
        let ended = tokio::time::timeout(Duration::from_secs(20), connection).await;
        ended.expect("in time").expect("a graceful end");
        server.stop().await;
    }
}
