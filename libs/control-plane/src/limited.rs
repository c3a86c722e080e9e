//! A client whose requests all end. kube's has no limit for an answer: one that never comes, from an API server that stands still or
//! over a way that was cut without a word, would hold for ever whoever waits for it, and nobody would be told.
//!
//! The limit is of a request, not of a connection as that of kube's configuration is: a watch of a quiet type, at a server without
//! bookmarks, is silent for minutes and sound. Of a watch only the beginning is limited; how long it may be silent is the watcher's
//! business, which ends it 5 s after the server should have.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use kube::{Client, client::Body};
use tokio::time::timeout;
use tower::service_fn;

/// 5 s above the 60 s after which a kube-apiserver gives up whatever is no watch (`--request-timeout`), so that its own word on it is
/// heard where it can still give one.
pub const ANSWER_LIMIT: Duration = Duration::from_secs(65);

/// Bytes that are taken of an answer of which nobody says otherwise: twenty times what an object may have, and more than a document of all that is served. A list
/// that may have more is asked for in [`paged`](crate::paged) ones.
const MOST: usize = 32 << 20;

/// There was no answer.
#[derive(Debug, thiserror::Error)]
#[error("no answer within {} s", ANSWER_LIMIT.as_secs())]
pub(crate) struct NoAnswer;

/// Bytes of an answer that are taken, of a request that has this in its extensions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Most(pub(crate) usize);

/// There were more.
#[derive(Debug, thiserror::Error)]
#[error("the answer is longer than it may be")]
pub(crate) struct TooLong;

/// The client, with an end for each of its requests.
pub fn limited(client: Client) -> Client {
    let namespace = client.default_namespace().to_owned();
    let service = service_fn(move |request| answer_in_time(client.clone(), request));
    Client::new(service, namespace)
}

async fn answer_in_time(
    client: Client,
    request: Request<Body>,
) -> Result<Response<Body>, kube::Error> {
    match timeout(ANSWER_LIMIT, answer(client, request)).await {
        Ok(answered) => answered,
        Err(_) => Err(kube::Error::Service(Box::new(NoAnswer))),
    }
}

/// The answer: of a watch that began its head, of all others all of it, which whoever asked has to have anyway.
async fn answer(client: Client, request: Request<Body>) -> Result<Response<Body>, kube::Error> {
    let is_watch = is_watch(request.uri());
    let Most(most) = request.extensions().get().copied().unwrap_or(Most(MOST));
    let answer = client.send(request).await?;
    if is_watch && answer.status().is_success() {
        return Ok(answer);
    }
    let (head, body) = answer.into_parts();
    let bytes = bounded(body, most).await?;
    Ok(Response::from_parts(head, Body::from(bytes)))
}

/// Whether a request is for changes, whose answer has no end.
pub fn is_watch(uri: &Uri) -> bool {
    let query = uri.query().unwrap_or_default();
    query.split('&').any(|pair| pair == "watch=true")
}

async fn bounded(body: Body, most: usize) -> Result<Bytes, kube::Error> {
    let collected = Limited::new(body, most).collect().await;
    match collected {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            Err(kube::Error::Service(Box::new(TooLong)))
        }
        Err(error) => Err(error
            .downcast()
            .map_or_else(kube::Error::Service, |error| *error)),
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures::{TryStreamExt, future, stream};
    use http_body::Frame;
    use http_body_util::StreamBody;
    use k8s_openapi::api::core::v1::Namespace;
    use kube::{
        Api,
        api::{ListParams, WatchParams},
    };
    use tokio::time::{Instant, sleep};

    use super::*;
    use crate::{Trouble, TroubleKind};

    type Pieces = stream::BoxStream<'static, Result<Frame<bytes::Bytes>, Infallible>>;

    /// Namespaces of a server that answers with this code and this body, once `begins` is over.
    fn server<B>(
        code: u16,
        begins: impl Fn() -> B + Clone + Send + Sync + 'static,
        pieces: impl Fn() -> Pieces + Clone + Send + Sync + 'static,
    ) -> Api<Namespace>
    where
        B: Future<Output = ()> + Send + 'static,
    {
        let service = service_fn(move |_: Request<Body>| {
            let (begins, body) = (begins(), StreamBody::new(pieces()));
            async move {
                begins.await;
                let answer = Response::builder().status(code).body(body);
                Ok::<_, Infallible>(answer.unwrap())
            }
        });
        Api::all(limited(Client::new(service, "default")))
    }

    /// These after a while, and no end.
    fn after(wait: Duration, text: &'static str) -> Pieces {
        let piece = async move {
            sleep(wait).await;
            Ok(Frame::data(bytes::Bytes::from_static(text.as_bytes())))
        };
        Box::pin(stream::StreamExt::chain(
            stream::once(piece),
            stream::pending(),
        ))
    }

    async fn is_given_up(request: impl Future<Output = Result<(), kube::Error>>) {
        let begun = Instant::now();
        let error = request.await.expect_err("no answer");
        assert_eq!(begun.elapsed(), ANSWER_LIMIT);
        let trouble = Trouble::from(&error);
        assert_eq!(trouble.kind, TroubleKind::Unanswered);
        assert_eq!(error.to_string(), "ServiceError: no answer within 65 s");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_not_answered_or_not_to_its_end_is_given_up() {
        let silent = server(200, future::pending, || Box::pin(stream::pending()));
        let halting = server(200, || future::ready(()), || after(Duration::ZERO, "{"));
        for api in [&silent, &halting] {
            is_given_up(async { api.get("a").await.map(drop) }).await;
            is_given_up(async { api.list(&ListParams::default()).await.map(drop) }).await;
        }
        is_given_up(async { silent.watch(&WatchParams::default(), "1").await.map(drop) }).await;
        // Why it is refused would be in the body.
        let refused = server(403, || future::ready(()), || after(Duration::ZERO, "{"));
        is_given_up(async { refused.watch(&WatchParams::default(), "1").await.map(drop) }).await;
    }

    #[tokio::test]
    async fn an_answer_without_an_end_is_left_in_its_middle() {
        let endless = server(
            200,
            || future::ready(()),
            || {
                Box::pin(stream::repeat_with(|| {
                    Ok(Frame::data(vec![b' '; 1 << 20].into()))
                }))
            },
        );
        let error = endless.get("a").await.expect_err("it is too long");
        assert_eq!(
            error.to_string(),
            "ServiceError: the answer is longer than it may be"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_has_nothing_to_tell_goes_on() {
        let line = "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"a\"}}}\n";
        let quiet = server(
            200,
            || future::ready(()),
            move || after(4 * ANSWER_LIMIT, line),
        );
        let events = quiet.watch(&WatchParams::default(), "1").await.unwrap();
        let told = std::pin::pin!(events).try_next().await.unwrap();
        assert!(told.is_some());
    }
}
