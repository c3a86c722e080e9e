//! What a member is asked over which connection, and that pages which nobody reads yet keep none of it from coming.

use std::convert::Infallible;
use std::sync::Mutex;

use armadex_model::GroupVersionResource;
use http_body_util::Full;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::time::{sleep, timeout};

use super::*;
use crate::member::Member;
use crate::pipe::{self, Pipe};
use crate::request::{ListRequest, WatchRequest};
use crate::{Etags, Room};

/// Longer than what a stream may send ahead.
const LONG: usize = 2 * LIST_WINDOWS.stream as usize;

/// What was asked for, and over which of the connections, by the order in which they were opened.
#[derive(Clone, Default)]
struct Asked(Arc<Mutex<Vec<(usize, String)>>>, Arc<Mutex<usize>>);

impl Asked {
    fn member(&self) -> Member {
        let asked = self.clone();
        let connection = Connection::plain("http://member");
        let make = pipe::client_maker(move || asked.dial());
        Member::over(&connection, &make).expect("a member")
    }

    fn dial(&self) -> Pipe {
        let (near, far) = tokio::io::duplex(64 << 10);
        let number = {
            let mut opened = self.1.lock().expect("a number");
            *opened += 1;
            *opened
        };
        let asked = Arc::clone(&self.0);
        let service = service_fn(move |request: Request<Incoming>| {
            let (path, known) = (request.uri().path(), request.headers().get("if-none-match"));
            let answer = answer(path, known.is_some());
            asked
                .lock()
                .expect("a list")
                .push((number, request.uri().to_string()));
            async { Ok::<_, Infallible>(answer) }
        });
        let mut server = http2::Builder::new(TokioExecutor::new());
        server.timer(TokioTimer::new());
        tokio::spawn(server.serve_connection(TokioIo::new(far), service));
        Pipe::of_http2(near)
    }

    /// Over which connection, and for what.
    fn last(&self) -> (usize, String) {
        let asked = self.0.lock().expect("a list");
        asked.last().cloned().expect("a question")
    }
}

fn answer(path: &str, is_known: bool) -> Response<Full<Bytes>> {
    let mut served = match path {
        "/api" | "/apis" => br#"{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"apps"},"versions":[{"version":"v1"}]}]}"#.to_vec(),
        _ => Vec::new(),
    };
    served.resize(LONG, b' ');
    let mut answer = Response::new(Full::new(Bytes::from(served)));
    answer
        .headers_mut()
        .insert("etag", HeaderValue::from_static("\"1\""));
    if is_known {
        *answer.status_mut() = http::StatusCode::NOT_MODIFIED;
        *answer.body_mut() = Full::default();
    }
    answer
}

fn pods() -> GroupVersionResource {
    GroupVersionResource::new("", "v1", "pods")
}

fn page(resource: &GroupVersionResource) -> ListRequest<'_> {
    ListRequest {
        resource,
        limit: 500,
        continue_token: None,
        field_selector: None,
    }
}

#[tokio::test(start_paused = true)]
async fn pages_that_nobody_reads_keep_nothing_else_from_coming() {
    let (asked, pods) = (Asked::default(), pods());
    let member = asked.member();
    let mut unread = Vec::new();
    for _ in 0..PAGES {
        unread.push(member.list(&page(&pods)).await.expect("a page"));
    }
    // All that may be sent ahead has come.
    sleep(Duration::from_secs(1)).await;
    let nothing = Etags::default();
    let discovery = member.discover(&nothing, Room::Large);
    let discovery = timeout(Duration::from_secs(2), discovery).await;
    let discovery = discovery.expect("in time").expect("an answer");
    assert!(discovery.is_some_and(|told| told.discovery.groups.contains_key("apps")));
    member.probe(None).await.expect("an answer");
    let mut read = member.list(&page(&pods)).await.expect("a page");
    while let Some(piece) = read.next().await {
        piece.expect("no error");
    }
}

#[tokio::test(start_paused = true)]
async fn whole_answers_come_with_pages_and_small_ones_beside_watches() {
    let (asked, pods) = (Asked::default(), pods());
    let member = asked.member();
    let watch = WatchRequest {
        resource: &pods,
        resource_version: "1",
        timeout_seconds: 290,
        field_selector: None,
    };
    let _watch = member.watch(&watch).await.expect("a watch");
    assert_eq!(asked.last().0, 1);
    let told = member.discover(&Etags::default(), Room::Large).await;
    let etags = told.expect("an answer").expect("it is told").etags;
    assert_eq!(asked.last().0, 2, "what a member serves may be megabytes");
    assert!(member.serves_the_same(&etags).await.expect("an answer"));
    assert_eq!(asked.last().0, 1, "nothing comes but that it is the same");
    drop(member.list(&page(&pods)).await.expect("a page"));
    let list = "http://member/api/v1/pods?limit=500";
    assert_eq!(asked.last(), (2, list.to_owned()));
}
