//! Clients that ask and do not take what they are given.

use futures::future::join_all;
use http::Response;
use hyper::body::Incoming;

use super::*;
use crate::server::heads::Total;

pub(super) const OBJECT: &str =
    "/apis/clusterpedia.io/v1beta1/resources/clusters/m1/api/v1/namespaces/x/pods/p0000";

/// A client that is given up after a second.
fn impatient() -> ConnectionLimits {
    ConnectionLimits {
        stall: Duration::from_secs(1),
        ..CONNECTIONS
    }
}

pub(super) type Sender = hyper::client::conn::http2::SendRequest<Empty<Bytes>>;

/// A connection over HTTP/2 on which every answer has a window of so many bytes, and the task that drives it.
pub(super) async fn narrow(
    server: &Running,
    window: u32,
    identity: Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>,
) -> (Sender, JoinHandle<()>) {
    let io = TokioIo::new(server.connect(H2, identity).await);
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder.initial_stream_window_size(window);
    let (sender, connection) = builder.handshake(io).await.expect("HTTP/2");
    let driven = tokio::spawn(async move {
        let _ = connection.await;
    });
    (sender, driven)
}

pub(super) async fn ask(
    sender: &Sender,
    uri: &str,
    headers: &[(&str, &str)],
) -> Option<Response<Incoming>> {
    let mut request = Request::get(format!("https://localhost{uri}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Empty::new()).expect("a request");
    sender.clone().send_request(request).await.ok()
}

#[tokio::test]
async fn answers_that_nobody_takes_keep_their_places_and_stay_within_the_budget() {
    let server = Running::start_with(3, 700 << 10, impatient()).await;
    let (sender, driven) = narrow(&server, 0, None).await;
    let asking = tokio::spawn(async move {
        let asking = (0..40).map(|_| ask(&sender, OBJECT, ALICE));
        let answers: Vec<_> = join_all(asking).await.into_iter().flatten().collect();
        let of = |code| answers.iter().filter(|one| one.status() == code).count();
        (of(200), of(429))
    });
    server
        .until("the first request is there", |counts| counts.requests > 0)
        .await;
    let bob = &[("authorization", "Bearer bob")][..];
    let (code, list) = server.get(H2, None, LIST, bob).await;
    assert_eq!(
        (code, list.map(|list| list.len() > 2_000_000)),
        (200, Some(true))
    );
    server
        .until("nothing is left", |counts| {
            assert!(counts.held_bytes <= 4 << 20, "{counts:?}");
            (counts.held_bytes, counts.in_flight) == (0, 0)
        })
        .await;
    driven.await.expect("the server ends the connection");
    let (served, refused) = asking.await.expect("answers");
    assert!(
        served <= 10 && refused >= 30,
        "{served} of 40 requests found a place among 10, {refused} did not"
    );
    server.stop().await;
}

#[tokio::test]
async fn a_small_answer_that_is_taken_in_part_ends_its_connection() {
    let server = Running::start_with(1, 10 << 10, impatient()).await;
    let (sender, driven) = narrow(&server, 1, None).await;
    let answer = ask(&sender, OBJECT, ALICE).await.expect("a head");
    assert_eq!(answer.status(), 200);
    driven.await.expect("the server ends the connection");
    server
        .until("nothing is left", |counts| {
            (counts.held_bytes, counts.stalled) == (0, 1)
        })
        .await;
    server.stop().await;
}

#[tokio::test]
async fn the_third_stream_that_stalls_ends_its_connection_and_the_first_two_do_not() {
    let server = Running::start_with(1, 700 << 10, impatient()).await;
    let (sender, driven) = narrow(&server, 64 << 10, None).await;
    for stalled in 1..=3 {
        let taken = ask(&sender, OBJECT, ALICE).await.expect("a head");
        let taken = taken.into_body().collect().await;
        assert!(taken.expect("complete").to_bytes().len() > 700 << 10);
        let left = ask(&sender, OBJECT, ALICE).await.expect("a head");
        server
            .until("the other is given up", |counts| {
                (counts.stalled, counts.held_bytes) == (stalled, 0)
            })
            .await;
        drop(left);
    }
    driven.await.expect("the server ends the connection");
    server.stop().await;
}

#[tokio::test]
async fn too_many_stalls_let_the_other_answers_finish_and_one_that_leaves_something_does_not() {
    let server = Running::start(1).await;
    let client = || {
        let app = Arc::clone(&server.app);
        Client::new(app, server.address.ip(), Total::default())
    };
    let ended = |client: &Client| (client.told.is_cancelled(), client.cut.is_cancelled());
    let patient = client();
    for expected in [(false, false), (false, false), (true, false)] {
        patient.strike(false);
        assert_eq!(ended(&patient), expected);
    }
    let stuck = client();
    stuck.strike(true);
    assert_eq!(ended(&stuck), (false, true));
    drop((patient, stuck));
    server.stop().await;
}

#[tokio::test]
async fn an_answer_that_its_client_no_longer_wants_is_let_go_of_at_once() {
    // Nobody is given up before a minute is over.
    let server = Running::start_with(1, 700 << 10, CONNECTIONS).await;
    let (sender, _driven) = narrow(&server, 64 << 10, None).await;
    let answer = ask(&sender, OBJECT, ALICE).await.expect("a head");
    assert!(server.app.counters().read().held_bytes > 0);
    drop(answer);
    server
        .until("nothing is left", |counts| {
            (counts.held_bytes, counts.in_flight) == (0, 0)
        })
        .await;
    let again = ask(&sender, OBJECT, ALICE).await.expect("a head");
    assert_eq!(again.status(), 200);
    drop((again, sender));
    server.stop().await;
}

#[tokio::test]
async fn a_front_proxy_loses_the_streams_that_stall_and_not_its_connection() {
    let server = Running::start_with(1, 700 << 10, impatient()).await;
    let (certificate, key) = server.front_proxy.client("front-proxy-client", &[]);
    let (sender, driven) = narrow(&server, 0, Some((vec![certificate], key))).await;
    let asking = ["a", "b", "c", "d", "e"].map(|user| {
        let sender = &sender;
        async move { ask(sender, OBJECT, &[("x-remote-user", user)]).await }
    });
    for answer in join_all(asking).await {
        let answer = answer.expect("a head");
        assert_eq!(answer.status(), 200);
        assert!(answer.into_body().collect().await.is_err(), "it is reset");
    }
    server
        .until("nothing is left", |counts| {
            (counts.held_bytes, counts.stalled) == (0, 5)
        })
        .await;
    let again = ask(&sender, OBJECT, &[("x-remote-user", "a")]).await;
    assert_eq!(again.expect("a head").status(), 200);
    drop(sender);
    driven.await.expect("it ends by itself");
    server.stop().await;
}

#[tokio::test]
async fn a_client_of_http_1_that_does_not_read_is_given_up() {
    let server = Running::start_with(1200, 10 << 10, impatient()).await;
    let mut stream = server.connect(b"http/1.1", None).await;
    let request =
        format!("GET {LIST} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer alice\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("taken");
    // How long it waits shows on no counter that stays; that it broke off and let go of everything does.
    server
        .until("the list broke off and nothing is left", |counts| {
            let left = (counts.held_bytes, counts.in_flight, counts.connections);
            counts.broken_off == 1 && left == (0, 0, 0)
        })
        .await;
    server.stop().await;
}
