//! A host that answers what it was told to, asked by a real client.

use std::convert::Infallible;
use std::future::Future;
use std::sync::{Arc, Mutex};

use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::Value;

/// What was asked of a host, in order: path and body.
pub(crate) type Posted = Arc<Mutex<Vec<(String, Value)>>>;

/// A client of a host that answers what is posted to it with a code and a body, and what it was asked.
pub(crate) fn host<A, F>(answer: A) -> (Client, Posted)
where
    A: Fn(Value) -> F + Clone + Send + 'static,
    F: Future<Output = (u16, Value)> + Send,
{
    let posted = Posted::default();
    let log = Arc::clone(&posted);
    let service = tower::service_fn(move |request: Request<Body>| {
        let (answer, log) = (answer.clone(), Arc::clone(&log));
        async move {
            let path = request.uri().path().to_owned();
            let body = request.into_body().collect_bytes().await;
            let body = body.expect("a complete body");
            // What is only asked for has none.
            let body: Value = serde_json::from_slice(&body).unwrap_or_default();
            log.lock().expect("no panic").push((path, body.clone()));
            let (code, answer) = answer(body).await;
            let response = Response::builder().status(code);
            let body = Body::from(answer.to_string().into_bytes());
            Ok::<_, Infallible>(response.body(body).expect("a response"))
        }
    });
    (Client::new(service, "default"), posted)
}
