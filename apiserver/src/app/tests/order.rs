//! What comes before the answer: methods, health, room, callers, permissions.

use super::*;
use crate::testing::{Authority, extension_authentication};

#[tokio::test]
async fn every_method_but_get_is_refused_before_anything_else() {
    let server = Server::new(fleet(), []).await;
    for method in [
        "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "CONNECT", "BREW",
    ] {
        for path in [
            "/",
            &format!("{BASE}/resources/clusters/m1/api/v1/namespaces/x/pods/a"),
        ] {
            let answer = server.ask(method, path, &[]).await;
            assert_eq!(answer.code, 405, "{method} {path}");
            match method {
                "HEAD" => assert_eq!(answer.text(), ""),
                _ => assert_eq!(answer.json()["reason"], "MethodNotAllowed"),
            }
            assert_eq!(answer.header("allow"), ["GET"]);
        }
    }
}

#[tokio::test]
async fn who_does_not_say_who_they_are_is_refused() {
    let server = Server::open(fleet()).await;
    let pods = format!("{BASE}/resources/api/v1/pods");
    for path in ["/apis", "/version", "/nowhere", &pods] {
        let answer = server.ask("GET", path, &[("x-remote-user", "alice")]).await;
        assert_eq!(
            (answer.code, answer.message()),
            (401, "Unauthorized".to_owned()),
            "{path}"
        );
    }
}

#[tokio::test]
async fn health_needs_no_name_and_readiness_needs_trust() {
    let server = Server::new(fleet(), []).await;
    for path in ["/livez", "/readyz", "/healthz"] {
        let answer = server.ask("GET", path, &[]).await;
        assert_eq!((answer.code, answer.text()), (200, "ok"), "{path}");
    }
    let store = fleet().store().await;
    let trust = Arc::new(ArcSwap::from_pointee(Trust::default()));
    let app = App::new(
        Arc::clone(&store) as Arc<dyn Search>,
        Authenticator::new(trust, Arc::new(FixedTokens::new([]))),
        Authorizer::new(Arc::new(Rules::new([]))),
        Arc::default(),
        Limits {
            in_flight: SIZES,
            bytes: 64 << 20,
            time: Duration::from_secs(1),
            searches: 4,
        },
    );
    let early = Server {
        app: Arc::new(app),
        store,
    };
    assert_eq!(early.ask("GET", "/livez", &[]).await.code, 200);
    let answer = early.ask("GET", "/readyz", &[]).await;
    assert_eq!(
        answer.text(),
        "not ready: the trusted certificates have not been read"
    );
    assert_eq!(answer.code, 503);
}

#[tokio::test]
async fn a_server_that_is_about_to_stop_is_not_ready_and_answers_all_else() {
    let Server { app, store } = Server::new(fleet(), []).await;
    let stopping = CancellationToken::new();
    let app = Arc::into_inner(app).expect("nobody else has it");
    let app = Arc::new(app.until_stopping(stopping.clone()));
    let server = Server { app, store };
    assert_eq!(server.ask("GET", "/readyz", &[]).await.code, 200);
    stopping.cancel();
    let answer = server.ask("GET", "/readyz", &[]).await;
    assert_eq!(
        (answer.code, answer.text()),
        (503, "not ready: the server is stopping")
    );
    assert_eq!(server.ask("GET", "/livez", &[]).await.code, 200);
}

#[tokio::test]
async fn the_outer_path_and_the_inner_request_are_both_reviewed() {
    let outer = "alice get resources/api/v1";
    let inner = "alice list pods in *";
    for (rules, code) in [
        (vec![], 403),
        (vec![outer], 403),
        (vec![inner], 403),
        (vec![outer, inner], 200),
        (vec![outer, "bob list pods in *"], 403),
    ] {
        let server = Server::new(fleet(), rules.clone()).await;
        let answer = server.get("resources/api/v1/pods").await;
        assert_eq!(answer.code, code, "{rules:?}");
        if code == 403 {
            assert_eq!(answer.json()["reason"], "Forbidden");
        }
    }
}

#[tokio::test]
async fn each_form_of_a_view_has_its_own_outer_permission() {
    let inner = "alice list pods in *";
    for (path, outer) in [
        ("resources/api/v1/pods", "alice get resources/api/v1"),
        ("fleets/all/proxy/api/v1/pods", "alice get fleets/all/proxy"),
        (
            "resources/clusters/m1/api/v1/pods",
            "alice get resources/clusters/m1",
        ),
        (
            "clusters/m1/proxy/api/v1/pods",
            "alice get clusters/m1/proxy",
        ),
    ] {
        assert_eq!(
            Server::new(fleet(), [outer, inner])
                .await
                .get(path)
                .await
                .code,
            200,
            "{path}"
        );
        assert_eq!(
            Server::new(fleet(), [inner]).await.get(path).await.code,
            403,
            "{path}"
        );
    }
}

#[tokio::test]
async fn discovery_and_version_need_the_outer_permission_only() {
    let server = Server::new(
        fleet(),
        [
            "alice get resources/api/",
            "alice get resources/api/v1",
            "alice get resources/version/",
        ],
    )
    .await;
    for path in ["resources/api", "resources/api/v1", "resources/version"] {
        assert_eq!(server.get(path).await.code, 200, "{path}");
    }
    assert_eq!(server.get("resources/apis").await.code, 403);
}

