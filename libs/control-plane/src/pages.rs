//! Lists in pages that are as large as fits: of objects of which some have a megabyte and most have a few kilobytes, as Secrets.
//!
//! A page that is always small takes a list of many objects longer than an API server goes on with it, and it never gets whole; one that is always large is
//! half a gigabyte. So the next one has as many objects as the one before says, by its bytes, and one that turns out too large is left in its middle and asked for
//! again with fewer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use http::{Request, Response, Uri};
use kube::{Client, client::Body};
use tower::service_fn;

use crate::limited::{Most, TooLong, is_watch};

/// Objects of the first page: of a kilobyte or a hundred each.
const FIRST: u32 = 100;
/// As many as are taken however large they are: an etcd keeps none of more than 1.5 MB, so these are less than [`MOST_BYTES`].
const FEWEST: u32 = 2;
/// What every client of Kubernetes asks for: twenty thousand objects in forty pages.
const MOST_OBJECTS: u32 = 500;
/// Bytes that the next page should have.
const BYTES: usize = 2 << 20;
/// Bytes of a page that are taken: decoded it is some four times that, and sixteen times where whoever made the objects has it be as much as it can.
const MOST_BYTES: usize = 4 << 20;
/// By what the objects of a page become fewer that was too large: from the most to the fewest it takes three tries.
const SHRINK: u32 = 8;

/// The client, for one list at a time whose pages it makes as large as fits, whatever limit they are asked for with. All else is asked for as it is.
pub fn paged(client: Client) -> Client {
    let namespace = client.default_namespace().to_owned();
    let objects = Arc::new(AtomicU32::new(FIRST));
    let service = service_fn(move |request: Request<Body>| {
        let (client, objects) = (client.clone(), Arc::clone(&objects));
        async move {
            match is_page(request.uri()) {
                true => page(&client, request, &objects).await,
                false => client.send(request).await,
            }
        }
    });
    Client::new(service, namespace)
}

/// Ends after as many tries as it takes from the most objects to the fewest.
async fn page(
    client: &Client,
    request: Request<Body>,
    objects: &AtomicU32,
) -> Result<Response<Body>, kube::Error> {
    let (head, _) = request.into_parts();
    loop {
        let limit = objects.load(Relaxed).clamp(FEWEST, MOST_OBJECTS);
        let mut asked = Request::new(Body::empty());
        *asked.method_mut() = head.method.clone();
        *asked.uri_mut() = with_limit(&head.uri, limit);
        *asked.headers_mut() = head.headers.clone();
        *asked.extensions_mut() = head.extensions.clone();
        if limit > FEWEST {
            asked.extensions_mut().insert(Most(MOST_BYTES));
        }
        let answered = async {
            let (head, body) = client.send(asked).await?.into_parts();
            Ok::<_, kube::Error>((head, body.collect_bytes().await?))
        };
        match answered.await {
            Ok((head, bytes)) => {
                if head.status.is_success() {
                    objects.store(next(limit, bytes.len()), Relaxed);
                }
                return Ok(Response::from_parts(head, Body::from(bytes)));
            }
            Err(kube::Error::Service(cause)) if cause.is::<TooLong>() => {
                objects.store(limit / SHRINK, Relaxed);
            }
            Err(error) => return Err(error),
        }
    }
}

/// Objects of the next page, after one of so many that had so many bytes. The last of a list has fewer than were asked for, which the next list finds out.
fn next(limit: u32, bytes: usize) -> u32 {
    let fitting = u64::from(limit) * BYTES as u64 / bytes.max(1) as u64;
    u32::try_from(fitting)
        .unwrap_or(MOST_OBJECTS)
        .clamp(FEWEST, MOST_OBJECTS)
}

fn is_page(uri: &Uri) -> bool {
    let mut pairs = uri.query().unwrap_or_default().split('&');
    !is_watch(uri) && pairs.any(is_limit)
}

fn is_limit(pair: &str) -> bool {
    pair.starts_with("limit=")
}

