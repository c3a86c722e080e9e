//! Connections on which much is read.

use super::stalls::{OBJECT, Sender, ask, narrow};
use super::*;

/// Requests whose heads are large and still no long ones, until the connection takes no more: how many were answered, and how.
async fn large_heads(sender: &Sender, most: usize) -> (usize, u16) {
    let large = "x".repeat(15 << 10);
    let (mut answered, mut code) = (0, 0);
    for _ in 0..most {
        let Some(answer) = ask(sender, "/livez", &[("x-large", &large)]).await else {
            break;
        };
        code = answer.status().as_u16();
        if answer.into_body().collect().await.is_err() {
            break;
        }
        answered += 1;
    }
    (answered, code)
}

#[tokio::test]
async fn a_connection_that_proves_nothing_ends_when_much_was_read_of_it() {
    let server = Running::start(1).await;
    let (sender, driven) = narrow(&server, 64 << 10, None).await;
    let (answered, code) = large_heads(&sender, 100).await;
    assert_eq!(code, 200);
    assert!((7..=10).contains(&answered), "{answered} of 13 to 15 KiB");
    driven.await.expect("the server ends the connection");
    server.stop().await;
}

#[tokio::test]
async fn a_user_is_told_when_much_was_read_and_gets_what_was_asked_for_before() {
    let server = Running::start_with(1, 700 << 10, CONNECTIONS).await;
    let (sender, driven) = narrow(&server, 64 << 10, None).await;
    let begun = ask(&sender, OBJECT, ALICE).await.expect("a head");
    assert_eq!(begun.status(), 200);
    let (answered, code) = large_heads(&sender, 100).await;
    assert_eq!(code, 200);
    assert!((15..=22).contains(&answered), "{answered} of 13 to 15 KiB");
    let begun = begun.into_body().collect().await.expect("complete");
    assert!(begun.to_bytes().len() > 700 << 10);
    driven.await.expect("the server ends the connection");
    server.stop().await;
}

#[tokio::test]
async fn a_front_proxys_connection_stays_however_much_is_read() {
    let server = Running::start(1).await;
    let (certificate, key) = server.front_proxy.client("front-proxy-client", &[]);
    let (sender, driven) = narrow(&server, 64 << 10, Some((vec![certificate], key))).await;
    assert_eq!(large_heads(&sender, 60).await, (60, 200));
    drop(sender);
    driven.await.expect("it ends by itself");
    server.stop().await;
}
