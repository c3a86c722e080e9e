//! Watches that are begun anew on the connection of those before, or on another one where that is dead, and what is asked beside them, over pipes on
//! which HTTP/2 was agreed.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use armadex_crds::IdentitySource;
use armadex_model::GroupVersionResource;
use futures::StreamExt as _;
use futures::future::join_all;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};
use tower::{Service, ServiceExt};

use super::*;
use crate::member::Member;
use crate::pipe::{self, Pipe};
use crate::request::{ListRequest, WatchRequest};

/// The longest time between two watches of one type: what a synchro asks for where nothing cuts them off, and some seconds.
const GENERATION: Duration = Duration::from_secs(LONGEST_WATCH.as_secs() + 10);

/// A dead peer is found within 25 s; the rest is for the ticks of timers.
const FOUND: Duration = Duration::from_secs(26);

/// Counts the connections that it opens, each to a server of its own.
#[derive(Clone, Default)]
struct Dialer {
    opened: Arc<AtomicUsize>,
    /// So many of them, the first ones, stand still: open, and never read or written again.
    silent: Arc<AtomicUsize>,
    /// The servers so far.
    servers: Arc<Mutex<Vec<AbortHandle>>>,
}

impl Dialer {
    fn makes_clients(&self) -> ClientMaker {
        let dialer = self.clone();
        pipe::client_maker(move || dialer.dial())
    }

    fn opened(&self) -> usize {
        self.opened.load(Ordering::Relaxed)
    }

    fn falls_silent(&self) {
        self.silent.store(self.opened(), Ordering::Relaxed);
    }

    /// All connections end.
    fn breaks(&self) {
        let servers = std::mem::take(&mut *self.servers.lock().expect("no panic"));
        for server in servers {
            server.abort();
        }
    }

    fn dial(&self) -> Pipe {
        let (number, silent) = (
            self.opened.fetch_add(1, Ordering::Relaxed),
            Arc::clone(&self.silent),
        );
        let (near, far) = tokio::io::duplex(64 << 10);
        // Bodies of watches never end.
        let watch = service_fn(move |request: Request<Incoming>| async move {
            let is_who = request.uri().path().ends_with("/kube-system");
            let first = match is_who {
                true => format!(r#"{{"metadata":{{"uid":"{number}"}}}}"#).into(),
                false => Bytes::from_static(b"ok\n"),
            };
            let first = futures::stream::iter([Ok::<_, Infallible>(Frame::data(first))]);
            let goes_on = match request.uri().path() {
                "/readyz" => first.boxed(),
                _ if is_who => first.boxed(),
                _ => first.chain(futures::stream::pending()).boxed(),
            };
            Ok::<_, Infallible>(Response::new(StreamBody::new(goes_on)))
        });
        let mut server = http2::Builder::new(TokioExecutor::new());
        server.timer(TokioTimer::new());
        let mut server = Box::pin(server.serve_connection(TokioIo::new(far), watch));
        let serving = tokio::spawn(poll_fn(move |context| {
            match number < silent.load(Ordering::Relaxed) {
                true => Poll::Pending,
                false => server.as_mut().poll(context),
            }
        }));
        let mut servers = self.servers.lock().expect("no panic");
        servers.push(serving.abort_handle());
        Pipe::of_http2(near)
    }
}

async fn asked(client: &mut HttpClient) -> Result<Response<Incoming>, BoxError> {
    let request = get(Uri::from_static("http://member/watch"), HeaderMap::new());
    client.ready().await?.call(request).await
}

async fn begun(client: &mut HttpClient) -> Response<Incoming> {
    asked(client).await.expect("an answer")
}

#[tokio::test(start_paused = true)]
async fn a_connection_of_watches_is_kept_for_the_next_generation() {
    let dialer = Dialer::default();
    let mut client = dialer.makes_clients()(WATCH_WINDOWS);
    let mut watches = Vec::new();
    for _ in 0..3 {
        watches.push(begun(&mut client).await);
        tokio::time::sleep(GENERATION).await;
    }
    assert_eq!(dialer.opened(), 1);
    drop(watches);
}

fn pods() -> GroupVersionResource {
    GroupVersionResource::new("", "v1", "pods")
}

fn watch_of(resource: &GroupVersionResource) -> WatchRequest<'_> {
    WatchRequest {
        resource,
        resource_version: "1",
        timeout_seconds: 290,
        field_selector: None,
    }
}

fn member(dialer: &Dialer) -> Member {
    let connection = Connection::plain("http://member");
    Member::over(&connection, &dialer.makes_clients()).expect("a member")
}

