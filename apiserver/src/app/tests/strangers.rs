//! Requests of strangers, whose tokens are reviewed.

use futures::FutureExt as _;

use super::*;
use crate::testing::Gate;

/// Whoever asks whether the server is ready may wait for the store, and nobody counts their heads.
#[tokio::test]
async fn a_question_about_health_keeps_no_head_while_it_waits() {
    let server = Server::open(fleet()).await;
    let connection = server.app.connection(HOME, Vec::new());
    let head = Arc::new(());
    let mut request = Request::get("/readyz")
        .body(http_body_util::Empty::<Bytes>::new())
        .expect("a request");
    request.extensions_mut().insert(Arc::clone(&head));
    server.store.gate.send_replace(Gate::Shut);
    let mut answering = Box::pin(server.app.respond(request, &connection));
    let answered = answering.as_mut().now_or_never();
    assert!(answered.is_none(), "the store does not answer yet");
    assert_eq!(Arc::strong_count(&head), 1, "the head is still there");
    server.store.gate.send_replace(Gate::Open);
    assert_eq!(answering.await.status(), 200);
}

/// They count while a token is reviewed, before anybody is known who could be asked to wait for their own.
#[tokio::test]
async fn long_heads_of_strangers_are_bounded_for_each_connection_and_for_all_of_an_address() {
    let server = Server::open(fleet()).await;
    let other_home = IpAddr::from([127, 0, 0, 2]);
    let homes = [HOME, HOME, HOME, HOME, other_home];
    let connections = homes.map(|home| server.app.connection(home, Vec::new()));
    let (server, long) = (&server, &"x".repeat(20 << 10));
    let ask = |connection, number| {
        Box::pin(async move {
            let token = format!("Bearer slow{number}");
            let headers = [("authorization", token.as_str()), ("x-ignored", long)];
            server.begin(connection, "/apis", &headers).await.status()
        })
    };
    let mut held = Vec::new();
    for (connection, waiting) in connections.iter().zip([16, 16, 16, 0, 1]) {
        let mut asking = Vec::new();
        for number in 0..40 {
            let mut asked = ask(connection, number);
            match asked.as_mut().now_or_never() {
                Some(code) => assert_eq!(code, 429),
                None => asking.push(asked),
            }
        }
        assert_eq!(asking.len(), waiting);
        held.extend(asking);
    }
    let headers = [("authorization", "Bearer slow")];
    let mut short = Box::pin(server.begin(&connections[3], "/apis", &headers));
    let answered = short.as_mut().now_or_never();
    assert!(answered.is_none(), "a short head is not refused");
    held.clear();
    let mut asked = ask(&connections[3], 0);
    let answered = asked.as_mut().now_or_never();
    assert!(answered.is_none(), "there is room again");
}
