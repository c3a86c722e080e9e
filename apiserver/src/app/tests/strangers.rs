//! Requests of strangers, whose tokens are reviewed.

use futures::FutureExt as _;

use super::*;

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