/// Each kind has a watch, and each of them sees its end at the same moment. The first ones go on at once, for others of them are not over yet and speak for the
/// connection.
#[tokio::test(start_paused = true)]
async fn watches_whose_connection_breaks_make_no_more_than_begin_at_the_same_time() {
    const KINDS: usize = 40;
    /// Those of a lane that may.
    const BEGINNING: usize = 4;
    let (dialer, pods) = (Dialer::default(), pods());
    let member = member(&dialer);
    let request = watch_of(&pods);
    let begin = async || {
        let mut watch = member.watch(&request).await.expect("a watch");
        watch.next().await.expect("a line").expect("no error");
        watch
    };
    let mut watches = join_all((0..KINDS).map(|_| begin())).await;
    assert_eq!(dialer.opened(), 1);
    for times in 1..=3 {
        let before = dialer.opened();
        dialer.breaks();
        let again = watches.into_iter().map(async |mut watch| {
            watch.next().await.expect("a word").expect_err("an end");
            drop(watch);
            begin().await
        });
        watches = join_all(again).await;
        let opened = dialer.opened() - before;
        assert!(opened <= BEGINNING, "{opened} after break {times}");
    }
}

/// Behind a load balancer each connection may lead to another cluster.
#[tokio::test(start_paused = true)]
async fn whoever_is_watched_is_asked_who_it_is_over_the_connection_of_watches() {
    let (dialer, pods) = (Dialer::default(), pods());
    let member = member(&dialer);
    let request = watch_of(&pods);
    assert_eq!(member.identity().await.expect("an answer").as_str(), "0");
    for _ in 0..2 {
        let who = member
            .identity_of_watches(IdentitySource::KubeSystemNamespace)
            .await
            .expect("an answer");
        assert_eq!(who.as_str(), "1");
        // Nobody is watched any more by the time that this is asked for again.
        drop(member.watch(&request).await.expect("a watch"));
        assert_eq!(member.identity().await.expect("an answer").as_str(), "0");
    }
    assert_eq!(dialer.opened(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_member_at_rest_has_one_connection_and_one_that_was_left_is_asked_over_another() {
    let (dialer, pods) = (Dialer::default(), pods());
    let opened = || dialer.opened();
    let member = member(&dialer);
    let request = watch_of(&pods);
    let mut watch = member.watch(&request).await.expect("a watch");
    member.probe(None).await.expect("an answer");
    assert_eq!(opened(), 1, "it is asked beside the watch");
    let list = ListRequest {
        resource: &pods,
        limit: 500,
        continue_token: None,
        field_selector: None,
    };
    drop(member.list(&list).await.expect("a page"));
    assert_eq!(opened(), 2, "a page does not hold up a watch");

    let lately = Duration::from_secs(5);
    assert!(!member.was_heard_within(lately), "nothing was read");
    watch.next().await.expect("a line").expect("no error");
    assert!(member.was_heard_within(lately));
    member.leave_connections();
    member.probe(None).await.expect("an answer");
    assert_eq!(opened(), 3);
    // It says nothing more for longer than a watch may.
    watch.next().await.expect("a word").expect_err("a silence");
    assert!(!member.was_heard_within(Duration::from_secs(3600)));
}

/// What a client that begins an HTTP/2 connection lets its peer send ahead: on one stream, and on all of them.
async fn announced(mut socket: DuplexStream) -> (u32, u32) {
    const PREFACE: usize = 24;
    const SETTINGS: u8 = 4;
    const INITIAL_WINDOW_SIZE: u16 = 4;
    const WINDOW_UPDATE: u8 = 8;
    /// What both are if nothing is said.
    const UNSAID: u32 = 65_535;
    socket.read_exact(&mut [0; PREFACE]).await.expect("HTTP/2");
    let (mut stream, mut connection) = (UNSAID, UNSAID);
    // Both come before the first request.
    for _ in 0..2 {
        let mut head = [0; 9];
        socket.read_exact(&mut head).await.expect("a frame");
        let [_, high, low, kind, _, id @ ..] = head;
        assert_eq!(id, [0; 4], "it is of the connection");
        let mut frame = vec![0; usize::from(u16::from_be_bytes([high, low]))];
        socket.read_exact(&mut frame).await.expect("a whole frame");
        let number = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().expect("four bytes"));
        match kind {
            SETTINGS => {
                let settings = frame.chunks_exact(6);
                let of_stream = INITIAL_WINDOW_SIZE.to_be_bytes();
                let said = settings.filter(|setting| setting.starts_with(&of_stream));
                stream = said
                    .map(|setting| number(&setting[2..]))
                    .next_back()
                    .unwrap_or(stream);
            }
            WINDOW_UPDATE => connection += number(&frame),
            other => panic!("a frame of kind {other}"),
        }
    }
    (stream, connection)
}

/// The help of `--memory-budget` counts on it, and one watch of three would starve the others if it were what hyper takes by itself.
#[tokio::test]
async fn members_are_told_how_much_they_may_send_ahead() {
    let pods = GroupVersionResource::new("", "v1", "pods");
    let watch = WatchRequest {
        resource: &pods,
        resource_version: "1",
        timeout_seconds: 290,
        field_selector: None,
    };
    let list = ListRequest {
        resource: &pods,
        limit: 500,
        continue_token: None,
        field_selector: None,
    };
    let told = announced_for(async |member| drop(member.watch(&watch).await)).await;
    assert_eq!(told, (64 << 10, 84 * (64 << 10)));
    let told = announced_for(async |member| drop(member.list(&list).await)).await;
    assert_eq!(told, (256 << 10, 132 * (256 << 10)));
}

/// What is announced on the connection for what is asked.
async fn announced_for(asks: impl AsyncFnOnce(&Member)) -> (u32, u32) {
    let (opens, mut opened) = mpsc::unbounded_channel();
    let connection = Connection::plain("http://member");
    let dial = move || {
        let (near, far) = tokio::io::duplex(64 << 10);
        opens.send(far).expect("a test");
        Pipe::of_http2(near)
    };
    let member = Member::over(&connection, &pipe::client_maker(dial)).expect("a member");
    let told = async { announced(opened.recv().await.expect("a connection")).await };
    tokio::select! {
        () = asks(&member) => panic!("nobody answers"),
        told = told => told,
    }
}

/// A power cut and a partition end no connection: what is begun on it would wait for ever, and so would the watches that it has.
#[tokio::test(start_paused = true)]
async fn a_peer_that_falls_silent_is_given_up_for_another_connection() {
    let dialer = Dialer::default();
    let mut client = dialer.makes_clients()(WATCH_WINDOWS);
    let mut watch = begun(&mut client).await.into_body();
    let line = watch.frame().await.expect("a line");
    line.expect("no error");
    dialer.falls_silent();
    let both = async { tokio::join!(watch.frame(), asked(&mut client)) };
    let both = timeout(FOUND, both).await;
    let (end, answer) = both.expect("both end in time");
    assert!(end.is_some_and(|frame| frame.is_err()), "the watch ends");
    assert!(answer.is_err(), "nobody answers on it");
    begun(&mut client).await;
    assert_eq!(dialer.opened(), 2);
}

/// Who waits for an answer for five seconds, and asks again five seconds later, as probes do, is not for ever on the dead connection.
#[tokio::test(start_paused = true)]
async fn probes_of_a_peer_that_fell_silent_come_to_another_connection() {
    const PAUSE: Duration = Duration::from_secs(5);
    let dialer = Dialer::default();
    let mut client = dialer.makes_clients()(LIST_WINDOWS);
    drop(begun(&mut client).await);
    dialer.falls_silent();
    let begun_at = Instant::now();
    while !matches!(timeout(PAUSE, asked(&mut client)).await, Ok(Ok(_))) {
        let took = begun_at.elapsed();
        assert!(took <= 2 * FOUND, "{took:?}");
        tokio::time::sleep(PAUSE).await;
    }
    assert_eq!(dialer.opened(), 2);
}

/// A peer that asks whether we are there, again and again, and reads none of the answers.
async fn asks_and_does_not_read(mut pipe: DuplexStream) {
    /// Frames of HTTP/2: no settings, and a ping.
    const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    const PING: [u8; 17] = [0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    let _ = pipe.read(&mut [0; 24]).await;
    let _ = pipe.write_all(&SETTINGS).await;
    while pipe.write_all(&PING).await.is_ok() {}
}

/// What is to be sent before a connection ends can't be sent to it.
#[tokio::test(start_paused = true)]
async fn no_connection_that_was_left_stays_open_because_its_peer_does_not_read() {
    const PAUSE: Duration = Duration::from_secs(5);
    let open = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&open);
    let dial = move || {
        let (near, far) = tokio::io::duplex(256);
        let open = Arc::clone(&counter);
        open.fetch_add(1, Ordering::Relaxed);
        tokio::spawn(async move {
            asks_and_does_not_read(far).await;
            open.fetch_sub(1, Ordering::Relaxed);
        });
        Pipe::of_http2(near)
    };
    let connection = Connection::plain("http://member");
    let member = Member::over(&connection, &pipe::client_maker(dial)).expect("a member");
    for _ in 0..10 {
        member.probe(None).await.expect_err("no answer");
        member.leave_connections();
        tokio::time::sleep(PAUSE).await;
        let open = open.load(Ordering::Relaxed);
        assert!(open <= 3, "{open} connections are open");
    }
}
