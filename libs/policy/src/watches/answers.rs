//! When the API server has answered a watch: whoever follows one by kube is told of what it brings alone, and of what does not change it brings nothing for minutes.

use std::sync::Arc;

use armadex_control_plane::is_watch;
use http::Request;
use kube::{Client, client::Body};
use tokio::sync::Notify;
use tower::service_fn;

/// The client, and what is notified each time that a watch of it begins.
pub(super) fn telling(client: Client) -> (Client, Arc<Notify>) {
    let namespace = client.default_namespace().to_owned();
    let answered = Arc::<Notify>::default();
    let told = answered.clone();
    let service = service_fn(move |request: Request<Body>| {
        let (client, told) = (client.clone(), told.clone());
        async move {
            let is_watch = is_watch(request.uri());
            let answer = client.send(request).await?;
            if is_watch && answer.status().is_success() {
                told.notify_one();
            }
            Ok::<_, kube::Error>(answer)
        }
    });
    (Client::new(service, namespace), answered)
}
