//! What requests bring beside their heads.

use http_body_util::Full;

use super::*;

const REVIEW: &str =
    "/apis/clusterpedia.io/v1beta1/resources/apis/authentication.k8s.io/v1/selfsubjectreviews";

fn review(user: &str, padding: usize) -> Request<Full<Bytes>> {
    let body = json!({
        "kind": "SelfSubjectReview",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"name": "x".repeat(padding)},
    });
    let request = Request::post(format!("https://localhost{REVIEW}")).header("x-remote-user", user);
    request.body(body.to_string().into()).expect("a request")
}

#[tokio::test]
async fn bodies_that_wait_for_a_slow_review_keep_none_of_another_user_from_being_sent() {
    let server = Running::start(1).await;
    let (certificate, key) = server.front_proxy.client("front-proxy-client", &[]);
    let proxy = server.connect(H2, Some((vec![certificate], key))).await;
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(proxy))
        .await
        .expect("HTTP/2");
    tokio::spawn(connection);
    let mut waiting = Vec::new();
    for _ in 0..8 {
        sender.ready().await.expect("a stream");
        waiting.push(sender.send_request(review("slow", 15 << 10)));
    }
    let answer = tokio::time::timeout(
        Duration::from_secs(20),
        sender.send_request(review("carol", 100)),
    );
    let answer = answer.await.expect("in time").expect("an answer");
    assert_eq!(answer.status(), 201);
    drop((sender, waiting, answer));
    server.stop().await;
}
