//! How long a request may take, whatever keeps it waiting.

use super::*;
use crate::testing::Gate;

const LIMIT: Duration = Duration::from_secs(60);

/// Asks, and tells how long the answer took.
async fn timed(server: &Server, path: &str, token: &str) -> (Answer, Duration) {
    let (began, token) = (Instant::now(), format!("Bearer {token}"));
    let headers = [("authorization", token.as_str())];
    let uri = format!("{BASE}/{path}");
    let asking = server.ask("GET", &uri, &headers);
    let answer = tokio::time::timeout(10 * LIMIT, asking).await;
    (answer.expect("there is a limit"), began.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a_request_that_waits_for_the_host_or_the_store_ends_after_the_time_limit() {
    let server = Server::open(fleet()).await;
    // What is not about time is answered before.
    assert_eq!(server.get("resources/api/v1/pods").await.code, 200);
    server.store.gate.send_replace(Gate::Shut);
    for (path, token) in [
        ("resources/api/v1/pods", "alice"),
        ("resources/api/v1/pods?withRemainingCount=true", "alice"),
        ("resources/api", "slow"),
    ] {
        let (answer, took) = timed(&server, path, token).await;
        assert_eq!((answer.code, took), (504, LIMIT), "{path} of {token}");
        assert_eq!(answer.json()["reason"], "Timeout", "{path} of {token}");
        let left = server.app.counters().read();
        assert_eq!((left.in_flight, left.held_bytes), (0, 0), "{path}");
    }
    // What the store has begun goes on, and counts until it is done.
    assert_eq!(server.app.context.searches.length(), 2);
    server.store.gate.send_replace(Gate::Open);
    server.app.context.tasks.close();
    server.app.context.tasks.wait().await;
    assert_eq!(server.app.context.searches.length(), 0);
}

/// Its pieces are kept, so that there is never room for another.
#[tokio::test(start_paused = true)]
async fn an_object_that_is_rewritten_and_not_taken_breaks_off_after_the_time_limit() {
    let large = json!({"spec": {"texts": vec!["x"; 100_000]}});
    let contents = Contents::new().cluster("m1", "v1.36.1", "");
    let server = Server::open(contents.object("m1", &pods(), "x", "large", large)).await;
    let path = "resources/clusters/m1/api/v1/namespaces/x/pods/large?pretty=true";
    let request = Request::get(format!("{BASE}/{path}")).header("authorization", "Bearer alice");
    let request = request.body(String::new()).expect("a request");
    let connection = server.app.connection(HOME, Vec::new());
    let began = Instant::now();
    let mut body = server.app.respond(request, &connection).await.into_body();
    let mut kept = Vec::new();
    let broken_off = loop {
        let next = tokio::time::timeout(10 * LIMIT, body.frame()).await;
        match next.expect("there is a limit").expect("it is not complete") {
            Ok(frame) => kept.push(frame),
            Err(error) => break error,
        }
    };
    assert_eq!(broken_off.to_string(), "the answer broke off");
    assert_eq!((began.elapsed(), kept.is_empty()), (LIMIT, false));
    drop((kept, body));
    let left = server.app.counters().read();
    assert_eq!(
        (left.in_flight, left.held_bytes, left.broken_off),
        (0, 0, 1)
    );
}