fn with_limit(uri: &Uri, limit: u32) -> Uri {
    let others = uri.query().unwrap_or_default().split('&');
    let others = others.filter(|pair| !pair.is_empty() && !is_limit(pair));
    let mut query: Vec<&str> = others.collect();
    let limit = format!("limit={limit}");
    query.push(&limit);
    let mut parts = uri.clone().into_parts();
    let target = format!("{}?{}", uri.path(), query.join("&"));
    parts.path_and_query = Some(target.parse().expect("as it was, but for a number"));
    Uri::from_parts(parts).expect("as it was, but for a number")
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Mutex;

    use bytes::Bytes;
    use futures::stream;
    use http_body::Frame;
    use http_body_util::StreamBody;
    use k8s_openapi::api::core::v1::Secret;
    use kube::{Api, api::ListParams};
    use serde_json::json;

    use super::*;
    use crate::{limited, lock};

    /// Secrets of these sizes, and what is asked for of them: the limit, and the bytes that were taken.
    #[derive(Clone)]
    struct Server {
        sizes: Arc<Vec<usize>>,
        asked: Arc<Mutex<Vec<(usize, usize)>>>,
    }

    impl Server {
        fn of(sizes: Vec<usize>) -> Self {
            let (sizes, asked) = (Arc::new(sizes), Arc::default());
            Self { sizes, asked }
        }

        fn api(&self) -> Api<Secret> {
            let server = self.clone();
            let service = service_fn(move |request: Request<Body>| {
                let answer = server.answer(request.uri().query().unwrap_or_default());
                async move { Ok::<_, Infallible>(answer) }
            });
            Api::namespaced(paged(limited(Client::new(service, "default"))), "team")
        }

        /// In pieces of 64 KiB, as they come from a connection.
        fn answer(
            &self,
            query: &str,
        ) -> Response<
            StreamBody<impl stream::Stream<Item = Result<Frame<Bytes>, Infallible>> + use<>>,
        > {
            let number = |name: &str| {
                let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
                let found = pairs.find(|(key, _)| *key == name);
                found.map_or(0, |(_, value)| value.parse().expect("a number"))
            };
            let (limit, from) = (number("limit"), number("continue"));
            let to = self.sizes.len().min(from + limit);
            let items: Vec<_> = (from..to)
                .map(|at| json!({"metadata": {"name": format!("s{at}")}, "type": "x".repeat(self.sizes[at])}))
                .collect();
            let token = if to < self.sizes.len() {
                to.to_string()
            } else {
                String::new()
            };
            let list = json!({"apiVersion": "v1", "kind": "SecretList", "items": items,
                "metadata": {"resourceVersion": "1", "continue": token}});
            let text = Bytes::from(list.to_string());
            let (asked, turn) = (Arc::clone(&self.asked), lock(&self.asked).len());
            lock(&asked).push((limit, 0));
            let pieces: Vec<Bytes> = (0..text.len())
                .step_by(1 << 16)
                .map(|at| text.slice(at..text.len().min(at + (1 << 16))))
                .collect();
            let pieces = pieces.into_iter().map(move |piece| {
                lock(&asked)[turn].1 += piece.len();
                Ok(Frame::data(piece))
            });
            Response::new(StreamBody::new(stream::iter(pieces)))
        }

        /// The names of a whole list.
        async fn list(&self) -> Vec<String> {
            let (api, mut params) = (self.api(), ListParams::default().limit(7));
            let mut names = Vec::new();
            loop {
                let page = api.list(&params).await.expect("a page");
                names.extend(
                    page.items
                        .into_iter()
                        .filter_map(|secret| secret.metadata.name),
                );
                match page.metadata.continue_.filter(|token| !token.is_empty()) {
                    Some(token) => params = params.continue_token(&token),
                    None => return names,
                }
            }
        }
    }

    #[tokio::test]
    async fn a_list_of_many_small_objects_is_whole_within_few_pages() {
        let server = Server::of(vec![2000; 20_000]);
        let names = server.list().await;
        assert_eq!(names.len(), 20_000);
        let asked = lock(&server.asked).clone();
        assert!(asked.len() <= 45, "{asked:?}");
    }

    #[tokio::test]
    async fn no_page_is_larger_than_two_of_the_largest_and_none_is_lost() {
        let mut sizes = vec![2000; 3000];
        sizes.extend([1 << 20; 60]);
        sizes.extend([2000; 1000]);
        let server = Server::of(sizes);
        let names = server.list().await;
        let each = (0..4060).map(|at| format!("s{at}"));
        assert_eq!(names, Vec::from_iter(each));
        let asked = lock(&server.asked).clone();
        let most = asked.iter().map(|(_, bytes)| *bytes).max();
        assert!(
            most.is_some_and(|most| most <= MOST_BYTES + (2 << 16)),
            "{asked:?}"
        );
        assert!(asked.len() <= 70, "{asked:?}");
    }

    #[tokio::test]
    async fn two_are_taken_however_large_they_are() {
        let server = Server::of(vec![3 << 20; 6]);
        assert_eq!(server.list().await.len(), 6);
        let asked = lock(&server.asked).clone();
        let limits: Vec<usize> = asked.iter().map(|(limit, _)| *limit).collect();
        assert_eq!(limits, [100, 12, 2, 2, 2]);
    }

    #[test]
    fn what_is_no_page_is_asked_for_as_it_is() {
        let uri = |text: &str| text.parse::<Uri>().expect("a URI");
        assert!(!is_page(&uri("/api/v1/secrets?watch=true&limit=5")));
        assert!(!is_page(&uri("/api/v1/secrets")));
        let page = uri("/api/v1/secrets?&limit=5&fieldSelector=type%21%3Da&continue=x%3D");
        assert!(is_page(&page));
        assert_eq!(
            with_limit(&page, 30),
            uri("/api/v1/secrets?fieldSelector=type%21%3Da&continue=x%3D&limit=30")
        );
    }
}