#[tokio::test]
async fn a_path_that_names_nothing_is_not_told_from_one_that_is_forbidden() {
    let nowhere = "resources/clusters/m1";
    assert_eq!(Server::new(fleet(), []).await.get(nowhere).await.code, 403);
    let answer = Server::open(fleet()).await.get(nowhere).await;
    assert_eq!(
        answer.message(),
        "the server could not find the requested resource"
    );
}

#[tokio::test]
async fn who_may_list_some_namespaces_lists_them_by_name() {
    let rules = ["alice get resources/api/v1", "alice list pods in x"];
    let server = Server::new(fleet(), rules).await;
    assert_eq!(
        server
            .get("resources/api/v1/namespaces/x/pods")
            .await
            .items(),
        ["m1/x/a", "m1/x/b", "m2/x/a"]
    );
    assert_eq!(
        server
            .get("resources/api/v1/pods?namespaces=x")
            .await
            .items()
            .len(),
        3
    );
    assert_eq!(
        server
            .get("resources/api/v1/pods?fieldSelector=metadata.namespace%3Dx")
            .await
            .items()
            .len(),
        3
    );
    for path in [
        "pods",
        "namespaces/y/pods",
        "pods?namespaces=x,y",
        "pods?fieldSelector=metadata.namespace!%3Dy",
    ] {
        assert_eq!(
            server.get(&format!("resources/api/v1/{path}")).await.code,
            403,
            "{path}"
        );
    }
    let answer = server.get("resources/api/v1/pods").await;
    assert!(
        answer.message().contains("name a namespace"),
        "{}",
        answer.message()
    );
}

#[tokio::test]
async fn a_review_that_fails_turns_the_request_away() {
    let answer = Server::new(fleet(), ["unanswered"])
        .await
        .get("resources/api/v1/pods")
        .await;
    assert_eq!(answer.code, 503);
    assert_eq!(answer.header("retry-after"), ["1"]);
    assert!(!answer.text().contains("the test says so"));
}

#[tokio::test]
async fn a_front_proxy_speaks_for_its_callers() {
    let (proxy, clients) = (Authority::new("p"), Authority::new("c"));
    let trust =
        Trust::from_data(&extension_authentication(&proxy, &clients)).expect("a configuration");
    let app = Arc::new(App::new(
        fleet().store().await,
        Authenticator::new(
            Arc::new(ArcSwap::from_pointee(trust)),
            Arc::new(FixedTokens::new([])),
        ),
        Authorizer::new(Arc::new(Rules::new([]))),
        Arc::default(),
        Limits {
            in_flight: SIZES,
            bytes: 64 << 20,
            time: Duration::from_secs(1),
            searches: 4,
        },
    ));
    let ask = async |peer: Peer| {
        let connection = Connection::new(peer, HOME, app.budget.share());
        let request = Request::get("/apis")
            .header("x-remote-user", "system:kube-aggregator")
            .header("x-remote-group", "system:masters");
        let response = app
            .respond(request.body(String::new()).expect("a request"), &connection)
            .await;
        response.status().as_u16()
    };
    assert_eq!(ask(proxy.peer("front-proxy-client", &[])).await, 200);
    assert_eq!(ask(proxy.peer("other", &[])).await, 401);
    assert_eq!(ask(clients.peer("front-proxy-client", &[])).await, 403);
}

#[tokio::test]
async fn requests_are_counted() {
    let server = Server::open(fleet()).await;
    server.get("resources/api/v1/pods").await;
    server.get("resources/clusters/m1/api/v1/nodes/n1").await;
    server.get("resources/api/v1/nothing").await;
    server.app.close().await;
    let counts = server.app.context.counters.read();
    assert_eq!(
        (counts.requests, counts.refused, counts.failed, counts.rows),
        (3, 1, 0, 6)
    );
    assert_eq!((counts.in_flight, counts.broken_off), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn readiness_is_asked_of_the_store_once_a_second_by_whomever() {
    let server = Server::open(fleet()).await;
    let asking = (0..50).map(|_| server.ask("GET", "/readyz", &[]));
    let answers = futures::future::join_all(asking).await;
    assert!(answers.iter().all(|answer| answer.code == 200));
    assert_eq!(server.store.heads.load(Ordering::Relaxed), 1);
}

/// A body that is never complete, and says when it is let go.
struct Endless(Arc<std::sync::atomic::AtomicBool>);

impl http_body::Body for Endless {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, Self::Error>>> {
        std::task::Poll::Pending
    }
}

impl Drop for Endless {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn a_body_that_nobody_reads_is_let_go_before_anything_is_waited_for() {
    let server = Server::open(fleet()).await;
    let connection = server.app.connection(HOME, Vec::new());
    let gone = Arc::default();
    let request = Request::get(format!("{BASE}/resources/api/v1/pods"))
        .header("authorization", "Bearer alice")
        .body(Endless(Arc::clone(&gone)));
    let request = request.expect("a request");
    let mut answer = Box::pin(server.app.respond(request, &connection));
    assert!(
        futures::poll!(answer.as_mut()).is_pending(),
        "her token is reviewed"
    );
    assert!(gone.load(Ordering::Relaxed));
}
